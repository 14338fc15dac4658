//! Telling what an agent repeats of an earlier conversation, most of which the log has, from what it says now.
//!
//! In: how its session is opened, its updates, time. Out: whether an update is a repetition. Most agents repeat
//! the conversation before they answer `session/load` or `session/resume`; Gemini answers in the middle of it.

use std::time::Duration;

use acpd_model::event::Binding;

use super::update::{Update, UpdateKind};
use crate::time::{Instant, earliest};

/// How long an agent that goes on with a session must have been silent until what it says is new.
const QUIET: Duration = Duration::from_millis(250);

/// The same for one that has resumed a session, until it begins to repeat it. ACP has it repeat nothing, so that this
/// is for the few that do.
const RESUMED_QUIET: Duration = Duration::from_millis(100);

/// Where an agent is with its repetition.
#[derive(Debug, Default)]
pub(super) enum SessionReplay {
    /// What it says is new.
    #[default]
    Over,
    /// Its session is being opened.
    Opening,
    /// Its session is loaded or resumed; it may still repeat the conversation.
    Following {
        /// When it has been silent for long enough.
        quiet: Instant,
        /// When it is not waited for any longer.
        end: Instant,
    },
}

impl SessionReplay {
    /// The session is about to be opened.
    pub fn open(&mut self, how: Binding) {
        *self = match how {
            Binding::New => Self::Over,
            Binding::Load | Binding::Resume => Self::Opening,
        };
    }

    /// The agent answered. Says whether the session can be used at once; else it can when [`expire`](Self::expire)
    /// says so, after `patience` at the latest.
    pub fn opened(&mut self, how: Binding, now: Instant, patience: Duration) -> bool {
        *self = match how {
            Binding::New => Self::Over,
            Binding::Load | Binding::Resume => Self::Following {
                quiet: now
                    + if how == Binding::Resume {
                        RESUMED_QUIET
                    } else {
                        QUIET
                    },
                end: now + patience,
            },
        };
        matches!(self, Self::Over)
    }

    /// Whether an update tells of what was said before.
    pub fn repeats(&mut self, update: &Update, now: Instant) -> bool {
        let conversation = matches!(
            update.kind,
            UpdateKind::Chunk(_) | UpdateKind::Tool(_) | UpdateKind::Plan(_) | UpdateKind::Compaction { .. }
        );
        match self {
            Self::Opening if conversation => {}
            Self::Following { quiet, .. } if conversation => *quiet = now + QUIET,
            _ => return false,
        }
        true
    }

    /// Whether the session can be used now and could not before.
    pub fn expire(&mut self, now: Instant) -> bool {
        let due = self.deadline().is_some_and(|at| at <= now);
        if due {
            *self = Self::Over;
        }
        due
    }

    /// When to call [`expire`](Self::expire).
    pub fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Following { quiet, end } => earliest(Some(*quiet), Some(*end)),
            Self::Over | Self::Opening => None,
        }
    }
}
