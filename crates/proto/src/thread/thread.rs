//! The machine itself: its state and its four verbs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use acpd_model::event::ThreadCreated;
use acpd_model::{Event, EventKind, Failure, ItemId, Limits, Origin, Summary, ThreadId, TurnId};

use super::approval::{Approvals, Policies};
use super::callback::Callbacks;
use super::command::{Command, Effect, Input, Reply};
use super::journal::Journal;
use super::message::Messages;
use super::turns::{DAEMON_STOPPED, UnsentPrompt};
use crate::agent::{AgentEvent, Capabilities, Quirks};
use crate::projection::Live;
use crate::time::{Instant, Now, earliest};

/// What is known of the agent's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgentState {
    /// None runs.
    Absent,
    /// One was started and its session is not open yet.
    Starting,
    /// It opens no session until somebody signs in.
    SigningIn,
    /// Its session is open.
    Ready,
    /// It was told to go.
    Stopping,
}

/// Where the conversation so far is, for an agent that has forgotten it.
#[derive(Debug, Default)]
pub(super) enum HistoryState {
    #[default]
    Unrequested,
    Requested,
    Collected(String),
    /// It cannot be read.
    Failed,
}

/// One thread's machine.
#[derive(Debug)]
pub struct Thread {
    pub(super) journal: Journal,
    pub(super) agent: AgentState,
    pub(super) capabilities: Option<Capabilities>,
    /// The running turn's prompt, until the agent gets it.
    pub(super) prompt: Option<UnsentPrompt>,
    /// The turn whose prompt the agent has and has not answered.
    pub(super) prompted: Option<TurnId>,
    pub(super) messages: Messages,
    pub(super) callbacks: Callbacks,
    /// Whether another process is to follow the one that was told to go.
    pub(super) restart_wanted: bool,
    /// Whether the session is to be opened once more, as it is wanted now.
    pub(super) reopen_requested: bool,
    /// Callers who wait for the agent to be ready.
    pub(super) ready_waiters: Vec<u64>,
    /// What clients want of the agent beside turns, by the number of their command.
    pub(super) agent_requests: BTreeMap<u64, super::agent_requests::PendingAgentRequest>,
    /// What goes on once the agent has answered such a command.
    pub(super) continuations: BTreeMap<u64, super::continuations::Continuation>,
    pub(super) history: HistoryState,
    /// The agent has taken a prompt without the conversation so far, which could not be read.
    pub(super) history_due: bool,
    pub(super) resume: super::resume::ResumeAttempts,
    /// What the agent tells of the conversation so far.
    pub(super) import: super::import::SessionImport,
    pub(super) watchdog: super::watchdog::Watchdog,
    pub(super) approvals: Approvals,
    /// Open tool calls that the agent has named in a question only → whether they may run.
    pub(super) unreported: BTreeMap<ItemId, bool>,
    /// Those of them that a refusal has ended, until the agent reports on them or the turn is over.
    pub(super) refused_items: BTreeSet<ItemId>,
    /// What the agent did against the protocol in this turn.
    pub(super) violations: BTreeSet<(Option<ItemId>, &'static str)>,
    pub(super) cancel_deadline: Option<Instant>,
}

impl Thread {
    /// A thread that does not exist yet; [`Command::Create`] makes it.
    pub fn new(id: ThreadId, limits: Limits, now: Now) -> Self {
        Self {
            journal: Journal::new(id, limits, now),
            agent: AgentState::Absent,
            capabilities: None,
            prompt: None,
            prompted: None,
            messages: Messages::default(),
            callbacks: Callbacks::default(),
            restart_wanted: false,
            reopen_requested: false,
            ready_waiters: Vec::new(),
            agent_requests: BTreeMap::new(),
            continuations: BTreeMap::new(),
            history: HistoryState::default(),
            history_due: false,
            resume: super::resume::ResumeAttempts::default(),
            import: super::import::SessionImport::default(),
            watchdog: super::watchdog::Watchdog::default(),
            approvals: Approvals::default(),
            unreported: BTreeMap::new(),
            refused_items: BTreeSet::new(),
            violations: BTreeSet::new(),
            cancel_deadline: None,
        }
    }

    /// Takes one event of the log. After the last one, call [`recover`](Self::recover).
    pub fn replay(&mut self, event: &Event) {
        self.journal.replay(event);
    }

    /// Goes on after a restart: what the last process left unfinished is ended, and said so.
    pub fn recover(&mut self, now: Now) {
        self.journal.set_now(now);
        if self.journal.live().is_deleted() {
            return self.journal.push(Effect::Delete { call: None });
        }
        self.callbacks.recover(self.journal.live().last_terminal);
        self.callbacks.void_lease(&mut self.journal);
        let reason = "the daemon was stopped while the turn was running";
        self.note_interrupted(DAEMON_STOPPED, reason);
        self.abandon(reason, &Origin::Daemon, true);
    }

