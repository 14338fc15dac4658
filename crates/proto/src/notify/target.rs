//! The targets of notifications, as far as it matters which notifications they receive.

use std::collections::BTreeSet;
use std::time::Duration;

use acpd_model::Summary;

use super::trigger::TriggerKind;

/// A target: which notifications it receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The kinds that it receives.
    pub on: BTreeSet<TriggerKind>,
    /// Names of agents; empty for all.
    pub agents: Vec<String>,
    /// Absolute paths of folders. A thread that works in one of them, or below, matches; empty for all.
    pub folders: Vec<String>,
    /// The user of a device; `None` for targets of the configuration.
    pub owner: Option<String>,
    /// Changes with the target's address or its secret, which the outbox does not know. A changed target is tried at once.
    pub version: u64,
}

impl Target {
    /// Returns whether the target receives notifications of this kind about a thread.
    pub fn wants(&self, kind: TriggerKind, thread: &Summary) -> bool {
        let is_below = |folder: &String| {
            let rest = thread.cwd.strip_prefix(folder.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.on.contains(&kind)
            && (self.agents.is_empty() || self.agents.contains(&thread.agent))
            && (self.folders.is_empty() || self.folders.iter().any(is_below))
    }
}

/// Why a notification was not delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryError {
    /// What failed, without a secret: for the log and for the user.
    pub reason: String,
    /// Whether no later attempt can succeed.
    pub is_final: bool,
    /// Whether the target itself has ended, so that nothing is missing there.
    pub is_gone: bool,
    /// The pause that the receiver asked for.
    pub retry_after: Option<Duration>,
}

impl DeliveryError {
    /// Creates an error after which the daemon tries again.
    pub fn retry(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_final: false,
            is_gone: false,
            retry_after: None,
        }
    }

    /// Creates an error after which the daemon does not try again.
    pub fn last(reason: impl Into<String>) -> Self {
        Self {
            is_final: true,
            ..Self::retry(reason)
        }
    }

    /// Creates an error of a target that has ended.
    pub fn gone(reason: impl Into<String>) -> Self {
        Self {
            is_gone: true,
            ..Self::last(reason)
        }
    }
}

/// The state of a target, for users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetState {
    /// Name of the target.
    pub name: String,
    /// The user of a device; `None` for targets of the configuration.
    pub owner: Option<String>,
    /// Notifications that wait for it.
    pub waiting: usize,
    /// Deliveries that failed since the last one that succeeded.
    pub failures: u32,
    /// Why the last delivery failed; `None` if it succeeded.
    pub error: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_compare_whole_names_and_whole_folders() {
        let thread = |agent: &str, cwd: &str| Summary {
            agent: agent.to_owned(),
            cwd: cwd.to_owned(),
            ..Summary::default()
        };
        let target = |agents: &[&str], folders: &[&str]| Target {
            on: BTreeSet::from([TriggerKind::Done]),
            agents: agents.iter().map(|&name| name.to_owned()).collect(),
            folders: folders.iter().map(|&path| path.to_owned()).collect(),
            owner: None,
            version: 0,
        };
        let all = target(&[], &[]);
        assert!(all.wants(TriggerKind::Done, &thread("claude", "/work")));
        assert!(!all.wants(TriggerKind::Failed, &thread("claude", "/work")));
        let claude = target(&["claude"], &[]);
        assert!(claude.wants(TriggerKind::Done, &thread("claude", "/work")));
        assert!(!claude.wants(TriggerKind::Done, &thread("claude-2", "/work")));
        for (folder, cwd, expected) in [
            ("/work", "/work", true),
            ("/work/", "/work", true),
            ("/work", "/work/a/b", true),
            ("/work", "/workshop", false),
            ("/work/a", "/work", false),
            ("/", "/work", true),
        ] {
            let wants = target(&[], &[folder]).wants(TriggerKind::Done, &thread("x", cwd));
            assert_eq!(wants, expected, "{folder} {cwd}");
        }
    }
}
