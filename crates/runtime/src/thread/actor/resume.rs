//! Continues the work of an agent that outlived its daemon, or its thread's log, and leaves such an agent.
//!
//! In: an attached agent, with what the log has of its work. Out: a running agent with its callbacks. Owns: nothing. Never: starts
//! a process.

use std::sync::Arc;
use std::time::Duration;

use acpd_log::LogError;
use acpd_model::{ErrorCode, Failure};
use acpd_proto::agent::{AgentConnection, Start};
use acpd_proto::projection::Chunks;
use acpd_proto::thread::{Recalls, ThreadMemo};

use crate::agent::process::{AgentHandle, spawn_attached};
use crate::agent::running::ProcessSlot;
use crate::carry::{CarriedAgent, Taken, end_terminals, orphan_limit};
use crate::host::callbacks::Callbacks;
use crate::thread::actor::ThreadActor;
use crate::thread::actor::begin::Prepared;
use crate::thread::actor::carrying::Carrying;

/// What an attached agent needs on this host.
struct Place {
    prepared: Prepared,
    start: Start,
    slot: ProcessSlot,
}

impl ThreadActor {
    /// Continues the work of the thread's agent. Returns false if there is none, or if its work cannot be continued.
    pub(super) async fn resume_work(&mut self, taken: Taken) -> Result<bool, LogError> {
        let agent = match taken {
            Taken::Nothing => return Ok(false),
            Taken::Lost => {
                self.carrying = Some(Box::new(Carrying::gone()));
                return Ok(false);
            }
            Taken::Agent(agent) => agent,
        };
        if let Err(error) = Box::pin(self.recall(&agent.thread)).await {
            self.context.carried.give_back(self.id, Taken::Agent(agent));
            return Err(error);
        }
        match Box::pin(self.resume_agent(agent)).await {
            Ok(()) => Ok(true),
            Err(failure) => {
                tracing::warn!(thread = %self.id, error = %failure, "the agent's work cannot be continued");
                self.carrying = Some(Box::new(Carrying::gone()));
                Ok(false)
            }
        }
    }

    /// Reads the events and blobs that a memo names. The machine knows which of them are missing.
    async fn recall(&mut self, memo: &ThreadMemo) -> Result<(), LogError> {
        let Recalls { events, blobs } = memo.recalls();
        for range in events {
            let mut after = range.start().saturating_sub(1);
            loop {
                let page = match self.context.log.read(self.id, after).await {
                    Ok(page) => page,
                    Err(LogError::DamagedEvents { .. }) => break,
                    Err(error) => return Err(error),
                };
                for event in page.events.iter().filter(|event| range.contains(&event.seq)) {
                    self.machine.recall(event);
                }
                after = page.events.last().map_or(after, |event| event.seq);
                if page.at_end || page.events.is_empty() || after >= *range.end() {
                    break;
                }
            }
        }
        for id in blobs {
            if let Some(content) = self.context.log.blob(id).await? {
                self.machine.recall_blob(id, content);
            }
        }
        Ok(())
    }

    async fn resume_agent(&mut self, agent: Box<CarriedAgent>) -> Result<(), Failure> {
        self.look_up_policies();
        let place = match self.find_place().await {
            Ok(place) => place,
            Err(failure) => {
                let grace = self.context.limits.now().agent_exit_grace_secs;
                agent.end(&self.context.host, Duration::from_secs(grace)).await;
                return Err(failure);
            }
        };
        let Place {
            prepared,
            start,
            slot,
        } = place;
        let CarriedAgent {
            hold,
            cursor,
            part,
            out_mark,
            memo,
            sent,
            unsent,
            owed,
            terminals,
            thread,
            io,
        } = *agent;
        let now = self.context.clock.now();
        let connection = AgentConnection::resume(start, memo, &sent, now);
        let launcher = self.context.launcher();
        let mut handle = spawn_attached(&launcher, io, (connection, cursor), unsent, slot);
        handle.thread = Some(self.id);
        let process = Arc::clone(&handle.process);
        match self.context.processes.join(process, Some(self.id)).await {
            Ok(using) => self.using = Some(using),
            Err(failure) => {
                // Dropping the handle ends the agent.
                end_terminals(&self.context.host, &hold, terminals).await;
                return Err(failure);
            }
        }
        let single = prepared.config.chunks == Some(Chunks::Single);
        self.machine.set_single_chunks(single);
        let mut carrying = Box::new(Carrying::resume(hold, cursor, part, out_mark));
        carrying.linked(handle.held.clone());
        // Before what the thread repeats: the agent waits for these longer.
        for owed in owed {
            let command = owed.into_command();
            carrying.sent(&command);
            handle.send_command(command, None).await;
        }
        self.carrying = Some(carrying);
        self.serve_callbacks(prepared, &handle);
        if let Some(host) = &mut self.host {
            // Before the machine requests anything of the host again.
            host.attach_terminals(terminals).await;
        }
        self.agent = Some(handle);
        self.machine.keep_exact(true);
        self.machine.resume(thread, now);
        self.next_call = self.machine.first_call();
        self.next_unsent = self.next_call;
        tracing::info!(thread = %self.id, cursor, "continuing the work of the thread's agent");
        Ok(())
    }

    /// Finds the agent's configuration, its workspace, and room for its process.
    async fn find_place(&mut self) -> Result<Place, Failure> {
        let live = self.machine.live();
        if live.is_deleted() {
            return Err(Failure::new(ErrorCode::Conflict, "the thread is deleted"));
        }
        let agent = live.spec.agent.clone();
        let prepared = self.prepare().await?;
        let mut start = self.machine.session_start();
        self.configure(&mut start, &prepared.config).await?;
        let slot = self.context.processes.start(&agent).await?;
        Ok(Place {
            prepared,
            start,
            slot,
        })
    }

    /// Begins to serve the callbacks of the agent. Shims hold the terminals of one that a shim holds.
    pub(super) fn serve_callbacks(&mut self, prepared: Prepared, handle: &AgentHandle) {
        let Prepared {
            config,
            sandbox,
            workspace,
        } = prepared;
        let mut callbacks = Callbacks::new(
            Arc::clone(&self.context.host),
            workspace,
            Box::new(move || config.environment()),
            sandbox,
            self.host_tx.clone(),
            handle.process.budget().clone(),
            Arc::clone(&self.context.metrics),
        );
        // Another process, as one that waited for a thread, ends with the daemon although the row of the last one is still there.
        if let Some(carrying) = self.carrying.as_ref().filter(|_| handle.held.is_some()) {
            callbacks.hold_terminals(carrying.hold().clone());
        }
        self.host = Some(callbacks);
    }

    /// Leaves the agent to its shim, if another daemon, or this one when the log works again, can continue its work. Returns
    /// whether that is so.
    pub(super) fn leave_agent(&mut self) -> bool {
        let is_resumable = |carrying: &Carrying| carrying.is_resumable();
        if !self.carrying.as_deref().is_some_and(is_resumable) {
            return false;
        }
        let Some(agent) = self.agent.take() else {
            return false;
        };
        let in_turn = self.machine.live().turn.is_some();
        let orphan = orphan_limit(&self.context.limits.now(), in_turn);
        // Otherwise they end when their handles are dropped.
        if let Some(host) = &self.host {
            host.leave(orphan);
        }
        agent.leave(orphan);
        self.context.carried.left(self.id);
        true
    }
}
