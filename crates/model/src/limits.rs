//! All limits of the daemon, with their units. Queues and buffers take their sizes only from here.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::section::{About, Reload, Section, Setting};

/// Limits that the configuration can change (`[limits]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Longest line accepted from an agent, in bytes. A longer line is recorded as malformed and skipped.
    pub agent_line_bytes: usize,
    /// Longest message accepted from a client, in bytes.
    pub client_message_bytes: usize,
    /// Requests that one connection may send in [`Limits::request_window_secs`].
    pub requests_per_window: u32,
    /// Length of the sliding window for [`Limits::requests_per_window`], in seconds.
    pub request_window_secs: u64,
    /// Connections served at the same time.
    pub connections: usize,
    /// Requests that may be in flight on one connection.
    pub requests_in_flight: usize,
    /// Commands that may wait for a thread.
    pub thread_commands: usize,
    /// Batches of events that may wait for each connection of a client.
    pub outbound_queue: usize,
    /// Batches of events that a thread keeps for its subscribers. A client that falls further behind reads from the
    /// log.
    pub live_batches: usize,
    /// Seconds between pings to a client.
    pub ping_secs: u64,
    /// Seconds of silence after a ping until the daemon considers a client gone.
    pub pong_secs: u64,
    /// Seconds that a client may receive nothing while data is queued for it. Then the daemon disconnects the client.
    pub write_secs: u64,
    /// Turns that may wait in one thread.
    pub queued_turns: usize,
    /// Seconds that an agent has to answer `initialize`, and again to open its session.
    pub agent_start_secs: u64,
    /// Processes of one agent that may start at the same time; others wait in order. Many agents refresh one sign-in when
    /// they start, and sign the user out if two do so at once.
    pub agent_starts: usize,
    /// Seconds that an agent has to end its turn after a cancellation.
    pub cancel_secs: u64,
    /// Milliseconds that a turn stays open after the agent has answered its prompt, because some agents send the end of
    /// their text afterwards. The same silence ends a turn that the agent began without a prompt. 0 ends the turn with
    /// the answer, and the agent begins none.
    pub turn_tail_millis: u64,
    /// Seconds between an agent's end of input and SIGTERM, and again between SIGTERM and SIGKILL.
    pub agent_exit_grace_secs: u64,
    /// Seconds that an idle agent keeps running while its thread has no turn and no subscriber.
    pub agent_idle_secs: u64,
    /// Agent processes that may run at the same time. To make room for another, the thread whose last turn is the
    /// oldest unloads its agent. The agent starts again with the next turn of that thread.
    pub agents: usize,
    /// Memory that all agents together may use, in MiB. Above it, the daemon stops agents without a turn one by one. 0
    /// means half of the host's memory.
    pub agent_memory_mib: usize,
    /// Bytes per second that an agent process may write, together with those that the log stores for it, after a burst of
    /// [`AGENT_BURST_BYTES`]. The daemon reads an agent that exceeds them more slowly; 0 disables the limit.
    pub agent_bytes_per_sec: usize,
    /// Seconds that an agent may make no progress during a turn before the turn is cancelled; 0 disables the limit.
    /// Progress is text, a new or changed tool call, a changed plan, or a request. Time in which the agent waits for the
    /// user, a file or a terminal of the daemon does not count.
    pub agent_silence_secs: u64,
    /// Bytes of the conversation so far that the daemon sends to an agent that lost its session; 0 sends none.
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
            live_batches: 64,
            ping_secs: 30,
            pong_secs: 35,
            write_secs: 30,
            queued_turns: 16,
            agent_start_secs: 60,
            agent_starts: 2,
            cancel_secs: 30,
            turn_tail_millis: 150,
            agent_exit_grace_secs: 2,
            agent_idle_secs: 600,
            agents: 64,
            agent_memory_mib: 0,
            agent_bytes_per_sec: 4 << 20,
            agent_silence_secs: 7200,
            recall_bytes: 64 << 10,
        }
    }
}

/// Further directories that users may add to one thread.
pub const ADDITIONAL_DIRECTORIES: usize = 64;

/// Largest value of [`Limits::turn_tail_millis`]: each turn ends that much later.
pub const TURN_TAIL_MILLIS_MAX: u64 = 10_000;

/// Largest configurable queue size. Each queue reserves memory for its full size.
pub const QUEUE_MAX: usize = 4096;

impl Limits {
    /// Returns the largest message of an editor, in bytes. It exceeds the limit of other clients, since editors send
    /// whole files.
    pub fn editor_message_bytes(&self) -> usize {
        self.client_message_bytes.max(EDITOR_LINE_BYTES)
    }

    /// Returns an error for a queue without room or a time of zero, with which the daemon could not work.
    fn validate(&self) -> Result<(), String> {
        let queues = [
            ("thread_commands", self.thread_commands),
            ("outbound_queue", self.outbound_queue),
            ("live_batches", self.live_batches),
            ("queued_turns", self.queued_turns),
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
            ("agent_starts", self.agent_starts as u64),
            ("ping_secs", self.ping_secs),
            ("pong_secs", self.pong_secs),
            ("write_secs", self.write_secs),
        ];
        if let Some((name, _)) = counts.iter().find(|(_, value)| *value == 0) {
            return Err(format!("limits.{name} is 0: it must be at least 1"));
        }
        if self.turn_tail_millis > TURN_TAIL_MILLIS_MAX {
            return Err(format!(
                "limits.turn_tail_millis is {}: it must be at most {TURN_TAIL_MILLIS_MAX}",
                self.turn_tail_millis
            ));
        }
        if (1..AGENT_BYTES_PER_SEC_MIN).contains(&self.agent_bytes_per_sec) {
            return Err(format!(
                "limits.agent_bytes_per_sec is {}: it must be at least {AGENT_BYTES_PER_SEC_MIN}, or 0 for no limit",
                self.agent_bytes_per_sec
            ));
        }
        Ok(())
    }
}

impl Section for Limits {
    const ABOUT: About = About {
        reload: Reload::LiveExcept(&["connections"]),
        settings: &[Setting::new(
            "",
            "table of numbers: [Limits](#limits)",
            "see there",
        )],
        template: "\
[limits]
# Agents that run at once, and the memory of all together in MiB (0: half of the host's).
#agents = 64
#agent_memory_mib = 0
# Seconds that an agent has to start, and that it stays without a turn and without a client.
#agent_start_secs = 60
#agent_idle_secs = 600
# Seconds of silence in a turn after which it is cancelled; 0 never cancels.
#agent_silence_secs = 7200
# Prompts that may wait in one thread.
#queued_turns = 16
",
    };

    fn check(&self, _key: &str) -> Vec<String> {
        self.validate().err().into_iter().collect()
    }

