//! What the log does not say of the running turn.
//!
//! In: the state of turns. Out: its memo, and the state again with the prompt for the agent. Owns: nothing. Never: contains the
//! input of a turn, which its events have.

use std::ops::RangeInclusive;

use acpd_model::{Millis, Origin, Seq, TurnId};
use serde::{Deserialize, Serialize};

use super::{CutOff, Given, TurnResult, Turns, UnsentPrompt, Work};
use crate::thread::journal::{Journal, Kept};
use crate::thread::kept::is_default;
use crate::thread::recalled::Recalled;

/// What the log does not say of the running turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::thread) struct TurnsMemo {
    #[serde(skip_serializing_if = "is_default")]
    work: WorkMemo,
    /// The first event of the running turn, and the last one with input for it.
    #[serde(skip_serializing_if = "is_default")]
    inputs: Option<(Seq, Seq)>,
    /// Whether the prompt waits to be sent.
    #[serde(skip_serializing_if = "is_default")]
    unsent: bool,
    /// `_meta` of the prompt.
    #[serde(skip_serializing_if = "is_default")]
    meta: Option<Kept>,
    /// The block that was sent before the prompt.
    #[serde(skip_serializing_if = "is_default")]
    primer: Option<Kept>,
    #[serde(skip_serializing_if = "is_default")]
    cancel_until: Option<Millis>,
    #[serde(skip_serializing_if = "is_default")]
    cut_off: Option<(TurnId, Millis)>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum WorkMemo {
    #[default]
    Nothing,
    Prompt(TurnId),
    Commands,
    Tail {
        until: Millis,
        latest: Millis,
        end: Box<(TurnResult, Origin)>,
    },
    Unprompted {
        until: Millis,
    },
}

impl TurnsMemo {
    /// Returns the range of events with the input of the running turn.
    pub fn inputs(&self) -> Option<RangeInclusive<Seq>> {
        self.inputs.map(|(first, last)| first..=last)
    }

    /// Returns the values that may be blobs.
    pub fn kept(&self) -> impl Iterator<Item = &Kept> {
        self.meta.iter().chain(&self.primer)
    }

    /// Returns whether the agent has the unanswered prompt of this turn, or is about to get it.
    pub fn needs_prompt(&self, running: TurnId) -> bool {
        self.unsent || self.work == WorkMemo::Prompt(running)
    }

    /// Returns whether the prompt was not sent yet.
    pub fn is_unsent(&self) -> bool {
        self.unsent
    }

    /// Returns the prompt as it was sent, or is to be sent. `None` if a part of it was not read.
    pub fn prompt(&self, recalled: &Recalled) -> Option<UnsentPrompt> {
        let mut blocks = Vec::new();
        if let Some(primer) = &self.primer {
            blocks.push(recalled.json(primer)?);
        }
        blocks.extend(recalled.prompt()?.iter().cloned());
        let meta = match &self.meta {
            Some(meta) => Some(recalled.json(meta)?),
            None => None,
        };
        Some(UnsentPrompt { blocks, meta })
    }
}

impl Turns {
    /// Returns what the log does not say of the running turn.
    pub fn memo(&self, journal: &Journal) -> TurnsMemo {
        let anchor = journal.anchor();
        let work = match &self.work {
            Work::Nothing => WorkMemo::Nothing,
            Work::Prompt(turn) => WorkMemo::Prompt(*turn),
            Work::Commands => WorkMemo::Commands,
            Work::Tail { until, latest, end } => WorkMemo::Tail {
                until: anchor.wall(*until),
                latest: anchor.wall(*latest),
                end: end.clone(),
            },
            Work::Unprompted { until } => WorkMemo::Unprompted {
                until: anchor.wall(*until),
            },
        };
        let given = self.given.as_ref();
        TurnsMemo {
            work,
            inputs: given.map(|given| (given.first, given.last)),
            unsent: self.prompt.is_some(),
            meta: given.and_then(|given| given.meta.clone()),
            primer: given.and_then(|given| given.primer.clone()),
            cancel_until: self.cancel_deadline.map(|at| anchor.wall(at)),
            cut_off: self
                .cut_off
                .map(|cut_off| (cut_off.turn, anchor.wall(cut_off.until))),
        }
    }

    /// Continues with the running turn. `prompt` is its prompt, if the memo needs it.
    pub fn resume(journal: &Journal, memo: TurnsMemo, prompt: Option<UnsentPrompt>) -> Self {
        let work = match memo.work {
            WorkMemo::Nothing => Work::Nothing,
            WorkMemo::Prompt(turn) => Work::Prompt(turn),
            WorkMemo::Commands => Work::Commands,
            WorkMemo::Tail { until, latest, end } => Work::Tail {
                until: journal.deadline_of(until),
                latest: journal.instant_of(latest),
                end,
            },
            WorkMemo::Unprompted { until } => Work::Unprompted {
                until: journal.deadline_of(until),
            },
        };
        Self {
            prompt: prompt.filter(|_| memo.unsent),
            work,
            cancel_deadline: memo.cancel_until.map(|at| journal.deadline_of(at)),
            cut_off: memo.cut_off.map(|(turn, until)| CutOff {
                turn,
                until: journal.deadline_of(until),
            }),
            given: memo.inputs.map(|(first, last)| {
                Box::new(Given {
                    first,
                    last,
                    meta: memo.meta,
                    primer: memo.primer,
                })
            }),
        }
    }
}
