//! Pages of a thread's turns, read from the events that describe them.

use std::collections::BTreeSet;
use std::sync::Arc;

use acpd_log::{LogError, SharedLog, TurnsFound, TurnsWanted, UnfinishedItem};
use acpd_model::limits::{TURNS_PAGE, TURNS_PAGE_BYTES};
use acpd_model::{Event, EventKind, Failure, Seq, ThreadId, TurnId, TurnPosition};
use acpd_proto::projection::{Live, Transcript, TurnsPage};
use acpd_proto::surface::reply::Reply;
use acpd_proto::surface::request::Turns;

use crate::room::Charge;
use crate::service::{Caller, Service};
use crate::thread::directory::log_failure;
use crate::thread::indexing::{find_turns, look_up};

impl Service {
    /// Returns a page of a thread's turns at the event of `live`.
    pub async fn turns_page(&self, live: &Arc<Live>, wanted: Turns) -> Result<TurnsPage, Failure> {
        let before = wanted.before;
        let found = self.find_page(live, wanted).await?;
        self.read_page(live, before, found).await
    }

    /// Returns a page of turns if one is wanted, with the room that it takes. The room is taken before the page is read.
    pub(super) async fn charged_page(
        &self,
        caller: &Caller,
        live: &Arc<Live>,
        wanted: Option<Turns>,
    ) -> Result<(Option<TurnsPage>, Option<Charge>), Failure> {
        let Some(wanted) = wanted else {
            return Ok((None, None));
        };
        let before = wanted.before;
        let found = self.find_page(live, wanted).await?;
        let charge = self.context.unsent.take(caller, found.bytes).await;
        let page = self.read_page(live, before, found).await?;
        Ok((Some(page), Some(charge)))
    }

    async fn find_page(&self, live: &Arc<Live>, wanted: Turns) -> Result<TurnsFound, Failure> {
        let live = Arc::clone(live);
        let found = self.context.read_log(|log| find_page(log, live, wanted)).await;
        found.map_err(|error| log_failure(&error))
    }

    async fn read_page(
        &self,
        live: &Arc<Live>,
        before: Option<TurnPosition>,
        found: TurnsFound,
    ) -> Result<TurnsPage, Failure> {
        let live = Arc::clone(live);
        let page = self
            .context
            .read_log(|log| read_page(log, live, before, found))
            .await;
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

async fn find_page(log: SharedLog, live: Arc<Live>, wanted: Turns) -> Result<TurnsFound, LogError> {
    let open = live.items.iter().map(|(item, open)| UnfinishedItem {
        item: *item,
        turn: open.turn,
        bytes: open.view.bytes() as u64,
    });
    let wanted = TurnsWanted {
        before: wanted.before,
        turns: wanted.limit.unwrap_or(TURNS_PAGE),
        bytes: TURNS_PAGE_BYTES,
        until: live.last_seq,
        dropped: live.dropped.runs().collect(),
        open: open.collect(),
    };
    find_turns(&log, live.thread, wanted).await
}

async fn read_page(
    log: SharedLog,
    live: Arc<Live>,
    before: Option<TurnPosition>,
    found: TurnsFound,
) -> Result<TurnsPage, LogError> {
    let older = found.older;
    let notes = found.notes();
    let described = found.seqs().difference(&notes).copied().collect();
    let mut events = look_up(&log, live.thread, described).await?;
    // What only adds to turns and items has room of its own, so that neither fills the page without end.
    let mut room = TURNS_PAGE_BYTES;
    events.extend(look_up_within(&log, live.thread, notes, &mut room).await?);
    events.sort_unstable_by_key(|event| event.seq);
    let mut page = Transcript::new(live.thread);
    for event in &events {
        page.fold(event);
    }
    let plans = page
        .turns
        .iter()
        .filter_map(|turn| turn.settled.as_ref()?.plan)
        .collect();
    let plans = look_up_within(&log, live.thread, plans, &mut room).await?;
    page.add_plans(&plans, &live);
    page.add_open(&live, older, before);
    for (item, notes) in found.open {
        if !page.has_open(item) {
            continue;
        }
        let notes = look_up_within(&log, live.thread, notes.into_iter().collect(), &mut room).await?;
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

/// Returns the events with these numbers for which there is room, the last ones first, in order, and only those that can be
/// read: a page without a notice is better than no page.
async fn look_up_within(
    log: &SharedLog,
    thread: ThreadId,
    seqs: BTreeSet<Seq>,
    room: &mut u64,
) -> Result<Vec<Event>, LogError> {
    if seqs.is_empty() {
        return Ok(Vec::new());
    }
    let weight = |event: &Event| event.weight() as u64;
    // The log returns a few at once if they are not too large.
    if let Ok(found) = log.events(thread, seqs.iter().copied().collect()).await
        && found.len() == seqs.len()
        && let Some(left) = room.checked_sub(found.iter().map(weight).sum())
    {
        *room = left;
        return Ok(found);
    }
    let mut last_first = Vec::new();
    for seq in seqs.into_iter().rev() {
        let event = match look_up(log, thread, vec![seq]).await {
            Ok(found) => found.into_iter().next(),
            Err(LogError::DamagedEvents { .. }) => {
                tracing::warn!(%thread, seq, "a page of turns lacks a notice or plan whose event cannot be read");
                None
            }
            Err(error) => return Err(error),
        };
        let Some(event) = event else { continue };
        let Some(left) = room.checked_sub(weight(&event)) else {
            break;
        };
        *room = left;
        last_first.push(event);
    }
    last_first.reverse();
    Ok(last_first)
}
