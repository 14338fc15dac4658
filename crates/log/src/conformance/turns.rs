//! Pages of turns.

use std::ops::RangeInclusive;

use acpd_model::{
    Extract, ItemId, ItemMark, LateMark, NotePlace, Seq, ThreadId, TurnId, TurnMark, TurnMarks, TurnPosition,
    TurnStep,
};

use super::sample;
use crate::{FoundItem, FoundTurn, SharedLog, TurnsFound, TurnsWanted, UnfinishedItem};

/// Items of each turn of a sample.
pub(super) const ITEMS: u32 = 3;

/// Events of each turn of a sample: start, items, end.
pub(super) const TURN_EVENTS: Seq = 2 + 2 * ITEMS as Seq;

const ITEM_BYTES: u64 = 10_000;

/// Returns the places of a turn whose events begin after `before`.
pub(super) fn marks(turn: u32, before: Seq) -> Extract {
    let at = |seq| before + seq;
    let step = |step, seq| TurnMark {
        turn: TurnId(turn),
        step,
        seq: at(seq),
    };
    let items = (0..ITEMS).map(|item| ItemMark {
        item: ItemId(ITEMS * (turn - 1) + item + 1),
        turn: Some(TurnId(turn)),
        first: at(2 + 2 * Seq::from(item)),
        last: at(3 + 2 * Seq::from(item)),
        bytes: ITEM_BYTES,
    });
    let marks = TurnMarks {
        turns: vec![step(TurnStep::Started, 1), step(TurnStep::Settled, TURN_EVENTS)],
        items: items.collect(),
        late: Vec::new(),
        client_turns: vec![(format!("client {turn}"), TurnId(turn))],
    };
    Extract {
        marks,
        ..Extract::default()
    }
}

/// Appends whole turns to a thread that has the turns before them.
pub(super) async fn append(log: &SharedLog, thread: ThreadId, turns: RangeInclusive<u32>) {
    let summary = sample::summary("turns", 1);
    for turn in turns {
        let before = Seq::from(turn - 1) * TURN_EVENTS;
        let events = sample::run(before + 1..=before + TURN_EVENTS, 20);
        log.append_with(thread, &events, Some(&summary), &marks(turn, before))
            .await
            .unwrap();
    }
}

/// Returns a turn as a page has it.
pub(super) fn turn(turn: u32) -> FoundTurn {
    let before = Seq::from(turn - 1) * TURN_EVENTS;
    let marks = marks(turn, before).marks;
    let items = marks.items.iter().map(|item| FoundItem {
        item: item.item,
        first: item.first,
        last: item.last,
        late: Vec::new(),
    });
    FoundTurn {
        turn: Some(TurnId(turn)),
        queued: None,
        started: Some(before + 1),
        settled: Some(before + TURN_EVENTS),
        items: items.collect(),
        after: Vec::new(),
    }
}

pub(super) fn wanted(turns: usize) -> TurnsWanted {
    TurnsWanted {
        before: None,
        turns,
        bytes: 1 << 20,
        until: Seq::MAX,
        dropped: Vec::new(),
        open: Vec::new(),
    }
}

pub(super) async fn page(log: &SharedLog, thread: ThreadId, wanted: TurnsWanted) -> TurnsFound {
    let found = log.turns(thread, wanted).await.unwrap();
    found.expect("nothing is missing")
}

fn before(turn: u32) -> TurnPosition {
    TurnPosition { turn, item: None }
}

pub(super) async fn pages_lead_from_the_end_to_the_beginning(log: &SharedLog) {
    let thread = sample::new_thread();
    append(log, thread, 1..=7).await;
    let mut found = Vec::new();
    let mut wanted = wanted(3);
    for (first, last, older) in [(5, 7, Some(5)), (2, 4, Some(2)), (1, 1, None)] {
        let page = page(log, thread, wanted.clone()).await;
        let expected: Vec<_> = (first..=last).map(turn).collect();
        assert_eq!((&page.turns, page.older), (&expected, older.map(before)));
        wanted.before = page.older;
        found.extend(page.turns);
    }
    let seqs = TurnsFound {
        turns: found,
        ..TurnsFound::default()
    };
    let all: Vec<Seq> = seqs.seqs().into_iter().collect();
    assert_eq!(all, (1..=7 * TURN_EVENTS).collect::<Vec<_>>());
    wanted.before = Some(before(1));
    assert_eq!(page(log, thread, wanted).await, TurnsFound::default());
}

