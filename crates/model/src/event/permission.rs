//! Permission questions and their answers.

use serde::{Deserialize, Serialize};

use crate::json::RawJson;

/// What an answer to a permission question does. An answer of any other kind goes to the agent and does nothing here: a word that only
/// begins like one of these means nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionKind {
    /// `allow_once`
    AllowOnce,
    /// `allow_always`
    AllowAlways,
    /// `reject_once`
    RejectOnce,
    /// `reject_always`
    RejectAlways,
}

impl OptionKind {
    /// Reads ACP's word for it.
    pub fn read(word: &str) -> Option<Self> {
        match word {
            "allow_once" => Some(Self::AllowOnce),
            "allow_always" => Some(Self::AllowAlways),
            "reject_once" => Some(Self::RejectOnce),
            "reject_always" => Some(Self::RejectAlways),
            _ => None,
        }
    }

    /// Whether the agent may go on.
    pub fn allows(self) -> bool {
        matches!(self, Self::AllowOnce | Self::AllowAlways)
    }

    /// Whether the answer is to hold for good.
    pub fn is_always(self) -> bool {
        matches!(self, Self::AllowAlways | Self::RejectAlways)
    }

    /// In a person's words.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::AllowOnce => "Allow once",
            Self::AllowAlways => "Always allow",
            Self::RejectOnce => "Reject",
            Self::RejectAlways => "Always reject",
        }
    }
}

/// What an answer to a permission request says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Outcome {
    /// One of the agent's options was picked.
    Selected {
        /// The agent's id for it.
        option_id: String,
        /// ACP's kind of that option (`allow_once`, …).
        kind: String,
        /// The option that the agent was told instead: an "always" that the daemon remembers is "once" for the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent_option_id: Option<String>,
    },
    /// What the agent wanted to know was told.
    Accepted {
        /// The answers, by the schema that the agent gave; nothing where it wanted no more than a yes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<RawJson>,
    },
    /// It was not told: the person does not want to.
    Declined,
    /// Nobody picked one: the turn was interrupted, or a client dismissed the question.
    Cancelled,
}

impl Outcome {
    /// Whether the agent may go on.
    pub fn allows(&self) -> bool {
        match self {
            Self::Selected { kind, .. } => OptionKind::read(kind).is_some_and(OptionKind::allows),
            Self::Accepted { .. } => true,
            Self::Declined | Self::Cancelled => false,
        }
    }

    /// Whether the agent must not go on. An option of a kind that ACP does not know neither allows nor refuses.
    pub fn refuses(&self) -> bool {
        match self {
            Self::Selected { kind, .. } => OptionKind::read(kind).is_some_and(|kind| !kind.allows()),
            Self::Accepted { .. } => false,
            Self::Declined | Self::Cancelled => true,
        }
    }

    /// Whether somebody picked an answer that is to hold for good.
    pub fn is_always(&self) -> bool {
        matches!(self, Self::Selected { kind, .. } if OptionKind::read(kind).is_some_and(OptionKind::is_always))
    }
}

/// One of the answers that an agent offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption {
    /// The agent's id for it.
    pub option_id: String,
    /// What a person reads.
    #[serde(default)]
    pub name: String,
    /// `allow_once`, `allow_always`, `reject_once`, `reject_always`; other words are kept as they came.
    #[serde(default)]
    pub kind: String,
}

/// What becomes of an "always" as the answer to a question; known, and said, before anybody answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Always {
    /// It holds for this from then on: words that follow "Always allow" or "Always reject".
    Holds(String),
    /// The daemon does not remember it, for this reason.
    NotRemembered(String),
}

impl PermissionOption {
    /// What a person reads: what the kind means, and behind it the agent's own name for it where that says something else.
    /// The name alone could say the opposite of what the answer does. `always` is the question's.
    pub fn label(&self, always: Option<&Always>) -> String {
        let kind = OptionKind::read(&self.kind);
        let meaning = kind.map_or("Other answer", OptionKind::in_words);
        let mut label = meaning.to_owned();
        if let Some(Always::Holds(what)) = always.filter(|_| kind.is_some_and(OptionKind::is_always)) {
            label.push(' ');
            label.push_str(what);
        }
        let name = self.name.trim();
        if !name.is_empty() && !name.eq_ignore_ascii_case(meaning) {
            label.push_str(&format!(": “{name}”"));
        }
        label
    }
}

/// What a permission is asked for; decides the method by which clients are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QuestionTopic {
    /// A command.
    CommandExecution,
    /// A change to a file.
    FileChange,
    /// Any other tool.
    Permissions,
}
