//! Permission requests and their answers.

use serde::{Deserialize, Serialize};

use crate::json::RawJson;

/// The effect of an answer to a permission request. An answer of any other kind is passed on to the agent and has no
/// effect here. Only whole words count: a longer word that begins with one of these has no meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionKind {
    /// The ACP option kind `allow_once`.
    AllowOnce,
    /// The ACP option kind `allow_always`.
    AllowAlways,
    /// The ACP option kind `reject_once`.
    RejectOnce,
    /// The ACP option kind `reject_always`.
    RejectAlways,
}

impl OptionKind {
    /// Parses ACP's name of the kind.
    pub fn read(word: &str) -> Option<Self> {
        match word {
            "allow_once" => Some(Self::AllowOnce),
            "allow_always" => Some(Self::AllowAlways),
            "reject_once" => Some(Self::RejectOnce),
            "reject_always" => Some(Self::RejectAlways),
            _ => None,
        }
    }

    /// Returns whether the answer permits the call.
    pub fn allows(self) -> bool {
        matches!(self, Self::AllowOnce | Self::AllowAlways)
    }

    /// Returns whether the answer also applies to later calls.
    pub fn is_always(self) -> bool {
        matches!(self, Self::AllowAlways | Self::RejectAlways)
    }

    /// Returns the label that users read.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::AllowOnce => "Allow once",
            Self::AllowAlways => "Always allow",
            Self::RejectOnce => "Reject",
            Self::RejectAlways => "Always reject",
        }
    }
}

/// The answer to a permission request or an elicitation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Outcome {
    /// The user or the policy selected one of the agent's options.
    Selected {
        /// The agent's id for the option.
        option_id: String,
        /// ACP's kind of that option (`allow_once`, …).
        kind: String,
        /// The option that the daemon sent to the agent instead. If the daemon remembers an "always", it sends "once"
        /// to the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent_option_id: Option<String>,
    },
    /// The user gave the requested information.
    Accepted {
        /// The answers, following the agent's schema; absent if the agent only requested a confirmation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<RawJson>,
    },
    /// The user declined to give the information.
    Declined,
    /// No option was selected: the turn was interrupted, or a client dismissed the question.
    Cancelled,
}

impl Outcome {
    /// Returns whether the agent may proceed.
    pub fn allows(&self) -> bool {
        match self {
            Self::Selected { kind, .. } => OptionKind::read(kind).is_some_and(OptionKind::allows),
            Self::Accepted { .. } => true,
            Self::Declined | Self::Cancelled => false,
        }
    }

    /// Returns whether the agent must not proceed. An option of a kind that ACP does not define neither allows nor
    /// denies.
    pub fn refuses(&self) -> bool {
        match self {
            Self::Selected { kind, .. } => OptionKind::read(kind).is_some_and(|kind| !kind.allows()),
            Self::Accepted { .. } => false,
            Self::Declined | Self::Cancelled => true,
        }
    }

    /// Returns whether the selected option also applies to later calls.
    pub fn is_always(&self) -> bool {
        matches!(self, Self::Selected { kind, .. } if OptionKind::read(kind).is_some_and(OptionKind::is_always))
    }
}

/// One of the answers that an agent offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption {
    /// The agent's id for the option.
    pub option_id: String,
    /// Label for the user.
    #[serde(default)]
    pub name: String,
    /// `allow_once`, `allow_always`, `reject_once`, `reject_always`; other values are kept as received.
    #[serde(default)]
    pub kind: String,
}

/// The effect of an "always" answer. It is fixed and shown before the user answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Always {
    /// The answer applies to this from then on. The text follows "Allow" or "Reject".
    Holds(String),
    /// The daemon does not remember the answer, for this reason.
    NotRemembered(String),
}

impl PermissionOption {
    /// The id of acpd's own option, which an agent does not know.
    pub const OWN_REJECTION: &str = "acpd:reject";

    /// Creates acpd's own option for a question that offers no way to reject. The agent receives it as cancelled.
    pub fn rejection() -> Self {
        Self {
            option_id: Self::OWN_REJECTION.to_owned(),
            name: String::new(),
            kind: "reject_once".to_owned(),
        }
    }

    /// Returns whether the answer denies the call.
    pub fn rejects(&self) -> bool {
        OptionKind::read(&self.kind).is_some_and(|kind| !kind.allows())
    }

    /// Returns the label for the user: the meaning of the kind, then the agent's own name for the option if it differs.
    /// The name alone could contradict the effect of the answer. `always` is that of the question: what the daemon remembers
    /// is labelled with it and with its duration.
    pub fn label(&self, always: Option<&Always>) -> String {
        let kind = OptionKind::read(&self.kind);
        let meaning = kind.map_or("Other answer", OptionKind::in_words);
        let mut label = match (kind.filter(|kind| kind.is_always()), always) {
            // An answer without a scope is remembered for the session.
            (Some(kind), Some(Always::Holds(what))) => {
                let verb = if kind.allows() { "Allow" } else { "Reject" };
                format!("{verb} {what} for this session")
            }
            _ => meaning.to_owned(),
        };
        let name = self.name.trim();
        if !name.is_empty() && !name.eq_ignore_ascii_case(meaning) {
            label.push_str(&format!(": “{name}”"));
        }
        label
    }
}

/// The topic of a permission request. It selects the method that clients receive the request by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QuestionTopic {
    /// Running a command.
    CommandExecution,
    /// Changing a file.
    FileChange,
    /// Any other tool call.
    Permissions,
}