    fn needs_restart(&self, started: &Self, _key: &'static str) -> Option<&'static str> {
        (self.connections != started.connections).then_some("limits.connections")
    }
}

/// Smallest value of [`Limits::agent_bytes_per_sec`] that is a limit. With less, a long line would take hours.
pub const AGENT_BYTES_PER_SEC_MIN: usize = 16 << 10;

/// Pending bytes at which the merged deltas of one item are emitted.
pub const COALESCE_BYTES: usize = 4096;
/// Longest time for which deltas of one item are merged, in milliseconds.
pub const COALESCE_MILLIS: u64 = 10;

/// Free bytes of the file system with the log below which the daemon reports that it is not ready.
pub const READY_FREE_BYTES: u64 = 4 << 20;
/// Free bytes of that file system below which the daemon warns that it is nearly full.
pub const LOW_FREE_BYTES: u64 = 1 << 30;
/// Seconds between two looks at the free bytes.
pub const DISK_LOOK_SECS: u64 = 10;
/// Bytes read from an agent at once. The reader's buffer grows from here and shrinks back when idle.
pub const AGENT_READ_BYTES: usize = 128 << 10;
/// Bytes that an agent process may use at once, before [`Limits::agent_bytes_per_sec`] limits it.
pub const AGENT_BURST_BYTES: usize = 64 << 20;
/// Size of the pipe that an agent writes into, in bytes. It bounds how far the agent can run ahead of the daemon.
pub const AGENT_PIPE_BYTES: usize = 256 << 10;
/// Batches of lines from an agent that may wait for its thread.
pub const AGENT_BATCHES: usize = 4;
/// Delay before an agent that asks for a sign-in is asked once more, if another process of it runs or is starting, in
/// milliseconds. Both may have refreshed the same sign-in. It then waits until no other one is starting.
pub const SIGN_IN_RETRY_MILLIS: u64 = 3000;
/// Delay before an agent that has failed twice is started again, in milliseconds. Each further failure doubles it.
pub const RESTART_MILLIS: u64 = 1000;
/// Longest delay before an agent is started again, in milliseconds.
pub const RESTART_MILLIS_MAX: u64 = 30_000;
/// Seconds between measurements of the agents' memory use.
pub const AGENT_MEMORY_SECS: u64 = 5;
/// Requests that may wait for the table of running agents.
pub const RUNNING_INBOX: usize = 64;
/// Messages that may wait for an agent's stdin.
pub const AGENT_WRITES: usize = 64;
/// Events that are appended to the log and forwarded as one batch.
pub const BATCH_EVENTS: usize = 512;
/// Connections of editors over HTTP at the same time.
pub const EDITOR_CONNECTIONS: usize = 128;
/// Seconds until an HTTP connection of an editor ends that has no reader and receives no message.
pub const EDITOR_IDLE_SECS: u64 = 600;
/// Messages posted to an HTTP connection of an editor that may wait to be processed.
pub const EDITOR_POSTS: usize = 16;
/// Threads started with a client's id for the first turn that are remembered, so that none is started twice.
pub const STARTED_THREADS: usize = 1024;
/// Requests of an HTTP connection that are remembered, so that none is done twice.
pub const EDITOR_POSTS_KNOWN: usize = 64;
/// Session streams of an HTTP connection of an editor, in addition to the connection's own stream.
pub const EDITOR_STREAMS: usize = 64;
/// Bytes of messages that an HTTP connection of an editor keeps for readers that are absent or reconnect. Messages that a
/// connected reader has not received yet are kept in addition, up to [`OUTBOX_BYTES`] and one message.
pub const EDITOR_STREAM_BYTES: usize = 4 << 20;
/// Delay between the last message of a session's stream and the response to `session/load`, in milliseconds. The
/// response uses another connection, and editors treat messages after the response as new.
pub const EDITOR_ORDER_MILLIS: u64 = 30;
/// Bytes that are kept of an editor's parameters for a session: MCP servers, `_meta`, members that ACP does not define.
pub const SESSION_PARAMS_BYTES: usize = 1 << 20;
/// Messages of an editor that may wait for the response to its `initialize`.
pub const EDITOR_EARLY: usize = 64;
/// Bytes of the messages that [`EDITOR_EARLY`] counts.
pub const EDITOR_EARLY_BYTES: usize = 4 << 20;
/// Longest session id in the header of a request, in bytes.
pub const SESSION_ID_BYTES: usize = 256;
/// Seconds for which an agent's `initialize` result is cached. Then the daemon sends `initialize` again.
pub const HELLO_SECS: u64 = 3600;
/// Seconds that an initialized agent process without a session waits for one.
pub const STANDBY_SECS: u64 = 60;
/// Bytes that an agent process may write before it has a session. A process that writes more is stopped.
pub const STANDBY_BYTES: usize = 1 << 20;
/// Requests of one connection that may wait for its agent process without a session.
pub const STANDBY_REQUESTS: usize = 64;
/// Requests of editors that may wait for the cache of `initialize` results.
pub const HELLO_QUEUE: usize = 64;
/// Requests of one agent that an editor may have received and not answered.
pub const EDITOR_CALLS: usize = 128;
/// Smallest value for the longest message of an editor, in bytes. Editors send whole files, as an agent reads them.
pub const EDITOR_LINE_BYTES: usize = 32 << 20;
/// Messages of threads that may wait for an editor's connection.
pub const EDITOR_INBOX: usize = 256;
/// Seconds that an editor has to read or write a file, or to answer a terminal request. Waiting for a command's end has
/// no limit.
pub const EDITOR_ANSWER_SECS: u64 = 60;
/// Seconds that an editor has to answer an agent's extension request, which may need the user.
pub const EDITOR_EXTENSION_SECS: u64 = 3600;
/// Bytes of an editor's requests that may wait until a prompt before them begins, which needs an editor that reads. An editor that
/// exceeds it, or sends more than [`UNREAD_ANSWERS`] of them, is disconnected.
pub const EDITOR_HELD_BYTES: usize = 64 << 20;
/// Terminals in editors that an agent has not released.
pub const EDITOR_TERMINALS: usize = 1024;
/// Terminals of one session for which the daemon keeps the editor's own ids, and the output to show.
pub const EDITOR_TERMINAL_NAMES: usize = 1024;
/// Bytes kept for one session of an editor to show as text: of the commands' outputs, and again of the tool calls that
/// show commands.
pub const SHOWN_OUTPUT_BYTES: usize = 1 << 20;
/// Bytes that may be queued for a client before the daemon queues no more events and large answers for it. One batch of events
/// or one answer may exceed the limit.
pub const OUTBOX_BYTES: usize = 1 << 20;
/// Bytes of answers that a connection queues before other tasks have their turn. A connection whose answers are always ready
/// would delay them.
pub const TURN_BYTES: usize = 256 << 10;
/// Steps that may queue more for a client at that limit: small answers, and errors. A client that exceeds it, or [`OUTBOX_BYTES`] of
/// such answers, sends requests without reading, and is disconnected.
pub const UNREAD_ANSWERS: usize = 256;
/// Bytes of encoded events that one log read returns. A larger event is returned alone.
pub const LOG_PAGE_BYTES: usize = 256 << 10;
/// Bytes of the events in one row of the log. An event that is larger has a row of its own.
pub const LOG_ROW_BYTES: usize = 256 << 10;
/// Bytes of events after which the log gets another snapshot of a thread's state. A thread is loaded from its last
/// snapshot and the events after it.
pub const SNAPSHOT_BYTES: u64 = 1 << 20;
/// Time after which a thread is loaded again whose log failed. It doubles with each attempt that fails.
pub const LOG_RETRY: Duration = Duration::from_secs(1);
/// The longest such time.
pub const LOG_RETRY_MOST: Duration = Duration::from_mins(1);
/// The bytes of events between two snapshots are at least this many times those of the snapshot.
pub const SNAPSHOT_SHARE: u64 = 8;
/// Bytes of events between two snapshots that the log keeps for forks of earlier turns.
pub const SNAPSHOT_SPACING: u64 = 16 << 20;
/// Bytes of items on one page of a thread's turns, again of the notices and late updates beside them, and again of plans. A larger
/// item is on a page alone.
pub const TURNS_PAGE_BYTES: u64 = 1 << 20;
/// Pages of turns in one answer, for protocols whose clients read whole turns or threads. Clients request what is older.
pub const ANSWER_PAGES: usize = 16;
/// Bytes of one item of a message or thought. A longer message goes on in the next item, and only a single block that is no text,
/// such as an image, makes a larger item.
pub const MESSAGE_ITEM_BYTES: usize = 1 << 20;
/// Bytes of an update beside its text, such as `_meta`, that each part of a divided text repeats. Only the first part has larger ones.
pub const REPEATED_MEMBERS_BYTES: usize = 4 << 10;
/// Bytes of the key with which a client repeats a prompt.
pub const IDEMPOTENCY_KEY_BYTES: usize = 256;
/// Bytes of one item for a Codex client, which reads messages of at most 128 MiB: a resumed thread is one. Larger parts of it are
/// words that say where to read them.
pub const CODEX_ITEM_BYTES: usize = 4 << 20;
/// Bytes of a blob that are read and sent at once, while there is room for it. The log finds each part from the blob's beginning, so
/// that larger parts are faster.
pub const BLOB_PART_BYTES: usize = 1 << 20;
/// The same without room.
pub const BLOB_SMALL_PART_BYTES: usize = 64 << 10;
/// Bytes of all parts of blobs that are larger than [`BLOB_SMALL_PART_BYTES`].
pub const BLOB_PARTS_BYTES: u32 = 16 << 20;
/// Largest file that a client may attach to a thread, in bytes.
pub const ATTACHMENT_BYTES: u64 = 50 << 20;
/// Files that may be attached to one thread.
pub const ATTACHMENTS_OF_THREAD: usize = 256;
/// Bytes of all files that are attached to one thread.
pub const ATTACHMENTS_BYTES_OF_THREAD: u64 = 1 << 30;
/// Bytes of the files that one principal may attach in a day (UTC), to all threads.
pub const ATTACHMENTS_BYTES_OF_DAY: u64 = 4 << 30;
/// Files that clients may be sending at the same time.
pub const ATTACHMENTS_ARRIVING: usize = 16;
/// Files that one principal may be sending at the same time.
pub const ATTACHMENTS_ARRIVING_OF_ONE: usize = 4;
/// Longest name of an attached file, in bytes.
pub const ATTACHMENT_NAME_BYTES: usize = 160;
/// Longest media type of an attached file, in bytes.
pub const ATTACHMENT_TYPE_BYTES: usize = 127;
/// Bytes of an arriving file that are collected before they are written.
pub const ATTACHMENT_PART_BYTES: usize = 256 << 10;
/// Seconds without a byte after which the daemon gives up on an arriving file.
pub const ATTACHMENT_SILENCE_SECS: u64 = 30;
/// Seconds in which a file must have arrived.
pub const ATTACHMENT_SECS: u64 = 30 * 60;
/// Longest block of a prompt that can link to an attached file, in bytes.
pub const ATTACHMENT_LINK_BYTES: usize = 32 << 10;
/// Milliseconds after which an attached file that no prompt links to is removed: a day.
pub const ATTACHMENT_UNSENT_MILLIS: i64 = 24 * 3600 * 1000;
/// Seconds for which a browser may use a blob that it has received. Then it asks whether it still may.
pub const BLOB_CACHE_SECS: u64 = 3600;
/// Bytes of events that are read for one page of turns at once.
pub const LOG_LOOKUP_BYTES: usize = 1 << 20;
/// Bytes of events that a thread stores together. It receives no more from its agent until they are stored.
pub const BATCH_BYTES: usize = 1 << 20;
/// Bytes of searchable text after which a step of the background index ends. An append waits at most one step.
pub const INDEX_STEP_BYTES: usize = 8 << 10;
/// Appends that may wait for the log's writer.
pub const LOG_QUEUE: usize = 256;
/// Appends that one commit may contain.
pub const LOG_GROUP: usize = 128;
/// Bytes of appends in one commit, so that the next appends do not wait long for it. A larger append is committed alone.
pub const LOG_GROUP_BYTES: usize = 4 << 20;
/// Reads that may wait for each reader of the log.
pub const LOG_READS: usize = 64;
/// Lines with addresses and codes that an agent may show a user during one sign-in.
pub const SIGN_IN_LINES: usize = 16;
/// Interval for polling what an agent prints during a sign-in, in milliseconds.
pub const SIGN_IN_POLL_MILLIS: u64 = 250;
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
/// Longest program with its arguments that an agent can start in a terminal, in bytes. Systems start no longer ones.
pub const TERMINAL_COMMAND_BYTES: usize = 2 << 20;
/// Bytes of a malformed line that are kept in the log.
pub const MALFORMED_BYTES: usize = 4 << 10;
/// Largest result of `fs/read_text_file`, in bytes. A larger file can only be read by line ranges.
pub const READ_FILE_BYTES: u64 = 10 << 20;
/// Bytes of a file that are read at once during a search for lines.
pub const READ_CHUNK_BYTES: usize = 64 << 10;
/// Bytes of a file that a search for lines reads at most. Without it, a sparse file could take forever.
pub const READ_SCAN_BYTES: u64 = 1 << 30;
/// Longest path that is resolved for an agent, in bytes. The same as the system's limit.
pub const PATH_BYTES: usize = 4096;
/// Symbolic links followed in one path. The same as the system's limit.
pub const PATH_LINKS: usize = 40;
/// Names resolved for one path, including those behind its links and those resolved again after a `..`.
pub const PATH_STEPS: usize = 4096;
/// Bytes of either text that a diff is computed from. A larger file is shown as rewritten.
pub const DIFF_BYTES: usize = 256 << 10;
/// Bytes of a call that a question shows. A part that does not fit is named, but never shown in part.
pub const QUESTION_BYTES: usize = 256 << 10;
/// Bytes of an open question that the state of a thread keeps, besides its title and its answers. The log has the rest of a longer one.
pub const OPEN_QUESTION_BYTES: usize = 16 << 10;

/// Config options of a thread whose chosen values are kept.
pub const CHOSEN_OPTIONS: usize = 64;
/// Answers that a question may offer.
pub const QUESTION_OPTIONS: usize = 64;
/// Approved requests of one turn that are remembered, so that an approved call needs no second approval.
pub const GRANTS: usize = 256;
/// Protocol violations of an agent that are recorded in one turn.
pub const VIOLATIONS: usize = 64;
/// Callbacks of one agent that may be processed at the same time.
pub const AGENT_CALLS: usize = 256;
/// Bytes that the callbacks of one agent process may hold. This budget covers files and outputs that they load into memory, until the
/// response is in the agent's pipe; what does not fit waits. A second budget of the same size covers the payload of the unanswered
/// callbacks of one thread, such as the contents of files to write. A callback that exceeds it is refused.
pub const AGENT_CALL_BYTES: u32 = 64 << 20;
/// Bytes of an unfinished line of an agent from which on it needs room that all agents share.
pub const LONG_LINE_BYTES: usize = 1 << 20;
/// Bytes of the long lines of all agents. Each takes as much as the longest line may have; an agent waits within it for room.
pub const LINE_BYTES: u32 = 256 << 20;
/// Bytes that the callbacks of all agent processes may load into memory.
pub const CALL_BYTES: u32 = 256 << 20;
/// Bytes of batches that the subscribers of all threads have not received yet. A batch that does not fit is not kept: its
/// subscribers read it from the log.
pub const LIVE_BYTES: u32 = 64 << 20;
/// Bytes of a batch that the subscribers of a thread share. They read a larger one from the log.
pub const SHARED_BATCH_BYTES: u64 = 4 << 20;
/// Bytes of events that a subscriber reads from the log at once without room of its principal. A larger event, such as a tool call with a
/// large diff, waits for room: its frames are in memory until the client has received them.
pub const FREE_EVENT_BYTES: u64 = 2 << 20;
/// Bytes of pages and lists that the clients of one principal have not received yet. The next one is read when there is room.
pub const UNSENT_BYTES_OF_ONE: u32 = 8 << 20;
/// The same for one connection. A larger answer takes all of it, and more of its principal's.
pub const UNSENT_BYTES_OF_CONNECTION: u32 = 2 << 20;
/// The same for all principals, and again for the readers of all shared threads. The last [`UNSENT_BYTES_OF_ONE`] are for owners.
pub const UNSENT_BYTES: u32 = 32 << 20;
/// Bytes that the downloads of one principal hold until its clients have received them. Another download is refused.
pub const DOWNLOAD_BYTES_OF_ONE: u32 = UNSENT_BYTES_OF_ONE / 2;
/// The same for all principals, and again for the readers of all shared threads. The last [`DOWNLOAD_BYTES_OF_ONE`] are for owners.
pub const DOWNLOAD_BYTES: u32 = UNSENT_BYTES / 2;
/// Bytes of the log's pages above [`FREE_EVENT_BYTES`] that the downloads of one principal hold besides. The next one is read when there is
/// room. A larger page takes all of it.
pub const DOWNLOAD_PAGE_BYTES_OF_ONE: u32 = 32 << 20;
/// The same for all principals, and again for the readers of all shared threads. The last [`DOWNLOAD_PAGE_BYTES_OF_ONE`] are for owners.
pub const DOWNLOAD_PAGE_BYTES: u32 = 64 << 20;
/// Bytes of an answer that needs none of this room.
pub const SMALL_ANSWER_BYTES: u64 = 64 << 10;
/// Bytes that are reserved for an answer before anything is read for it. Then it takes what it has.
pub const UNSENT_ANSWER_BYTES: u64 = 1 << 20;
/// Bytes of appends that may wait for the log's writer. A larger one waits until no other does.
pub const LOG_QUEUE_BYTES: u32 = 64 << 20;
/// Bytes that are reserved for a file read before the size of the file is known.
pub const READ_FIRST_BYTES: u64 = 64 << 10;
/// Bytes of a callback or its response that need no room in the budgets of [`AGENT_CALL_BYTES`]. [`AGENT_CALLS`] limits
/// these callbacks instead.
pub const SMALL_CALL_BYTES: usize = 64 << 10;
/// Largest growth of a byte of text as JSON: control characters are written as `\u001f`.
pub const JSON_GROWTH: u64 = 6;
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
/// Threads that one shared agent process serves in its life. Then the next process is started. With this limit, a
/// request's id, which has the thread's number above its own 32 bits, is exact in a double.
pub const SHARED_SESSIONS: u32 = 1 << 20;
/// Ended sessions that a shared agent process remembers, so that their late messages can be recognized.
pub const DEPARTED_SESSIONS: usize = 256;
/// URL elicitations of one shared agent process whose completion may still arrive.
pub const ELICITATIONS: usize = 256;
/// Threads that may wait to join a shared agent process, and messages of its threads that may wait for it.
pub const SHARED_INBOX: usize = 64;
/// Open tool calls of one thread. When another one starts, the oldest without an open question is ended.
pub const OPEN_TOOL_CALLS: usize = 4096;
/// Bytes of the open tool calls of one thread with all their updates. Above it, the oldest is ended.
pub const OPEN_TOOL_BYTES: usize = 64 << 20;
/// Bytes of the ids of a session's ended tool calls, which are kept to recognize late updates. Above it, the oldest id
/// is dropped.
pub const ENDED_TOOL_BYTES: usize = 256 << 10;
/// Files of all open tool calls that are shown as items of their own. Further files appear only in their tool calls.
pub const OPEN_FILE_CHANGES: usize = 1024;
/// Memory for the files that one turn changed, in bytes: their paths, previous contents and diffs.
pub const TURN_FILES_BYTES: usize = 32 << 20;
/// Bytes of one turn's unified diff.
pub const TURN_DIFF_BYTES: usize = 1 << 20;
/// Shortest time between a change of a turn's diff and its live notification, in milliseconds.
pub const LIVE_DIFF_MILLIS: u64 = 250;
/// Bytes of live diffs that a turn may send to each client in a second, beyond the bytes of the changes themselves.
pub const LIVE_DIFF_BYTES_PER_SEC: u64 = 32 << 10;
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
/// Width of a terminal, in characters.
pub const TERMINAL_COLUMNS: u16 = 120;
/// Height of a terminal, in lines.
pub const TERMINAL_ROWS: u16 = 30;
/// Bytes of a terminal's output that one update contains at most.
pub const TERMINAL_UPDATE_BYTES: usize = 16 << 10;
/// End-of-input characters that are queued in a terminal, so that a program that reads its input gets an end of file.
pub const TERMINAL_ENDS_OF_INPUT: usize = 64;
/// How many times a terminal gets such characters again because its program waits for input and no user types.
pub const TERMINAL_INPUT_OFFERS: usize = 3;
/// Milliseconds between SIGTERM and SIGKILL for a terminal's command.
pub const TERMINAL_KILL_MILLIS: u64 = 2_000;
/// Milliseconds that a child of an ended command may hold the terminal's output open after its last output.
pub const TERMINAL_DRAIN_MILLIS: u64 = 500;
/// Milliseconds that children of an ended command may write to its terminal in all.
pub const TERMINAL_DRAIN_MAX_MILLIS: u64 = 5_000;
/// Milliseconds of silence after which a command that has used up its input counts as waiting for input.
pub const TERMINAL_SILENCE_MILLIS: u64 = 10_000;
/// How many times as long a waiting command is silent until it gets an end of input again. In this time, a user can type.
pub const TERMINAL_PATIENCE: u32 = 6;
/// The same once a user has typed into the terminal.
pub const TERMINAL_PATIENCE_TYPED: u32 = 60;
/// Maximum size of what a user types into a terminal at once, in bytes. The system keeps about as much for a program that does
/// not read.
pub const TERMINAL_INPUT_BYTES: usize = 2048;
/// Entries of a directory that a sandbox grants one by one if it must not grant the directory as a whole.
pub const SANDBOX_ENTRIES: usize = 4096;
/// Paths for which a thread looks up whether the sandbox has denied them.
pub const SANDBOX_DENIALS: usize = 64;
/// Bytes of the list of directories that the daemon has made for agents of registry documents.
pub const OWN_DIRECTORIES_BYTES: u64 = 1 << 20;
/// Milliseconds between SIGTERM and SIGKILL for the children that an exited process left behind.
pub const LEFTOVER_MILLIS: u64 = 500;
/// Milliseconds for which SIGKILL is repeated for processes that do not exit or keep creating new ones.
pub const SWEEP_MILLIS: u64 = 5_000;
/// Milliseconds between SIGTERM and SIGKILL for the processes that a killed daemon left behind.
pub const ORPHAN_MILLIS: u64 = 1_000;
/// Milliseconds that an ended process which the daemon adopted from an agent may wait to be reaped.
pub const REAP_MILLIS: u64 = 1_000;
/// Terminals of one thread that may exist at the same time.
pub const TERMINALS: usize = 64;
/// Commands of users that may run in one thread at the same time.
pub const USER_COMMANDS: usize = 8;
/// Length of a command line that a user runs, in bytes: policies read no longer ones.
pub const USER_COMMAND_BYTES: usize = 64 << 10;
/// Ended terminals of one agent that it has not released and whose output it can still request.
pub const ENDED_TERMINALS: usize = 64;
/// Bytes of output of all [`ENDED_TERMINALS`] together. The oldest output is dropped first.
pub const ENDED_OUTPUT_BYTES: usize = 32 << 20;
/// Ended terminals of one agent that it has not released and of which only the exit status is kept.
pub const ENDED_TERMINALS_KNOWN: usize = 4096;
/// Changes to the thread list that are kept for clients that watch it. A client that falls further behind requests the
/// list again.
pub const LIST_CHANGES: usize = 256;
/// Threads on one page of `thread/list`: the maximum and the default.
pub const LIST_PAGE: usize = 100;
/// Bytes of the summaries on one page of `thread/list`. With large metadata, a page has fewer threads.
pub const LIST_PAGE_BYTES: usize = 1 << 20;
/// Bytes of the effects and answers of a question that a list shows in full. Clients open longer questions.
pub const LISTED_QUESTION_BYTES: usize = 4 << 10;
/// Bytes of a question's title in a list.
pub const LISTED_TITLE_BYTES: usize = 512;
/// Targets of notifications in the configuration.
pub const NOTIFICATION_TARGETS: usize = 32;
/// Characters of a target's name.
pub const NOTIFICATION_NAME_CHARS: usize = 32;
/// Notifications that may wait for one target. The oldest one makes room for another.
pub const NOTIFICATIONS_WAITING: usize = 256;
/// Notifications that may wait for all targets.
pub const NOTIFICATIONS_WAITING_ALL: usize = 2048;
/// Facts about threads that may wait for the task of notifications. It reads the log for those that found no room.
pub const NOTIFICATIONS_INBOX: usize = 1024;
/// Open questions that may wait until they are old enough for a notification.
pub const NOTIFICATIONS_QUESTIONS: usize = 1024;
/// Threads whose last considered event is stored.
pub const NOTIFICATIONS_THREADS: usize = 2048;
/// Bytes of the file that stores waiting notifications.
pub const NOTIFICATIONS_FILE_BYTES: u64 = 4 << 20;
/// Time for which the last considered event of a thread is stored, so that the log can be read again after a crash. It
/// is longer than any commit takes, and than the host's clock is set back.
pub const NOTIFICATIONS_MEMORY: Duration = Duration::from_hours(1);
/// Time after which the daemon gives up on a notification.
pub const NOTIFICATIONS_GIVE_UP: Duration = Duration::from_hours(24);
/// Pause after the first failed delivery to a target. It doubles with each further failure.
pub const NOTIFICATIONS_RETRY: Duration = Duration::from_secs(5);
/// Longest pause between two deliveries to a failing target.
pub const NOTIFICATIONS_RETRY_MOST: Duration = Duration::from_hours(1);
/// Seconds that one delivery may take.
pub const NOTIFICATION_SECS: u64 = 15;
/// Bytes that are read of a receiver's answer.
pub const NOTIFICATION_ANSWER_BYTES: u64 = 16 << 10;
/// Bytes of one notification.
pub const NOTIFICATION_BYTES: usize = 16 << 10;
/// Bytes of a notification that is pushed to a browser, before it is encrypted. Push services accept 4096 bytes after it.
pub const PUSH_BYTES: usize = 3 << 10;
/// Browsers that receive pushed notifications.
pub const PUSH_DEVICES: usize = 128;
/// Browsers of one token that receive pushed notifications.
pub const PUSH_DEVICES_OF_ONE: usize = 32;
/// Bytes of the URL at which a push service accepts messages for a browser.
pub const PUSH_ENDPOINT_BYTES: usize = 2 << 10;

/// Messages for a running turn that a thread shows until the agent has taken them.
pub const STEERS_SHOWN: usize = 64;
/// Longest name of a thread, in bytes.
pub const NAME_BYTES: usize = 1024;
/// Largest data that a client may store with a thread, in bytes.
pub const METADATA_BYTES: usize = 64 << 10;
/// Largest schema of a form that an agent requests of which fields are read, in bytes. What is read takes many times its size for a
/// moment, and an agent's line may be much longer. A larger schema passes through unread.
pub const FORM_SCHEMA_BYTES: usize = 64 << 10;
/// Turns on one page of a thread if the client sets no limit.
pub const TURNS_PAGE: usize = 20;
/// Seconds that the user has to sign in to an agent.
pub const SIGN_IN_SECS: u64 = 600;
/// Bytes of finished items that an export of a document holds back until their turn is over. Above it, they are written before
/// the turn. A document is charged for them before anything is read, and other exports for [`UNSENT_ANSWER_BYTES`].
pub const EXPORT_TURN_BYTES: usize = 2 << 20;
/// Bytes of an export that are passed to the HTTP connection at once. What its client has not received yet stays charged.
pub const EXPORT_PART_BYTES: usize = 64 << 10;
/// Bytes of a picture that a document shows. For a larger one, it has words.
pub const EXPORT_PICTURE_BYTES: usize = 4 << 20;
/// Bytes of all pictures that a document shows. For those after them, it has words.
pub const EXPORT_PICTURES_BYTES: usize = 32 << 20;
/// Seconds that a new connection has for the TLS handshake, for its HTTP head, and again for a body.
pub const HEAD_SECS: u64 = 10;
/// Bytes of a connection that may wait to be parsed as HTTP. A longer head is refused.
pub const HTTP_BUFFER_BYTES: usize = 16 << 10;
/// Open requests of one HTTP/2 connection, event streams included.
pub const HTTP2_STREAMS: u32 = 128;
/// Bytes of the body of one request that an HTTP/2 client may send before the daemon reads them.
pub const HTTP2_STREAM_BYTES: u32 = 256 << 10;
/// The same as [`HTTP2_STREAM_BYTES`], for all requests of one connection.
pub const HTTP2_CONNECTION_BYTES: u32 = 1 << 20;
/// Bytes of one response that may wait to be sent to an HTTP/2 client.
pub const HTTP2_SEND_BYTES: usize = 64 << 10;
/// Seconds of silence on an HTTP/2 connection until the daemon pings the client.
pub const HTTP2_PING_SECS: u64 = 30;
/// Seconds that an HTTP/2 client has to answer a ping.
pub const HTTP2_PONG_SECS: u64 = 10;
/// Seconds until an HTTP/2 connection without requests and open streams is closed.
pub const HTTP2_IDLE_SECS: u64 = 60;
/// Largest body of an HTTP request, in bytes.
pub const BODY_BYTES: usize = 16 << 10;
/// HTTP requests that one principal may send in a burst, not counting those that open a WebSocket.
pub const HTTP_REQUESTS: u32 = 300;
/// Milliseconds until one more of the [`HTTP_REQUESTS`] is available.
pub const HTTP_REQUEST_MILLIS: u64 = 100;
/// Connections without a valid credential, of the network or of agents at the local socket, from all addresses. Above it, the oldest of the address with the most is
/// closed.
pub const NEWCOMERS: usize = 256;
/// Connections without a valid credential from one address (IPv6: /64), or of all agents. Above it, the oldest is closed, unless it is
/// younger than [`NEWCOMER_GRACE_MILLIS`].
pub const NEWCOMERS_OF_ONE: usize = 64;
/// Milliseconds in which a connection can authenticate before others of its address take its place. All clients behind a proxy
/// connect at once when the daemon has restarted.
pub const NEWCOMER_GRACE_MILLIS: u64 = 1000;
/// Seconds until a connection without a valid credential is closed, whether it is in use or not.
pub const NEWCOMER_SECS: u64 = 30;
/// Failed logins that one address may make in a burst.
pub const FAILED_LOGINS: u32 = 10;
/// Seconds until one more of the [`FAILED_LOGINS`] is available.
pub const FAILED_LOGIN_SECS: u64 = 6;
/// Callers that a throttle remembers.
pub const THROTTLED: usize = 4096;
/// Requests that may wait for the authentication store.
pub const GATE_QUEUE: usize = 256;
/// Access tokens that may exist.
pub const TOKENS: usize = 256;
/// Longest name of a token, in bytes.
pub const TOKEN_NAME_BYTES: usize = 64;
/// Largest file with the owner's token, in bytes.
pub const TOKEN_FILE_BYTES: u64 = 4 << 10;
/// Largest file of access tokens, in bytes.
pub const TOKENS_FILE_BYTES: u64 = 256 << 10;
/// Seconds for which a ticket is valid.
pub const TICKET_SECS: u64 = 30;
/// Unused tickets of all tokens.
pub const TICKETS: usize = 1024;
/// Unused tickets of one token.
pub const TICKETS_OF_ONE: usize = 64;
/// Shortest time for which a pairing waits for its device, in seconds.
pub const PAIRING_MIN_SECS: u64 = 60;
/// Longest time for which a pairing waits for its device, in seconds.
pub const PAIRING_MAX_SECS: u64 = 3600;
/// Seconds after which the daemon answers a client that waits for a device, at the latest: less than [`REACH_SECS`].
pub const PAIRING_WAIT_SECS: u64 = 20;
/// Pairings of all tokens that have not expired.
pub const PAIRINGS: usize = 256;
/// Pairings of one token that have not expired.
pub const PAIRINGS_OF_ONE: usize = 16;
/// Paired devices of one token other than the owner's.
pub const PAIRED_OF_ONE: usize = 16;
/// Days until an unused browser session expires.
pub const SESSION_DAYS: i64 = 7;
/// Days until a browser session expires in any case.
pub const SESSION_MAX_DAYS: i64 = 30;
/// Hours before the end of a session in which its browser is notified of it.
pub const SIGN_OUT_NOTICE_HOURS: i64 = 24;
/// Seconds by which the stored time of a session's last use may lag behind.
pub const SESSION_NOTE_SECS: i64 = 3600;
/// Browser sessions of all tokens.
pub const SESSIONS: usize = 512;
/// Browser sessions of one token.
pub const SESSIONS_OF_ONE: usize = 64;
/// Browser sessions of all links that share a thread.
pub const SHARE_SESSIONS: usize = 512;
/// Longest name that a user gives to a signed-in device, in bytes: the web UI accepts 32 UTF-16 units, of up to three bytes each.
pub const DEVICE_NAME_BYTES: usize = 96;
/// Largest file of browser sessions, in bytes. All sessions have up to 700 bytes each, with their names, and the browsers that receive
/// notifications 3 KiB more.
pub const SESSIONS_FILE_BYTES: u64 = 1 << 21;
/// Links with which threads are shared, all together.
pub const SHARES: usize = 512;
/// Links of one thread.
pub const SHARES_OF_THREAD: usize = 32;
/// Open connections of one link.
pub const SHARE_CONNECTIONS: usize = 64;
/// Seconds until a link expires, unless its maker chooses: 7 days.
pub const SHARE_SECS: u64 = 7 * 24 * 3600;
/// Seconds until a link expires, at least.
pub const SHARE_MIN_SECS: u64 = 60;
/// Seconds until a link expires, at most: a year.
pub const SHARE_MAX_SECS: u64 = 365 * 24 * 3600;
/// Bytes in the name of a link.
pub const SHARE_NAME_BYTES: usize = 100;
/// Bytes in the file of links.
pub const SHARES_FILE_BYTES: u64 = 512 << 10;
/// Largest certificate chain, or private key, in bytes.
pub const CERTIFICATE_BYTES: u64 = 1 << 20;
/// Seconds that a client has to receive the rest of its messages when the daemon closes the connection.
pub const LAST_WORDS_SECS: u64 = 1;
/// Seconds that the requests of a client that has disconnected have to begin.
pub const LAST_REQUESTS_SECS: u64 = 10;
/// What waits to be written to a recording of the wire, in bytes. What does not fit is left out.
pub const RECORD_QUEUE_BYTES: usize = 16 << 20;
/// Longest line that is recorded, in bytes.
pub const RECORD_LINE_BYTES: usize = 16 << 20;
/// Size of a file of a recording, in bytes, after which nothing more is added to it.
pub const RECORD_FILE_BYTES: u64 = 256 << 20;
/// Size of all files of a recording, in bytes, after which it stops.
pub const RECORD_TOTAL_BYTES: u64 = 2 << 30;
/// Seconds that the daemon waits on shutdown until a recording is written.
pub const RECORD_FLUSH_SECS: u64 = 2;
/// Spans that may wait for the collector; further ones are dropped. A span has about half a kilobyte.
pub const TRACE_SPANS: usize = 2048;
/// Seconds that the collector has to accept spans.
pub const TRACE_SEND_SECS: u64 = 5;
/// Seconds that the daemon waits on shutdown until its last spans are sent.
pub const TRACE_FLUSH_SECS: u64 = 2;
/// Seconds that the daemon waits for its threads and agents on shutdown.
pub const SHUTDOWN_SECS: u64 = 10;
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
/// Programs that permission rules name by path and that are resolved for one request.
pub const RULE_PROGRAMS: usize = 512;
/// Longest permission rule, in bytes.
pub const RULE_BYTES: usize = 4 << 10;
/// Rules in one list of a permission policy.
pub const POLICY_RULES: usize = 1024;
/// Remembered answers of one thread, or of one agent.
pub const REMEMBERED_RULES: usize = 1024;
/// Largest file of the remembered answers for agents, in bytes.
pub const ANSWERS_BYTES: u64 = 32 << 20;
/// Days for which a thread's usage is kept. The oldest of more days becomes a part of the next one.
pub const USAGE_DAYS: usize = 128;
/// Currencies of one sum of costs.
pub const USAGE_CURRENCIES: usize = 8;
/// Currencies that are added up for one sum, of which it has the [`USAGE_CURRENCIES`] that most threads report.
pub const USAGE_CURRENCIES_ADDED: usize = 4096;
/// Rows of `usage/read`. The smallest of more rows are left out; the total has them.
pub const USAGE_ROWS: usize = 500;
/// Days of `usage/read` if the client names none.
pub const USAGE_READ_DAYS: u32 = 30;
/// Most days of `usage/read`.
pub const USAGE_READ_DAYS_MAX: u32 = 3660;
/// Marks of seen threads that are kept for one principal. Threads that changed before the oldest one count as seen.
pub const SEEN_THREADS: usize = 1000;
/// Principals whose marks of seen threads are kept.
pub const SEEN_PRINCIPALS: usize = 128;
/// Threads that one request marks as seen.
pub const SEEN_AT_ONCE: usize = 500;
/// Largest file of the marks of seen threads, in bytes.
pub const SEEN_BYTES: u64 = 32 << 20;
/// Marks and reports of clients that may wait for the file of the marks.
pub const SEEN_ORDERS: usize = 64;
/// Age of the stored time at which a principal was last in front, in milliseconds, from which on it is stored again.
pub const SEEN_FRONT_MILLIS: i64 = 60_000;
/// Seconds without a page in front after which a user has been away.
pub const AWAY_SECS: u64 = 5 * 60;
/// Changes to the remembered answers for agents that may wait to be stored.
pub const ANSWERS_WAITING: usize = 16;
/// File descriptors that are left to the log and to the local sockets.
pub const DESCRIPTORS_RESERVED: u64 = 48;
/// Largest limit of open files that the daemon asks for.
pub const DESCRIPTORS_MAX: u64 = 1 << 20;
/// Time between two looks of the daemon at its own clock, in milliseconds.
pub const CLOCK_LOOK_MILLIS: u64 = 1000;
/// Time between two looks from which on the daemon was stopped or its host paused, in milliseconds.
pub const CLOCK_PAUSE_MILLIS: u64 = 10_000;
/// Time, in milliseconds, by which the host's clock may be set without effect, as NTP corrects it.
pub const CLOCK_SLACK_MILLIS: i64 = 5 * 60 * 1000;
/// Hourly looks in a row without a step of the host's clock, after which a clock that is behind a known time is followed.
pub const CLOCK_STEADY_LOOKS: u32 = 6;
/// Seconds in which a daemon must have accepted a command's connection and answered its first request.
pub const REACH_SECS: u64 = 30;
/// Seconds of these after which the command says that it waits.
pub const REACH_WORDS_SECS: u64 = 3;
/// Seconds to connect to the server of a registry or of an agent's download.
pub const CONNECT_SECS: u64 = 15;
/// Seconds that one download may take.
pub const DOWNLOAD_SECS: u64 = 900;
/// Seconds that npm, uv or pip may take to install an agent for the daemon.
pub const INSTALL_SECS: u64 = 900;
/// Largest list of the packages that npm has installed for an agent, in bytes.
pub const PACKAGE_LOCK_BYTES: u64 = 16 << 20;
/// Agents that the daemon installs at the same time.
pub const INSTALLS: usize = 4;
/// Changes of the configuration file that wait for another one.
pub const CONFIG_CHANGES: usize = 8;
/// Largest configuration file that acpd changes, in bytes.
pub const CONFIG_FILE_BYTES: u64 = 1 << 20;
/// Entries of a directory that are read to list its folders.
pub const FOLDER_ENTRIES: usize = 100_000;
/// Folders in one answer of `folder/list`.
pub const FOLDERS: usize = 2_000;
/// Largest registry document, in bytes.
pub const REGISTRY_BYTES: u64 = 4 << 20;
/// Largest archive of an agent, in bytes.
pub const ARCHIVE_BYTES: u64 = 1 << 30;
/// Largest unpacked size of an agent's archive, in bytes.
pub const UNPACKED_BYTES: u64 = 4 << 30;
/// Entries that an agent's archive may contain.
pub const UNPACKED_ENTRIES: usize = 200_000;
/// Bytes of an agent's replay of an earlier conversation that are compared with the log. Of a longer replay, the end is
/// compared.
pub const REPLAYED_BYTES: usize = 32 << 20;
/// Bytes of the prompts of one turn that are kept to recognize the agent's echo of them.
pub const ECHO_BYTES: usize = 4 << 20;
/// Exchanges at the end of a thread's conversation that an agent's replay is matched against.
pub const KNOWN_EXCHANGES: usize = 128;
/// Exchanges at the end of an agent's replay that are matched.
pub const REPORTED_EXCHANGES: usize = 256;
/// Bytes of a text, without its white space, that are used to find it inside another text.
pub const EXCHANGE_HEAD_BYTES: usize = 1 << 10;
/// Milliseconds between two notifications to a client about the other subscribers of its thread.
pub const SUBSCRIBERS_MILLIS: u64 = 200;
/// Other subscribers that a notification names. Beyond it, the notification has only their number.
pub const SUBSCRIBERS_TOLD: usize = 32;
/// Longest text that is stored inside an event, in bytes. Longer text is stored as a blob.
pub const INLINE_BYTES: usize = 64 << 10;
/// Bytes of a longer text that the event contains in addition to the blob.
pub const PREVIEW_BYTES: usize = 4 << 10;
/// Bytes of a longer terminal output that the event contains in addition to the blob: the end of the output.
pub const TERMINAL_PREVIEW_BYTES: usize = 16 << 10;
/// Largest file of an installed package that the daemon reads, in bytes.
pub const PACKAGE_FILE_BYTES: u64 = 1 << 20;
/// Lines other than protocol messages that a check of an agent reports to the user.
pub const STRAY_LINES: usize = 5;
/// Bytes of a deleted row that the log overwrites in one step, and bytes of the rows that one step removes.
pub const LOG_ERASE_BYTES: usize = 512 << 10;
/// Rows of a deleted thread that the log removes in one step.
pub const LOG_ERASE_ROWS: u32 = 64;
/// Time between the start of the daemon, or a change of the limits, and the next run of retention, in seconds. A wrong limit
/// can be corrected meanwhile.
pub const RETENTION_DELAY_SECS: u64 = 60;
/// Time between two runs of retention, in seconds.
pub const RETENTION_INTERVAL_SECS: u64 = 60 * 60;
/// Age, in milliseconds, below which no thread is removed because of the size of the log.
pub const RETENTION_SIZE_AGE_MILLIS: i64 = 24 * 60 * 60 * 1000;
/// Time, in milliseconds, after the newest event and the last sweep beyond which retention removes nothing.
pub const RETENTION_UNUSED_MILLIS: i64 = 2 * 24 * 60 * 60 * 1000;
/// Time, in milliseconds, after the last sweep beyond which retention removes nothing until a client confirms the time.
pub const RETENTION_AWAY_MILLIS: i64 = 30 * 24 * 60 * 60 * 1000;
/// Hourly looks at which the time must fit, after [`RETENTION_UNUSED_MILLIS`] without one, before retention removes something.
pub const RETENTION_LOOKS: u32 = 24;
/// Size of the file in which retention remembers the time, in bytes.
pub const RETENTION_FILE_BYTES: u64 = 4096;
/// Removed threads that a report of retention lists.
pub const RETENTION_LISTED: usize = 1000;
/// Threads that one look for unused threads returns.
pub const RETENTION_PAGE: usize = 32;
/// Requests to run retention that wait while it runs.
pub const RETENTION_REQUESTS: usize = 4;
/// Blobs of a thread whose content retention removes in one transaction.
pub const BLOBS_REMOVED: u32 = 256;
/// Threads without removable blobs that one look for unused threads passes over.
pub const UNUSED_PASSED_OVER: usize = 1000;
/// Words that the log removes from the full-text index in one step.
pub const LOG_ERASE_WORDS: usize = 32;
/// Pages of the database that one step searches for remains of deleted data.
pub const LOG_SCRUB_READS: i64 = 256;
/// Pages of the database that one step rewrites without such remains.
pub const LOG_SCRUB_WRITES: usize = 64;
/// Free pages of the database that one step returns to the file system.
pub const LOG_SHRINK_PAGES: i64 = 64;
/// Free pages of the database that are kept for new data.
pub const LOG_FREE_PAGES: i64 = 1024;
/// Largest database of an older version that is rewritten when it is opened, so that it can shrink, in bytes.
pub const LOG_REWRITE_BYTES: i64 = 64 << 20;
/// Steps after which the write-ahead log is moved into the database.
pub const LOG_ERASE_CHECKPOINT: u32 = 4;
/// Commits after which the log takes one step although more commits are waiting.
pub const LOG_ERASE_COMMITS: u32 = 32;
/// Commits after which the log tries a failed step again.
pub const LOG_ERASE_RETRY: u32 = 1024;
/// How long the log continues such steps when it is closed, in milliseconds. The next start takes the others.
pub const LOG_CLOSE_MILLIS: u64 = 1500;
/// Largest write-ahead log that is moved into the database when the log is closed, in bytes. The next start moves a
/// larger one.
pub const LOG_CLOSE_WAL_BYTES: u64 = 64 << 20;
/// Bytes of one text that are indexed. A search does not find what follows them.
pub const SEARCH_TEXT_BYTES: usize = 16 << 10;
/// Characters of one word that a search compares.
pub const SEARCH_WORD_CHARS: usize = 64;
/// Longest search query, in bytes.
pub const SEARCH_QUERY_BYTES: usize = 1 << 10;
/// Words of a search query that are used. Further words are ignored.
pub const SEARCH_QUERY_WORDS: usize = 64;
/// Length at which the last word of a query also matches longer words that start with it, in characters.
pub const SEARCH_PREFIX_CHARS: usize = 2;
/// Largest page of `thread/search`, in hits.
pub const SEARCH_PAGE_MAX: usize = 100;
/// Hits on one page of `thread/search` if the client sets no limit.
pub const SEARCH_PAGE: usize = 20;
/// Length of the snippet of a hit, in characters.
pub const SNIPPET_CHARS: usize = 200;
/// Characters of a snippet before the first matching word.
pub const SNIPPET_LEAD_CHARS: usize = 60;
/// Largest description of a backup, in bytes.
pub const BACKUP_DESCRIPTION_BYTES: u64 = 64 << 10;
/// Largest file of a backup besides the log, in bytes.
pub const BACKUP_FILE_BYTES: u64 = 64 << 20;