    /// Deals with one thing that happened.
    pub fn handle(&mut self, input: Input, now: Now) {
        self.journal.set_now(now);
        if matches!(
            &input,
            Input::Agent(_) | Input::Host { .. } | Input::EditorAnswered { .. }
        ) {
            self.watchdog.record_activity(now.mono);
        }
        if self.journal.live().is_deleted() {
            // Nothing follows its last event.
            if let Input::Command { call, .. } = input {
                let gone = Failure::not_found(format!("thread {}", self.journal.live().thread));
                self.journal.reply(call, Err(gone));
            }
            return;
        }
        match input {
            Input::HistoryCollected(recalled) => self.history_collected(recalled),
            Input::ExchangesCollected(known) => {
                if let Some(opened) = self.import(known) {
                    self.bind(opened);
                }
            }
            Input::Resolved { waiter, real } => {
                let verdict = self.approvals.paths_resolved(&mut self.journal, waiter, &real);
                self.follow(verdict);
            }
            Input::RememberedChanged { by, outcome } => {
                self.approvals.remembered_changed(&mut self.journal, by, outcome)
            }
            Input::Command { call, by, command } => self.handle_command(call, by, command),
            Input::Agent(event) => self.handle_agent(event),
            Input::AgentExited(gone) => self.handle_agent_exit(&gone),
            Input::Host { call, result } => self.host_replied(call, result),
            Input::EditorAnswered {
                connection,
                call,
                result,
            } => self
                .callbacks
                .editor_answered(&mut self.journal, &connection, call, result),
            Input::EditorGone { connection, unsent } => {
                self.callbacks
                    .editor_gone(&mut self.journal, &connection, &unsent);
            }
            Input::Terminal { terminal_id, event } => {
                self.callbacks
                    .handle_terminal(&mut self.journal, &terminal_id, event)
            }
        }
        self.journal.emit_turn_diff();
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Now) {
        self.journal.set_now(now);
        if self.journal.live().is_deleted() {
            return;
        }
        self.journal.expire();
        if self.cancel_deadline.is_some_and(|at| at <= now.mono) {
            self.cancel_timed_out();
        }
        if self.silence_deadline().is_some_and(|at| at <= now.mono) {
            self.handle_silence();
        }
        self.callbacks.expire(&mut self.journal);
        if self.watchdog.start_is_due(now.mono) {
            self.wake();
        }
    }

    /// What happened: to be appended, then shown to whoever watches. `taken` is emptied and filled, and what it
    /// has room for serves for the events to come.
    pub fn take_events(&mut self, taken: &mut Vec<Event>) {
        self.journal.take_events(taken);
    }

    /// Content that events name, to be stored before they are.
    pub fn take_blobs(&mut self) -> Vec<Vec<u8>> {
        self.journal.take_blobs()
    }

    /// What is to be done next, once all events so far are stored.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.journal.poll_effect()
    }

