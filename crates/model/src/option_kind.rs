//! The kinds of answers that ACP knows.

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
