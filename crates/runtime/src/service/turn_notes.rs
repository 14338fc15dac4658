//! What a page of turns has beside its turns and items: notices and answers, late updates of items, and plans.
//!
//! In: the places of a page. Out: the events, and the page without the places that have no room. Owns: nothing. Never: fails because
//! of one event that cannot be read.

use std::collections::BTreeSet;

use acpd_log::{LogError, SharedLog, TurnsFound};
use acpd_model::event::Level;
use acpd_model::limits::TURNS_PAGE_BYTES;
use acpd_model::{Event, EventKind, ItemId, Origin, Seq, SessionEvent, ThreadId, TurnPosition};

use crate::stored::turns::look_up;

/// Events that are read at once. If they are too large for that, they are read one by one.
const BLOCK: usize = 64;

/// The events of a page that are shown beside its turns and items, or that only update them.
#[derive(Debug)]
pub(super) struct Notes {
    /// The events.
    pub events: Vec<Event>,
    /// An item whose earlier updates have no room on any page, and the last of these.
    pub omitted: Option<(ItemId, Seq)>,
}

/// Reads the notes of a page that ends at `before`. If they do not fit into `room`, the page gets shorter, and the next one has the
/// rest. An item whose updates fit on no page is alone on this one, with its last updates.
pub(super) async fn read_notes(
    log: &SharedLog,
    thread: ThreadId,
    found: &mut TurnsFound,
    before: Option<TurnPosition>,
    room: &mut u64,
) -> Result<Notes, LogError> {
    let (mut events, lacks) = look_up_within(log, thread, &found.notes(), room).await?;
    let mut omitted = None;
    if let Some(lacks) = lacks {
        if let Some(item) = found.begin_behind(lacks, before) {
            let mut last_first = item.late.iter().rev().skip_while(|seq| **seq != lacks);
            // The last update is there, however large it is.
            if item.late.last() == Some(&lacks) {
                last_first.next();
                events.extend(read_note(log, thread, lacks).await?);
            }
            omitted = last_first.next().map(|seq| (item.item, *seq));
        }
        let here: BTreeSet<Seq> = found.notes().into_iter().collect();
        events.retain(|event| here.contains(&event.seq));
    }
    Ok(Notes { events, omitted })
}

/// Returns the notice that an item lacks updates up to this event.
pub(super) fn omission(events: &[Event], seq: Seq) -> Event {
    let before = events.iter().rfind(|event| event.seq < seq);
    Event {
        seq,
        at: before.map_or(0, |event| event.at),
        turn: before.and_then(|event| event.turn),
        by: Origin::Daemon,
        kind: EventKind::Session(SessionEvent::NoticeGiven {
            level: Level::Info,
            code: "updatesOmitted".to_owned(),
            message: "Earlier updates of this tool call are too large to show. An export has them."
                .to_owned(),
            detail: None,
            folder: None,
        }),
        raw: None,
        raw_params: None,
        repeats_id: false,
        translated: false,
        lane: None,
    }
}

/// Reads plans, the last one first, without those for which there is no room.
pub(super) async fn read_plans(
    log: &SharedLog,
    thread: ThreadId,
    plans: &[Seq],
) -> Result<Vec<Event>, LogError> {
    let (mut found, mut room, mut rest) = (Vec::new(), TURNS_PAGE_BYTES, plans);
    loop {
        let (events, lacks) = look_up_within(log, thread, rest, &mut room).await?;
        found.extend(events);
        let Some(lacks) = lacks else {
            return Ok(found);
        };
        let behind = rest
            .iter()
            .position(|seq| *seq == lacks)
            .map_or(rest.len(), |at| at + 1);
        rest = &rest[behind..];
    }
}

/// Returns the events with these numbers, until one has no room; that one is returned too. Events that cannot be read are left out: a
/// page without a notice is better than no page.
pub(super) async fn look_up_within(
    log: &SharedLog,
    thread: ThreadId,
    seqs: &[Seq],
    room: &mut u64,
) -> Result<(Vec<Event>, Option<Seq>), LogError> {
    let weight = |event: &Event| event.weight() as u64;
    let mut events = Vec::new();
    for block in seqs.chunks(BLOCK) {
        let mut ascending = block.to_vec();
        ascending.sort_unstable();
        // The log returns a few at once if they are not too large.
        if let Ok(found) = log.events(thread, ascending).await
            && found.len() == block.len()
            && let Some(left) = room.checked_sub(found.iter().map(weight).sum())
        {
            *room = left;
            events.extend(found);
            continue;
        }
        for seq in block {
            let Some(event) = read_note(log, thread, *seq).await? else {
                continue;
            };
            let Some(left) = room.checked_sub(weight(&event)) else {
                return Ok((events, Some(*seq)));
            };
            *room = left;
            events.push(event);
        }
    }
    Ok((events, None))
}

/// Returns an event if it can be read.
async fn read_note(log: &SharedLog, thread: ThreadId, seq: Seq) -> Result<Option<Event>, LogError> {
    match look_up(log, thread, vec![seq]).await {
        Ok(found) => Ok(found.into_iter().next()),
        Err(LogError::DamagedEvents { .. }) => {
            tracing::warn!(%thread, seq, "a page of turns lacks a notice or plan whose event cannot be read");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
