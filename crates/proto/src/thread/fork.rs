//! Splitting a thread off another one. The other thread says where, [`ThreadCopy`] takes its events over, and the new thread
//! adopts them.

use acpd_model::event::{Fidelity, ThreadForked};
use acpd_model::{ErrorCode, Event, EventKind, Failure, ItemOutcome, Origin, RequestId, ThreadId, TurnId};

use super::command::{ForkContents, ForkPoint, Reply};
use super::continuations::Continuation;
use super::lifecycle::clean_name;
use super::thread::Thread;
use crate::agent::AgentRequest;
use acpd_policy::{RememberedRule, Scope};

impl Thread {
    /// Says where another thread is split off: after `turn`, or after the last turn that is over. Where that is all of
    /// this thread, the agent is asked for a copy of its session.
    pub(super) fn fork(&mut self, call: u64, by: Origin, turn: Option<TurnId>) {
        let last = match self.check_not_deleted().and_then(|()| self.last_to_copy(turn)) {
            Ok(last) => last,
            Err(failure) => return self.journal.reply(call, Err(failure)),
        };
        let mut point = ThreadForked {
            from: self.journal.live().thread,
            last,
            session_id: None,
            fidelity: Fidelity::Exact,
        };
        let rests = self.journal.live().turn.is_none() && self.journal.live().queue.is_empty();
        let whole = rests && last.is_some() && last == self.journal.live().last_kept();
        if whole
            && self.journal.live().declared.fork
            && self.journal.live().summary.session_id.is_some()
            && !self.journal.live().forgotten
        {
            self.continuations.insert(call, Continuation::Fork(point));
            return self.request_agent(call, by, AgentRequest::ForkSession);
        }
        if last.is_some() {
            match self.history_fidelity() {
                Ok(fidelity) => point.fidelity = fidelity,
                Err(failure) => return self.journal.reply(call, Err(failure)),
            }
        }
        let point = self.fork_point(point);
        self.journal.reply(call, Ok(Reply::Fork(Box::new(point))));
    }

    fn last_to_copy(&self, turn: Option<TurnId>) -> Result<Option<TurnId>, Failure> {
        let waiting = self.journal.live().queue.iter().map(|queued| queued.id);
        let unsettled = self.journal.current_turn().into_iter().chain(waiting).min();
        let is_over = |turn: TurnId| unsettled.is_none_or(|unsettled| turn < unsettled);
        let Some(turn) = turn else {
            let turns = (1..=self.journal.live().last_turn).rev().map(TurnId);
            let mut kept =
                turns.filter(|turn| is_over(*turn) && !self.journal.live().dropped.contains(*turn));
            return Ok(kept.next());
        };
        self.check_kept(turn)?;
        if is_over(turn) {
            return Ok(Some(turn));
        }
        let message = format!("{turn}, or one before it, is not over");
        Err(Failure::new(ErrorCode::Conflict, message))
    }

    /// What the agent may do is as it is now, whatever it was at that turn: nobody gets around a policy by a fork.
    pub(super) fn fork_point(&self, forked: ThreadForked) -> ForkPoint {
        let lasting = |rule: &&RememberedRule| rule.scope != Scope::Session;
        ForkPoint {
            forked,
            policy: self.journal.live().policy.clone(),
            remembered: self
                .journal
                .live()
                .remembered
                .iter()
                .filter(lasting)
                .cloned()
                .collect(),
        }
    }

    /// Makes this thread of another one's events.
    pub(super) fn adopt(&mut self, by: &Origin, adopted: ForkContents) -> Result<Reply, Failure> {
        let ForkContents { events, point, name } = adopted;
        let ForkPoint {
            forked,
            policy,
            remembered,
        } = point;
        let name = name.as_deref().map(clean_name).transpose()?;
        for event in events {
            self.journal.take_over(event);
        }
        self.journal
            .emit_in(None, by.clone(), EventKind::ThreadForked(Box::new(forked)), None);
        self.close_items(ItemOutcome::Failed);
        self.callbacks.close_terminals(&mut self.journal);
        self.void_requests("the thread was split off");
        self.approvals.adopt(&mut self.journal, policy, &remembered);
        if name.is_some() {
            self.rename(by.clone(), name.as_deref())?;
        }
        self.journal.note_status();
        Ok(Reply::Done)
    }
}

/// The events of one thread as those of another.
#[derive(Debug)]
pub struct ThreadCopy {
    to: ThreadId,
    last: Option<TurnId>,
    settled: u32,
    is_whole: bool,
    events: Vec<Event>,
}

impl ThreadCopy {
    /// Begins a copy for the thread `to`, up to the end of the turn `last`, or of what was before any turn.
    pub fn new(to: ThreadId, last: Option<TurnId>) -> Self {
        Self {
            to,
            last,
            settled: 0,
            is_whole: false,
            events: Vec::new(),
        }
    }

    /// Takes the next event of the other thread, unless the copy is whole.
    pub fn fold(&mut self, event: &Event) {
        if self.last.is_none() && event.turn.is_some() {
            self.is_whole = true;
        }
        let later = event.turn.is_some() && event.turn > self.last;
        let unwanted = matches!(
            event.kind,
            EventKind::ThreadArchived {} | EventKind::ThreadUnarchived {} | EventKind::LeaseMoved { .. }
        );
        if self.is_whole || later || unwanted {
            return;
        }
        let mut copy = event.clone();
        copy.seq = self.events.len() as u64 + 1;
        self.readdress(&mut copy.kind);
        if matches!(copy.kind, EventKind::TurnSettled { .. }) {
            self.settled += 1;
            // All turns up to that one were settled when it was chosen, though perhaps in another order.
            self.is_whole = self.last.is_some_and(|last| self.settled == last.0);
        }
        self.events.push(copy);
    }

    /// Whether nothing more is wanted.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The copy.
    pub fn into_events(self) -> Vec<Event> {
        self.events
    }

    /// A question's id names its thread.
    fn readdress(&self, kind: &mut EventKind) {
        let thread = self.to;
        let readdress = |request: &mut RequestId| request.thread = thread;
        match kind {
            EventKind::PermissionRequested { request, .. }
            | EventKind::InputRequested { request, .. }
            | EventKind::RequestSettled { request, .. }
            | EventKind::RequestVoided { request, .. } => readdress(request),
            _ => {}
        }
    }
}