pub(super) async fn a_page_is_bounded_in_turns_and_bytes(log: &SharedLog) {
    let thread = sample::new_thread();
    append(log, thread, 1..=3).await;
    // Room for four items: one turn, and the last item of the turn before it.
    let mut wanted = TurnsWanted {
        bytes: 4 * ITEM_BYTES + 4000,
        ..wanted(10)
    };
    let first = page(log, thread, wanted.clone()).await;
    let mut part = turn(2);
    part.items.drain(..2);
    assert_eq!(first.turns, [part, turn(3)]);
    let inside = TurnPosition {
        turn: 2,
        item: Some(ItemId(6)),
    };
    assert_eq!(first.older, Some(inside));
    assert!((4 * ITEM_BYTES..=wanted.bytes).contains(&first.bytes));
    wanted.before = first.older;
    let second = page(log, thread, wanted.clone()).await;
    let (mut rest, mut part) = (turn(2), turn(1));
    rest.items.pop();
    part.items.remove(0);
    assert_eq!(second.turns, [part, rest]);
    // An item that is larger than a page is on a page alone.
    wanted.bytes = 10;
    wanted.before = None;
    let mut items = Vec::new();
    loop {
        let page = page(log, thread, wanted.clone()).await;
        let found = page.turns.iter().flat_map(|turn| &turn.items);
        let found: Vec<_> = found.map(|item| item.item.0).collect();
        assert_eq!(found.len(), 1, "{page:?}");
        items.extend(found);
        wanted.before = page.older;
        if page.older.is_none() {
            break;
        }
    }
    assert_eq!(items, (1..=9).rev().collect::<Vec<_>>());
}

fn unfinished(item: ItemId, turn: u32, bytes: u64) -> UnfinishedItem {
    UnfinishedItem {
        item,
        turn: Some(TurnId(turn)),
        bytes,
    }
}

/// Unfinished items take room among the finished ones of their turn.
pub(super) async fn unfinished_items_take_room(log: &SharedLog) {
    let thread = sample::new_thread();
    append(log, thread, 1..=3).await;
    // Their turn has the items 7 to 9.
    let mut wanted = TurnsWanted {
        bytes: 3 * ITEM_BYTES,
        open: vec![
            unfinished(ItemId(11), 3, 2 * ITEM_BYTES),
            unfinished(ItemId(10), 3, 2 * ITEM_BYTES),
            unfinished(ItemId(12), 3, 100 * ITEM_BYTES),
        ],
        ..wanted(9)
    };
    let mut pages = Vec::new();
    loop {
        let page = page(log, thread, wanted.clone()).await;
        let items = page.turns.iter().flat_map(|turn| &turn.items);
        pages.push((page.older, items.map(|item| item.item.0).collect::<Vec<_>>()));
        assert!(page.turns.iter().all(|turn| turn.started.is_some()));
        wanted.before = page.older;
        if page.older.is_none_or(|older| older.turn < 3) {
            break;
        }
    }
    let at = |item| {
        Some(TurnPosition {
            turn: 3,
            item: Some(ItemId(item)),
        })
    };
    // Each is alone, since none of the others has room beside it.
    assert_eq!(pages[0], (at(12), vec![]));
    assert_eq!(pages[1], (at(11), vec![]));
    assert_eq!(pages[2], (at(10), vec![]));
    let found: Vec<u32> = pages
        .iter()
        .flat_map(|(_, items)| items.iter().rev())
        .copied()
        .collect();
    assert_eq!(found[..3], [9, 8, 7]);
}

/// Unfinished items before the first turn take room too, also if no item there has finished.
pub(super) async fn unfinished_items_before_the_first_turn_take_room(log: &SharedLog) {
    let thread = sample::new_thread();
    append(log, thread, 1..=1).await;
    let open = [20, 21].map(|item| UnfinishedItem {
        item: ItemId(item),
        turn: None,
        bytes: 4 * ITEM_BYTES,
    });
    let mut wanted = TurnsWanted {
        bytes: 5 * ITEM_BYTES,
        open: open.to_vec(),
        ..wanted(9)
    };
    let at = |item| {
        Some(TurnPosition {
            turn: 0,
            item: Some(ItemId(item)),
        })
    };
    let mut found = Vec::new();
    loop {
        let page = page(log, thread, wanted.clone()).await;
        let turns: Vec<_> = page.turns.iter().map(|turn| turn.turn).collect();
        found.push((turns, page.older));
        wanted.before = page.older;
        if page.older.is_none() {
            break;
        }
    }
    let first = (vec![Some(TurnId(1))], Some(before(1)));
    assert_eq!(found, [first, (vec![None], at(21)), (vec![None], None)]);
}

