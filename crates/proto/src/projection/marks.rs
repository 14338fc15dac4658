//! The places of turns and items, for the log's index.

use acpd_model::{
    Event, EventKind, ItemEvent, ItemMark, LateMark, NotePlace, ThreadId, TurnEvent, TurnMark, TurnMarks,
    TurnStep,
};

use super::Live;

/// Returns the places that all events of a thread determine.
pub fn marks_of<'a>(thread: ThreadId, events: impl IntoIterator<Item = &'a Event>) -> TurnMarks {
    let (mut live, mut marks) = (Live::new(thread), TurnMarks::default());
    for event in events {
        mark(&live, event, &mut marks);
        live.fold(event);
    }
    marks
}

/// Adds the places that the next event determines. `live` is the thread's state before the event.
pub fn mark(live: &Live, event: &Event, marks: &mut TurnMarks) {
    let mut turn = |step| {
        let seq = event.seq;
        marks
            .turns
            .extend(event.turn.map(|turn| TurnMark { turn, step, seq }));
    };
    if let Some(place) = live.place_of_note(event) {
        let seq = event.seq;
        marks.late.push(LateMark { place, seq });
    }
    match &event.kind {
        EventKind::Turn(TurnEvent::Queued { client_turn_id, .. }) => {
            turn(TurnStep::Queued);
            marks.client_turns.extend(client_turn_id.clone().zip(event.turn));
        }
        EventKind::Turn(TurnEvent::Started { client_turn_id, .. }) => {
            turn(TurnStep::Started);
            marks.client_turns.extend(client_turn_id.clone().zip(event.turn));
        }
        EventKind::Turn(TurnEvent::Settled { .. }) => turn(TurnStep::Settled),
        EventKind::Item(ItemEvent::Completed { item, .. }) => {
            let open = live.items.get(item);
            marks.items.extend(open.map(|open| ItemMark {
                item: *item,
                turn: open.turn,
                first: open.seq,
                last: event.seq,
                bytes: open.bytes + event.weight() as u64,
            }));
        }
        EventKind::Item(ItemEvent::Updated { item, .. }) if !live.items.contains_key(item) => {
            marks.late.push(LateMark {
                place: NotePlace::Item(*item),
                seq: event.seq,
            })
        }
        EventKind::Thread(_)
        | EventKind::Session(_)
        | EventKind::Turn(_)
        | EventKind::Item(_)
        | EventKind::Host(_)
        | EventKind::Request(_)
        | EventKind::Unknown => {}
    }
}
