//! Pages of a thread's turns, from the end to the beginning: which events describe them.
//!
//! In: the rows of turns and items of a backend. Out: the numbers of events. Never: reads an event.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::iter::Peekable;
use std::ops::RangeInclusive;

use acpd_model::{ItemId, NotePlace, Seq, TurnId, TurnPosition};

/// Which turns of a thread to find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnsWanted {
    /// Where the page ends; `None` for the end of the thread.
    pub before: Option<TurnPosition>,
    /// Most turns on the page.
    pub turns: usize,
    /// Most bytes on the page, in the measure of [`ItemMark::bytes`](acpd_model::ItemMark::bytes). An item that is
    /// larger is on a page alone.
    pub bytes: u64,
    /// The last event to consider.
    pub until: Seq,
    /// Turns to skip, as ascending runs of their numbers.
    pub dropped: Vec<RangeInclusive<u32>>,
    /// All unfinished items. They take room on a page as well, and the notes of the first [`OPEN_NOTED`] are wanted too.
    pub open: Vec<UnfinishedItem>,
}

/// An item that the log knows only by its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnfinishedItem {
    /// The item.
    pub item: ItemId,
    /// The turn that contains the item; `None` before the first turn.
    pub turn: Option<TurnId>,
    /// The size of its content so far, in bytes.
    pub bytes: u64,
}

/// Unfinished items whose notes are on a page.
pub const OPEN_NOTED: usize = 64;

/// Turns of a thread, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnsFound {
    /// The turns. The items of the first one can be incomplete.
    pub turns: Vec<FoundTurn>,
    /// Where the next older page ends; `None` if there is nothing older.
    pub older: Option<TurnPosition>,
    /// Events before the first turn that are shown; only if there is nothing older.
    pub early: Vec<Seq>,
    /// The unfinished items that were asked for, with the events that are shown after them.
    pub open: Vec<(ItemId, Vec<Seq>)>,
    /// Bytes of the items, in the measure of [`TurnsWanted::bytes`].
    pub bytes: u64,
}

/// The events of one turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FoundTurn {
    /// The turn; `None` for the items before the first turn.
    pub turn: Option<TurnId>,
    /// The event that queued the turn.
    pub queued: Option<Seq>,
    /// The event that started the turn.
    pub started: Option<Seq>,
    /// The event that ended the turn.
    pub settled: Option<Seq>,
    /// Its finished items, in order.
    pub items: Vec<FoundItem>,
    /// Events that are shown after the end of the turn.
    pub after: Vec<Seq>,
}

/// The events of one finished item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundItem {
    /// The item.
    pub item: ItemId,
    /// The event that started the item.
    pub first: Seq,
    /// The event that completed the item.
    pub last: Seq,
    /// Later updates of the item, and events that are shown after it.
    pub late: Vec<Seq>,
}

/// The events of a turn itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TurnRow {
    pub turn: u32,
    pub queued: Option<Seq>,
    pub started: Option<Seq>,
    pub settled: Option<Seq>,
}

/// A finished item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ItemRow {
    pub item: u32,
    pub first: Seq,
    pub last: Seq,
    pub bytes: u64,
}

/// The rows of a thread, as a backend finds them. Rows of later events than the wanted ones are not returned.
pub(crate) trait TurnRows {
    type Error;

    /// Returns the last turn with a number below `before`.
    fn turn_before(&mut self, before: u32) -> Result<Option<TurnRow>, Self::Error>;

    /// Returns the items of a turn with a number below `before`, the last one first, until `take` returns `false`.
    fn items_before(
        &mut self,
        turn: u32,
        before: u32,
        take: &mut dyn FnMut(ItemRow) -> bool,
    ) -> Result<(), Self::Error>;

    /// Returns the late updates of an item, or the events that are shown at a place between items, in order.
    fn late(&mut self, place: NotePlace) -> Result<Vec<Seq>, Self::Error>;
}

/// Bytes that count for each turn and item in addition to its events.
const ENTRY_BYTES: u64 = 256;

