//! Pages of a thread's turns, read from the events that describe them.

use std::collections::BTreeSet;
use std::sync::Arc;

use acpd_log::{LogError, SharedLog, TurnsWanted};
use acpd_model::limits::{TURNS_PAGE, TURNS_PAGE_BYTES};
use acpd_model::{Event, EventKind, Failure, Seq, ThreadId, TurnId, TurnPosition};
use acpd_proto::projection::{Live, Transcript, TurnsPage};
use acpd_proto::surface::reply::Reply;
use acpd_proto::surface::request::Turns;

use crate::service::Service;
use crate::thread::directory::log_failure;
use crate::thread::indexing::{find_turns, look_up};

/// Maximum number of unfinished items whose notes are on a page.
const OPEN_NOTED: usize = 64;

impl Service {
    /// Returns a page of a thread's turns at the event of `live`.
    pub async fn turns_page(&self, live: &Arc<Live>, wanted: Turns) -> Result<TurnsPage, Failure> {
        let live = Arc::clone(live);
        let page = self.context.read_log(|log| read_page(log, live, wanted)).await;
        page.map_err(|error| log_failure(&error))
    }

    /// Returns the diff of an ended turn.
    pub(super) async fn read_turn_diff(&self, thread: ThreadId, turn: TurnId) -> Result<Reply, Failure> {
        let read = self
            .context
            .read_log(move |log| async move { turn_diff(&log, thread, turn).await });
        match read.await.map_err(|error| log_failure(&error))? {
            Some(diff) => Ok(Reply::TurnDiff(diff)),
            None => Err(Failure::not_found(format!("a diff of {turn}"))),
        }
    }
}

async fn read_page(log: SharedLog, live: Arc<Live>, wanted: Turns) -> Result<TurnsPage, LogError> {
    let Turns { before, limit } = wanted;
    let wanted = TurnsWanted {
        before,
        turns: limit.unwrap_or(TURNS_PAGE),
        bytes: TURNS_PAGE_BYTES,
        until: live.last_seq,
        dropped: live.dropped.runs().collect(),
        open: live.items.keys().copied().take(OPEN_NOTED).collect(),
    };
    let found = find_turns(&log, live.thread, wanted).await?;
    let older = found.older;
    let dispensable = found.notes();
    let events = look_up_most(&log, live.thread, found.seqs(), |seq| dispensable.contains(&seq)).await?;
    let mut page = Transcript::new(live.thread);
    for event in &events {
        page.fold(event);
    }
    let plans = page
        .turns
        .iter()
        .filter_map(|turn| turn.settled.as_ref()?.plan)
        .collect();
    let plans = look_up_most(&log, live.thread, plans, |_| true).await?;
    page.add_plans(&plans, &live);
    page.add_open(&live, older, before);
    for (item, notes) in found.open {
        if !page.has_open(item) {
            continue;
        }
        let notes = look_up_most(&log, live.thread, notes.into_iter().collect(), |_| true).await?;
        page.add_notes(item, notes);
    }
    page.add_present(&live);
    Ok(TurnsPage {
        turns: page.into_turns(),
        older,
    })
}

/// Returns the diff of an ended turn, which is in the event before its end.
async fn turn_diff(log: &SharedLog, thread: ThreadId, turn: TurnId) -> Result<Option<String>, LogError> {
    let end = end_of_turn(log, thread, turn, Seq::MAX).await?;
    let before = end.map(|end| end - 1).filter(|before| *before > 0);
    let found = look_up(log, thread, before.into_iter().collect()).await?.pop();
    Ok(found
        .filter(|event| event.turn == Some(turn))
        .and_then(|event| match event.kind {
            EventKind::DiffUpdated { diff } => Some(diff),
            _ => None,
        }))
}

/// Returns the number of the event that ended a turn.
pub(super) async fn end_of_turn(
    log: &SharedLog,
    thread: ThreadId,
    turn: TurnId,
    until: Seq,
) -> Result<Option<Seq>, LogError> {
    let wanted = TurnsWanted {
        before: Some(TurnPosition {
            turn: turn.0.saturating_add(1),
            item: None,
        }),
        turns: 1,
        bytes: 1,
        until,
        dropped: Vec::new(),
        open: Vec::new(),
    };
    let found = find_turns(log, thread, wanted).await?.turns.pop();
    Ok(found
        .filter(|found| found.turn == Some(turn))
        .and_then(|found| found.settled))
}

/// Returns all events with these numbers, but the dispensable ones only if they can be read: a page without a notice is
/// better than no page.
async fn look_up_most(
    log: &SharedLog,
    thread: ThreadId,
    mut seqs: BTreeSet<Seq>,
    is_dispensable: impl Fn(Seq) -> bool,
) -> Result<Vec<Event>, LogError> {
    loop {
        let found = look_up(log, thread, seqs.iter().copied().collect()).await;
        let Err(LogError::DamagedEvents { first, last, .. }) = found else {
            return found;
        };
        let before = seqs.len();
        let is_damaged = |seq: &Seq| (first..=last).contains(seq);
        if seqs.iter().any(|seq| is_damaged(seq) && !is_dispensable(*seq)) {
            return found;
        }
        seqs.retain(|seq| !is_damaged(seq));
        if seqs.len() == before {
            return found;
        }
        tracing::warn!(%thread, first, last, "a page of turns lacks notices or plans whose events cannot be read");
    }
}
