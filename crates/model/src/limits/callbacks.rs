//! What agents have the daemon or an editor do: files, paths and terminals. Commands of users run in such terminals as well.

/// Callbacks of one agent that may be processed at the same time.
pub const AGENT_CALLS: usize = 256;
/// Bytes that the callbacks of one agent process may hold. This budget covers files and outputs that they load into memory, until the
/// response is in the agent's pipe; what does not fit waits. A second budget of the same size covers the payload of the unanswered
/// callbacks of one thread, such as the contents of files to write. A callback that exceeds it is refused.
pub const AGENT_CALL_BYTES: u32 = 64 << 20;
/// Bytes that the callbacks of all agent processes may load into memory.
pub const CALL_BYTES: u32 = 256 << 20;
/// Bytes of a callback or its response that need no room in the budgets of [`AGENT_CALL_BYTES`]. [`AGENT_CALLS`] limits
/// these callbacks instead.
pub const SMALL_CALL_BYTES: usize = 64 << 10;
/// Largest result of `fs/read_text_file`, in bytes. A larger file can only be read by line ranges.
pub const READ_FILE_BYTES: u64 = 10 << 20;
/// Bytes of a file that are read at once during a search for lines.
pub const READ_CHUNK_BYTES: usize = 64 << 10;
/// Longest path that is resolved for an agent, in bytes. The same as the system's limit.
pub const PATH_BYTES: usize = 4096;
/// Symbolic links followed in one path. The same as the system's limit.
pub const PATH_LINKS: usize = 40;
/// Names resolved for one path, including those behind its links and those resolved again after a `..`.
pub const PATH_STEPS: usize = 4096;
/// Terminals of one thread that may exist at the same time.
pub const TERMINALS: usize = 64;
/// Bytes kept of a terminal's output if the agent sets no limit.
pub const TERMINAL_BYTES: usize = 1 << 20;
/// Largest output limit that an agent may set for a terminal, in bytes.
pub const TERMINAL_BYTES_MAX: usize = 10 << 20;
/// Bytes kept of the output of all running terminals of a thread. Beyond it, a new terminal keeps [`TERMINAL_BYTES`] at
/// most.
pub const RUNNING_OUTPUT_BYTES: usize = 64 << 20;
/// Bytes of output that clients receive in each window if more was written than is kept: the last bytes of the window.
pub const LIVE_OUTPUT_BYTES: usize = 16 << 10;
/// Length of the window of [`LIVE_OUTPUT_BYTES`], in milliseconds.
pub const LIVE_OUTPUT_MILLIS: u64 = 100;
/// Maximum size of what a user types into a terminal at once, in bytes. The system keeps about as much for a program that does
/// not read.
pub const TERMINAL_INPUT_BYTES: usize = 2048;
/// Ended terminals of one agent that it has not released and whose output it can still request.
pub const ENDED_TERMINALS: usize = 64;
/// Bytes of output of all [`ENDED_TERMINALS`] together. The oldest output is dropped first.
pub const ENDED_OUTPUT_BYTES: usize = 32 << 20;
/// Ended terminals of one agent that it has not released and of which only the exit status is kept.
pub const ENDED_TERMINALS_KNOWN: usize = 4096;
/// Commands of users that may run in one thread at the same time.
pub const USER_COMMANDS: usize = 8;
/// Length of a command line that a user runs, in bytes: policies read no longer ones.
pub const USER_COMMAND_BYTES: usize = 64 << 10;