/// Finds a page of turns.
pub(crate) fn find<R: TurnRows>(rows: &mut R, wanted: &TurnsWanted) -> Result<TurnsFound, R::Error> {
    let mut turns = Vec::new();
    let mut room = Room {
        left: wanted.bytes,
        taken: 0,
        is_empty: true,
    };
    let end = TurnPosition {
        turn: u32::MAX,
        item: None,
    };
    let mut begin = wanted.before.unwrap_or(end);
    let older = loop {
        let Some((row, before)) = previous(rows, begin, wanted)? else {
            break None;
        };
        if turns.len() == wanted.turns || room.left == 0 {
            break Some(begin);
        }
        room.left = room.left.saturating_sub(ENTRY_BYTES);
        let (items, rest) = last_items(rows, row.turn, before, &wanted.open, &mut room)?;
        if rest.is_some_and(|rest| rest.0 == before) {
            break Some(begin);
        }
        let turn = (row.turn > 0).then_some(TurnId(row.turn));
        let after = match turn {
            Some(turn) if before == u32::MAX => rows.late(NotePlace::Turn(turn))?,
            _ => Vec::new(),
        };
        turns.push(FoundTurn {
            turn,
            queued: row.queued,
            started: row.started,
            settled: row.settled,
            items,
            after,
        });
        begin = TurnPosition {
            turn: row.turn,
            item: rest,
        };
        if rest.is_some() {
            break Some(begin);
        }
    };
    turns.reverse();
    let early = match older {
        None => rows.late(NotePlace::Start)?,
        Some(_) => Vec::new(),
    };
    let mut open = Vec::new();
    for UnfinishedItem { item, .. } in wanted.open.iter().take(OPEN_NOTED) {
        let notes = rows.late(NotePlace::Item(*item))?;
        if !notes.is_empty() {
            open.push((*item, notes));
        }
    }
    Ok(TurnsFound {
        turns,
        older,
        early,
        open,
        bytes: room.taken,
    })
}

/// Returns the turn that ends at a position, and the item in it before which the position is.
fn previous<R: TurnRows>(
    rows: &mut R,
    position: TurnPosition,
    wanted: &TurnsWanted,
) -> Result<Option<(TurnRow, u32)>, R::Error> {
    let TurnPosition { turn, item } = position;
    let is_dropped = |turn: u32| wanted.dropped.iter().find(|run| run.contains(&turn));
    if let Some(item) = item
        && is_dropped(turn).is_none()
    {
        let row = rows.turn_before(turn.saturating_add(1))?;
        let row = row.filter(|row| row.turn == turn).unwrap_or_default();
        return Ok(Some((row, item.0)));
    }
    let mut below = turn;
    while below > 0 {
        let row = rows.turn_before(below)?.unwrap_or_default();
        match is_dropped(row.turn) {
            Some(run) => below = *run.start(),
            None if row.turn > 0 => return Ok(Some((row, u32::MAX))),
            None => {
                let mut some = wanted.open.iter().any(|open| open.turn.is_none());
                rows.items_before(0, u32::MAX, &mut |_| {
                    some = true;
                    false
                })?;
                return Ok(some.then_some((row, u32::MAX)));
            }
        }
    }
    Ok(None)
}

/// The room on a page.
struct Room {
    left: u64,
    taken: u64,
    is_empty: bool,
}

impl Room {
    fn takes(&mut self, bytes: u64) -> bool {
        let bytes = bytes.saturating_add(ENTRY_BYTES);
        if bytes > self.left && !self.is_empty {
            return false;
        }
        self.is_empty = false;
        self.left = self.left.saturating_sub(bytes);
        self.taken = self.taken.saturating_add(bytes);
        true
    }
}

