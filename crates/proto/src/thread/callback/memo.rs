//! The memo of the callbacks: what the log lacks of calls in progress and of their answers.
//!
//! In: the calls in progress. Out: a memo of bounded size: at most as many calls as may be in progress, each with paths alone or with
//! blobs. Owns: nothing. Never: keeps the content of a write, whose hash shows whether it was done.

use std::collections::BTreeMap;

use acpd_model::{ItemId, LaneId, Origin};
use serde::{Deserialize, Serialize};

use super::Callbacks;
use super::delegated_terminals::LostTerminal;
use super::files::WriteCheck;
use super::task::{Delegation, HostTask, Repeatable};
use super::unsent::{AnswerContent, UnsentAnswer};
use super::user_commands::is_users_terminal;
use crate::agent::Call;
use crate::thread::journal::Kept;
use crate::thread::kept::{is_default, seal_of};

/// Our numbers of callbacks stay below this one, above which are those of other requests.
const CALLS: u64 = 1 << 60;
/// Characters of a command that an editor was to start, for the sentence that it is not known whether it did.
const COMMAND_CHARS: usize = 1024;

/// What the next daemon needs of calls in progress, beside the log.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::thread) struct CallbacksMemo {
    /// Number of callbacks of earlier processes.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) before: u64,
    /// Number of callbacks so far.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) count: u64,
    /// For callbacks below this number, no agent waits for the answer.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) abandoned: u64,
    /// The subagents that have made unanswered callbacks.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) lanes: BTreeMap<u64, LaneId>,
    /// Calls in progress, by callback.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) tasks: BTreeMap<u64, TaskMemo>,
    /// Sizes of large unanswered callbacks, in bytes.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) large_calls: BTreeMap<u64, usize>,
    /// Terminals in editors.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) editor_terminals: BTreeMap<String, LostTerminal>,
    /// The maximum output to keep of each terminal, in bytes.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) output_limits: BTreeMap<String, usize>,
    /// Answers that the agent may not have.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) answers: Vec<UnsentAnswer>,
    #[serde(skip_serializing_if = "is_default")]
    seal: Option<u64>,
}

/// A call in progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum TaskMemo {
    /// It is done again.
    Again(Repeatable),
    /// A write had begun.
    Write(WriteCheck),
    /// A command was about to start.
    #[serde(rename_all = "camelCase")]
    Create {
        terminal_id: String,
        /// The request to the host.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<Kept>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        withdrawn: bool,
    },
    /// The release of a terminal in an editor waits for its last output.
    Released(String),
    /// An editor had it.
    Delegated(Box<DelegatedCall>),
}

/// A call that an editor had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct DelegatedCall {
    by: Origin,
    /// The call, without contents that only the editor needed.
    request: Call,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    item: Option<ItemId>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    withdrawn: bool,
}

impl DelegatedCall {
    fn of(delegation: &Delegation) -> Self {
        Self {
            by: delegation.by.clone(),
            request: without_content(&delegation.request),
            at: delegation.at.clone(),
            item: delegation.item,
            withdrawn: delegation.withdrawn,
        }
    }

    /// Returns the delegation to an editor that is gone.
    pub fn restored(self) -> Delegation {
        let Self {
            by,
            request,
            at,
            item,
            withdrawn,
        } = self;
        Delegation {
            connection: String::new(),
            by,
            request,
            at,
            item,
            turn: None,
            makes: None,
            after_exit: false,
            withdrawn,
            until: None,
        }
    }
}

/// Returns what an error names of a call, and what a read needs.
fn without_content(call: &Call) -> Call {
    match call {
        Call::WriteFile { path, .. } => Call::WriteFile {
            path: path.clone(),
            content: String::new(),
        },
        Call::CreateTerminal { command, .. } => Call::CreateTerminal {
            command: command.chars().take(COMMAND_CHARS).collect(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
            output_byte_limit: None,
        },
        Call::Extension { method, .. } => Call::Extension {
            method: method.clone(),
            params: None,
        },
        other => other.clone(),
    }
}

impl TaskMemo {
    fn of(task: &HostTask) -> Self {
        match task {
            HostTask::Again(repeatable) => Self::Again(repeatable.clone()),
            HostTask::Write(write) => Self::Write(write.check()),
            HostTask::Check(check) => Self::Write(check.clone()),
            HostTask::Create { command, kept } => Self::Create {
                terminal_id: command.terminal_id.clone(),
                kept: kept.clone(),
                withdrawn: false,
            },
            HostTask::Find(search) => Self::Create {
                terminal_id: search.terminal_id.clone(),
                kept: search.kept.clone(),
                withdrawn: search.withdrawn,
            },
            HostTask::QueuedRelease(terminal_id) => Self::Released(terminal_id.clone()),
            HostTask::Delegated(delegation) => Self::Delegated(Box::new(DelegatedCall::of(delegation))),
        }
    }

    fn kept(&self) -> Option<&Kept> {
        match self {
            Self::Create { kept, .. } => kept.as_ref(),
            _ => None,
        }
    }
}

impl CallbacksMemo {
    /// Returns whether this is the whole memo as it was made. One with members that this version does not know is not.
    pub fn is_intact(&self) -> bool {
        let is_sealed = *self == Self::default() || self.sealed().seal == self.seal;
        let calls = self.tasks.keys().chain(self.lanes.keys());
        let mut calls = calls.chain(self.answers.iter().map(|answer| &answer.call));
        let in_range = self.count < CALLS && self.before <= self.count && self.abandoned <= self.count;
        is_sealed && in_range && calls.all(|call| *call < self.count)
    }

    pub(super) fn sealed(&self) -> Self {
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
        let of_tasks = self.tasks.values().filter_map(TaskMemo::kept);
        let of_answers = self.answers.iter().filter_map(|answer| match &answer.content {
            AnswerContent::Given(kept) => Some(kept),
            AnswerContent::Again(_) | AnswerContent::Lost => None,
        });
        of_tasks.chain(of_answers)
    }

    /// Returns the terminals that the agent has on this host, each with the maximum output to keep, in bytes. One that was about to be
    /// created is among them.
    pub fn terminals(&self) -> impl Iterator<Item = (&str, usize)> {
        let terminals = self.output_limits.iter();
        let on_host = terminals.filter(|(id, _)| !self.editor_terminals.contains_key(*id));
        on_host.map(|(id, bytes)| (id.as_str(), *bytes))
    }
}

impl Callbacks {
    /// Returns what the next daemon needs beside the log.
    pub fn memo(&self) -> CallbacksMemo {
        let tasks = self.tasks.iter();
        let limits = self.output_limits.iter();
        let editor_terminals = self.editor_terminals.iter();
        let memo = CallbacksMemo {
            before: self.before,
            count: self.count,
            abandoned: self.abandoned,
            lanes: self.lanes.clone(),
            tasks: tasks.map(|(call, task)| (*call, TaskMemo::of(task))).collect(),
            large_calls: self.large_calls.clone(),
            editor_terminals: editor_terminals
                .map(|(id, terminal)| (id.clone(), terminal.memo()))
                .collect(),
            output_limits: limits
                .filter(|(id, _)| !is_users_terminal(id))
                .map(|(id, bytes)| (id.clone(), *bytes))
                .collect(),
            answers: self.unsent.all().cloned().collect(),
            seal: None,
        };
        memo.sealed()
    }
}