    /// How many events and effects wait to be taken.
    pub fn waiting(&self) -> usize {
        self.journal.waiting()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) at the latest.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let waiting = earliest(self.journal.deadline(), self.callbacks.deadline());
        let waiting = earliest(waiting, self.cancel_deadline);
        earliest(
            waiting,
            earliest(self.silence_deadline(), self.watchdog.start_at()),
        )
    }

    /// The summary, if it changed since the last call.
    pub fn take_summary(&mut self) -> Option<&Summary> {
        self.journal.take_summary()
    }

    /// What is known of the thread.
    pub fn live(&self) -> &Live {
        self.journal.live()
    }

    /// The policies of the configuration from now on.
    pub fn set_policies(&mut self, policies: Arc<Policies>) {
        self.approvals.set_policies(policies);
    }

    /// Whether something that was begun will still change what is known, though nobody may wait for it.
    pub fn has_pending_work(&self) -> bool {
        self.callbacks.has_pending_work()
    }

    /// Whether an agent's process runs or is about to.
    pub fn has_agent(&self) -> bool {
        self.agent != AgentState::Absent
    }

    fn handle_command(&mut self, call: u64, by: Origin, command: Command) {
        let result = match command {
            Command::Create {
                spec,
                name,
                project_id,
                metadata,
            } => {
                let kind = EventKind::ThreadCreated(Box::new(ThreadCreated {
                    agent: spec.agent,
                    cwd: spec.cwd,
                    name,
                    project_id,
                    metadata,
                    additional_directories: spec.additional_directories,
                    real_directories: spec.real_directories,
                    mcp_servers: spec.mcp_servers,
                    meta: spec.meta,
                    members: spec.members,
                    session_id: spec.session_id,
                }));
                self.journal.emit_in(None, by, kind, None);
                self.name_linked_directories();
                self.ready_waiters.push(call);
                self.wake();
                return;
            }
            Command::SetSessionParams(change) => self.set_session_params(by, change),
            Command::Wake if self.check_accepts_turns().is_err() => Ok(Reply::Done),
            Command::Wake => {
                self.restart_wanted = self.agent == AgentState::Stopping;
                self.wake();
                Ok(Reply::Done)
            }
            Command::StartTurn {
                input,
                meta,
                client_turn_id,
            } => {
                let prompt = UnsentPrompt { blocks: input, meta };
                self.start_turn(by, prompt, client_turn_id).map(Reply::Turn)
            }
            Command::Steer { input, turn } => return self.steer(call, by, input, turn),
            Command::Change(change) => self.change(by, change),
            Command::Delete => return self.delete(call, by),
            Command::Fork { turn } => return self.fork(call, by, turn),
            Command::Adopt(adopted) => self.adopt(&by, *adopted),
            Command::Interrupt { turn } => self.interrupt(&by, turn).map(|()| Reply::Done),
            Command::Answer {
                request,
                answer,
                scope,
            } => self.answer(by, request, &answer, scope).map(|()| Reply::Done),
            Command::Explain { tool_call, sight } => {
                return self.approvals.explain(&mut self.journal, call, tool_call, sight);
            }
            Command::SetPolicy(policy) => self.approvals.set_policy(&mut self.journal, by, policy),
            Command::Remembered => Ok(self.approvals.remembered(self.journal.live())),
            Command::Revoke { id } => return self.approvals.revoke(&mut self.journal, call, by, id),
            Command::AgentRequest(request) => match self.check_accepts_turns() {
                Ok(()) => return self.request_agent(call, by, request),
                Err(failure) => Err(failure),
            },
            Command::Notify { method, params } => self.notify_agent(method, params),
            Command::Attach {
                connection,
                abilities,
            } => Ok(self
                .callbacks
                .attach(&mut self.journal, by, &connection, abilities)),
            Command::AcquireLease { connection } => {
                self.callbacks.acquire_lease(&mut self.journal, by, &connection)
            }
            Command::ReleaseLease { connection } => {
                self.callbacks.release_lease(&mut self.journal, by, &connection)
            }
            Command::Rest => {
                self.stop_if_idle();
                Ok(Reply::Done)
            }
            Command::Stop => {
                self.stop();
                Ok(Reply::Done)
            }
        };
        self.journal.reply(call, result);
    }

    fn handle_agent(&mut self, event: AgentEvent) {
        match event {
            // Said to whoever started it without a session.
            AgentEvent::Initialized(_) => {}
            AgentEvent::Opened(opened) => self.agent_opened(*opened),
            AgentEvent::ResumeStarted(how) => self.resume.trying = Some(how),
            AgentEvent::Replayed(update) => self.import.push(update),
            AgentEvent::ResumeFailed { how, error, late } => {
                self.discard_import();
                self.resume_failed(how, &error, late);
            }
            AgentEvent::SignInRequired(failure) => self.sign_in_required(&failure),
            AgentEvent::Answered { ask, result } => self.agent_answered(ask, result),
            AgentEvent::Failed(failure) => self.agent_failed(&failure),
            AgentEvent::Update(update) if self.has_dropped_session() => self.note_unshown(update),
            AgentEvent::Update(update) => self.handle_update(update),
            AgentEvent::PromptEnded { turn, result } => self.prompt_ended(turn, result),
            AgentEvent::CallbackReceived {
                call,
                request,
                params,
            } => {
                let call = self.callbacks.count(call);
                self.handle_call(call, request, params);
            }
            AgentEvent::CallbackWithdrawn { call } => self.call_withdrawn(call),
            AgentEvent::CallbackRefused {
                call,
                method,
                error,
                params,
            } => {
                let call = self.callbacks.count(call);
                let kind = EventKind::CallRefused {
                    method,
                    reason: error.message.clone(),
                };
                self.journal.emit(Origin::Daemon, kind, params);
                self.callbacks.answer(&mut self.journal, call, Err(error));
            }
            AgentEvent::Foreign { params } => self.foreign_update(params),
            AgentEvent::Notified { method, params } => {
                self.journal
                    .emit(Origin::Agent, EventKind::AgentNotified { method }, params);
            }
            AgentEvent::Retiring => self.stop_if_idle(),
            AgentEvent::Malformed { reason, text, bytes } => {
                self.journal.emit(
                    Origin::Agent,
                    EventKind::LineMalformed { reason, text, bytes },
                    None,
                );
            }
        }
    }

    /// What is odd about the agent that is there.
    pub(super) fn quirks(&self) -> Quirks {
        let capabilities = self.capabilities.as_ref();
        capabilities.map_or_else(Quirks::default, |capabilities| capabilities.quirks)
    }
}
