//! Every bound of the daemon, with its unit. Queues and buffers take theirs from here and nowhere else.

use serde::{Deserialize, Serialize};

/// Bounds that a configuration may change (`[limits]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Longest line taken from an agent, in bytes; a longer one is recorded as malformed and skipped.
    pub agent_line_bytes: usize,
    /// Longest message taken from a client, in bytes.
    pub client_message_bytes: usize,
    /// Requests that one connection may make in [`Limits::request_window_secs`].
    pub requests_per_window: u32,
    /// Length of the sliding window for [`Limits::requests_per_window`], in seconds.
    pub request_window_secs: u64,
    /// Connections served at once.
    pub connections: usize,
    /// Requests of one connection that may be unanswered at once.
    pub requests_in_flight: usize,
    /// Commands that may wait for a thread.
    pub thread_commands: usize,
    /// Batches of events that may wait for one client's socket, for each of its connections.
    pub outbound_queue: usize,
    /// Batches of events that a thread keeps for clients that follow live; who falls further behind re-reads the log.
    pub live_batches: usize,
    /// Seconds between pings to a client.
    pub ping_secs: u64,
    /// Seconds of silence after a ping until a client counts as gone.
    pub pong_secs: u64,
    /// Seconds that a client for which something waits may take nothing of it; then it is disconnected.
    pub write_secs: u64,
    /// Turns that may wait in one thread.
    pub queued_turns: usize,
    /// Seconds that an agent has to answer `initialize`, and again to open its session.
    pub agent_start_secs: u64,
    /// Seconds that an agent has to end its turn after it was told to cancel.
    pub cancel_secs: u64,
    /// Seconds between an agent's end of input and SIGTERM, and again between SIGTERM and SIGKILL.
    pub agent_exit_grace_secs: u64,
    /// Seconds that an agent is kept running with no turn and nobody watching its thread.
    pub agent_idle_secs: u64,
    /// Agent processes that may run at once. To make room for another one, the thread that has had no turn for the longest
    /// time lets its agent go; it is started again with the thread's next turn.
    pub agents: usize,
    /// Memory that all of them together may take, in MiB, before those without a turn are let go of one after the other; 0 is
    /// half of the machine's.
    pub agent_memory_mib: usize,
    /// Seconds that an agent may work on a turn without a sign of life, before it is told to stop; 0 is for ever.
    /// Time in which a person is asked, or in which the agent waits for a file or a terminal of ours, does not count.
    pub agent_silence_secs: u64,
    /// Bytes of the conversation so far that an agent is told which has forgotten it; 0 tells it nothing.
    pub recall_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            agent_line_bytes: 32 << 20,
            client_message_bytes: 1 << 20,
            requests_per_window: 60,
            request_window_secs: 10,
            connections: 1024,
            requests_in_flight: 64,
            thread_commands: 128,
            outbound_queue: 32,
            live_batches: 32,
            ping_secs: 30,
            pong_secs: 35,
            write_secs: 30,
            queued_turns: 16,
            agent_start_secs: 60,
            cancel_secs: 30,
            agent_exit_grace_secs: 2,
            agent_idle_secs: 600,
            agents: 64,
            agent_memory_mib: 0,
            agent_silence_secs: 7200,
            recall_bytes: 64 << 10,
        }
    }
}

/// Most that a queue may be configured to hold; each keeps room for all of it.
pub const QUEUE_MAX: usize = 4096;

impl Limits {
    /// Bytes of one message of an editor: more than of other clients, since it answers with whole files.
    pub fn editor_message_bytes(&self) -> usize {
        self.client_message_bytes.max(EDITOR_LINE_BYTES)
    }

