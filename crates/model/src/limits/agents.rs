//! Agents: their processes, and the lines that they write and read.

/// Bytes that an agent process may use at once, before [`Limits::agent_bytes_per_sec`](super::Limits::agent_bytes_per_sec) limits it.
pub const AGENT_BURST_BYTES: usize = 64 << 20;
/// Bytes of an unfinished line of an agent from which on it needs room that all agents share.
pub const LONG_LINE_BYTES: usize = 1 << 20;
/// Bytes of the long lines of all agents. Each takes as much as the longest line may have; an agent waits within it for room.
pub const LINE_BYTES: u32 = 256 << 20;
/// Bytes of a malformed line that are kept in the log.
pub const MALFORMED_BYTES: usize = 4 << 10;
/// Bytes that may wait for an agent's stdin before the daemon stops reading from the agent.
pub const AGENT_OUTBOX_BYTES: usize = 32 << 20;
/// Bytes of the commands for one agent process, from all its threads, until they are in the agent's pipe. A thread
/// waits for room before it sends its next command.
pub const AGENT_COMMAND_BYTES: u32 = 32 << 20;
/// Seconds that a thread waits for room for a command. Then it detaches from the agent.
pub const AGENT_COMMAND_SECS: u64 = 60;
/// Seconds that an agent process may stop reading its stdin while its command budget is full, or may pause within a long line
/// while another agent's long line waits for room. Then it is terminated.
pub const AGENT_STALL_SECS: u64 = 10;
/// Last bytes of an agent's stderr that are kept to explain why it exited.
pub const STDERR_TAIL_BYTES: usize = 8 << 10;
/// Longest id or name that an agent can give: of a session, a tool call, a message, a mode, an option or a method, in bytes. An update
/// with a longer one is stored and passed on, but has no effect; a request with one is refused.
pub const AGENT_ID_BYTES: usize = 4 << 10;
/// Bytes that are read of a title, a notice, a question or an error of an agent.
pub const AGENT_TEXT_BYTES: usize = 16 << 10;
/// Bytes of a message of an agent from which a thread keeps a part: its plan, commands, options, usage, and the answers that open its
/// session.
pub const AGENT_STATE_BYTES: usize = 1 << 20;
/// Delay before an agent that asks for a sign-in is asked once more, if another process of it runs or is starting, in
/// milliseconds. Both may have refreshed the same sign-in. It then waits until no other one is starting.
pub const SIGN_IN_RETRY_MILLIS: u64 = 3000;
/// Delay before an agent that has failed twice is started again, in milliseconds. Each further failure doubles it.
pub const RESTART_MILLIS: u64 = 1000;
/// Longest delay before an agent is started again, in milliseconds.
pub const RESTART_MILLIS_MAX: u64 = 30_000;
/// Threads that may wait to join a shared agent process, and messages of its threads that may wait for it.
pub const SHARED_INBOX: usize = 64;
/// Entries of a directory that a sandbox grants one by one if it must not grant the directory as a whole.
pub const SANDBOX_ENTRIES: usize = 4096;
/// Milliseconds between SIGTERM and SIGKILL for the children that an exited process left behind.
pub const LEFTOVER_MILLIS: u64 = 500;
/// Milliseconds for which SIGKILL is repeated for processes that do not exit or keep creating new ones.
pub const SWEEP_MILLIS: u64 = 5_000;
/// Seconds that npm, uv or pip may take to install an agent for the daemon.
pub const INSTALL_SECS: u64 = 900;
