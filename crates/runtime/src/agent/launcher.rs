//! The dependencies for starting any agent process.

use std::sync::Arc;

use acpd_host::{Program, StderrTail};
use acpd_model::Failure;

use crate::agent::running::ProcessSlot;
use crate::agent::stdin::Stdin;
use crate::clock::Clock;
use crate::host::{AgentIo, AgentProcess, AgentStdin, AgentStdout, Host};
use crate::live_limits::LiveLimits;
use crate::metrics::Metrics;
use crate::record::WireRecorder;
use crate::record::pipe::{RecordedReader, RecordedWriter};

/// Starts agent processes.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// Runs the processes.
    pub host: Arc<dyn Host>,
    /// Limits for each process that is started.
    pub limits: LiveLimits,
    /// Provides the wall time and the monotonic time.
    pub clock: Clock,
    /// Counts the running processes.
    pub metrics: Arc<Metrics>,
    /// Records what passes between the daemon and the processes.
    pub wire: Option<WireRecorder>,
}

/// A process that was just started.
pub(crate) struct Launched {
    /// Its input.
    pub stdin: Stdin,
    /// Its output.
    pub stdout: AgentStdout,
    /// The end of its stderr.
    pub stderr: StderrTail,
    /// The process.
    pub process: Box<dyn AgentProcess>,
}

impl Launcher {
    /// Starts a process in `slot`.
    pub(crate) fn launch(&self, program: &Program, slot: &ProcessSlot) -> Result<Launched, Failure> {
        let AgentIo {
            id,
            stdin,
            stdout,
            stderr,
            process,
        } = self.host.start_agent(program)?;
        slot.started(id);
        let (stdin, stdout) = self.recorded(slot, stdin, stdout);
        Ok(Launched {
            stdin: Stdin::new(stdin, slot.process().budget().clone()),
            stdout,
            stderr,
            process,
        })
    }

    /// Returns the pipes, with a copy of everything for the recording if there is one.
    fn recorded(
        &self,
        slot: &ProcessSlot,
        stdin: Option<AgentStdin>,
        stdout: AgentStdout,
    ) -> (Option<AgentStdin>, AgentStdout) {
        let Some(wire) = &self.wire else {
            return (stdin, stdout);
        };
        let recording = Arc::new(wire.agent(slot.process().agent()));
        let stdin = stdin.map(|writer| {
            let recording = Arc::clone(&recording);
            Box::new(RecordedWriter { writer, recording }) as AgentStdin
        });
        let stdout = RecordedReader {
            reader: stdout,
            recording,
        };
        (stdin, Box::new(stdout))
    }
}

#[cfg(any(test, feature = "testing"))]
impl Launcher {
    /// Creates a launcher for processes on the local host.
    pub fn local(limits: acpd_model::Limits, metrics: Arc<Metrics>) -> Self {
        Self {
            host: Arc::new(crate::host::local::LocalHost),
            limits: LiveLimits::fixed(limits),
            clock: Clock::start(),
            metrics,
            wire: None,
        }
    }
}