    /// What is wrong with them, if anything: a queue that holds nothing, or a time that is none, serves nobody.
    pub fn check(&self) -> Result<(), String> {
        let queues = [
            ("thread_commands", self.thread_commands),
            ("outbound_queue", self.outbound_queue),
            ("live_batches", self.live_batches),
        ];
        for (name, value) in queues {
            if !(1..=QUEUE_MAX).contains(&value) {
                return Err(format!("limits.{name} is {value}: it must be 1 to {QUEUE_MAX}"));
            }
        }
        let counts = [
            ("client_message_bytes", self.client_message_bytes as u64),
            ("requests_per_window", u64::from(self.requests_per_window)),
            ("requests_in_flight", self.requests_in_flight as u64),
            ("connections", self.connections as u64),
            ("agents", self.agents as u64),
            ("ping_secs", self.ping_secs),
            ("pong_secs", self.pong_secs),
            ("write_secs", self.write_secs),
        ];
        match counts.iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => Err(format!("limits.{name} is 0: it must be at least 1")),
            None => Ok(()),
        }
    }
}

/// Deltas of one item are merged until this many bytes are pending.
pub const COALESCE_BYTES: usize = 4096;
/// Deltas of one item are merged for at most this long, in milliseconds.
pub const COALESCE_MILLIS: u64 = 10;

