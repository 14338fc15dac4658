//! Turns that are no longer part of a thread's conversation but remain in the log.

use std::ops::RangeInclusive;

use acpd_model::TurnId;
use serde::{Deserialize, Serialize};

/// The set of dropped turns. A rollback drops all turns after a given one and thus adds at most one run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DroppedTurns {
    /// First and last turn of each run, in order. At least one kept turn separates two runs.
    runs: Vec<(u32, u32)>,
}

impl DroppedTurns {
    /// Drops the turns after `kept`, up to `last`, which is the last turn of the thread.
    pub fn drop_after(&mut self, kept: Option<TurnId>, last: u32) {
        let kept = kept.map_or(0, |turn| turn.0);
        let mut first = kept + 1;
        while let Some((begin, _)) = self.runs.pop_if(|(_, end)| *end >= kept) {
            first = first.min(begin);
        }
        if first <= last {
            self.runs.push((first, last));
        }
    }

    /// Returns whether `turn` was dropped.
    pub fn contains(&self, turn: TurnId) -> bool {
        let at = self.runs.partition_point(|(_, end)| *end < turn.0);
        self.runs.get(at).is_some_and(|(first, _)| *first <= turn.0)
    }

    /// Returns the last turn that was not dropped, of the turns up to `last`.
    pub fn last_kept(&self, last: u32) -> Option<TurnId> {
        let kept = match self.runs.last() {
            Some((first, end)) if *end >= last => (*first - 1).min(last),
            _ => last,
        };
        (kept > 0).then_some(TurnId(kept))
    }

    /// Returns the last turn before `turn` that was not dropped.
    pub fn kept_before(&self, turn: TurnId) -> Option<TurnId> {
        let before = turn.0.saturating_sub(1);
        let at = self.runs.partition_point(|(_, end)| *end < before);
        let kept = match self.runs.get(at) {
            Some((first, _)) if *first <= before => first - 1,
            _ => before,
        };
        (kept > 0).then_some(TurnId(kept))
    }

    /// Returns the numbers of the dropped turns, as ascending runs.
    pub fn runs(&self) -> impl Iterator<Item = RangeInclusive<u32>> {
        self.runs.iter().map(|(first, last)| *first..=*last)
    }

    /// Returns the number of dropped turns.
    pub fn count(&self) -> u32 {
        self.runs.iter().map(|(first, last)| last - first + 1).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_merged_and_found() {
        let mut dropped = DroppedTurns::default();
        let mut is = [false; 13];
        let steps = [
            (Some(3), 5),
            (Some(6), 8),
            (Some(9), 9),
            (Some(6), 10),
            (Some(2), 11),
            (None, 12),
        ];
        for (kept, last) in steps {
            dropped.drop_after(kept.map(TurnId), last);
            for turn in kept.unwrap_or(0) + 1..=last {
                is[turn as usize] = true;
            }
            for turn in 1..=12 {
                assert_eq!(
                    dropped.contains(TurnId(turn)),
                    is[turn as usize],
                    "{turn} after {kept:?}"
                );
            }
            assert_eq!(dropped.last_kept(last), kept.map(TurnId));
            for turn in 0..=12_u32 {
                let before = (1..turn).rev().find(|before| !is[*before as usize]);
                assert_eq!(
                    dropped.kept_before(TurnId(turn)),
                    before.map(TurnId),
                    "before {turn}"
                );
            }
            assert_eq!(dropped.count() as usize, is.iter().filter(|is| **is).count());
        }
        assert_eq!(dropped.runs, [(1, 12)]);
    }
}
