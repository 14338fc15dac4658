//! The state between the two versions, for one process of an agent.

use acpd_model::{RawJson, TurnId};
use serde::{Deserialize, Serialize};

use super::allowance::Allowance;
use super::background::Background;
use super::calls::Calls;
use super::compaction::Compactions;
use super::known::is_default;
use super::message::Messages;
use super::parts::text_in;
use super::prompt::{Ending, Prompts};
use super::skill::{Invoked, Skills};
use super::terminal::Terminals;
use crate::wire::RpcError;

/// What version 1 repeats and version 2 does not, and the prompt that the agent works at.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::agent) struct Translator {
    #[serde(skip_serializing_if = "is_default")]
    pub(super) calls: Calls,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) terminals: Terminals,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) messages: Messages,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) background: Background,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) compactions: Compactions,
    pub(super) allowance: Allowance,
    /// The number of questions without a tool call so far.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) questions: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) skills: Skills,
    #[serde(skip_serializing_if = "is_default")]
    prompts: Prompts,
}

impl Translator {
    /// Records that a session is being opened.
    pub fn open(&mut self) {
        self.skills = Skills::default();
        self.prompts.open();
    }

    /// Handles the answer to the request that opened the agent's own session.
    pub fn opened(&mut self, result: &RawJson) {
        self.skills.learn(result);
    }

    /// Begins a turn. Returns its prompt in the form of version 2.
    pub fn prompt(&mut self, turn: TurnId, prompt: Vec<RawJson>) -> Vec<RawJson> {
        self.prompts.begin(turn);
        self.skills.prompt(prompt)
    }

    /// Begins a turn whose prompt was sent before, and the skill that it invokes.
    pub fn prompt_was_sent(&mut self, turn: TurnId, invoked: Option<Invoked>) {
        self.prompts.begin(turn);
        self.skills.prompt_was_sent(invoked);
    }

    /// Returns the turn that has no end yet.
    pub fn turn(&self) -> Option<TurnId> {
        self.prompts.turn()
    }

    /// Returns what a memo has of it: all but the content of what has long ended.
    pub fn for_memo(&self) -> Self {
        let mut memo = self.clone();
        memo.calls.forget_ended();
        memo.terminals.forget_ended();
        memo
    }

    /// Returns about how many bytes its memo has.
    pub fn memo_bytes(&self) -> usize {
        self.calls.memo_bytes()
            + self.terminals.memo_bytes()
            + self.messages.memo_bytes()
            + self.background.memo_bytes()
            + self.compactions.memo_bytes()
            + self.skills.memo_bytes()
    }

    /// Records that the daemon has cancelled the turn.
    pub fn cancel(&mut self) {
        self.prompts.cancel();
    }

    /// Returns whether the running turn's prompt was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.prompts.is_cancelled()
    }

    /// Handles the answer to a prompt. Returns the end of the turn if the prompt did not get into the conversation.
    pub fn prompt_answered(&mut self, turn: TurnId, result: Result<RawJson, RpcError>) -> Option<Ending> {
        self.prompts.answered(turn, result)
    }

    /// Handles an update of the agent's own session. Returns the end of the turn if it is the one that ends it.
    pub fn follow_prompt(&mut self, update: &RawJson) -> Option<Ending> {
        if text_in(update, "sessionUpdate").is_some_and(|kind| kind == "available_commands_update") {
            self.skills.learn(update);
        }
        self.prompts.follow(update)
    }
}
