//! Answers that are on their way to the agent.
//!
//! In: each answer of a held agent's call, and how many of them its process has. Out: what a memo has of the others, so that the next
//! daemon sends them again. Owns: these answers. Never: copies a long result that the host can return again.

use std::collections::VecDeque;

use acpd_model::{LaneId, RawJson};
use serde::{Deserialize, Serialize};

use super::Callbacks;
use super::task::Repeatable;
use crate::thread::host_call::HostCall;
use crate::thread::journal::{Journal, Kept};
use crate::thread::kept::keep;
use crate::wire::RpcError;

/// Answers that may be on their way at the same time. With more, the agent's work is not carried over to the next daemon.
const UNSENT_ANSWERS: usize = 1024;
/// Length up to which a result is kept, although the host can return it again, in bytes.
const SMALL_BYTES: usize = 512;

/// The answers that the agent may not have.
#[derive(Debug, Default)]
pub(super) struct UnsentAnswers {
    answers: VecDeque<UnsentAnswer>,
    /// Number of the first of them among all answers to this process.
    first: u64,
    /// How many answers the journal of the process has.
    sent: u64,
    /// Answers below this number are not here, because there were too many.
    forgotten: u64,
}

/// An answer that the agent may not have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct UnsentAnswer {
    pub call: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<LaneId>,
    pub content: AnswerContent,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum AnswerContent {
    /// The result or the error.
    Given(Kept),
    /// The result is long, and the host returns it again.
    Again(Repeatable),
    /// The result cannot be kept.
    Lost,
}

impl UnsentAnswers {
    /// Notes an answer to a call of a subagent, or of the main agent. `repeatable` returns its result again.
    pub fn note(
        &mut self,
        journal: &mut Journal,
        (call, lane): (u64, Option<LaneId>),
        result: &Result<RawJson, RpcError>,
        repeatable: Option<HostCall>,
    ) {
        if !journal.is_exact() {
            return;
        }
        let is_long = matches!(result, Ok(result) if result.get().len() > SMALL_BYTES);
        let content = match repeatable.filter(|_| is_long) {
            Some(what) => AnswerContent::Again(Repeatable { what, recorded: true }),
            None => keep(journal, result).map_or(AnswerContent::Lost, AnswerContent::Given),
        };
        self.answers.push_back(UnsentAnswer { call, lane, content });
        if self.answers.len() > UNSENT_ANSWERS {
            self.forget_first();
            self.forgotten = self.first;
        }
    }

    fn forget_first(&mut self) {
        if self.answers.pop_front().is_some() {
            self.first += 1;
        }
    }

    /// Returns the answers, in their order.
    pub fn all(&self) -> impl Iterator<Item = &UnsentAnswer> {
        self.answers.iter()
    }
}

impl Callbacks {
    /// Forgets the first `count` of all answers to this process: its journal has them. The count begins anew with each process and each
    /// daemon.
    pub fn answers_sent(&mut self, count: u64) {
        self.unsent.sent = self.unsent.sent.max(count);
        while self.unsent.first < count && !self.unsent.answers.is_empty() {
            self.unsent.forget_first();
        }
    }

    /// Returns whether the calls can be carried over to the next daemon.
    pub fn is_resumable(&self) -> bool {
        self.unsent.forgotten <= self.unsent.sent
    }
}
