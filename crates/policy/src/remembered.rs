//! Remembered answers: "always allow", "always reject".
//!
//! They are stored with the scope that the user selected, and can be listed and revoked one by one. `remember` makes their
//! rules.

use serde::{Deserialize, Serialize};

use super::bounds::Bounds;
use super::request::Request;
use super::rule::{About, Rule};
use super::scope::Scope;
use super::subject::Subject;

/// One rule of a remembered answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RememberedRule {
    /// Counted from 1, or from [`AGENT_IDS`] for an agent. Never reused in the same list.
    pub id: u64,
    /// Scope of the answer.
    pub scope: Scope,
    /// Whether the answer allows; otherwise it denies.
    pub allow: bool,
    /// The rule that selects the calls.
    pub rule: Rule,
    /// Further bounds of the answer.
    #[serde(flatten)]
    pub bounds: Bounds,
}

impl RememberedRule {
    pub(super) fn is_about(&self, subject: &Subject, request: &Request) -> bool {
        self.bounds.hold(self.allow, subject, request)
    }

    /// Returns the answer as it applies now, if it still does. An allow of commands from before answers had a directory
    /// applies in the directory `cwd`. An allow without the arguments or the call that it was given for is dropped, and
    /// the user is asked again. Denials are kept.
    #[must_use]
    pub fn narrowed(mut self, cwd: Option<&str>) -> Option<Self> {
        if !self.allow {
            return Some(self);
        }
        match self.rule.about {
            About::Bash(_) if self.bounds.cwd.is_none() => {
                self.bounds.cwd = Some(cwd?.to_owned());
            }
            About::Mcp(_) | About::Named(_) | About::Think | About::Move(_)
                if self.bounds.arguments.is_none() =>
            {
                return None;
            }
            _ => {}
        }
        let is_bound = self.bounds.arguments.is_some() == self.bounds.call.is_some();
        is_bound.then_some(self)
    }
}

/// A list of remembered answers, stored with its scope.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remembered {
    pub(super) last_id: u64,
    pub(super) rules: Vec<RememberedRule>,
}

/// The first id of answers for an agent. Ids of a thread start at 1 and never reach it. So, within a thread, an id
/// identifies one answer, wherever it is stored.
pub const AGENT_IDS: u64 = 1 << 32;

impl Remembered {
    /// Creates an empty list of answers for all threads of an agent.
    pub fn for_agent() -> Self {
        Self {
            last_id: AGENT_IDS,
            rules: Vec::new(),
        }
    }

    /// Restores an answer from the log of a thread in the directory `cwd`.
    pub fn restore(&mut self, rule: RememberedRule, cwd: &str) {
        self.last_id = self.last_id.max(rule.id);
        self.rules.extend(rule.narrowed(Some(cwd)));
    }

    /// Returns the answers as they apply now, and how many answers of earlier versions were dropped.
    #[must_use]
    pub fn narrowed(mut self) -> (Self, usize) {
        let before = self.rules.len();
        let rules = std::mem::take(&mut self.rules).into_iter();
        self.rules = rules.filter_map(|rule| rule.narrowed(None)).collect();
        let dropped = before - self.rules.len();
        (self, dropped)
    }

    /// Returns all rules, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &RememberedRule> {
        self.rules.iter()
    }

    /// Revokes a rule. Returns `None` if no rule has this id.
    pub fn revoke(&mut self, id: u64) -> Option<RememberedRule> {
        let at = self.rules.iter().position(|rule| rule.id == id)?;
        Some(self.rules.remove(at))
    }

    /// Removes the answers for the agent's session, which has ended.
    pub fn end_session(&mut self) {
        self.rules.retain(|rule| rule.scope != Scope::Session);
    }
}