/// Bytes read from an agent at once; its reader grows from here and shrinks back when idle.
pub const AGENT_READ_BYTES: usize = 128 << 10;
/// Size of the pipe that an agent writes into, in bytes: what it may be ahead of us.
pub const AGENT_PIPE_BYTES: usize = 256 << 10;
/// Batches of lines from an agent that may wait for its thread.
pub const AGENT_BATCHES: usize = 4;
/// How long an agent that has failed twice waits for its next start; each further failure doubles it, in milliseconds.
pub const RESTART_MILLIS: u64 = 1000;
/// The longest that an agent waits for its next start, in milliseconds.
pub const RESTART_MILLIS_MAX: u64 = 30_000;
/// Seconds between looks at what agents take of the memory.
pub const AGENT_MEMORY_SECS: u64 = 5;
/// Requests that may wait for the list of agents that run.
pub const RUNNING_INBOX: usize = 64;
/// Messages that may wait for an agent's stdin.
pub const AGENT_WRITES: usize = 64;
/// Events that are appended, and sent on, as one batch.
pub const BATCH_EVENTS: usize = 512;
/// Requests of one editor's connection that may be unanswered at once; prompts are, until their turn is over.
pub const EDITOR_REQUESTS: usize = 64;
/// Connections of editors over HTTP at once.
pub const EDITOR_CONNECTIONS: usize = 128;
/// Seconds until such a connection ends from which nobody reads and to which nobody posts anything.
pub const EDITOR_IDLE_SECS: u64 = 600;
/// Messages posted to such a connection that wait to be read.
pub const EDITOR_POSTS: usize = 16;
/// Streams of sessions that such a connection may have, beside its own.
pub const EDITOR_STREAMS: usize = 64;
/// Bytes of messages that such a connection keeps, for readers that are away or go on after a break. What its readers have not
/// taken comes on top, up to [`OUTBOX_BYTES`] and one message.
pub const EDITOR_STREAM_BYTES: usize = 4 << 20;
/// Milliseconds by which the answer to `session/load` leaves behind the last of the session's own stream: it goes by
/// another connection, and editors take what comes behind the answer for news.
pub const EDITOR_ORDER_MILLIS: u64 = 30;
/// Bytes of what an editor gives with a session and is kept for it: MCP servers, `_meta`, members that ACP does not have.
pub const SESSION_PARAMS_BYTES: usize = 1 << 20;
/// Messages of an editor that wait for the answer to its `initialize`, and their bytes.
pub const EDITOR_EARLY: usize = 64;
/// See [`EDITOR_EARLY`].
pub const EDITOR_EARLY_BYTES: usize = 4 << 20;
/// Bytes of a session's id in the head of a request.
pub const SESSION_ID_BYTES: usize = 256;
/// Seconds for which an agent is taken to be what it last said of itself; then it is asked again.
pub const HELLO_SECS: u64 = 3600;
/// Seconds for which an agent's process that was greeted, and has no session yet, waits for one.
pub const STANDBY_SECS: u64 = 60;
/// Bytes of what such a process may say before it has a session; one that says more is let go of.
pub const STANDBY_BYTES: usize = 1 << 20;
/// Editors that may wait for the one who knows what agents say of themselves.
pub const HELLO_QUEUE: usize = 64;
/// Requests of one agent that an editor may have at once and has not answered.
pub const EDITOR_CALLS: usize = 128;
/// Bytes of one message of an editor, at least: it answers with whole files, as an agent reads them.
pub const EDITOR_LINE_BYTES: usize = 32 << 20;
/// Messages of threads that may wait for an editor's connection to take them.
pub const EDITOR_INBOX: usize = 256;
/// Seconds that an editor has to read or write a file, or to do something with a terminal; to wait for a command's end has
/// no bound.
pub const EDITOR_ANSWER_SECS: u64 = 60;
/// Seconds that an editor has to answer an agent's extension request, which may ask a person.
pub const EDITOR_EXTENSION_SECS: u64 = 3600;
/// Terminals in editors that an agent has not released.
pub const EDITOR_TERMINALS: usize = 1024;
/// Terminals of one session whose names an editor is still told in its own words.
pub const EDITOR_TERMINAL_NAMES: usize = 1024;
/// Bytes of commands' outputs, and of tool calls that show commands, that are kept for one session of an editor to be told as
/// text, each.
pub const SHOWN_OUTPUT_BYTES: usize = 1 << 20;
/// Bytes that may wait for a client before nothing more is queued for it but direct answers; one batch of events, or one answer, comes
/// on top.
pub const OUTBOX_BYTES: usize = 1 << 20;
/// Times that something may be queued all the same for a client that has so much waiting; one that goes on to ask and does not read is
/// disconnected. Their bytes are bounded by [`OUTBOX_BYTES`] as well.
pub const UNREAD_ANSWERS: usize = 256;
/// Bytes of encoded events that a log read returns at once; one event larger than this comes alone.
pub const LOG_PAGE_BYTES: usize = 256 << 10;
/// Appends that may wait for the log's writer.
pub const LOG_QUEUE: usize = 256;
/// Appends that one commit may hold.
pub const LOG_GROUP: usize = 128;
/// Reads that may wait for each of the log's readers.
pub const LOG_READS: usize = 64;
/// Last bytes of an agent's stderr that are kept to explain its end.
pub const STDERR_TAIL_BYTES: usize = 8 << 10;
/// Bytes of a malformed line that are kept in the log.
pub const MALFORMED_BYTES: usize = 4 << 10;
/// Most that `fs/read_text_file` returns, in bytes: of a larger file only lines can be read.
pub const READ_FILE_BYTES: u64 = 10 << 20;
/// Bytes of a file that are read at once when lines are looked for.
pub const READ_CHUNK_BYTES: usize = 64 << 10;
/// Bytes of a file that are looked through for lines at most, which a sparse file would exceed without end.
pub const READ_SCAN_BYTES: u64 = 1 << 30;
/// Longest path that is looked up for an agent, in bytes; the system's own bound.
pub const PATH_BYTES: usize = 4096;
/// Symbolic links followed in one path; the system's own bound.
pub const PATH_LINKS: usize = 40;
/// Names looked up for one path, with those behind its links, and those looked up again after a `..`.
pub const PATH_STEPS: usize = 4096;
/// Bytes of either text that a diff is computed from; a larger file is shown as rewritten.
pub const DIFF_BYTES: usize = 256 << 10;
/// What a question shows of the call that it is about. A part that does not fit is named, and not shown in part.
pub const QUESTION_BYTES: usize = 256 << 10;

