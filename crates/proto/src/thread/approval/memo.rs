//! The memo of the approvals: what the log lacks of calls that wait for a decision.
//!
//! In: the calls that wait, and permissions of the turn. Out: a memo of bounded size. Owns: what a memo has of each call, computed once.
//! Never: keeps a policy: those of the configuration and of the log apply again.

use std::collections::{BTreeMap, BTreeSet};

use acpd_model::{Origin, RawJson};
use acpd_policy::Request;
use serde::{Deserialize, Serialize};

use super::grants::Grant;
use super::policy::Policies;
use super::{Approvals, OpenQuestion};
use crate::thread::effect::RememberedChange;
use crate::thread::journal::{Journal, Kept};
use crate::thread::kept::{Recall, is_default, keep, keep_inline, read, seal_of};

/// Bytes of permissions of the turn in a memo.
const GRANT_BYTES: usize = 16 << 10;

/// Answers that are being remembered at the same time. Each takes milliseconds, so that more are in no memo.
const REMEMBERING: usize = 16;

/// What the next daemon needs of calls that wait for a decision, beside the log.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::thread) struct ApprovalsMemo {
    /// The calls that wait for the answer to a question, by the number of the question.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) questions: BTreeMap<u32, HeldCall>,
    /// Calls whose paths are being resolved.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) lookups: Vec<HeldCall>,
    /// Writes whose file is being read.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) comparisons: Vec<HeldCall>,
    /// Permissions of the turn.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) grants: Vec<RawJson>,
    /// The policies under which these were given.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) policies: Option<u64>,
    /// Answers that are being remembered for all threads of the agent.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) remembering: Vec<Kept>,
    #[serde(skip_serializing_if = "is_default")]
    seal: Option<u64>,
}

/// A call that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct HeldCall {
    pub call: u64,
    pub kept: Kept,
}

/// An answer that is being remembered.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Remembering {
    pub by: Origin,
    pub request: Request,
    pub allow: bool,
}

impl ApprovalsMemo {
    /// Returns whether this is the whole memo as it was made. One with members that this version does not know is not.
    pub fn is_intact(&self) -> bool {
        *self == Self::default() || self.sealed().seal == self.seal
    }

    fn sealed(&self) -> Self {
        let mut memo = self.clone();
        memo.seal = None;
        memo.seal = if memo == Self::default() {
            None
        } else {
            seal_of(&memo)
        };
        memo
    }

    /// Returns the values that may be in blobs, which are read before the thread continues.
    pub fn kept(&self) -> impl Iterator<Item = &Kept> {
        let held = self.questions.values().chain(&self.lookups);
        let held = held.chain(&self.comparisons).map(|held| &held.kept);
        held.chain(&self.remembering)
    }
}

impl Approvals {
    /// Returns what the next daemon needs beside the log.
    pub fn memo(&self) -> ApprovalsMemo {
        let grants = self.kept_grants();
        let memo = ApprovalsMemo {
            questions: self
                .questions
                .iter()
                .filter_map(|(number, question)| {
                    Some((*number, self.held(question.waiting.call(), question)?))
                })
                .collect(),
            lookups: self.held_all(&self.lookups),
            comparisons: self.held_all(&self.comparisons),
            policies: if grants.is_empty() {
                None
            } else {
                digest(&self.policies)
            },
            grants,
            remembering: self.remembering.iter().cloned().collect(),
            seal: None,
        };
        memo.sealed()
    }

    /// Returns the permissions of the turn. Those without room are left out: such a call is asked about again.
    fn kept_grants(&self) -> Vec<RawJson> {
        let mut room = GRANT_BYTES;
        let mut grants = Vec::new();
        for grant in &self.grants {
            if let Ok(json) = RawJson::of(grant)
                && let Some(rest) = room.checked_sub(json.get().len())
            {
                room = rest;
                grants.push(json);
            }
        }
        grants
    }

    fn held_all<T: Serialize>(&self, calls: &BTreeMap<u64, T>) -> Vec<HeldCall> {
        let held = calls.iter().filter_map(|(call, value)| self.held(*call, value));
        held.collect()
    }

    /// Returns what the memo has of a call. If it began to wait before the journal was exact, there is no blob.
    fn held<T: Serialize>(&self, call: u64, value: &T) -> Option<HeldCall> {
        let kept = match self.kept.get(&call) {
            Some(kept) => kept.clone(),
            None => keep_inline(value)?,
        };
        Some(HeldCall { call, kept })
    }

    /// Notes what a memo has of a call that begins to wait.
    pub(super) fn keep<T: Serialize>(&mut self, journal: &mut Journal, call: u64, value: &T) {
        if !journal.is_exact() {
            return;
        }
        let waiting: BTreeSet<u64> = self.calls().collect();
        self.kept
            .retain(|known, _| *known != call && waiting.contains(known));
        self.kept.extend(keep(journal, value).map(|kept| (call, kept)));
    }

    /// Notes an answer that is about to be remembered for all threads of the agent.
    pub(super) fn keep_remembering(&mut self, journal: &mut Journal, by: &Origin, order: &RememberedChange) {
        let RememberedChange::Remember { request, allow } = order else {
            return;
        };
        if !journal.is_exact() || self.remembering.len() >= REMEMBERING {
            return;
        }
        let remembering = Remembering {
            by: by.clone(),
            request: (**request).clone(),
            allow: *allow,
        };
        self.remembering.extend(keep(journal, &remembering));
    }
}

/// Returns a number for the policies of the configuration and the answers of the agent. If it is another one, permissions of the turn
/// are void, as after any change of them.
pub(super) fn digest(policies: &Policies) -> Option<u64> {
    let answers: Vec<_> = policies.answers.iter().collect();
    seal_of(&(&policies.daemon, &policies.agent, answers, &policies.home))
}

/// Reads a permission of the turn.
pub(super) fn read_grant(json: &RawJson) -> Option<Grant> {
    serde_json::from_str(json.get()).ok()
}

/// Reads a question, if it belongs to this call.
pub(super) fn read_question(held: &HeldCall, recall: &Recall<'_>) -> Option<OpenQuestion> {
    let question: OpenQuestion = read(&held.kept, recall)?;
    (question.waiting.call() == held.call).then_some(question)
}
