//! The state machine of a thread: connects the thread's parts.
//!
//! In: inputs, time, outcomes of the parts. Out: calls of the parts, in the order of the inputs. Owns: the parts,
//! which hold the state. Never: decides what a part can decide alone.

mod agent;
mod calls;
mod commands;
mod fork;
mod import;
mod lifecycle;
mod plans;
mod queue;
mod steer;
mod subagents;
mod turns;
mod updates;
mod user_commands;

use std::sync::Arc;

use acpd_model::event::{Level, TurnStatus};
use acpd_model::{Event, Failure, Inherited, Limits, Origin, RawJson, Summary, ThreadId, TurnId, TurnMarks};

use super::approval::{Approvals, Policies};
use super::callback::Callbacks;
use super::effect::{Deletion, Effect, Waiter};
use super::input::{AccessDenied, Input};
use super::journal::Journal;
use super::message::Messages;
use super::session::{Session, reset_directory};
use super::subagents::Subagents;
use super::tool_call::ToolCalls;
use super::turn::{TurnResult, Turns};
use crate::agent::AgentEvent;
use crate::projection::{DIRECTORY_GONE, Live};
use crate::time::{Deadline, Instant, Now, because};

/// The state machine of one thread.
#[derive(Debug)]
pub struct Thread {
    journal: Journal,
    session: Session,
    messages: Messages,
    callbacks: Callbacks,
    approvals: Approvals,
    tool_calls: ToolCalls,
    turns: Turns,
    /// Whether a notice since the thread's start says that it has too many plans.
    says_plans_dropped: bool,
    subagents: Subagents,
}

impl Thread {
    /// Creates the state of a thread without events; [`Command::Create`](super::Command::Create) creates the thread.
    pub fn new(id: ThreadId, limits: impl Into<Arc<Limits>>, now: Now) -> Self {
        Self {
            journal: Journal::new(id, limits.into(), now),
            session: Session::default(),
            messages: Messages::default(),
            callbacks: Callbacks::default(),
            approvals: Approvals::default(),
            tool_calls: ToolCalls::default(),
            turns: Turns::default(),
            says_plans_dropped: false,
            subagents: Subagents::default(),
        }
    }

    /// Continues from a state of the thread, instead of replaying the events up to it.
    pub fn restore(&mut self, live: Live) {
        self.journal.restore(live);
    }

    /// Replays one event of the log. After the last one, call [`recover`](Self::recover).
    pub fn replay(&mut self, event: &Event) {
        self.journal.replay(event);
    }

    /// Recovers after a restart: ends the work that the previous process left unfinished, and records that.
    pub fn recover(&mut self, now: Now) {
        self.recover_from(
            agent::DAEMON_STOPPED,
            agent::RESTARTED,
            TurnStatus::Interrupted,
            now,
        );
    }

    /// Recovers after the log has failed: ends the work whose events were not stored, with this reason.
    pub fn recover_from_log(&mut self, reason: &str, now: Now) {
        self.recover_from(agent::LOG_FAILED, reason, TurnStatus::Failed, now);
    }

    fn recover_from(&mut self, code: &str, reason: &str, status: TurnStatus, now: Now) {
        self.journal.set_now(now);
        if self.live().is_deleted() {
            return self.journal.push(Effect::Delete {
                call: None,
                by: Origin::Daemon,
                reason: Deletion::Interrupted,
            });
        }
        self.callbacks.recover(self.live().last_terminal);
        self.callbacks.void_lease(&mut self.journal);
        self.note_interrupted(code, reason);
        self.abandon(reason, status, &Origin::Daemon, true);
    }

