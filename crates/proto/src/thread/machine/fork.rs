//! Forks. The thread returns the fork point, and the new thread begins with the state at that point. It shares the events
//! before it with its origin.

use acpd_model::event::{Fidelity, Level, ThreadForked};
use acpd_model::{
    ErrorCode, EventKind, Failure, Inherited, ItemOutcome, Origin, RawJson, Seq, SessionEvent, ThreadEvent,
    TurnId,
};
use acpd_policy::{RememberedRule, Scope};
use serde::Deserialize;

use super::Thread;
use super::lifecycle::clean_name;
use crate::agent::AgentRequest;
use crate::agent::bounds::is_name;
use crate::thread::approval::adopt_rules;
use crate::thread::reply::{ForkContents, ForkPoint, Reply};
use crate::thread::session::{Continuation, adopt_choices, history_fidelity};
use crate::thread::turn::{TurnResult, settle_queued};

impl Thread {
    /// Returns the fork point: after `turn`, or after the last finished turn. If the fork includes the whole thread, or the agent has
    /// a cursor there, the agent is first asked to fork its session.
    pub(super) fn fork(&mut self, call: u64, by: Origin, turn: Option<TurnId>) {
        let last = match self
            .session
            .check_not_deleted()
            .and_then(|()| self.last_to_copy(turn))
        {
            Ok(last) => last,
            Err(failure) => return self.journal.reply(call, Err(failure)),
        };
        let mut point = ThreadForked {
            from: self.live().thread,
            last,
            session_id: None,
            fidelity: Fidelity::Exact,
        };
        let rests = self.live().turn.is_none() && self.live().queue.is_empty();
        let whole = rests && last.is_some() && last == self.live().last_kept();
        let cursor = last.filter(|_| !whole).and_then(|last| self.cursor_after(last));
        if whole && self.can_fork_session() || cursor.is_some() {
            let at_cursor = cursor.is_some();
            let then = Continuation::Fork { point, at_cursor };
            return self.request_agent(call, by, AgentRequest::ForkSession { cursor }, Some(then));
        }
        if last.is_some() {
            match history_fidelity(&self.journal) {
                Ok(fidelity) => point.fidelity = fidelity,
                Err(failure) => return self.journal.reply(call, Err(failure)),
            }
        }
        let point = self.fork_point(point);
        self.journal.reply(call, Ok(Reply::Fork(Box::new(point))));
    }

    /// Returns whether the agent can fork the session of the thread, which has its conversation.
    fn can_fork_session(&self) -> bool {
        let live = self.live();
        live.declared.fork && live.summary.session_id.is_some() && !live.forgotten
    }

    /// Returns the cursor at which the agent can fork its session so that it ends with `turn`.
    pub(super) fn cursor_after(&self, turn: TurnId) -> Option<String> {
        let cursor = self.live().cursors.fork_after(turn);
        cursor.filter(|_| self.can_fork_session()).map(str::to_owned)
    }

    fn last_to_copy(&self, turn: Option<TurnId>) -> Result<Option<TurnId>, Failure> {
        let waiting = self.live().queue.iter().map(|queued| queued.id);
        let unsettled = self.journal.current_turn().into_iter().chain(waiting).min();
        let is_over = |turn: TurnId| unsettled.is_none_or(|unsettled| turn < unsettled);
        let Some(turn) = turn else {
            let turns = (1..=self.live().last_turn).rev().map(TurnId);
            let mut kept = turns.filter(|turn| is_over(*turn) && !self.live().dropped.contains(*turn));
            return Ok(kept.next());
        };
        self.check_kept(turn)?;
        if is_over(turn) {
            return Ok(Some(turn));
        }
        let message = format!("{turn}, or one before it, is not over");
        Err(Failure::new(ErrorCode::Conflict, message))
    }

    /// Builds the fork point with the current directories, params, policy, answers and choices, not those at that turn. Otherwise a fork could
    /// bypass a policy, or begin in a looser mode.
    fn fork_point(&mut self, forked: ThreadForked) -> ForkPoint {
        let until = self.end_of_whole(forked.last);
        let lasting = |rule: &&RememberedRule| rule.scope != Scope::Session;
        ForkPoint {
            forked,
            until,
            directories: self.live().spec.place(),
            params: self.live().spec.params.clone(),
            policy: self.live().policy.clone(),
            remembered: self.live().remembered.iter().filter(lasting).cloned().collect(),
            choices: self.live().choices.clone(),
            name: self.live().names.person.clone(),
        }
    }

    /// Returns the last event of the thread if a fork after `last` is one of all its turns. It shares what the agent has sent after the
    /// end of its last turn, which would be lost otherwise.
    fn end_of_whole(&mut self, last: Option<TurnId>) -> Option<Seq> {
        if last != Some(TurnId(self.live().last_turn)) {
            return None;
        }
        self.messages.end_late(&mut self.journal);
        Some(self.live().last_seq)
    }

