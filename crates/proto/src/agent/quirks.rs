//! Known deviations of agents from the protocol, as data: one table, keyed by the name that an agent declares in
//! `agentInfo`. All other code treats all agents alike.

use serde::{Deserialize, Serialize};

/// The known deviations of one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// Before it writes a new file, the agent reads it, and fails if the file does not exist. The daemon returns
    /// empty content instead.
    pub missing_file_is_empty: bool,
    /// The agent sends a whole shell line as a terminal's `command`, without `args`.
    pub shell_lines: bool,
    /// After the chunks of a message, the agent sends the whole message again as a chunk.
    pub repeats_messages: bool,
}

const NONE: Quirks = Quirks {
    missing_file_is_empty: false,
    shell_lines: false,
    repeats_messages: false,
};

/// Lower-case prefixes of agent names, and the quirks of these agents.
const KNOWN: [(&str, Quirks); 4] = [
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
        "crow-cli",
        Quirks {
            shell_lines: true,
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
    /// Returns the union of both sets of quirks.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            missing_file_is_empty: self.missing_file_is_empty || other.missing_file_is_empty,
            shell_lines: self.shell_lines || other.shell_lines,
            repeats_messages: self.repeats_messages || other.repeats_messages,
        }
    }

    /// Returns the quirks of the agent with this `name`; none if the agent is not known.
    pub fn of(name: &str) -> Self {
        let name = name.to_lowercase();
        KNOWN
            .iter()
            .find(|(known, _)| name.starts_with(known))
            .map_or(NONE, |(_, quirks)| *quirks)
    }
}
