//! The result of `initialize`.

use acpd_model::{Limits, Role};

use super::Plain;

wire! {
    /// Result of `initialize`.
    struct Initialized<'a> {
        protocol_version: u32,
        server_info: ServerInfo,
        capabilities: ServerCapabilities,
        limits: LimitsInForce,
        identity: Identity<'a>,
    }
}

impl<'a> Initialized<'a> {
    pub fn of(limits: &Limits, principal: &'a str, role: Role) -> Self {
        Self {
            protocol_version: crate::surface::app::PROTOCOL_VERSION,
            server_info: ServerInfo::new(Plain("acpd"), Plain(env!("CARGO_PKG_VERSION"))),
            capabilities: ServerCapabilities {
                streaming: true,
                tools: true,
                approvals: true,
                replaces_turns: true,
            },
            limits: LimitsInForce::of(limits),
            identity: Identity::new(principal, role),
        }
    }
}

wire! {
    /// Name and version of the daemon.
    struct ServerInfo { name: Plain<'static>, version: Plain<'static> }

    /// Capabilities of the daemon.
    struct ServerCapabilities {
        streaming: bool,
        tools: bool,
        approvals: bool,
        /// Whether `turn/start` takes `replacesTurnId`. Without this, an older daemon ignores it and adds the prompt to the conversation.
        replaces_turns: bool,
    }

    /// Effective limits of the daemon.
    struct LimitsInForce {
        /// Maximum size of a client's message, in bytes.
        message_bytes: usize,
        /// Maximum number of requests of one connection within `requestWindowSecs`.
        requests_per_window: u32 as u64,
        request_window_secs: u64,
        /// Maximum number of queued turns in a thread.
        queued_turns: usize,
        /// Maximum number of requests in flight on one connection.
        requests_in_flight: usize,
        /// Maximum number of commands queued for a thread. Further requests fail with -32001.
        thread_commands: usize,
        /// Maximum number of batches of events queued for one connection.
        outbound_queue: usize,
        /// Batches of events that a connection may fall behind before the daemon serves it from the log.
        live_batches: usize,
        /// Maximum number of concurrent connections. Further ones are refused; on a local socket they wait.
        connections: usize,
        /// Seconds between the daemon's pings.
        ping_secs: u64,
        /// Seconds of silence after a ping, after which the daemon closes the connection.
        pong_secs: u64,
        /// Seconds that a client may read nothing, after which the daemon closes the connection.
        write_secs: u64,
    }
}

impl LimitsInForce {
    fn of(limits: &Limits) -> Self {
        Self {
            message_bytes: limits.client_message_bytes,
            requests_per_window: limits.requests_per_window,
            request_window_secs: limits.request_window_secs,
            queued_turns: limits.queued_turns,
            requests_in_flight: limits.requests_in_flight,
            thread_commands: limits.thread_commands,
            outbound_queue: limits.outbound_queue,
            live_batches: limits.live_batches,
            connections: limits.connections,
            ping_secs: limits.ping_secs,
            pong_secs: limits.pong_secs,
            write_secs: limits.write_secs,
        }
    }
}

wire! {
    /// Identity and role of a connection.
    struct Identity<'a> { principal: &'a str, role: Role }
}
