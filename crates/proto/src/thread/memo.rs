//! What the log does not say of a thread whose agent works: with it, another process continues the thread.
//!
//! In: the memo of each part. Out: one memo for the thread, and what the next process reads again for it. Owns: the members'
//! names. Never: repeats what events have; a memo is stored with almost each append.

use std::ops::RangeInclusive;

use acpd_model::{BlobId, RawJson, Seq};
use serde::{Deserialize, Serialize};

use super::approval::ApprovalsMemo;
use super::callback::CallbacksMemo;
use super::journal::Kept;
use super::kept::is_default;
use super::message::memo::MessagesMemo;
use super::session::SessionMemo;
use super::subagents::SubagentsMemo;
use super::tool_call::memo::ToolCallsMemo;
use super::turn::memo::TurnsMemo;
use crate::agent::{AgentCommand, AgentRequest};

/// What the log does not say of a thread whose agent's session is open. It belongs to the last event that was taken.
///
/// The next process makes the thread from its events, reads what [`recalls`](Self::recalls) names, and passes the memo to
/// [`Thread::resume`](super::Thread::resume). A memo has no version: its caller stores one beside it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadMemo {
    pub(super) session: SessionMemo,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) turns: TurnsMemo,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) messages: MessagesMemo,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) subagents: SubagentsMemo,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) callbacks: CallbacksMemo,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) approvals: ApprovalsMemo,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) tool_calls: ToolCallsMemo,
    /// Whether the running turn has changed files.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) files: bool,
    /// Whether the thread says that it has too many plans.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) says_plans_dropped: bool,
    /// Commands for the agent that follow the last event, and that no part issues again.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) once: Vec<Once>,
}

/// What the next process reads for a memo.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recalls {
    /// The events for [`Thread::recall`](super::Thread::recall), in their order. A range may end after the last event.
    pub events: Vec<RangeInclusive<Seq>>,
    /// The blobs for [`Thread::recall_blob`](super::Thread::recall_blob).
    pub blobs: Vec<BlobId>,
}

impl ThreadMemo {
    /// Returns whether calls of the agent can continue as this memo says. One of a version that keeps more is not understood.
    pub fn is_intact(&self) -> bool {
        self.callbacks.is_intact() && self.approvals.is_intact()
    }

    /// Returns the terminals that the agent has on this host, each with the maximum output to keep, in bytes. One that was about to be
    /// created is among them.
    pub fn terminals(&self) -> impl Iterator<Item = (&str, usize)> {
        self.callbacks.terminals()
    }

    /// Returns what the next process reads for this memo.
    pub fn recalls(&self) -> Recalls {
        let turn = match self.turns.inputs() {
            Some(inputs) if self.files => Some(*inputs.start()..=Seq::MAX),
            inputs => inputs,
        };
        let alone = self.session.events();
        let alone = alone.filter(|seq| !turn.as_ref().is_some_and(|turn| turn.contains(seq)));
        let mut events: Vec<_> = alone.map(|seq| seq..=seq).chain(turn.clone()).collect();
        events.sort_unstable_by_key(|range| *range.start());
        let kept = self.turns.kept().chain(self.callbacks.kept());
        let kept = kept.chain(self.approvals.kept());
        let blobs = kept.filter_map(Kept::blob).collect();
        Recalls { events, blobs }
    }
}

/// A command for the agent that is sent once, and that nothing answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Once {
    Cancel,
    CancelSubagent {
        session: String,
    },
    Notify {
        method: String,
        params: Option<RawJson>,
    },
    /// The end of a session that the agent has forked.
    Close {
        ask: u64,
        session: String,
    },
}

impl Once {
    /// Returns a command as one that is sent once, if it is.
    pub fn of(command: &AgentCommand) -> Option<Self> {
        match command {
            AgentCommand::Cancel => Some(Self::Cancel),
            AgentCommand::CancelSubagent { session } => Some(Self::CancelSubagent {
                session: session.clone(),
            }),
            AgentCommand::Notify { method, params } => Some(Self::Notify {
                method: method.clone(),
                params: params.clone(),
            }),
            AgentCommand::Request {
                ask,
                request: AgentRequest::CloseSession { session_id },
            } => Some(Self::Close {
                ask: *ask,
                session: session_id.clone(),
            }),
            // The parts issue the others again. The last ones are none of an open session.
            AgentCommand::Prompt { .. }
            | AgentCommand::Request { .. }
            | AgentCommand::Answer { .. }
            | AgentCommand::Open(_)
            | AgentCommand::WaitForUser(_)
            | AgentCommand::Close => None,
        }
    }

    /// Returns the command.
    pub fn command(self) -> AgentCommand {
        match self {
            Self::Cancel => AgentCommand::Cancel,
            Self::CancelSubagent { session } => AgentCommand::CancelSubagent { session },
            Self::Notify { method, params } => AgentCommand::Notify { method, params },
            Self::Close { ask, session } => AgentCommand::Request {
                ask,
                request: AgentRequest::CloseSession { session_id: session },
            },
        }
    }
}