/// Answers that a question may offer.
pub const QUESTION_OPTIONS: usize = 64;
/// Allowed requests of one turn that are remembered, so that an agent that has asked is not asked about again.
pub const GRANTS: usize = 256;
/// Faults of an agent that are recorded in one turn.
pub const VIOLATIONS: usize = 64;
/// Callbacks of one agent that may be worked on at once.
pub const AGENT_CALLS: usize = 256;
/// Bytes that callbacks of one agent process may hold: of files and outputs that they bring into memory, until the answer is in the
/// agent's pipe. What does not fit waits. The same again for what the agent's unanswered callbacks of one thread bring along
/// themselves, such as the contents of files to write; what does not fit there is refused.
pub const AGENT_CALL_BYTES: u32 = 64 << 20;
/// Of a file that an agent reads, the bytes for which room is made before it is known how large it is.
pub const READ_FIRST_BYTES: u64 = 64 << 10;
/// Bytes of a callback, or of its answer, that need no room in the budgets of [`AGENT_CALL_BYTES`]: [`AGENT_CALLS`] bounds those.
pub const SMALL_CALL_BYTES: usize = 64 << 10;
/// Most that a byte of text takes as JSON: control characters are written as `\u001f`.
pub const JSON_GROWTH: u64 = 6;
/// Bytes that may wait for an agent's stdin before nothing more is read from it.
pub const AGENT_OUTBOX_BYTES: usize = 32 << 20;
/// Bytes that commands for one agent process may carry, of all its threads, until they are in the agent's pipe. A thread
/// waits for room with its next one.
pub const AGENT_COMMAND_BYTES: u32 = 32 << 20;
/// Seconds that a thread waits for room for a command; then it lets go of the agent.
pub const AGENT_COMMAND_SECS: u64 = 60;
/// Seconds that an agent process may read nothing while all room for what waits for it is taken; then it is ended.
pub const AGENT_STALL_SECS: u64 = 10;
/// Threads that one shared agent process takes in its life; then the next process is started. So few that a
/// request's id, which has the thread's number above its own 32 bits, is exact in a double.
pub const SHARED_SESSIONS: u32 = 1 << 20;
/// Sessions that a shared agent process had and that are remembered, so that what they say late is told apart.
pub const DEPARTED_SESSIONS: usize = 256;
/// Questions with an address, of one shared agent process, whose end may still come.
pub const ELICITATIONS: usize = 256;
/// Threads that may wait to come into a shared agent process, and messages of all its threads that may wait for it.
pub const SHARED_INBOX: usize = 64;
/// Tool calls of one thread that may be open at once. When one more begins, the oldest that nobody is asked about is ended.
pub const OPEN_TOOL_CALLS: usize = 4096;
/// Bytes of the tool calls of one thread that are open, with all that is said of them; of more, the oldest is ended.
pub const OPEN_TOOL_BYTES: usize = 64 << 20;
/// Bytes of the ids of a session's tool calls that have ended, so that what is said of them late is told apart; of more, the oldest is
/// forgotten.
pub const ENDED_TOOL_BYTES: usize = 4 << 20;
/// Files of all those that are shown as changes of their own; of more, only the tool calls tell.
pub const OPEN_FILE_CHANGES: usize = 1024;
/// Bytes of the files that one turn has changed: what they were before it, and their diffs.
pub const TURN_FILES_BYTES: usize = 32 << 20;
/// Bytes of one turn's unified diff.
pub const TURN_DIFF_BYTES: usize = 1 << 20;
/// Output of a terminal kept when the agent names no limit, in bytes.
pub const TERMINAL_BYTES: usize = 1 << 20;
/// Most that an agent may ask to be kept of a terminal's output, in bytes.
pub const TERMINAL_BYTES_MAX: usize = 10 << 20;
/// Output of all running terminals of a thread that is kept, in bytes; beyond it, a terminal keeps [`TERMINAL_BYTES`] at most.
pub const RUNNING_OUTPUT_BYTES: usize = 64 << 20;
/// Of output beyond what is kept, clients are shown the last bytes of each window; so many.
pub const LIVE_OUTPUT_BYTES: usize = 16 << 10;
/// Length of such a window, in milliseconds.
pub const LIVE_OUTPUT_MILLIS: u64 = 100;
/// Width of a terminal, in characters.
pub const TERMINAL_COLUMNS: u16 = 120;
/// Height of a terminal, in lines.
pub const TERMINAL_ROWS: u16 = 30;
/// Bytes of a terminal's output that one update carries at most.
pub const TERMINAL_UPDATE_BYTES: usize = 16 << 10;
/// Ends of input that wait in a terminal for whoever reads from it.
pub const TERMINAL_ENDS_OF_INPUT: usize = 64;
/// Milliseconds between SIGTERM and SIGKILL for a terminal's command.
pub const TERMINAL_KILL_MILLIS: u64 = 2_000;
/// Milliseconds that a child of a command that has ended may hold the terminal's output open.
pub const TERMINAL_DRAIN_MILLIS: u64 = 500;
/// Entries of a directory that are granted one by one to a sandbox, where it must not be granted as a whole.
pub const SANDBOX_ENTRIES: usize = 4096;
/// Milliseconds between SIGTERM and SIGKILL for what a process that has ended by itself left behind.
pub const LEFTOVER_MILLIS: u64 = 500;
/// Milliseconds that SIGKILL is sent again and again to processes that do not go, or make new ones.
pub const SWEEP_MILLIS: u64 = 5_000;
/// Milliseconds between SIGTERM and SIGKILL for what a daemon that was killed left behind.
pub const ORPHAN_MILLIS: u64 = 1_000;
/// Milliseconds that children of agents that were taken over, and have ended, may wait to be reaped.
pub const REAP_MILLIS: u64 = 1_000;
/// Terminals of one thread that may live at once.
pub const TERMINALS: usize = 64;
/// Terminals of one agent that have ended, that it has not released, and whose output it can still ask for.
pub const ENDED_TERMINALS: usize = 64;
/// Bytes of output of all of those together; that of the oldest is dropped first.
pub const ENDED_OUTPUT_BYTES: usize = 32 << 20;
/// Terminals of one agent that have ended, that it has not released, and of which no more is known than their end.
pub const ENDED_TERMINALS_KNOWN: usize = 4096;
/// Changes of the list of threads that are kept for those who watch it; who falls further behind asks for it again.
pub const LIST_CHANGES: usize = 256;
/// Threads on one page of `thread/list`, at most and by default.
pub const LIST_PAGE: usize = 100;
/// Longest name of a thread, in bytes.
pub const NAME_BYTES: usize = 1024;
/// Largest data that a client may keep with a thread, in bytes.
pub const METADATA_BYTES: usize = 64 << 10;
/// Most that may be copied from a thread when another one is split off it, in bytes: it is held in memory, so that it
/// can be stored all at once.
pub const FORK_BYTES: usize = 64 << 20;
/// Turns on one page of a thread, when the caller names no limit.
pub const TURNS_PAGE: usize = 20;
/// Seconds that a person has to sign in to an agent.
pub const SIGN_IN_SECS: u64 = 600;
/// Bytes of finished items that an exported document holds back until their turn is over; then they are written
/// before the turn is.
pub const EXPORT_TURN_BYTES: usize = 16 << 20;
/// Seconds that a new connection has to send its HTTP head, and again for a body; and for the handshake of TLS.
pub const HEAD_SECS: u64 = 10;
/// Bytes of a connection that wait to be parsed as HTTP; a longer head is refused.
pub const HTTP_BUFFER_BYTES: usize = 16 << 10;
/// Requests of one HTTP/2 connection that are open at once, event streams included.
pub const HTTP2_STREAMS: u32 = 128;
/// Bytes of bodies that an HTTP/2 client may send before somebody reads them, in one request.
pub const HTTP2_STREAM_BYTES: u32 = 256 << 10;
/// The same, on one connection.
pub const HTTP2_CONNECTION_BYTES: u32 = 1 << 20;
/// Bytes of one answer that wait to be sent to an HTTP/2 client.
pub const HTTP2_SEND_BYTES: usize = 64 << 10;
/// Seconds without a word on an HTTP/2 connection after which it is asked whether its client is there.
pub const HTTP2_PING_SECS: u64 = 30;
/// Seconds that an HTTP/2 client has to say that it is.
pub const HTTP2_PONG_SECS: u64 = 10;
/// Seconds after which an HTTP/2 connection is closed on which nothing was asked meanwhile, and nothing is open.
pub const HTTP2_IDLE_SECS: u64 = 60;
/// Bytes of the body of an HTTP request.
pub const BODY_BYTES: usize = 16 << 10;
/// HTTP requests that one principal may make at once, besides those that open a socket.
pub const HTTP_REQUESTS: u32 = 300;
/// Milliseconds until one of [`HTTP_REQUESTS`] may be made again.
pub const HTTP_REQUEST_MILLIS: u64 = 100;
/// Connections of the network that have shown no valid credential, from everywhere; beyond that the oldest ends.
pub const NEWCOMERS: usize = 256;
/// The same, of one address (IPv6: /64).
pub const NEWCOMERS_OF_ONE: usize = 64;
/// Seconds after which a connection ends that has shown no valid credential, used or not.
pub const NEWCOMER_SECS: u64 = 30;
/// Wrong tokens that may come from one place at once.
pub const FAILED_LOGINS: u32 = 10;
/// Seconds until one of [`FAILED_LOGINS`] may come again.
pub const FAILED_LOGIN_SECS: u64 = 6;
/// Callers that a throttle remembers.
pub const THROTTLED: usize = 4096;
/// Questions that wait for whoever knows who may come in.
pub const GATE_QUEUE: usize = 256;
/// Tokens that may be given out.
pub const TOKENS: usize = 256;
/// Bytes of a token's name.
pub const TOKEN_NAME_BYTES: usize = 64;
/// Bytes of the file with the owner's token.
pub const TOKEN_FILE_BYTES: u64 = 4 << 10;
/// Bytes of the file of tokens.
pub const TOKENS_FILE_BYTES: u64 = 256 << 10;
/// Seconds that a ticket may be used.
pub const TICKET_SECS: u64 = 30;
/// Tickets that wait to be used.
pub const TICKETS: usize = 1024;
/// Tickets of one token that wait to be used.
pub const TICKETS_OF_ONE: usize = 64;
/// Days until a browser's session ends that is not used.
pub const SESSION_DAYS: i64 = 7;
/// Days until a browser's session ends in any case.
pub const SESSION_MAX_DAYS: i64 = 30;
/// Seconds by which a session's last use may be written down too early.
pub const SESSION_NOTE_SECS: i64 = 3600;
/// Sessions of browsers.
pub const SESSIONS: usize = 512;
/// Sessions of one token.
pub const SESSIONS_OF_ONE: usize = 64;
/// Bytes of the file of sessions.
pub const SESSIONS_FILE_BYTES: u64 = 512 << 10;
/// Bytes of a certificate with those that vouch for it, or of its key.
pub const CERTIFICATE_BYTES: u64 = 1 << 20;
/// Seconds that the daemon waits for its threads and agents when it is told to stop.
pub const SHUTDOWN_SECS: u64 = 10;
/// Longest command line, or program with its arguments, that the permission policy reads, in bytes; a longer one counts as unreadable.
pub const COMMAND_LINE_BYTES: usize = 64 << 10;
/// Command substitutions, subshells and `sh -c` scripts inside one another that the permission policy follows.
pub const COMMAND_DEPTH: usize = 16;
/// Simple commands and redirections of one command line, with those of its `sh -c` scripts, that the permission policy looks at.
pub const COMMAND_PARTS: usize = 512;
/// Paths or URLs of one tool call that the permission policy looks at.
pub const REQUEST_PATHS: usize = 512;
/// Programs named by a path in permission rules that are looked up for one request.
pub const RULE_PROGRAMS: usize = 512;
/// Longest permission rule, in bytes.
pub const RULE_BYTES: usize = 4 << 10;
/// Rules in one list of a permission policy.
pub const POLICY_RULES: usize = 1024;
/// Answers that are remembered in one place: a thread, or an agent.
pub const REMEMBERED_RULES: usize = 1024;
/// Largest file of the answers that are remembered for agents, in bytes.
pub const ANSWERS_BYTES: u64 = 32 << 20;
/// Changes to the answers for agents that wait to be stored.
pub const ANSWERS_WAITING: usize = 16;
/// Seconds to connect to where a registry or an agent is downloaded from.
pub const CONNECT_SECS: u64 = 15;
/// Seconds that one download may take.
pub const DOWNLOAD_SECS: u64 = 900;
/// Largest registry document, in bytes.
pub const REGISTRY_BYTES: u64 = 4 << 20;
/// Largest archive of an agent, in bytes.
pub const ARCHIVE_BYTES: u64 = 1 << 30;
/// Most that an agent's archive may unpack to, in bytes.
pub const UNPACKED_BYTES: u64 = 4 << 30;
/// Entries that an agent's archive may have.
pub const UNPACKED_ENTRIES: usize = 200_000;
/// Bytes of what an agent tells of an earlier conversation that are held against the log; of more, the end.
pub const REPLAYED_BYTES: usize = 32 << 20;
/// Bytes of what an agent is told in a turn that are compared with what it sends back of it.
pub const ECHO_BYTES: usize = 4 << 20;
/// Rounds of a conversation, from its end, in which what an agent tells is looked for.
pub const KNOWN_EXCHANGES: usize = 128;
/// Rounds of what an agent tells, from its end, that are looked for.
pub const REPORTED_EXCHANGES: usize = 256;
/// Bytes of a text, without its white space, by which it is found inside of another one.
pub const EXCHANGE_HEAD_BYTES: usize = 1 << 10;
/// Milliseconds between two messages that tell a client who else follows its thread.
pub const SUBSCRIBERS_MILLIS: u64 = 200;
/// Others who follow a thread, of whom a client is told; of more their number.
pub const SUBSCRIBERS_TOLD: usize = 32;
/// Text that stands in an event as it is, in bytes; longer text is a blob.
pub const INLINE_BYTES: usize = 64 << 10;
/// Of longer text, the bytes that stand in the event all the same.
pub const PREVIEW_BYTES: usize = 4 << 10;
/// The same of what a command wrote: the last of it.
pub const TERMINAL_PREVIEW_BYTES: usize = 16 << 10;
/// Largest file that acpd reads of an installed package, in bytes.
pub const PACKAGE_FILE_BYTES: u64 = 1 << 20;
/// Lines that are no message, and that a look at an agent repeats to the person.
pub const STRAY_LINES: usize = 5;
/// Bytes of a database that is written anew as a whole when something was deleted from it; a larger one is when it is
/// closed.
pub const LOG_REWRITE_BYTES: u64 = 256 << 20;
/// Bytes of one text that are searched; what follows is not found.
pub const SEARCH_TEXT_BYTES: usize = 16 << 10;
/// Characters of one word that are told apart in a search.
pub const SEARCH_WORD_CHARS: usize = 64;
/// Bytes of what is searched for.
pub const SEARCH_QUERY_BYTES: usize = 1 << 10;
/// Words of what is searched for; those after them are not looked at.
pub const SEARCH_QUERY_WORDS: usize = 64;
/// Characters that the last word must have to stand for every word that begins so.
pub const SEARCH_PREFIX_CHARS: usize = 2;
/// Hits on one page of `thread/search`, at most.
pub const SEARCH_PAGE_MAX: usize = 100;
/// Hits on one page of `thread/search`, when the caller names no limit.
pub const SEARCH_PAGE: usize = 20;
/// Characters of a text that a hit shows.
pub const SNIPPET_CHARS: usize = 200;
/// Of these, the characters before the first word that was found.
pub const SNIPPET_LEAD_CHARS: usize = 60;
