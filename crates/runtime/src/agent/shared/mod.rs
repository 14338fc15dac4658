//! Agents whose processes are shared: which process a thread comes into.
//!
//! In: threads that want an agent. Out: a handle for each, as if it had the process for itself. Owns: the way into
//! each process that takes threads, by the agent's name. Never: looks after a process; its own task does that.

mod process;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use acpd_model::Failure;
use acpd_model::limits::SHARED_INBOX;
use acpd_proto::agent::Start;
use tokio::sync::{mpsc, oneshot};

use crate::agent::config::AgentConfig;
use crate::agent::launcher::Launcher;
use crate::agent::process::{AgentHandle, AgentSide};
use crate::agent::process_table::{Process, ProcessTable};

/// The way to the shared processes.
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

/// A thread that comes into a process.
#[derive(Debug)]
struct JoiningThread {
    start: Box<Start>,
    ends: AgentSide,
}

impl SharedAgents {
    /// Starts the task that knows them. It ends with the last of its users; processes end with their last thread.
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

    /// A session in the process of that agent, which is started if there is none that takes threads.
    pub async fn join(&self, name: &str, config: &AgentConfig, start: Start) -> Result<AgentHandle, Failure> {
        let (reply, answer) = oneshot::channel();
        let ask = JoinRequest {
            name: name.to_owned(),
            config: config.clone(),
            start: Box::new(start),
            reply,
        };
        // Without the registry the daemon is on its way down.
        let stopping = |()| Failure::agent("the daemon is stopping");
        self.requests_tx.send(ask).await.map_err(|_| stopping(()))?;
        answer.await.map_err(|_| stopping(()))?
    }
}

/// A process that may take threads.
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
            // A thread that is gone lets go of its handle here, and with it of its seat.
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
        // One that is run in another way now serves those that it has, and ends with them.
        if let Some(entry) = self.processes.get(&name).filter(|entry| entry.config == config)
            && let Some(process) = entry.process.upgrade()
        {
            let (handle, ends) = AgentHandle::new(process);
            match entry.joins.send(JoiningThread { start, ends }).await {
                Ok(()) => return Ok(handle),
                // It has just ended, or takes no threads any more.
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
