//! Editors, and the callbacks that they answer.

/// Bytes that are kept of an editor's parameters for a session: MCP servers, `_meta`, members that ACP does not define.
pub const SESSION_PARAMS_BYTES: usize = 1 << 20;
/// Messages of an editor that may wait for the response to its `initialize`.
pub const EDITOR_EARLY: usize = 64;
/// Bytes of the messages that [`EDITOR_EARLY`] counts.
pub const EDITOR_EARLY_BYTES: usize = 4 << 20;
/// Smallest value for the longest message of an editor, in bytes. Editors send whole files, as an agent reads them.
pub const EDITOR_LINE_BYTES: usize = 32 << 20;
/// Requests of one agent that an editor may have received and not answered.
pub const EDITOR_CALLS: usize = 128;
/// Seconds that an editor has to read or write a file, or to answer a terminal request. Waiting for a command's end has
/// no limit.
pub const EDITOR_ANSWER_SECS: u64 = 60;
/// Terminals of one session for which the daemon keeps the editor's own ids, and the output to show.
pub const EDITOR_TERMINAL_NAMES: usize = 1024;
