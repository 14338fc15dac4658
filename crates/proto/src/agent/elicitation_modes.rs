//! The modes of elicitation that clients can show, which the daemon offers to agents.

/// Modes of elicitation. As a declaration of a client: the modes that it can show. For an agent: the modes that it is
/// offered when its process starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ElicitationModes {
    /// Forms.
    pub form: bool,
    /// Addresses that the user opens.
    pub url: bool,
}

impl ElicitationModes {
    /// Neither mode.
    pub const NONE: Self = Self {
        form: false,
        url: false,
    };

    /// Both modes.
    pub const ALL: Self = Self {
        form: true,
        url: true,
    };

    /// Returns the modes that one of the two can show.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            form: self.form || other.form,
            url: self.url || other.url,
        }
    }

    /// Returns the member `elicitation` of the client's capabilities with a comma, or nothing without a mode.
    pub(super) fn member(self) -> &'static str {
        match (self.form, self.url) {
            (true, true) => r#""elicitation":{"form":{},"url":{}},"#,
            (true, false) => r#""elicitation":{"form":{}},"#,
            (false, true) => r#""elicitation":{"url":{}},"#,
            (false, false) => "",
        }
    }
}
