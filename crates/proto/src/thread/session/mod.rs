//! The agent's process and session: start, requests other than turns, history, exit.
//!
//! In: requests of clients for the agent, its opened session, its answers, its exit. Out: effects that start and stop
//! it, requests for it, replies to clients. Owns: the state of the process. Never: runs a turn.

mod agent_requests;
mod choices;
mod decides;
mod default_mode;
mod history;
mod import;
mod params;
mod resume;
mod watchdog;

use std::collections::BTreeMap;
use std::time::Duration;

use acpd_model::event::{Binding, Level};
use acpd_model::{ErrorCode, EventKind, Failure, Origin, SessionEvent};

use self::agent_requests::PendingAgentRequest;
use self::choices::{Restoration, chosen_options};
use self::decides::note_never_asks;
use self::default_mode::ModeContext;
use self::history::History;
use self::import::SessionImport;
use self::resume::ResumeAttempts;
use self::watchdog::Watchdog;
use super::effect::Effect;
use super::input::AgentExit;
use super::journal::Journal;
use super::reply::Reply;
use crate::agent::{
    AcpVersion, AgentCommand, AgentNames, AgentRequest, Capabilities, ConfigValue, ElicitationModes, Opened,
    PromptSource, Quirks, Start,
};
use crate::projection::SessionState;
use crate::time::Instant;

pub(super) use agent_requests::{Continuation, Continued, NextTurn, PendingRollback};
pub(super) use choices::adopt_choices;
pub(super) use decides::note_unasked;
pub(super) use history::history_fidelity;
pub(super) use import::{ImportedTurn, NewHistory, compare};
pub(super) use params::{name_linked_directories, reset_directory};

/// The state of the agent's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum AgentState {
    /// No process runs.
    #[default]
    Absent,
    /// The process was started and its session is not open yet.
    Starting,
    /// The agent opens no session until a client signs in.
    SigningIn,
    /// The session is open.
    Ready,
    /// The process was asked to stop.
    Stopping,
}

/// What the caller must do to wake the agent.
pub(super) enum Wake {
    /// Nothing: the agent runs, is starting, or must wait.
    Nothing,
    /// The agent was just started.
    Started,
    /// Stop the agent; another process follows.
    Replace,
}

/// The session of a thread.
#[derive(Debug, Default)]
pub(super) struct Session {
    agent: AgentState,
    capabilities: Option<Capabilities>,
    /// The quirks of the last process that opened the session. What it sends after it was asked to stop still has them.
    quirks: Quirks,
    /// Whether another process starts after the one that was asked to stop.
    restart_wanted: bool,
    /// Whether the process that was asked to stop has a session that is no longer the thread's.
    is_orphaned: bool,
    /// Whether the session must be opened again with its new parameters.
    reopen_requested: bool,
    /// Whether the process waits for this thread to leave it.
    retiring: bool,
    /// Whether a user has to answer something before the session opens.
    asks_user: bool,
    /// Commands that wait until the agent is ready.
    ready_waiters: Vec<u64>,
    /// Requests of clients for the agent, other than turns, by the number of their command.
    requests: BTreeMap<u64, PendingAgentRequest>,
    history: History,
    resume: ResumeAttempts,
    /// The conversation that the agent replays.
    import: SessionImport,
    watchdog: Watchdog,
    /// The choices of users that the process is being set to.
    restoration: Restoration,
    /// Why prompts fail, if the process refuses the mode that a user chose.
    mode_refused: Option<String>,
    /// What the agent has printed for the last sign-in.
    sign_in_lines: Vec<String>,
    /// The modes of elicitation that the client can show that creates the thread, until the session is open. The client
    /// attaches and subscribes only then.
    creator: Option<ElicitationModes>,
    /// Values of options that the client sets that creates the thread, until the session is open.
    initial_options: Vec<(String, ConfigValue)>,
    /// The modes of elicitation that the clients show that have requested the next start. They may follow the thread only
    /// after it.
    wakers: ElicitationModes,
}

impl Session {
    /// Returns whether an agent's process runs or is starting.
    pub fn has_agent(&self) -> bool {
        self.agent != AgentState::Absent
    }

    /// Returns whether the session is open.
    pub fn is_ready(&self) -> bool {
        self.agent == AgentState::Ready
    }

    /// Returns whether the agent was asked to stop.
    pub fn is_stopping(&self) -> bool {
        self.agent == AgentState::Stopping
    }

