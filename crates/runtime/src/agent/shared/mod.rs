//! Shared agent processes: assigns each thread to a process.
//!
//! In: threads that need an agent. Out: a handle for each thread, as if the process were its own. Owns: the channel to
//! each process that accepts threads, by the agent's name. Never: manages a process; the process's own task does that.

mod joining;
mod process;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use acpd_model::Failure;
use acpd_model::limits::SHARED_INBOX;
use acpd_proto::agent::Start;
use tokio::sync::{mpsc, oneshot};

use self::joining::JoiningThread;
use crate::agent::config::AgentConfig;
use crate::agent::launcher::Launcher;
use crate::agent::process::AgentHandle;
use crate::agent::process_table::ProcessTable;
use crate::agent::running::Process;

/// Gives access to the shared processes; cheap to clone.
#[derive(Debug, Clone)]
pub struct SharedAgents {
    requests_tx: mpsc::Sender<JoinRequest>,
}

#[derive(Debug)]
struct JoinRequest {
    name: String,
    config: AgentConfig,
    start: Box<Start>,
    reply: oneshot::Sender<Result<AgentHandle, Failure>>,
}

impl SharedAgents {
    /// Starts the task that tracks the shared processes. It ends when the last clone is dropped; a process ends with
    /// its last thread.
    pub fn open(launcher: Launcher, running: ProcessTable) -> Self {
        let (requests_tx, requests_rx) = mpsc::channel(SHARED_INBOX);
        let registry = SharedRegistry {
            processes: BTreeMap::new(),
            launcher,
            running,
        };
        tokio::spawn(registry.run(requests_rx));
        Self { requests_tx }
    }

    /// Opens a session in the agent's shared process. Starts the process if none accepts threads.
    pub async fn join(&self, name: &str, config: &AgentConfig, start: Start) -> Result<AgentHandle, Failure> {
        let (reply, answer) = oneshot::channel();
        let ask = JoinRequest {
            name: name.to_owned(),
            config: config.clone(),
            start: Box::new(start),
            reply,
        };
        // Without the registry task the daemon is stopping.
        let stopping = |()| Failure::agent("the daemon is stopping");
        self.requests_tx.send(ask).await.map_err(|_| stopping(()))?;
        answer.await.map_err(|_| stopping(()))?
    }
}

/// A process that may accept threads.
#[derive(Debug)]
struct Entry {
    config: AgentConfig,
    joins: mpsc::Sender<JoiningThread>,
    process: Weak<Process>,
}

struct SharedRegistry {
    processes: BTreeMap<String, Entry>,
    launcher: Launcher,
    running: ProcessTable,
}

impl SharedRegistry {
    async fn run(mut self, mut requests_rx: mpsc::Receiver<JoinRequest>) {
        while let Some(ask) = requests_rx.recv().await {
            let JoinRequest {
                name,
                config,
                start,
                reply,
            } = ask;
            let seated = self.seat(name, config, start).await;
            // If the thread has gone, its handle is dropped here, which frees its seat.
            let _ = reply.send(seated);
        }
    }

    async fn seat(
        &mut self,
        name: String,
        config: AgentConfig,
        start: Box<Start>,
    ) -> Result<AgentHandle, Failure> {
        self.processes.retain(|_, entry| !entry.joins.is_closed());
        let mut start = start;
        // A process with an outdated configuration serves its existing threads and ends with them.
        if let Some(entry) = self.processes.get(&name).filter(|entry| entry.config == config)
            && let Some(process) = entry.process.upgrade()
        {
            let (handle, ends) = AgentHandle::new(process);
            match entry.joins.send(JoiningThread { start, ends }).await {
                Ok(()) => return Ok(handle),
                // The process has just ended, or accepts no more threads.
                Err(mpsc::error::SendError(back)) => start = back.start,
            }
        }
        let slot = self.running.start(&name).await?;
        let process = Arc::downgrade(&slot.process());
        let (handle, ends) = AgentHandle::new(slot.process());
        let joining = JoiningThread { start, ends };
        let joins = process::spawn(&config, joining, &self.launcher, slot)?;
        let entry = Entry {
            config,
            joins,
            process,
        };
        self.processes.insert(name, entry);
        Ok(handle)
    }
}
