//! Turns, as results and notifications contain them.

use acpd_model::event::{DiffSize, PlanEntry};
use acpd_model::{Millis, RawJson, TurnId};

use super::At;
use super::notice::{Notice, PlacedNotice};
use super::question::{PlacedAnswer, Resolved};
use super::words::TurnStatus;
use crate::projection::{self, Item, Note};
use crate::thread::TurnView;

#[cfg(test)]
use crate::surface::app::describe::Acp;

wire! {
    /// One prompt and everything that the agent did until the turn ended; or commands that users ran in between.
    struct Turn<'a> {
        /// Id of the turn. Items outside of any turn are in a turn without an id.
        id: Option<TurnId>,
        status: TurnStatus,
        /// The client's own id for the turn.
        client_turn_id: Option<&'a String>,
        /// Whether the turn took place in the agent's session outside of acpd and was imported. It is already over.
        imported: Option<bool>,
        /// ACP's stop reason, as the agent sent it.
        stop_reason: Option<&'a String>,
        /// Why the turn failed, in one sentence.
        error: Option<&'a String>,
        /// Milliseconds since the epoch.
        started_at: Option<Millis> as Option<u64>,
        /// Milliseconds since the epoch.
        completed_at: Option<Millis> as Option<u64>,
        /// The token usage that the agent reported.
        token_usage: Option<&'a RawJson> as Option<Acp>,
        /// The size of the turn's diff, which `turn/diff/read` returns. Absent if the turn has changed no file, while it
        /// runs, and in logs from before this member existed.
        changes: Option<DiffSize>,
        /// The plan with steps that the agent changed last in the turn; only if the request includes turns. Absent in logs from
        /// before this member existed.
        plan: Option<&'a [PlanEntry]>,
        /// All plans that the agent changed in the turn, in the order in which they came; only if the request includes turns. Absent
        /// if `plan` is the only one, and has no id.
        plans: Option<&'a [projection::Plan]>,
        /// ACP content blocks of the prompt, while the turn is queued, and if it ended without a start.
        input: Option<&'a [RawJson]> as Option<Vec<Acp>>,
        /// Notices, in order; only if the request includes turns. There are at most 16 notices and answers after an item, and
        /// after the end of the turn.
        notices: Option<Vec<PlacedNotice<'a>>>,
        /// Answers to questions, in order; only if the request includes turns.
        answers: Option<Vec<PlacedAnswer<'a>>>,
        /// Number of calls that the policy allowed without a permission request. Absent in logs from before this member existed.
        permitted: Option<u32> as Option<u64>,
        /// Milliseconds in which a question waited for its answer; while the turn runs, without the present wait. The rest of the
        /// turn's time is that of the agent. Absent for none, and in logs from before this member existed.
        waited_ms: Option<u64>,
        /// When the present wait began, in milliseconds since the epoch. Only while the turn runs and a question is open.
        waiting_since: Option<Millis> as Option<u64>,
        /// Items in the order in which they started; only if the request includes turns.
        items: Option<&'a [Item]>,
    }

    /// The size of a diff.
    struct DiffSize for DiffSize {
        /// Number of changed files.
        files: u32 as u64,
        /// Number of added lines.
        added: u32 as u64,
        /// Number of removed lines.
        removed: u32 as u64,
        /// Whether there are changes that the diff does not show.
        incomplete: bool,
    }
}

impl<'a> Turn<'a> {
    /// Describes a turn of which only the status is known.
    pub fn with_status(id: Option<TurnId>, status: TurnStatus) -> Self {
        Self {
            id,
            status,
            client_turn_id: None,
            imported: None,
            stop_reason: None,
            error: None,
            started_at: None,
            completed_at: None,
            token_usage: None,
            changes: None,
            plan: None,
            plans: None,
            input: None,
            notices: None,
            answers: None,
            permitted: None,
            waited_ms: None,
            waiting_since: None,
            items: None,
        }
    }

    /// Describes a turn that a client has just started or queued.
    pub fn started(turn: &TurnView) -> Self {
        let status = match turn.status {
            Some(status) => status.into(),
            None if turn.queued => TurnStatus::Queued,
            None => TurnStatus::Running,
        };
        Self {
            started_at: turn.started_at,
            ..Self::with_status(Some(turn.id), status)
        }
    }

    /// Describes a turn with its items.
    fn whole(turn: &'a projection::Turn) -> Self {
        let settled = turn.settled.as_ref();
        let status = match (settled, turn.started_at) {
            (Some(settled), _) => settled.status.into(),
            (None, Some(_)) => TurnStatus::Running,
            (None, None) => TurnStatus::Queued,
        };
        let notes = || turn.notes.iter();
        let at = |note: &'a Note| At::of(&note.thread, &note.event);
        let ends = |note: &Note| note.after_turn.then_some(true);
        let notices = notes().filter_map(|note| {
            Some(PlacedNotice::new(
                Notice::of(at(note), &note.event)?,
                note.after,
                ends(note),
            ))
        });
        let notices: Vec<_> = notices.collect();
        let answers: Vec<_> = notes()
            .filter_map(|note| {
                Some(PlacedAnswer::new(
                    Resolved::of(at(note), &note.event)?,
                    note.after,
                    ends(note),
                ))
            })
            .collect();
        Self {
            client_turn_id: turn.client_turn_id.as_ref(),
            imported: turn.imported.then_some(true),
            stop_reason: settled.and_then(|settled| settled.stop_reason.as_ref()),
            error: settled.and_then(|settled| settled.error.as_ref()),
            started_at: turn.started_at,
            completed_at: settled.map(|settled| settled.at),
            token_usage: settled.and_then(|settled| settled.usage.as_ref()),
            changes: settled.and_then(|settled| settled.changes),
            plan: turn.plans.latest_steps().map(|plan| &*plan.entries),
            plans: Some(turn.plans.as_slice()).filter(|_| !turn.plans.is_plain()),
            input: Some(&*turn.input).filter(|input| !input.is_empty()),
            notices: Some(notices).filter(|notices| !notices.is_empty()),
            answers: Some(answers).filter(|answers| !answers.is_empty()),
            permitted: Some(turn.permitted).filter(|permitted| *permitted > 0),
            waited_ms: Some(turn.waited_ms).filter(|waited| *waited > 0),
            waiting_since: turn.waiting_since,
            items: Some(&turn.items),
            ..Self::with_status(turn.id, status)
        }
    }
}

shown! { projection::Turn as Turn, |turn| Turn::whole(turn) }