    /// Returns whether the agent runs and has nothing to do.
    pub fn is_idle(&self, journal: &Journal) -> bool {
        let idle = matches!(self.agent, AgentState::Ready | AgentState::SigningIn);
        let live = journal.live();
        live.turn.is_none() && live.requests.is_empty() && self.requests.is_empty() && idle
    }

    /// Returns whether a new process of the agent could not resume the current session.
    pub fn would_forget(&self) -> bool {
        !self.opens_by(&[Binding::Load, Binding::Resume])
    }

    /// Returns whether the process of a forked thread could not open a copy of the current session.
    pub fn would_forget_copy(&self) -> bool {
        !self.opens_by(&[Binding::Load, Binding::Resume, Binding::Fork])
    }

    /// Returns whether a new process of the agent may open a session by one of these methods.
    fn opens_by(&self, methods: &[Binding]) -> bool {
        let has = |capabilities: &Capabilities, how: Binding| match how {
            Binding::Load => capabilities.load,
            Binding::Resume => capabilities.resume,
            Binding::Fork => capabilities.fork,
            Binding::New => false,
        };
        self.capabilities.as_ref().is_none_or(|capabilities| {
            let mut methods = methods.iter();
            methods.any(|how| has(capabilities, *how) && !self.resume.broken.contains(how))
        })
    }

    /// Returns whether the agent's updates belong to a session that the thread has dropped.
    pub fn was_dropped(&self, journal: &Journal) -> bool {
        self.is_stopping() && (self.is_orphaned || journal.live().summary.session_id.is_none())
    }

    /// Returns the agent's capabilities, which are known once its session is open.
    pub fn capabilities(&self) -> Option<&Capabilities> {
        self.capabilities.as_ref()
    }

    /// Returns the agent's quirks.
    pub fn quirks(&self) -> Quirks {
        self.quirks
    }

    /// Rejects turns and other work for the agent if the thread is archived or is being deleted.
    pub fn check_accepts_turns(&self, journal: &Journal) -> Result<(), Failure> {
        if journal.live().summary.archived {
            return Err(Failure::new(
                ErrorCode::Conflict,
                "the thread is archived: unarchive it first",
            ));
        }
        self.check_not_deleted()
    }
}

impl Session {
    /// Replies to this command when the agent is ready or has failed, or asks a user something before it opens a new session.
    pub fn wait_until_ready(&mut self, call: u64) {
        self.ready_waiters.push(call);
    }

    /// Returns whether the agent is opening the session.
    pub fn is_opening(&self) -> bool {
        self.agent == AgentState::Starting
    }

    fn fail_ready_waiters(&mut self, journal: &mut Journal, failure: &Failure) {
        for call in std::mem::take(&mut self.ready_waiters) {
            journal.reply(call, Err(failure.clone()));
        }
    }

    /// Starts another process after the one that is being stopped, if any.
    pub fn restart_if_stopping(&mut self) {
        self.restart_wanted = self.is_stopping();
    }

    /// Records the modes of elicitation that the client can show that creates the thread, and the options that it sets next.
    pub fn created_by(&mut self, elicitation: ElicitationModes, options: Vec<(String, ConfigValue)>) {
        self.creator = Some(elicitation);
        self.initial_options = options;
    }

    /// Records the modes of elicitation that a client shows that requests a start. They count for the next start only.
    pub fn woken_by(&mut self, shows: ElicitationModes) {
        self.wakers = self.wakers.or(shows);
    }

