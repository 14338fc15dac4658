//! Subagents, which have lanes of their own in the thread of their agent.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::LaneId;

/// A change of one member: an agent leaves it as it is, clears it, or sets it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Patch<T> {
    /// The member is unchanged; absent in JSON.
    #[default]
    Unchanged,
    /// The member has no value any more; `null` in JSON.
    Cleared,
    /// The member has this value from now on.
    Set(T),
}

impl<T> Patch<T> {
    /// Returns whether the member is unchanged.
    pub fn is_unchanged(&self) -> bool {
        matches!(self, Self::Unchanged)
    }

    /// Returns the new value, if there is one.
    pub fn set(&self) -> Option<&T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Unchanged | Self::Cleared => None,
        }
    }
}

impl<T: Clone> Patch<T> {
    /// Changes a value.
    pub fn apply(&self, value: &mut Option<T>) {
        if !self.is_unchanged() {
            *value = self.set().cloned();
        }
    }
}

/// Writes the value. A member that is unchanged must be skipped.
impl<T: Serialize> Serialize for Patch<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.set().serialize(serializer)
    }
}

/// Reads a member that is there. Its default is that it is absent.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Option::deserialize(deserializer)?;
        Ok(value.map_or(Self::Cleared, Self::Set))
    }
}

/// What a subagent is doing, as its agent reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaneState {
    /// `running`, `idle`, `requires_action` or `unknown`; other values are kept as received.
    pub state: String,
    /// Why the work of an idle subagent ended, if the agent says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

impl LaneState {
    /// Returns whether the subagent works, or waits for a user.
    pub fn is_at_work(&self) -> bool {
        matches!(self.state.as_str(), "running" | "requires_action")
    }
}

/// What an agent reports of a subagent: a patch, as received. The first one of a lane creates it. The event's `lane` is the
/// subagent's.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SubagentPatch {
    /// The agent's id for the subagent's session. Only in the first patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The subagent that created this one, in every patch; absent if the main agent did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<LaneId>,
    /// Whether the agent did not announce the session, so that acpd assumes a subagent. Only in the first patch.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
    /// The name that users see.
    #[serde(skip_serializing_if = "Patch::is_unchanged")]
    pub title: Patch<String>,
    /// The role or purpose of the subagent.
    #[serde(skip_serializing_if = "Patch::is_unchanged")]
    pub description: Patch<String>,
    /// What the subagent is doing.
    #[serde(skip_serializing_if = "Patch::is_unchanged")]
    pub state: Patch<LaneState>,
    /// The working directory, by the agent's words. It grants nothing.
    #[serde(skip_serializing_if = "Patch::is_unchanged")]
    pub cwd: Patch<String>,
    /// Further directories, by the agent's words. They grant nothing.
    #[serde(skip_serializing_if = "Patch::is_unchanged")]
    pub directories: Patch<Vec<String>>,
    /// Whether clients may cancel the subagent's work. Absent if unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub may_cancel: Option<bool>,
}

impl SubagentPatch {
    /// Returns about how many bytes its texts have.
    pub fn bytes(&self) -> usize {
        let texts = [&self.title, &self.description, &self.cwd];
        let directories = self.directories.set().into_iter().flatten();
        self.session_id.as_ref().map_or(0, String::len)
            + texts
                .into_iter()
                .filter_map(Patch::set)
                .map(String::len)
                .sum::<usize>()
            + directories.map(String::len).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_tells_absent_cleared_and_set_apart() {
        let json = r#"{"title":"review","description":null}"#;
        let patch: SubagentPatch = serde_json::from_str(json).unwrap();
        assert_eq!(patch.title, Patch::Set("review".to_owned()));
        assert_eq!(patch.description, Patch::Cleared);
        assert_eq!(patch.cwd, Patch::Unchanged);
        assert_eq!(serde_json::to_string(&patch).unwrap(), json);
        let mut description = Some("old".to_owned());
        patch.cwd.apply(&mut description);
        assert_eq!(description.as_deref(), Some("old"));
        patch.description.apply(&mut description);
        assert_eq!(description, None);
    }
}