    /// Creates this thread from another thread's state.
    pub(super) fn adopt(&mut self, by: &Origin, adopted: ForkContents) -> Result<Reply, Failure> {
        let ForkContents {
            mut live,
            point,
            name,
        } = adopted;
        let ForkPoint {
            forked,
            until: _,
            directories,
            params,
            policy,
            remembered,
            choices,
            name: inherited_name,
        } = point;
        let name = name.as_deref().map(clean_name).transpose()?;
        // The thread may have been renamed after the point where it is forked.
        let name = name.or_else(|| inherited_name.filter(|name| live.names.person.as_ref() != Some(name)));
        live.readdress(self.live().thread);
        let inherited = Inherited {
            from: forked.from,
            until: live.last_seq,
        };
        self.journal.inherit(inherited, *live);
        // They work in the original thread. The log says so, as its readers know no other end of theirs.
        self.stop_subagents();
        self.drop_later_turns(forked.last);
        self.callbacks.void_lease(&mut self.journal);
        if self.live().summary.archived {
            self.journal.emit_in(
                None,
                by.clone(),
                EventKind::Thread(ThreadEvent::Unarchived {}),
                None,
            );
        }
        if self.live().summary.pinned {
            let kind = EventKind::Thread(ThreadEvent::PinSet {
                pinned: false,
                place: None,
            });
            self.journal.emit_in(None, by.clone(), kind, None);
        }
        self.journal.emit_in(
            None,
            by.clone(),
            EventKind::Thread(ThreadEvent::Forked(Box::new(forked))),
            None,
        );
        self.close_items(ItemOutcome::Failed);
        self.callbacks.close_terminals(&mut self.journal);
        self.void_requests("the thread was split off");
        // The thread may have moved after that point, and its agent must not work in the place of before.
        if self.live().spec.place() != directories {
            let kind = EventKind::Thread(ThreadEvent::DirectoriesSet(Box::new(directories)));
            self.journal.emit_in(None, by.clone(), kind, None);
        }
        if self.live().spec.params != params {
            let kind = EventKind::Session(SessionEvent::ParamsSet(Box::new(params)));
            self.journal.emit_in(None, by.clone(), kind, None);
        }
        adopt_rules(&mut self.journal, policy, &remembered);
        adopt_choices(&mut self.journal, by, choices);
        if name.is_some() {
            self.rename(by.clone(), name.as_deref())?;
        }
        self.journal.note_status();
        Ok(Reply::Done)
    }

    /// Drops turns that were queued at the fork point.
    fn drop_later_turns(&mut self, last: Option<TurnId>) {
        let queued: Vec<TurnId> = self.live().queue.iter().map(|queued| queued.id).collect();
        for turn in queued {
            settle_queued(
                &mut self.journal,
                turn,
                TurnResult::interrupted(),
                &Origin::Daemon,
            );
        }
        if self.live().last_kept() > last {
            let kind = EventKind::Thread(ThreadEvent::TurnsRolledBack {
                last_kept: last,
                fidelity: Fidelity::Exact,
                session_id: None,
            });
            self.journal.emit_in(None, Origin::Daemon, kind, None);
        }
    }

    /// Replies with the fork point, now that the agent has forked its session or rejected the request.
    pub(super) fn fork_answered(
        &mut self,
        call: u64,
        mut point: ThreadForked,
        at_cursor: bool,
        answer: Result<RawJson, Failure>,
    ) {
        let forgets = self.session.would_forget_copy();
        match self.forked_session(call, at_cursor.then_some(forgets), answer) {
            Some(session_id) => (point.session_id, point.fidelity) = (Some(session_id), Fidelity::Exact),
            None => match history_fidelity(&self.journal) {
                Ok(fidelity) => point.fidelity = fidelity,
                Err(failure) => return self.journal.reply(call, Err(failure)),
            },
        }
        let point = self.fork_point(point);
        self.journal.reply(call, Ok(Reply::Fork(Box::new(point))));
    }

    /// Returns the fork of the agent's session, closed for now, if it has the conversation and can be opened again. At a cursor, `forgets`
    /// says whether another process could not open it, and why there is none is recorded.
    pub(super) fn forked_session(
        &mut self,
        call: u64,
        forgets: Option<bool>,
        answer: Result<RawJson, Failure>,
    ) -> Option<String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Forked {
            session_id: String,
        }
        let own = self.live().summary.session_id.as_deref();
        let forked = answer.and_then(|answer| {
            let named = answer.read::<Forked>().map(|forked| forked.session_id);
            match named.ok().filter(|session| is_name(session)) {
                Some(session) if own == Some(&*session) => Err(Failure::agent(
                    "the agent's answer to session/fork names the session itself",
                )),
                Some(session) => Ok(session),
                None => Err(Failure::agent(
                    "the agent's answer to session/fork names no session",
                )),
            }
        });
        // If the agent lost the conversation and started a new session, the forked session lacks it, too.
        let lost = if self.live().forgotten {
            Some("the agent has lost the conversation")
        } else if forgets == Some(true) {
            Some("the agent cannot open the fork of its session in another process")
        } else {
            None
        };
        let forked = match (forked, lost) {
            (Ok(session_id), None) => Ok(session_id),
            (Ok(_), Some(lost)) => Err(Failure::agent(lost)),
            (Err(failure), _) => Err(failure),
        };
        match forked {
            Ok(session_id) => {
                self.session
                    .close_copy(&mut self.journal, call, session_id.clone());
                Some(session_id)
            }
            Err(failure) => {
                if forgets.is_some() {
                    let message = format!(
                        "The agent did not fork its session after the kept turns, so it will not remember them exactly: {failure}"
                    );
                    self.journal.notice(Level::Warning, "cursorRefused", &message);
                }
                None
            }
        }
    }
}