    /// Starts the agent, unless it runs or is starting. `editors` are the modes of elicitation that the attached editors can
    /// show.
    pub fn wake(&mut self, journal: &mut Journal, editors: Option<ElicitationModes>) -> Wake {
        match self.agent {
            AgentState::Absent => {}
            // A user may have signed in outside of acpd; only a new process detects that.
            AgentState::SigningIn if !self.signs_in() => {
                self.restart_wanted = true;
                return Wake::Replace;
            }
            AgentState::Stopping => return Wake::Nothing,
            AgentState::Starting | AgentState::SigningIn | AgentState::Ready => {
                self.wakers = ElicitationModes::NONE;
                return Wake::Nothing;
            }
        }
        let live = journal.live();
        if live.is_deleted() || !self.watchdog.try_start(journal.now().mono) {
            return Wake::Nothing;
        }
        self.agent = AgentState::Starting;
        self.is_orphaned = false;
        self.quirks = Quirks::default();
        self.reopen_requested = false;
        let wakers = std::mem::take(&mut self.wakers);
        let start = Start {
            names: Box::new(AgentNames::from(&*live.spec.agent)),
            cwd: live.spec.session_cwd().to_owned(),
            additional_directories: live.spec.additional_directories.clone(),
            mcp_servers: live.spec.session_mcp_servers(),
            meta: live.spec.session_meta().cloned(),
            members: live.spec.session_members(),
            system_prompt: live.spec.session_system_prompt().cloned(),
            prompt_source: PromptSource::default(),
            config_options: self
                .initial_options
                .iter()
                .cloned()
                .chain(chosen_options(live))
                .collect(),
            pending_session: false,
            bound: live.bound,
            earlier_session: live.summary.session_id.clone(),
            is_copy: live.is_copy,
            foreign: !live.bound
                && live.summary.session_id.is_some()
                && live.summary.session_id == live.spec.session_id,
            leave_out: self.resume.broken.clone(),
            patience: Duration::from_secs(journal.limits().agent_start_secs),
            quirks: Quirks::default(),
            mode: None,
            acp: AcpVersion::default(),
            // Without an editor, any client may answer later. Beside one, the client counts that requested the start.
            elicitation: editors
                .into_iter()
                .chain(self.creator)
                .reduce(ElicitationModes::or)
                .map_or(ElicitationModes::ALL, |shown| shown.or(wakers)),
        };
        journal.push(Effect::StartAgent(start));
        Wake::Started
    }

    /// Starts to use an open session.
    pub fn bind(&mut self, journal: &mut Journal, opened: Opened) {
        let reported: SessionState = opened.session.read().unwrap_or_default();
        let mode = ModeContext::of(&opened, &reported);
        let Opened {
            session_id,
            how,
            agent,
            session,
            capabilities,
            prompt_left_out,
            protocol,
            ..
        } = opened;
        let live = journal.live();
        let is_new = how == Binding::New;
        let forgotten = live.summary.session_id.is_some() && is_new;
        let untold =
            is_new && !capabilities.additional_directories && !live.spec.additional_directories.is_empty();
        self.agent = AgentState::Ready;
        self.creator = None;
        self.note_opened(journal, how);
        self.quirks = capabilities.quirks;
        self.capabilities = Some(capabilities);
        let kind = EventKind::Session(SessionEvent::AgentBound {
            session_id,
            how,
            agent,
            session,
            protocol,
        });
        journal.emit_in(None, Origin::Agent, kind, None);
        if forgotten {
            journal.notice(
                Level::Warning,
                "agentForgot",
                "The agent restarted and has lost the earlier context.",
            );
        }
        if untold {
            journal.notice(
                Level::Warning,
                "directoriesNotTold",
                "The agent does not receive additionalDirectories: it did not declare \
                 sessionCapabilities.additionalDirectories. Through acpd it may use them all the same.",
            );
        }
        if let Some(failure) = prompt_left_out {
            let message = format!(
                "The agent continues without the system prompt: {}.",
                failure.message
            );
            journal.notice(Level::Warning, "systemPromptLeftOut", &message);
        }
        note_never_asks(journal, mode.agent());
        if !self.restore_choices(journal, &reported, mode.agent()) {
            self.set_default_mode(journal, &mode);
        }
        self.take_initial_options(journal);
        self.end_wait(journal);
    }

    /// While the session opens, tells the connection whether a user has to answer something first. A client that waits for
    /// a new session can see the question then. The history of an agent's own session comes before anything else.
    pub fn follow_questions(&mut self, journal: &mut Journal) {
        let opens = self.agent == AgentState::Starting;
        let asks = opens && !journal.live().requests.is_empty();
        if asks == std::mem::replace(&mut self.asks_user, asks) || !opens {
            return;
        }
        journal.send_to_agent(AgentCommand::WaitForUser(asks));
        if asks && journal.live().spec.session_id.is_none() {
            self.end_wait(journal);
        }
    }

    fn end_wait(&mut self, journal: &mut Journal) {
        for call in std::mem::take(&mut self.ready_waiters) {
            journal.reply(call, Ok(Reply::Done));
        }
    }

    /// Handles that the agent could not be started, or could not open its session.
    pub fn failed(&mut self, journal: &mut Journal, failure: &Failure) {
        self.watchdog.record_failure(journal.now().mono);
        self.fail_ready_waiters(journal, failure);
        self.note_refusals(journal);
        journal.notice(Level::Error, "agentFailed", &failure.message);
    }