    /// Handles one input.
    pub fn handle(&mut self, input: Input, now: Now) {
        self.journal.set_now(now);
        if is_progress(&input) {
            self.session.record_activity(&self.journal);
        }
        if matches!(input, Input::Agent(_)) {
            self.end_overdue_turn();
        }
        if self.live().is_deleted() {
            // `threadDeleted` is the last event, so later inputs are ignored.
            if let Input::Command { call, .. } = input {
                let not_found = Failure::not_found(format!("thread {}", self.live().thread));
                self.journal.reply(call, Err(not_found));
            }
            return;
        }
        match input {
            Input::HistoryCollected(collected) => {
                self.session.history_collected(&mut self.journal, collected);
                self.prompt_if_ready();
            }
            Input::ExchangesCollected(known) => self.exchanges_collected(known),
            Input::Resolved { waiter, real } => {
                let lane = match &waiter {
                    Waiter::Call(call) => self.callbacks.lane_of(*call),
                    Waiter::Explain { .. } | Waiter::UserCommand(_) => None,
                };
                self.in_lane(lane, |thread| {
                    let next = thread
                        .approvals
                        .paths_resolved(&mut thread.journal, waiter, &real);
                    thread.follow(next);
                });
            }
            Input::RememberedChanged { by, outcome } => {
                self.approvals.remembered_changed(&mut self.journal, by, outcome)
            }
            Input::Command { call, by, command } => self.handle_command(call, by, command),
            Input::Agent(event) => self.handle_agent(event),
            Input::AgentExited(exit) => self.handle_agent_exit(&exit),
            Input::Host { call, result } => {
                let lane = self.callbacks.lane_of(call);
                self.in_lane(lane, |thread| thread.host_replied(call, result));
            }
            Input::EditorAnswered {
                connection,
                call,
                result,
            } => {
                let lane = self.callbacks.lane_of(call);
                self.in_lane(lane, |thread| {
                    thread
                        .callbacks
                        .editor_answered(&mut thread.journal, &connection, call, result);
                });
            }
            Input::EditorGone { connection, unsent } => {
                self.callbacks
                    .editor_gone(&mut self.journal, &connection, &unsent);
            }
            Input::Terminal { terminal_id, event } => {
                self.callbacks
                    .handle_terminal(&mut self.journal, &terminal_id, event);
                self.settle_commands(TurnResult::completed());
            }
        }
        self.session.follow_questions(&mut self.journal);
    }

    /// Handles all expired deadlines.
    pub fn handle_timeout(&mut self, now: Now) {
        self.journal.set_now(now);
        if self.live().is_deleted() {
            return;
        }
        self.journal.expire();
        if self.turns.cancel_deadline().is_some_and(|at| at <= now.mono) {
            self.cancel_timed_out();
        }
        if self.silence_deadline().is_some_and(|at| at <= now.mono) {
            self.handle_silence();
        }
        self.callbacks.expire(&mut self.journal);
        if self.end_deadline().is_some_and(|at| at <= now.mono) {
            self.end_turn();
        }
        self.end_late();
        if self.session.start_at().is_some_and(|at| at <= now.mono) {
            self.wake();
        }
        self.session.follow_questions(&mut self.journal);
    }

    /// Returns when the running turn ends by itself.
    pub fn turn_end(&self) -> Option<Instant> {
        self.end_deadline()
    }

    /// Ends the running turn if its time is over. While the daemon stops, nothing else is due: no agent starts any more.
    pub fn handle_turn_end(&mut self, now: Now) {
        self.journal.set_now(now);
        if self.end_deadline().is_some_and(|at| at <= now.mono) {
            self.end_turn();
        }
    }

    /// Moves the new events into `taken`: the caller appends them to the log, then sends them to subscribers. `taken`
    /// is cleared first, and its allocation is reused.
    pub fn take_events(&mut self, taken: &mut Vec<Event>) {
        self.journal.take_events(taken);
    }

    /// Returns the places of the turns and items in the events that were taken.
    pub fn take_marks(&mut self) -> TurnMarks {
        self.journal.take_marks()
    }

    /// Returns whether nothing of this thread is stored yet, and it begins with events of another one.
    pub fn is_new_fork(&self) -> bool {
        self.journal.is_new_fork()
    }

    /// Returns the events of another thread that come before the first event that was taken. The caller stores both
    /// together.
    pub fn take_inherited(&mut self) -> Option<Inherited> {
        self.journal.take_inherited()
    }

    /// Returns blobs that events refer to; the caller must store them before the events.
    pub fn take_blobs(&mut self) -> Vec<Vec<u8>> {
        self.journal.take_blobs()
    }

