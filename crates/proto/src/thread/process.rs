//! The thread's agent: when it is started, which session it gets, what it is told, and what its end means.

use std::time::Duration;

use acpd_model::event::{Binding, Level};
use acpd_model::{EventKind, Failure, Origin};

use super::command::{AgentExit, Effect, Reply};
use super::thread::{AgentState, Thread};
use super::turns::DAEMON_STOPPED;
use crate::agent::{Capabilities, Quirks, Start};

impl Thread {
    /// Has the agent started, unless it is there or on its way.
    pub(super) fn wake(&mut self) {
        match self.agent {
            AgentState::Absent => {}
            // Somebody may have signed in elsewhere; another process finds out.
            AgentState::SigningIn if self.signs_in() => return,
            AgentState::SigningIn => {
                self.restart_wanted = true;
                return self.stop_agent();
            }
            _ => return,
        }
        if self.journal.live().is_deleted() || !self.watchdog.try_start(self.journal.now().mono) {
            return;
        }
        self.agent = AgentState::Starting;
        self.reopen_requested = false;
        self.callbacks.start_process();
        self.journal.push(Effect::StartAgent(Start {
            cwd: self.journal.live().spec.session_cwd().to_owned(),
            additional_directories: self.journal.live().spec.additional_directories.clone(),
            mcp_servers: self.journal.live().spec.session_mcp_servers(),
            meta: self.journal.live().spec.session_meta().cloned(),
            members: self.journal.live().spec.session_members(),
            pending_session: false,
            earlier_session: self.journal.live().summary.session_id.clone(),
            foreign: !self.journal.live().bound
                && self.journal.live().summary.session_id.is_some()
                && self.journal.live().summary.session_id == self.journal.live().spec.session_id,
            leave_out: self.resume.broken.clone(),
            patience: Duration::from_secs(self.journal.limits().agent_start_secs),
            quirks: Quirks::default(),
        }));
    }

    pub(super) fn agent_opened(&mut self, opened: crate::agent::Opened) {
        // One that was told to go says it too late.
        if self.agent == AgentState::Stopping {
            return;
        }
        if let Err(opened) = self.begin_import(opened) {
            self.bind(opened);
        }
    }

    /// Uses a session that is open.
    pub(super) fn bind(&mut self, opened: crate::agent::Opened) {
        if self.agent == AgentState::Stopping {
            return;
        }
        let is_new = opened.how == Binding::New;
        let forgotten = self.journal.live().summary.session_id.is_some() && is_new;
        let untold = is_new
            && !opened.capabilities.additional_directories
            && !self.journal.live().spec.additional_directories.is_empty();
        self.agent = AgentState::Ready;
        self.resume.opened(opened.how);
        self.callbacks.set_quirks(opened.capabilities.quirks);
        self.capabilities = Some(opened.capabilities);
        let crate::agent::Opened {
            session_id,
            how,
            agent,
            session,
            ..
        } = opened;
        self.journal.emit_in(
            None,
            Origin::Agent,
            EventKind::AgentBound {
                session_id,
                how,
                agent,
                session,
            },
            None,
        );
        if forgotten {
            self.journal.notice(
                Level::Warning,
                "agentForgot",
                "The agent started a new session without this thread's history.",
            );
        }
        if untold {
            self.journal.notice(
                Level::Warning,
                "directoriesNotTold",
                "The agent is not told of additionalDirectories: it did not declare \
                 sessionCapabilities.additionalDirectories. Through acpd it may use them all the same.",
            );
        }
        for call in std::mem::take(&mut self.ready_waiters) {
            self.journal.reply(call, Ok(Reply::Done));
        }
        self.reopen_if_idle();
        self.send_agent_requests();
        self.prompt_if_ready();
    }

    pub(super) fn agent_failed(&mut self, failure: &Failure) {
        if self.agent == AgentState::Stopping {
            return;
        }
        self.watchdog.record_failure(self.journal.now().mono);
        self.fail_ready_waiters(failure);
        self.journal.notice(Level::Error, "agentFailed", &failure.message);
        self.abandon(&failure.message, &Origin::Agent, true);
        self.stop_agent();
    }

    pub(super) fn handle_agent_exit(&mut self, gone: &AgentExit) {
        let expected = self.agent == AgentState::Stopping;
        self.agent = AgentState::Absent;
        self.discard_import();
        if !expected {
            self.watchdog.record_failure(self.journal.now().mono);
        }
        let AgentExit { reason, stderr } = gone.clone();
        self.journal.flush();
        self.journal.emit_in(
            None,
            Origin::Agent,
            EventKind::AgentLost {
                reason,
                stderr,
                expected,
            },
            None,
        );
        self.resume_ended(expected);
        self.fail_ready_waiters(&Failure::agent(gone.reason.clone()).with_detail(gone.stderr.clone()));
        self.abandon(&gone.reason, &Origin::Agent, !expected);
        // A turn, or someone who wants the agent, may have come while the old process was on its way out.
        if std::mem::take(&mut self.restart_wanted)
            || self.journal.live().turn.is_some()
            || !self.agent_requests.is_empty()
        {
            self.wake();
        }
    }

    pub(super) fn fail_ready_waiters(&mut self, failure: &Failure) {
        for call in std::mem::take(&mut self.ready_waiters) {
            self.journal.reply(call, Err(failure.clone()));
        }
    }

    pub(super) fn stop_agent(&mut self) {
        let up = [AgentState::Starting, AgentState::SigningIn, AgentState::Ready];
        if up.contains(&self.agent) {
            self.void_requests("the agent is being stopped");
            self.journal.note_status();
            self.agent = AgentState::Stopping;
            self.prompted = None;
            self.journal.push(Effect::StopAgent);
        }
    }

    /// Lets the agent go, if nothing is going on.
    pub(super) fn stop_if_idle(&mut self) {
        if self.is_idle() {
            self.stop_agent();
        }
    }

    /// Whether there is an agent, and nothing is wanted of it.
    pub fn is_idle(&self) -> bool {
        let idle = matches!(self.agent, AgentState::Ready | AgentState::SigningIn);
        self.journal.live().turn.is_none() && self.agent_requests.is_empty() && idle
    }

    /// Whether the agent was told to go.
    pub fn is_stopping(&self) -> bool {
        self.agent == AgentState::Stopping
    }

    /// Whether another process of the agent could not go on with the session of this one.
    pub fn would_forget(&self) -> bool {
        let broken = &self.resume.broken;
        let keeps = |capabilities: &Capabilities| {
            capabilities.load && !broken.contains(&Binding::Load)
                || capabilities.resume && !broken.contains(&Binding::Resume)
        };
        !self.capabilities.as_ref().is_none_or(keeps)
    }

    pub(super) fn stop(&mut self) {
        let reason = "the daemon is stopping";
        self.fail_continuations(reason);
        while let Some(queued) = self.journal.live().queue.front().map(|queued| queued.id) {
            self.settle_queued(queued, reason);
        }
        self.callbacks.drop_in_editors(&mut self.journal);
        self.note_interrupted(DAEMON_STOPPED, reason);
        self.abandon(reason, &Origin::Daemon, true);
        self.callbacks.abort_delegations(&mut self.journal, reason);
        self.stop_agent();
    }
}
