//! The state between the two versions, for one process of an agent.

use acpd_model::{RawJson, TurnId};

use super::allowance::Allowance;
use super::background::Background;
use super::calls::Calls;
use super::compaction::Compactions;
use super::message::Messages;
use super::parts::text_in;
use super::prompt::{Ending, Prompts};
use super::skill::Skills;
use super::terminal::Terminals;
use crate::wire::RpcError;

/// What version 1 repeats and version 2 does not, and the prompt that the agent works at.
#[derive(Debug, Default)]
pub(in crate::agent) struct Translator {
    pub(super) calls: Calls,
    pub(super) terminals: Terminals,
    pub(super) messages: Messages,
    pub(super) background: Background,
    pub(super) compactions: Compactions,
    pub(super) allowance: Allowance,
    /// The number of questions without a tool call so far.
    pub(super) questions: u64,
    pub(super) skills: Skills,
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

    /// Records that the daemon has cancelled the turn.
    pub fn cancel(&mut self) {
        self.prompts.cancel();
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
