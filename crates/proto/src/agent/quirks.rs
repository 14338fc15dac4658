//! What is known to be odd about agents, as data: one table, by the name that an agent gives itself in
//! `agentInfo`. Everything else treats all agents alike.

use serde::{Deserialize, Serialize};

/// The oddities of one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// It reads a file before it writes a new one, and gives up when told that there is none: it wants an empty
    /// content.
    pub missing_file_is_empty: bool,
    /// It sends a whole shell line as a terminal's `command`, without `args`.
    pub shell_lines: bool,
    /// After the pieces of a message it sends the whole message once more as a piece of it.
    pub repeats_messages: bool,
}

const NONE: Quirks = Quirks {
    missing_file_is_empty: false,
    shell_lines: false,
    repeats_messages: false,
};

/// Beginnings of names, lower case, and what they mean.
const KNOWN: [(&str, Quirks); 3] = [
    (
        "gemini-cli",
        Quirks {
            missing_file_is_empty: true,
            ..NONE
        },
    ),
    (
        "qwen-code",
        Quirks {
            missing_file_is_empty: true,
            ..NONE
        },
    ),
    (
        "kimi",
        Quirks {
            shell_lines: true,
            ..NONE
        },
    ),
];

impl Quirks {
    /// These and those.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            missing_file_is_empty: self.missing_file_is_empty || other.missing_file_is_empty,
            shell_lines: self.shell_lines || other.shell_lines,
            repeats_messages: self.repeats_messages || other.repeats_messages,
        }
    }

    /// Those of the agent that calls itself `name`; none if it is not known.
    pub fn of(name: &str) -> Self {
        let name = name.to_lowercase();
        KNOWN
            .iter()
            .find(|(known, _)| name.starts_with(known))
            .map_or(NONE, |(_, quirks)| *quirks)
    }
}
