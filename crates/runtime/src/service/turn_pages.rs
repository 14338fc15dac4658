//! Pages of a thread's turns, read from the events that describe them.

use std::collections::BTreeSet;
use std::sync::Arc;

use acpd_log::{LogError, SharedLog, TurnsFound, TurnsWanted, UnfinishedItem};
use acpd_model::limits::{ANSWER_PAGES, SMALL_ANSWER_BYTES, TURNS_PAGE, TURNS_PAGE_BYTES};
use acpd_model::{EventKind, Failure, Seq, ThreadId, TurnEvent, TurnId, TurnPosition};
use acpd_proto::projection::{Live, Transcript, TurnsPage};
use acpd_proto::surface::request::Turns;

use crate::room::Charge;
use crate::service::turn_notes::{look_up_within, omission, read_notes, read_plans};
use crate::service::{Caller, Service};
use crate::stored::log_failure;
use crate::stored::turns::{find_turns, look_up};

/// The events of the pages of one answer.
#[derive(Debug, Default)]
pub(super) struct PagesFound {
    /// Each page with its end, the newest first.
    pages: Vec<(Option<TurnPosition>, TurnsFound)>,
    /// Bytes of the items of all pages.
    pub bytes: u64,
}

impl Service {
    /// Returns a page of a thread's turns at the event of `live`.
    pub async fn turns_page(&self, live: &Arc<Live>, wanted: Turns) -> Result<TurnsPage, Failure> {
        let found = self.find_pages(live, wanted).await?;
        self.read_pages(live, found).await
    }

    /// Returns a page of turns if one is wanted, with the room that it and the description of the thread take. The room is taken
    /// before the page is read.
    pub(super) async fn charged_page(
        &self,
        caller: &Caller,
        live: &Arc<Live>,
        wanted: Option<Turns>,
    ) -> Result<(Option<TurnsPage>, Option<Charge>), Failure> {
        let described = live.described_bytes() as u64;
        let Some(wanted) = wanted else {
            let charge = match described {
                0..=SMALL_ANSWER_BYTES => None,
                bytes => Some(self.context.unsent.take(caller, bytes).await),
            };
            return Ok((None, charge));
        };
        let found = self.find_pages(live, wanted).await?;
        let charge = self.context.unsent.take(caller, found.bytes + described).await;
        let page = self.read_pages(live, found).await?;
        Ok((Some(page), Some(charge)))
    }

    /// Looks up the events of all pages of an answer, whose size is known then.
    pub(super) async fn find_pages(
        &self,
        live: &Arc<Live>,
        mut wanted: Turns,
    ) -> Result<PagesFound, Failure> {
        let mut found = PagesFound::default();
        loop {
            let page = self.find_page(live, wanted).await?;
            let older = page.older;
            found.bytes += page.bytes;
            found.pages.push((wanted.before, page));
            match wanted.extent.next(older) {
                Some(older) if found.pages.len() < ANSWER_PAGES => wanted.before = Some(older),
                _ => return Ok(found),
            }
        }
    }

    /// Reads the pages, and joins them.
    pub(super) async fn read_pages(&self, live: &Arc<Live>, found: PagesFound) -> Result<TurnsPage, Failure> {
        let mut joined = TurnsPage::default();
        for (before, found) in found.pages {
            joined.prepend(self.read_page(live, before, found).await?);
        }
        Ok(joined)
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
    pub(super) async fn read_turn_diff(&self, thread: ThreadId, turn: TurnId) -> Result<String, Failure> {
        let read = self
            .context
            .read_log(move |log| async move { turn_diff(&log, thread, turn).await });
        match read.await.map_err(|error| log_failure(&error))? {
            Some(diff) => Ok(diff),
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
    mut found: TurnsFound,
) -> Result<TurnsPage, LogError> {
    // What only adds to turns and items has room of its own, so that neither fills the page without end.
    let mut room = TURNS_PAGE_BYTES;
    let notes = read_notes(&log, live.thread, &mut found, before, &mut room).await?;
    let older = found.older;
    let of_notes: BTreeSet<Seq> = found.notes().into_iter().collect();
    let described = found.seqs().difference(&of_notes).copied().collect();
    let mut events = look_up(&log, live.thread, described).await?;
    events.extend(notes.events);
    events.sort_unstable_by_key(|event| event.seq);
    let mut page = Transcript::new(live.thread);
    for event in &events {
        page.fold(event);
    }
    if let Some((item, seq)) = notes.omitted {
        page.add_notes(item, [omission(&events, seq)]);
    }
    let turns = page.turns.iter().rev();
    let settled = turns.filter_map(|turn| turn.settled.as_ref());
    let plans: Vec<Seq> = settled.flat_map(|settled| settled.plans().rev()).collect();
    let plans = read_plans(&log, live.thread, &plans).await?;
    page.add_plans(&plans, &live);
    page.add_open(&live, older, before);
    for (item, notes) in found.open {
        if !page.has_open(item) {
            continue;
        }
        let notes: Vec<Seq> = notes.into_iter().rev().collect();
        let (notes, _) = look_up_within(&log, live.thread, &notes, &mut room).await?;
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
            EventKind::Turn(TurnEvent::DiffUpdated { diff }) => Some(diff),
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