    /// Returns the next effect. The caller must carry it out only after all events so far are stored.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.journal.poll_effect()
    }

    /// Returns the number of events and effects that wait to be polled.
    pub fn waiting(&self) -> usize {
        self.journal.waiting()
    }

    /// Returns whether there is room for more events before those that wait are stored.
    pub fn has_room(&self) -> bool {
        self.journal.has_room()
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout) at the latest.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.poll_deadline().map(|(at, _)| at)
    }

    /// Returns the deadline of [`poll_timeout`](Self::poll_timeout) with its reason.
    pub fn poll_deadline(&self) -> Option<Deadline> {
        let deadlines = [
            self.journal.deadline(),
            self.callbacks.deadline(),
            because(
                self.turns.cancel_deadline(),
                "the agent must end a cancelled turn",
            ),
            because(self.silence_deadline(), "the agent must send something"),
            because(self.session.start_at(), "the agent may start again"),
            because(self.end_deadline(), "the agent may send more of its turn"),
            because(self.late_deadline(), "the agent may send more of an ended turn"),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// Returns the summary, if it changed since the last call.
    pub fn take_summary(&mut self) -> Option<&Summary> {
        self.journal.take_summary()
    }

    /// Returns the view of the thread.
    pub fn live(&self) -> &Live {
        self.journal.live()
    }

    /// Replaces the policies of the configuration.
    pub fn set_policies(&mut self, policies: Arc<Policies>) {
        self.approvals.set_policies(policies);
    }

    /// Returns `_meta` of the turn's prompt, if the turn runs and its prompt was not sent to the agent yet.
    pub fn unsent_meta(&self, turn: TurnId) -> Option<&RawJson> {
        let runs = self.live().turn.is_some_and(|running| running.id == turn);
        self.turns.unsent_meta().filter(|_| runs)
    }

    /// Returns whether pending work can still change the thread, even if no client waits for it.
    pub fn has_pending_work(&self) -> bool {
        self.callbacks.has_pending_work()
    }

    /// Sets whether chunks are recorded separately, for threads whose client did not choose.
    pub fn set_single_chunks(&mut self, single: bool) {
        self.journal.set_single_chunks(single);
    }

    /// Resets the session's directory to the thread's own, because the one that a client set no longer exists.
    /// Returns the directory.
    pub fn session_directory_gone(&mut self, now: Now) -> String {
        self.journal.set_now(now);
        reset_directory(&mut self.journal)
    }

    /// Records that the agent was denied a path.
    pub fn access_denied(&mut self, denied: AccessDenied, now: Now) {
        self.journal.set_now(now);
        self.journal.emit(Origin::Daemon, denied.into_event(), None);
    }

    /// Records that the directory of the thread is gone while its agent runs, once in a turn. The detail of `gone` is what the
    /// user can do.
    pub fn directory_gone(&mut self, gone: Failure, now: Now) {
        if self.live().is_deleted() || self.live().says_directory_gone {
            return;
        }
        self.journal.set_now(now);
        self.journal
            .detailed_notice(Level::Warning, DIRECTORY_GONE, &gone.message, gone.detail);
    }

    /// Returns whether the agent runs and has nothing to do.
    pub fn is_idle(&self) -> bool {
        self.session.is_idle(&self.journal)
    }

    /// Returns whether the agent was asked to stop.
    pub fn is_stopping(&self) -> bool {
        self.session.is_stopping()
    }

    /// Returns whether a new process of the agent could not resume the current session.
    pub fn would_forget(&self) -> bool {
        self.session.would_forget()
    }

    /// Returns whether an agent's process runs or is starting.
    pub fn has_agent(&self) -> bool {
        self.session.has_agent()
    }
}

/// Returns whether an input shows that the agent works. The silence limit counts from the last one. Updates show that
/// only if they have something new, see `handle_update`.
fn is_progress(input: &Input) -> bool {
    match input {
        Input::Agent(event) => !matches!(
            event,
            AgentEvent::Update(_)
                | AgentEvent::Foreign { .. }
                | AgentEvent::Notified { .. }
                | AgentEvent::CallbackRefused { .. }
                | AgentEvent::Retiring
                | AgentEvent::Malformed { .. }
        ),
        Input::Host { .. } | Input::EditorAnswered { .. } => true,
        _ => false,
    }
}
