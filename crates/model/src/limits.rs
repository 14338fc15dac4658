//! The limits of the daemon that the configuration can change, and those that several files or tests need, with their units.
//!
//! Each subject has a file. A limit that only one file needs is a constant of that file, unless it must be read beside others.

mod agents;
mod auth;
mod callbacks;
mod connections;
mod daemon;
mod editors;
mod log;
mod notifications;
mod policy;
mod threads;
mod transfers;

use serde::{Deserialize, Serialize};

use crate::section::{About, Reload, Section, Setting};

pub use self::agents::*;
pub use self::auth::*;
pub use self::callbacks::*;
pub use self::connections::*;
pub use self::daemon::*;
pub use self::editors::*;
pub use self::log::*;
pub use self::notifications::*;
pub use self::policy::*;
pub use self::threads::*;
pub use self::transfers::*;

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
    /// their text afterwards; what comes prolongs it. The same silence ends a turn that the agent began without a prompt. 0 ends
    /// the turn with the answer, and the agent begins none.
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

/// Largest value of [`Limits::turn_tail_millis`]: each turn ends that much later.
pub const TURN_TAIL_MILLIS_MAX: u64 = 10_000;

/// Largest configurable queue size. Each queue reserves memory for its full size.
pub const QUEUE_MAX: usize = 4096;

/// Smallest value of [`Limits::agent_bytes_per_sec`] that is a limit. With less, a long line would take hours.
pub const AGENT_BYTES_PER_SEC_MIN: usize = 16 << 10;

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
