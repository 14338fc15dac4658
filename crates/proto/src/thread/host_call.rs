//! File and terminal operations that a thread requests from the host for its agent, and their results.

use acpd_model::PreviousContent;

use crate::agent::TerminalExit;

/// A file or terminal operation that a thread requests from the host.
#[derive(Debug, Clone, PartialEq)]
pub enum HostCall {
    /// Reads a text file.
    ReadFile {
        /// The absolute path.
        path: String,
        /// The real path at the time of the decision: the read must use it or fail.
        at: Option<String>,
        /// The first line, counted from 1.
        line: Option<u64>,
        /// The number of lines.
        limit: Option<u64>,
    },
    /// Writes a text file.
    WriteFile {
        /// The absolute path.
        path: String,
        /// The real path at the time of the decision: the write must use it or fail.
        at: Option<String>,
        /// The complete new content.
        content: String,
    },
    /// Runs a command in a new terminal.
    CreateTerminal {
        /// The daemon's id for the new terminal.
        terminal_id: String,
        /// The program to run.
        command: String,
        /// The program's arguments.
        args: Vec<String>,
        /// Variables to add to the environment.
        env: Vec<(String, String)>,
        /// The absolute working directory.
        cwd: String,
        /// The maximum output to keep, in bytes.
        output_bytes: usize,
    },
    /// Returns the terminal's output so far.
    TerminalOutput {
        /// The daemon's id for the terminal.
        terminal_id: String,
    },
    /// Waits until the terminal's command exits.
    WaitForTerminalExit {
        /// The daemon's id for the terminal.
        terminal_id: String,
    },
    /// Types into the terminal.
    TypeIn {
        /// The daemon's id for the terminal.
        terminal_id: String,
        /// What a user typed.
        text: String,
    },
    /// Ends the command and keeps the output.
    KillTerminal {
        /// The daemon's id for the terminal.
        terminal_id: String,
    },
    /// Ends the command and discards the output.
    ReleaseTerminal {
        /// The daemon's id for the terminal.
        terminal_id: String,
    },
}

/// The result of a [`HostCall`].
#[derive(Debug, Clone, PartialEq)]
pub enum HostReply {
    /// A file was read.
    Read {
        /// The requested lines of the file.
        content: String,
    },
    /// A file was written.
    Written {
        /// The file's content before the write.
        old: PreviousContent,
    },
    /// A terminal was created and runs.
    Created,
    /// The output of a terminal.
    Output {
        /// The end of the output.
        output: String,
        /// Whether earlier output was dropped.
        truncated: bool,
        /// The command's exit, if it has exited.
        exit: Option<TerminalExit>,
    },
    /// A terminal's command exited.
    Exited(TerminalExit),
    /// The operation is done and has no result.
    Done,
}

/// Output or exit of a terminal.
#[derive(Debug, Clone, PartialEq)]
pub enum TerminalEvent {
    /// The terminal wrote output.
    Output(String),
    /// The terminal's command waits for input.
    Waiting {
        /// Whether the terminal does not show what is typed.
        secret: bool,
    },
    /// The terminal's command has waited for long, and got an end of input.
    InputEnded,
    /// The terminal's command exited, and its output is complete.
    Exited {
        /// How the command exited.
        exit: TerminalExit,
        /// The end of the output.
        output: String,
        /// Whether earlier output was dropped.
        truncated: bool,
    },
}
