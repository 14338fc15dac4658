//! Separates updates that an agent replays from an earlier conversation, which the log mostly contains, from new
//! updates.
//!
//! In: how its session is opened, its updates, time. Out: whether an update is a repetition. Most agents repeat the
//! conversation before they answer `session/load` or `session/resume`; Gemini answers in the middle of it.

use std::time::Duration;

use acpd_model::event::Binding;

use super::update::{Update, UpdateKind};
use crate::time::{Instant, earliest};

/// How long an agent that loads a session must be silent before its updates count as new.
const QUIET: Duration = Duration::from_millis(250);

/// The same for an agent that has resumed or forked a session and has not replayed anything yet. In ACP neither replays
/// anything, so this covers the few agents that do.
const RESUMED_QUIET: Duration = Duration::from_millis(100);

/// The state of the agent's replay.
#[derive(Debug, Default)]
pub(super) enum SessionReplay {
    /// Updates are new.
    #[default]
    Over,
    /// The session is being opened.
    Opening,
    /// The session is loaded or resumed; the agent may still replay the conversation.
    Following {
        /// When the agent has been silent for long enough.
        quiet: Instant,
        /// The latest time at which the replay ends.
        end: Instant,
    },
}

impl SessionReplay {
    /// Records that the session is about to be opened.
    pub fn open(&mut self, how: Binding) {
        *self = match how {
            Binding::New => Self::Over,
            Binding::Load | Binding::Resume | Binding::Fork => Self::Opening,
        };
    }

    /// Records the agent's answer. Returns whether the session can be used immediately; otherwise it can be used when
    /// [`expire`](Self::expire) returns `true`, after `patience` at the latest.
    pub fn opened(&mut self, how: Binding, now: Instant, patience: Duration) -> bool {
        *self = match how {
            Binding::New => Self::Over,
            Binding::Load | Binding::Resume | Binding::Fork => Self::Following {
                quiet: now
                    + if how == Binding::Load {
                        QUIET
                    } else {
                        RESUMED_QUIET
                    },
                end: now + patience,
            },
        };
        matches!(self, Self::Over)
    }

    /// Returns whether an update belongs to the earlier conversation.
    pub fn repeats(&mut self, update: &Update, now: Instant) -> bool {
        let conversation = matches!(
            update.kind,
            UpdateKind::Chunk(_)
                | UpdateKind::Tool(_)
                | UpdateKind::Plan(_)
                | UpdateKind::PlanRemoved(_)
                | UpdateKind::Compaction { .. }
                | UpdateKind::Cursor(_)
                | UpdateKind::SessionMessage(_)
                | UpdateKind::SessionChunk(_)
        );
        match self {
            Self::Opening if conversation => {}
            Self::Following { quiet, .. } if conversation => *quiet = now + QUIET,
            _ => return false,
        }
        true
    }

    /// Returns whether the agent may be repeating the earlier conversation.
    pub fn is_replaying(&self) -> bool {
        !matches!(self, Self::Over)
    }

    /// Returns whether the session has become usable with this call.
    pub fn expire(&mut self, now: Instant) -> bool {
        let due = self.deadline().is_some_and(|at| at <= now);
        if due {
            *self = Self::Over;
        }
        due
    }

    /// Returns when to call [`expire`](Self::expire).
    pub fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Following { quiet, end } => earliest(Some(*quiet), Some(*end)),
            Self::Over | Self::Opening => None,
        }
    }
}
