//! The daemon's own host.

use std::sync::Arc;
use std::time::Duration;

use acpd_host::{
    AgentProcess as LocalProcess, Exit, ProcessExit, Program, StoppingProcess, Terminal, TerminalSpec,
    TerminalUpdate, memory,
};
use acpd_model::Failure;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use super::{AgentIo, AgentProcess, Host, TerminalIo};

/// The host that the daemon runs on.
#[derive(Debug, Clone, Copy)]
pub struct LocalHost;

impl Host for LocalHost {
    fn start_agent(&self, program: &Program) -> Result<AgentIo, Failure> {
        let mut process = LocalProcess::spawn(program)?;
        let id = process.id();
        let stdin = process.stdin.take();
        let stderr = process.stderr();
        let (stopping, stdout) = process.into_stopping();
        Ok(AgentIo {
            id,
            stdin: stdin.map(|pipe| Box::new(pipe) as _),
            stdout: Box::new(stdout),
            stderr,
            process: Box::new(stopping),
        })
    }

    fn start_terminal(
        &self,
        spec: &TerminalSpec,
        updates: mpsc::Sender<TerminalUpdate>,
    ) -> Result<Arc<dyn TerminalIo>, Failure> {
        Ok(Arc::new(Terminal::spawn(spec, updates)?))
    }

    fn resident_memory(&self, pids: &[u32]) -> Vec<u64> {
        memory::resident(pids)
    }

    #[allow(
        clippy::disallowed_methods,
        reason = "the one place that hands work to such threads"
    )]
    fn run_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        // The work reports its own result.
        drop(tokio::task::spawn_blocking(work));
    }
}

impl AgentProcess for StoppingProcess {
    fn gone(&mut self) -> BoxFuture<'_, ()> {
        self.gone().boxed()
    }

    fn stop(self: Box<Self>, grace: Duration) -> BoxFuture<'static, ProcessExit> {
        (*self).stop(grace).boxed()
    }
}

impl TerminalIo for Terminal {
    fn output_limit(&self) -> usize {
        self.output_limit()
    }

    fn output(&self) -> (String, bool, Option<Exit>) {
        self.output()
    }

    fn wait(&self) -> BoxFuture<'_, Exit> {
        self.wait().boxed()
    }

    fn type_in(&self, text: String) -> BoxFuture<'_, Result<(), Failure>> {
        self.type_in(text).boxed()
    }

    fn kill(&self) -> BoxFuture<'_, ()> {
        self.kill().boxed()
    }

    fn release(&self) -> BoxFuture<'_, ()> {
        self.release().boxed()
    }
}
