//! The places of a thread's turns and items, and its snapshots, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use acpd_model::limits::SNAPSHOT_SPACING;
use acpd_model::{ItemMark, NotePlace, Seq, TurnId, TurnMark, TurnMarks, TurnStep};

use crate::Snapshot;
use crate::turns::{ItemRow, TurnRow, TurnRows};

#[derive(Debug, Clone, Default)]
pub(super) struct Marks {
    /// The turns, each with its first event.
    turns: BTreeMap<u32, (Seq, TurnRow)>,
    items: BTreeMap<(u32, u32), ItemRow>,
    late: BTreeSet<(i64, Seq)>,
    client_turns: BTreeMap<String, TurnId>,
    snapshots: BTreeMap<Seq, Snapshot>,
}

impl Marks {
    pub(super) fn add(&mut self, marks: TurnMarks) {
        for TurnMark { turn, step, seq } in marks.turns {
            let (_, row) = self.turns.entry(turn.0).or_insert((seq, TurnRow::default()));
            row.turn = turn.0;
            match step {
                TurnStep::Queued => row.queued = Some(seq),
                TurnStep::Started => row.started = Some(seq),
                TurnStep::Settled => row.settled = Some(seq),
            }
        }
        for ItemMark {
            item,
            turn,
            first,
            last,
            bytes,
        } in marks.items
        {
            let row = ItemRow {
                item: item.0,
                first,
                last,
                bytes,
            };
            self.items.insert((turn.map_or(0, |turn| turn.0), item.0), row);
        }
        self.late
            .extend(marks.late.iter().map(|late| (late.place.key(), late.seq)));
        self.client_turns.extend(marks.client_turns);
    }

    pub(super) fn add_snapshot(&mut self, snapshot: Snapshot) {
        let mut older = self.snapshots.range(..snapshot.seq).rev();
        let (last, before) = (older.next(), older.next());
        let weight = before.map_or(0, |(_, before)| before.weight);
        if let Some(last) = last.map(|(seq, _)| *seq)
            && snapshot.weight.saturating_sub(weight) < SNAPSHOT_SPACING
        {
            self.snapshots.remove(&last);
        }
        self.snapshots.insert(snapshot.seq, snapshot);
    }

    pub(super) fn snapshot(&self, until: Seq, format: u32) -> Option<Snapshot> {
        let mut older = self.snapshots.range(..=until).rev();
        older
            .find(|(_, snapshot)| snapshot.format == format)
            .map(|(_, snapshot)| snapshot.clone())
    }

    pub(super) fn client_turn(&self, id: &str) -> Option<TurnId> {
        self.client_turns.get(id).copied()
    }

    pub(super) fn end_of_turns(&self, last: Option<TurnId>, end: Seq) -> Seq {
        match last {
            Some(last) => {
                let turns = self.turns.range(..=last.0);
                turns.filter_map(|(_, (_, turn))| turn.settled).max().unwrap_or(0)
            }
            None => {
                let first = self.turns.values().map(|(first, _)| *first);
                first.min().map_or(end, |first| first - 1)
            }
        }
    }

    /// Returns what a fork inherits up to an event.
    pub(super) fn up_to(&self, until: Seq) -> Self {
        let mut rest = self.clone();
        rest.turns.retain(|_, (first, _)| *first <= until);
        for (_, turn) in rest.turns.values_mut() {
            *turn = cut(*turn, until);
        }
        rest.items.retain(|_, item| item.last <= until);
        rest.late.retain(|(_, seq)| *seq <= until);
        rest.client_turns
            .retain(|_, turn| rest.turns.contains_key(&turn.0));
        rest.snapshots.retain(|seq, _| *seq <= until);
        rest
    }

    pub(super) fn rows(&self, until: Seq) -> Rows<'_> {
        Rows { marks: self, until }
    }
}

fn cut(turn: TurnRow, until: Seq) -> TurnRow {
    let before = |seq: &Seq| *seq <= until;
    TurnRow {
        turn: turn.turn,
        queued: turn.queued.filter(before),
        started: turn.started.filter(before),
        settled: turn.settled.filter(before),
    }
}

/// The rows of a thread's turns and items up to an event.
pub(super) struct Rows<'m> {
    marks: &'m Marks,
    until: Seq,
}

impl TurnRows for Rows<'_> {
    type Error = Infallible;

    fn turn_before(&mut self, before: u32) -> Result<Option<TurnRow>, Infallible> {
        let mut turns = self.marks.turns.range(..before).rev();
        let found = turns.find(|(_, (first, _))| *first <= self.until);
        Ok(found.map(|(_, (_, turn))| cut(*turn, self.until)))
    }

    fn items_before(
        &mut self,
        turn: u32,
        before: u32,
        take: &mut dyn FnMut(ItemRow) -> bool,
    ) -> Result<(), Infallible> {
        for (_, row) in self.marks.items.range((turn, 0)..(turn, before)).rev() {
            if row.last <= self.until && !take(*row) {
                break;
            }
        }
        Ok(())
    }

    fn late(&mut self, place: NotePlace) -> Result<Vec<Seq>, Infallible> {
        let key = place.key();
        let late = self.marks.late.range((key, 0)..=(key, self.until));
        Ok(late.map(|(_, seq)| *seq).collect())
    }
}