/// Events that are shown after an item are found with it, also while it is unfinished, those after a turn with its end, and
/// those before the first turn at the start.
pub(super) async fn notes_are_found_with_their_items(log: &SharedLog) {
    let thread = sample::new_thread();
    append(log, thread, 1..=2).await;
    let (end, open) = (2 * TURN_EVENTS, ItemId(99));
    let late = [
        (NotePlace::Start, 1),
        (NotePlace::Item(ItemId(1)), 2),
        (NotePlace::Item(open), 3),
        (NotePlace::Item(open), 4),
        (NotePlace::Turn(TurnId(1)), 5),
    ]
    .map(|(place, seq)| LateMark {
        place,
        seq: end + seq,
    });
    let extract = Extract {
        marks: TurnMarks {
            late: late.to_vec(),
            ..TurnMarks::EMPTY
        },
        ..Extract::EMPTY
    };
    log.append_with(thread, &sample::run(end + 1..=end + 5, 10), None, &extract)
        .await
        .unwrap();
    let wanted = TurnsWanted {
        open: [open, ItemId(100)].map(|item| unfinished(item, 9, 1)).to_vec(),
        ..wanted(9)
    };
    let found = page(log, thread, wanted.clone()).await;
    assert_eq!(found.early, [end + 1]);
    assert_eq!(found.turns[0].items[0].late, [end + 2]);
    assert_eq!(found.open, [(open, vec![end + 3, end + 4])]);
    assert_eq!(found.turns[0].after, [end + 5]);
    assert_eq!(found.turns[1].after, [0; 0]);
    assert!(found.seqs().contains(&(end + 1)) && !found.seqs().contains(&(end + 3)));
    let last = TurnsWanted { turns: 1, ..wanted };
    assert_eq!(
        page(log, thread, last).await.early,
        [0; 0],
        "there are older turns"
    );
}

pub(super) async fn later_events_and_dropped_turns_do_not_count(log: &SharedLog) {
    let thread = sample::new_thread();
    append(log, thread, 1..=6).await;
    let late = Extract {
        marks: TurnMarks {
            late: vec![
                LateMark {
                    place: NotePlace::Item(ItemId(4)),
                    seq: 6 * TURN_EVENTS + 1,
                },
                LateMark {
                    place: NotePlace::Item(ItemId(4)),
                    seq: 6 * TURN_EVENTS + 2,
                },
            ],
            ..TurnMarks::default()
        },
        ..Extract::default()
    };
    let end = 6 * TURN_EVENTS;
    log.append_with(thread, &sample::run(end + 1..=end + 2, 10), None, &late)
        .await
        .unwrap();
    let numbers = |page: &TurnsFound| -> Vec<u32> {
        let turns = page.turns.iter().filter_map(|turn| turn.turn);
        turns.map(|turn| turn.0).collect()
    };
    let dropped = TurnsWanted {
        dropped: vec![2..=2, 4..=5],
        ..wanted(2)
    };
    let last = page(log, thread, dropped.clone()).await;
    assert_eq!((numbers(&last), last.older), (vec![3, 6], Some(before(3))));
    let first = TurnsWanted {
        before: last.older,
        ..dropped
    };
    let first = page(log, thread, first).await;
    assert_eq!((numbers(&first), first.older), (vec![1], None));

    for (until, expected) in [
        (end + 2, vec![end + 1, end + 2]),
        (end + 1, vec![end + 1]),
        (end, vec![]),
    ] {
        let found = page(log, thread, TurnsWanted { until, ..wanted(9) }).await;
        assert_eq!(found.turns[1].items[0].late, expected);
    }
    // In the middle of the fourth turn.
    let until = 3 * TURN_EVENTS + 4;
    let found = page(log, thread, TurnsWanted { until, ..wanted(2) }).await;
    let mut part = turn(4);
    part.settled = None;
    part.items.truncate(1);
    assert_eq!(found.turns, [turn(3), part]);
    let none = page(
        log,
        thread,
        TurnsWanted {
            until: 0,
            ..wanted(2)
        },
    )
    .await;
    assert_eq!(none, TurnsFound::default());
}

pub(super) async fn the_end_of_a_turn_is_known(log: &SharedLog) {
    let thread = sample::new_thread();
    let summary = sample::summary("before", 1);
    log.append(thread, &sample::run(1..=2, 10), Some(&summary))
        .await
        .unwrap();
    assert_eq!(
        log.end_of_turns(thread, None).await,
        Ok(Some(2)),
        "there is no turn"
    );
    let thread = sample::new_thread();
    append(log, thread, 1..=3).await;
    for (last, end) in [(None, 0), (Some(1), TURN_EVENTS), (Some(3), 3 * TURN_EVENTS)] {
        let found = log.end_of_turns(thread, last.map(TurnId)).await;
        assert_eq!(found, Ok(Some(end)), "{last:?}");
    }
}