/// Returns the last finished items of a turn for which there is room beside the unfinished ones, and the item before which
/// there are more of either.
fn last_items<R: TurnRows>(
    rows: &mut R,
    turn: u32,
    before: u32,
    open: &[UnfinishedItem],
    room: &mut Room,
) -> Result<(Vec<FoundItem>, Option<ItemId>), R::Error> {
    let of_turn = |open: &&UnfinishedItem| open.turn.map_or(0, |turn| turn.0) == turn && open.item.0 < before;
    let mut open: Vec<_> = open.iter().filter(of_turn).collect();
    open.sort_unstable_by_key(|open| Reverse(open.item));
    let mut open = open.into_iter().peekable();
    let mut last = Vec::new();
    let mut begin = before;
    let mut is_whole = true;
    rows.items_before(turn, before, &mut |row| {
        is_whole = take_open(&mut open, row.item, &mut begin, room) && room.takes(row.bytes);
        if is_whole {
            begin = row.item;
            last.push(row);
        }
        is_whole
    })?;
    is_whole = is_whole && take_open(&mut open, 0, &mut begin, room);
    let mut items = Vec::with_capacity(last.len());
    for row in last.into_iter().rev() {
        items.push(FoundItem {
            item: ItemId(row.item),
            first: row.first,
            last: row.last,
            late: rows.late(NotePlace::Item(ItemId(row.item)))?,
        });
    }
    Ok((items, (!is_whole).then_some(ItemId(begin))))
}

/// Takes the unfinished items after `item`, the last one first, while there is room. Returns whether it took all of them.
fn take_open<'a>(
    open: &mut Peekable<impl Iterator<Item = &'a UnfinishedItem>>,
    item: u32,
    begin: &mut u32,
    room: &mut Room,
) -> bool {
    while let Some(next) = open.next_if(|next| next.item.0 > item) {
        if !room.takes(next.bytes) {
            return false;
        }
        *begin = next.item.0;
    }
    true
}

impl TurnsFound {
    /// Returns the numbers of the events that describe the turns without their unfinished items, in order.
    pub fn seqs(&self) -> BTreeSet<Seq> {
        let mut seqs: BTreeSet<Seq> = self.early.iter().copied().collect();
        for turn in &self.turns {
            seqs.extend(turn.queued);
            seqs.extend(turn.started);
            seqs.extend(turn.settled);
            seqs.extend(&turn.after);
            for item in &turn.items {
                seqs.extend([item.first, item.last]);
                seqs.extend(&item.late);
            }
        }
        seqs
    }

    /// Returns those of the events that are shown beside the turns and items, or that only update them: first those before the first
    /// turn, then from the end of the page to its beginning.
    pub fn notes(&self) -> Vec<Seq> {
        let of_turns = self.turns.iter().rev().flat_map(|turn| {
            let late = turn.items.iter().rev().flat_map(|item| item.late.iter().rev());
            turn.after.iter().rev().chain(late)
        });
        self.early.iter().chain(of_turns).copied().collect()
    }

    /// Leaves to the next page what has no room on this one, which ends at `before`: the turn or item that has this event of
    /// [`notes`](Self::notes), and all before it. An item with which the page would not get shorter stays, and is returned.
    pub fn begin_behind(&mut self, note: Seq, before: Option<TurnPosition>) -> Option<FoundItem> {
        let place = |turn: &FoundTurn| turn.items.iter().rposition(|item| item.late.contains(&note));
        let has = |turn: &FoundTurn| turn.after.contains(&note) || place(turn).is_some();
        let at = self.turns.iter().rposition(has)?;
        let number = |turn: &FoundTurn| turn.turn.map_or(0, |turn| turn.0);
        let Some(place) = place(&self.turns[at]) else {
            let next = number(self.turns.get(at + 1)?);
            self.begin_at(
                at + 1,
                0,
                TurnPosition {
                    turn: next,
                    item: None,
                },
            );
            return None;
        };
        let turn = number(&self.turns[at]);
        let item = self.turns[at].items[place].clone();
        let behind = TurnPosition {
            turn,
            item: Some(ItemId(item.item.0.saturating_add(1))),
        };
        if before.is_none_or(|before| behind < before) {
            self.begin_at(at, place + 1, behind);
            return None;
        }
        if (at, place) != (0, 0) {
            let first = (place > 0).then_some(item.item);
            self.begin_at(at, place, TurnPosition { turn, item: first });
        }
        Some(item)
    }

    fn begin_at(&mut self, turn: usize, item: usize, older: TurnPosition) {
        self.turns.drain(..turn);
        if let Some(first) = self.turns.first_mut() {
            first.items.drain(..item);
        }
        self.older = Some(older);
        self.early.clear();
    }
}
