//! The memo of the tool calls: what the log lacks of them.
//!
//! In: the state of tool calls beyond their events. Out: a memo. Owns: nothing. Never: keeps the last update of a call: the next repeat of
//! it only counts as activity of the agent once more.

use std::collections::{BTreeMap, BTreeSet};

use acpd_model::ItemId;
use serde::{Deserialize, Serialize};

use super::{ToolCalls, VIOLATIONS, Violation};
use crate::thread::kept::is_default;

/// What the next daemon needs of tool calls, beside the log.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::thread) struct ToolCallsMemo {
    /// Open tool calls that the agent has named in a permission request only → whether they may run.
    #[serde(skip_serializing_if = "is_default")]
    unreported: BTreeMap<ItemId, bool>,
    /// Those of them that a denial has ended.
    #[serde(skip_serializing_if = "is_default")]
    refused: BTreeSet<ItemId>,
    /// Those that the agent reports on and a denial has ended.
    #[serde(skip_serializing_if = "is_default")]
    denied: BTreeSet<ItemId>,
    /// The protocol violations that this turn has notices of.
    #[serde(skip_serializing_if = "is_default")]
    violations: Vec<(Option<ItemId>, Violation)>,
}

impl ToolCalls {
    /// Returns what the next daemon needs beside the log.
    pub fn memo(&self) -> ToolCallsMemo {
        ToolCallsMemo {
            unreported: self.unreported.clone(),
            refused: self.refused.clone(),
            denied: self.denied.clone(),
            violations: self.violations.iter().copied().collect(),
        }
    }

    /// Continues from a memo.
    pub fn resume(memo: ToolCallsMemo) -> Self {
        Self {
            unreported: memo.unreported,
            refused: memo.refused,
            denied: memo.denied,
            last_updates: BTreeMap::new(),
            violations: memo.violations.into_iter().take(VIOLATIONS).collect(),
        }
    }
}
