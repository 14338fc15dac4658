//! Questions of agents, and the rules that answer them.

/// Bytes of a call that a question shows. A part that does not fit is named, but never shown in part.
pub const QUESTION_BYTES: usize = 256 << 10;
/// Bytes of an open question that the state of a thread keeps, besides its title and its answers. The log has the rest of a longer one.
pub const OPEN_QUESTION_BYTES: usize = 16 << 10;
/// Answers that a question may offer.
pub const QUESTION_OPTIONS: usize = 64;
/// Bytes of the effects and answers of a question that a list shows in full. Clients open longer questions.
pub const LISTED_QUESTION_BYTES: usize = 4 << 10;
/// Bytes of a question's title in a list.
pub const LISTED_TITLE_BYTES: usize = 512;
/// Longest command line, or program with its arguments, that the permission policy parses, in bytes. A longer one
/// counts as unreadable.
pub const COMMAND_LINE_BYTES: usize = 64 << 10;
/// Nesting depth of command substitutions, subshells and `sh -c` scripts that the permission policy follows.
pub const COMMAND_DEPTH: usize = 16;
/// Simple commands and redirections of one command line, including its `sh -c` scripts, that the permission policy
/// checks.
pub const COMMAND_PARTS: usize = 512;
/// Paths or URLs of one tool call that the permission policy checks.
pub const REQUEST_PATHS: usize = 512;
/// Longest permission rule, in bytes.
pub const RULE_BYTES: usize = 4 << 10;
/// Remembered answers of one thread, or of one agent.
pub const REMEMBERED_RULES: usize = 1024;
