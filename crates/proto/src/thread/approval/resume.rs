//! Decisions that the next daemon continues: questions stay open, and what had begun for a decision is done again.
//!
//! In: the memo of the daemon that was killed, and the state from the log. Out: the effects that are due, and answers for calls whose
//! content is lost. Never: allows a call by itself. The policies that apply now are set before.

use std::collections::BTreeSet;

use acpd_model::{ErrorCode, Failure};

use super::memo::{ApprovalsMemo, HeldCall, Remembering, digest, read_grant, read_question};
use super::path_lookup::PathLookup;
use super::{Approvals, CallResult, Comparison};
use crate::thread::effect::{Effect, RememberedChange};
use crate::thread::journal::Journal;
use crate::thread::kept::{Recall, read};

/// Why a question is void, and its call is refused.
const CONTENT_LOST: &str = "acpd was restarted, and the content of this request was lost";

impl Approvals {
    /// Continues from a memo. Returns the answers for calls that cannot continue. Questions that the memo does not know are void. The
    /// policies must be set before.
    pub fn resume(
        &mut self,
        journal: &mut Journal,
        memo: ApprovalsMemo,
        recall: &Recall<'_>,
    ) -> Vec<(u64, CallResult)> {
        let memo = if memo.is_intact() {
            memo
        } else {
            ApprovalsMemo::default()
        };
        let mut lost = Vec::new();
        for (number, held) in memo.questions {
            let is_open = journal.live().requests.contains_key(&number);
            match read_question(&held, recall).filter(|_| is_open) {
                Some(question) => {
                    self.questions.insert(number, question);
                    self.hold(held);
                }
                None => lost.push(held.call),
            }
        }
        self.void_unknown(journal);
        for held in memo.lookups {
            match read::<PathLookup>(&held.kept, recall) {
                Some(lookup) => {
                    self.look_up(journal, held.call, lookup);
                    self.hold(held);
                }
                None => lost.push(held.call),
            }
        }
        for held in memo.comparisons {
            let comparison = read::<Comparison>(&held.kept, recall);
            match comparison.and_then(|comparison| Some((comparison.read()?, comparison))) {
                Some((read, comparison)) => {
                    self.comparisons.insert(held.call, comparison);
                    journal.call_host(held.call, read);
                    self.hold(held);
                }
                None => lost.push(held.call),
            }
        }
        if memo.policies == digest(&self.policies) {
            self.grants = memo.grants.iter().filter_map(read_grant).collect();
        }
        for kept in memo.remembering {
            if let Some(Remembering { by, request, allow }) = read(&kept, recall) {
                let request = Box::new(request);
                let order = RememberedChange::Remember { request, allow };
                journal.push(Effect::ChangeRemembered { by, order });
                self.remembering.push_back(kept);
            }
        }
        let failure = Failure::new(ErrorCode::Internal, CONTENT_LOST);
        lost.into_iter()
            .map(|call| (call, Err((&failure).into())))
            .collect()
    }

    fn hold(&mut self, held: HeldCall) {
        self.kept.insert(held.call, held.kept);
    }

    /// Voids the open questions for which no call waits.
    fn void_unknown(&mut self, journal: &mut Journal) {
        let open: BTreeSet<u32> = journal.live().requests.keys().copied().collect();
        for number in open {
            if !self.questions.contains_key(&number) {
                self.void(journal, number, CONTENT_LOST);
            }
        }
    }
}
