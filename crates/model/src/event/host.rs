//! What the agent or a user did to files and terminals through the daemon.

use super::row::kinds;
use super::words::Content;
use crate::ids::ItemId;
use crate::item::Replaced;

kinds! {
    /// What the agent or a user did to files and terminals through the daemon.
    HostEvent {
        /// The agent read a file through the daemon. The event's `by` is the client that read the file, or else the agent.
        "fileRead" as "file:read" in Host => FileRead {
            /// Absolute path.
            path: String,
            /// Bytes returned.
            bytes: u64,
        },
        /// The agent wrote a file through the daemon. The event's `by` is the client that wrote the file, or else the
        /// agent.
        "fileWritten" as "file:write" in Host => FileWritten {
            /// Absolute path.
            path: String,
            /// Bytes written.
            bytes: u64,
            /// What the write replaced.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            replaced: Option<Replaced>,
            /// The written content. Absent if other events have all of it: the end of the file change, as the diff of a new
            /// file, or the tool call that shows the write.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            content: Option<Content>,
        },
        /// A command in one of the daemon's terminals wrote output.
        "terminalOutput" as "terminal:output" in Delta => TerminalOutput {
            /// The terminal's item.
            item: ItemId,
            /// The daemon's id for the terminal.
            terminal_id: String,
            /// The output, with U+FFFD in place of bytes that are not UTF-8.
            text: String,
        },
        /// A silent command in one of the daemon's terminals has used up its input, and probably waits for a user to type. This is
        /// over with its next output, its next input or its end.
        "terminalWaiting" as "terminal:waiting" in Host => TerminalWaiting {
            /// The terminal's item.
            item: ItemId,
            /// The daemon's id for the terminal.
            terminal_id: String,
            /// Whether the terminal does not show what is typed, as for a password.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            secret: bool,
        },
        /// A client's user types into one of the daemon's terminals, or the daemon ended the input of a command that waited. What is
        /// typed is not recorded, because it may be a password; a program that echoes it has it in its output.
        "terminalInput" as "terminal:input" in Host => TerminalInput {
            /// The terminal's item.
            item: ItemId,
            /// The daemon's id for the terminal.
            terminal_id: String,
        },
        /// The agent, or a client's user, terminated the command in one of the daemon's terminals.
        "terminalKilled" as "terminal:kill" in Host => TerminalKilled {
            /// The daemon's id for the terminal.
            terminal_id: String,
        },
        /// The agent released one of the daemon's terminals.
        "terminalReleased" as "terminal:release" in Host => TerminalReleased {
            /// The daemon's id for the terminal.
            terminal_id: String,
        },
    }
}