    /// Records the exit of the process. Returns whether the work that it never got waits for the next one: because it was
    /// asked to stop, or exited while it continued the session, which the next one does by another method.
    pub fn exited(&mut self, journal: &mut Journal, exit: &AgentExit) -> bool {
        let expected = self.is_stopping();
        self.agent = AgentState::Absent;
        self.discard_import();
        if !expected {
            self.watchdog.record_failure(journal.now().mono);
        }
        let AgentExit { reason, stderr } = exit.clone();
        let failure = Failure::agent(reason.clone()).with_detail(stderr.clone());
        let kind = EventKind::Session(SessionEvent::AgentLost {
            reason,
            stderr,
            expected,
        });
        journal.emit_in(None, Origin::Agent, kind, None);
        let tries_another = self.resume_ended(journal, expected);
        self.fail_ready_waiters(journal, &failure);
        expected || tries_another
    }

    /// Clears the state of the process that has exited, or is about to exit.
    pub fn abandon(&mut self) {
        self.history.forget();
        self.watchdog.take_silence();
        self.mode_refused = None;
        self.restoration = Restoration::default();
        self.retiring = false;
        // The next process may need other ones.
        self.requests.retain(|_, pending| !pending.is_own());
        self.capabilities = None;
    }

    /// Returns whether another process must start now that the last one has exited.
    pub fn take_restart(&mut self) -> bool {
        std::mem::take(&mut self.restart_wanted) || !self.requests.is_empty()
    }

    /// Returns whether an agent runs that was not asked to stop.
    pub fn can_stop(&self) -> bool {
        let up = [AgentState::Starting, AgentState::SigningIn, AgentState::Ready];
        up.contains(&self.agent)
    }

    /// Stops the agent.
    pub fn stop(&mut self, journal: &mut Journal) {
        self.agent = AgentState::Stopping;
        journal.push(Effect::StopAgent);
    }

    /// Records that the process is about to end and waits for this thread to leave it.
    pub fn retire(&mut self) {
        self.retiring = true;
    }

    /// Returns whether the process waits for this thread to leave it.
    pub fn is_retiring(&self) -> bool {
        self.retiring
    }

    /// Returns whether to stop the agent now, so that another process opens the session with new parameters.
    pub fn take_reopen(&mut self) -> bool {
        let is_idle = self.is_ready() && self.requests.is_empty();
        if is_idle && std::mem::take(&mut self.reopen_requested) {
            self.restart_wanted = true;
            return true;
        }
        false
    }

    /// Records that the session of the process that is being stopped is no longer the thread's.
    pub fn drop_session(&mut self) {
        self.is_orphaned = true;
    }

    /// Closes a forked session: the process of the new thread opens it again.
    pub fn close_copy(&self, journal: &mut Journal, ask: u64, session_id: String) {
        let closes = self.capabilities.as_ref().is_some_and(|c| c.close);
        if closes && self.is_ready() {
            let request = AgentRequest::CloseSession { session_id };
            journal.send_to_agent(AgentCommand::Request { ask, request });
        }
    }
}

impl Session {
    /// Restarts the time after which the agent counts as silent.
    pub fn record_activity(&mut self, journal: &Journal) {
        self.watchdog.record_activity(journal.now().mono);
    }

    /// Forgets that the agent has failed: what it failed at has changed.
    pub fn forget_failures(&mut self, now: Instant) {
        self.watchdog.forget_failures(now);
    }

    /// Records that the agent ended a turn. Returns the reason if the daemon had requested that because of silence.
    pub fn turn_ended(&mut self) -> Option<String> {
        self.watchdog.record_success();
        self.watchdog.take_silence()
    }

    /// Takes the reason if the daemon asked the agent to end the turn because of silence.
    pub fn take_silence(&mut self) -> Option<String> {
        self.watchdog.take_silence()
    }

    /// Returns when the agent's silence exceeds the limit. Valid only while the daemon waits for nothing else.
    pub fn silence_deadline(&self, journal: &Journal) -> Option<Instant> {
        self.watchdog.silence_deadline(journal.limits())
    }

    /// Records that the agent was silent for too long.
    pub fn note_silence(&mut self, journal: &mut Journal) {
        self.watchdog.note_silence(journal);
    }

    /// Records that the agent is read more slowly.
    pub fn note_slowed(&mut self, journal: &mut Journal) {
        self.watchdog.note_slowed(journal);
    }

    /// Returns when to start the agent, if a start is pending but not allowed yet.
    pub fn start_at(&self) -> Option<Instant> {
        self.watchdog.start_at()
    }
}
