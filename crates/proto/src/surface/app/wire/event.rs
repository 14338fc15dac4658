//! The params of notifications about threads, turns and agents.

use acpd_model::event::{Binding, Fidelity, LeaseHolder, LeaseMove, SessionDeleted};
use acpd_model::{ItemId, Millis, RawJson, Replaced, Seq, ThreadId, ThreadStatus, TurnId};

use super::At;
use super::origin::By;
use super::plan::Plan;
use super::thread::ChangedThread;
use super::turn::Turn;
use super::{OrNull, Plain};
use crate::surface::reply::SeenThread;

#[cfg(test)]
use crate::surface::app::describe::{Acp, Json};

wire! {
    /// A new thread.
    struct ThreadMade<'a> { [flatten] at: At<'a>, thread: NewThread<'a> }

    /// A new thread, as created.
    struct NewThread<'a> {
        id: Plain<'a>,
        agent_type: &'a str,
        cwd: &'a str,
        name: Option<&'a String>,
        project_id: Option<&'a String>,
        metadata: Option<&'a RawJson>,
        additional_directories: &'a [String],
        status: ThreadStatus,
        created_at: Millis as u64,
    }

    /// A thread's status.
    struct StatusChanged<'a> { [flatten] at: At<'a>, status: ThreadStatus }

    /// Changed properties of a thread.
    struct ThreadUpdated<'a> {
        [flatten] at: At<'a>,
        /// A session was opened.
        agent: Option<AgentBound<'a>>,
        /// The thread's name; `null` if it was removed.
        name: Option<OrNull<&'a String>>,
        /// The client's own data; `null` if it was removed.
        metadata: Option<OrNull<&'a RawJson>>,
        /// Whether the thread is pinned from now on.
        pinned: Option<bool>,
        /// With `pinned`: the thread's place among the pinned threads from now on, the lowest first; absent if it has none.
        pin_place: Option<u32> as Option<u64>,
        /// Id of the new mode.
        mode_id: Option<&'a str>,
        /// Id of the new model.
        model_id: Option<&'a str>,
        /// ACP's `config_option_update`.
        config_option_update: Option<&'a RawJson> as Option<Acp>,
        /// ACP's `available_commands_update`.
        available_commands_update: Option<&'a RawJson> as Option<Acp>,
        /// ACP's `session_info_update`.
        session_info: Option<&'a RawJson> as Option<Acp>,
        /// The thread's own policy.
        policy: Option<OrNull<&'a RawJson>>,
        /// Parameters with which a client wants the agent's session to be opened from now on.
        session: Option<SessionParams<'a>>,
        /// The directories that the thread works in from now on.
        directories: Option<Directories<'a>>,
        /// The originator of the change of the name, the data, the pin or the directories.
        by: Option<By<'a>>,
    }
}

impl<'a> ThreadUpdated<'a> {
    /// Describes an update without changes.
    pub fn unchanged(at: At<'a>) -> Self {
        Self {
            at,
            agent: None,
            name: None,
            metadata: None,
            pinned: None,
            pin_place: None,
            mode_id: None,
            model_id: None,
            config_option_update: None,
            available_commands_update: None,
            session_info: None,
            policy: None,
            session: None,
            directories: None,
            by: None,
        }
    }
}

wire! {
    /// An agent session that was opened.
    struct AgentBound<'a> {
        /// The agent's id for the session.
        session_id: &'a str,
        how: Binding,
        /// The agent's result of `initialize`.
        initialize: &'a RawJson as Option<Json>,
        /// The result of the ACP method that opened the session.
        session: &'a RawJson as Option<Json>,
        /// The version of ACP that the agent speaks, if it is not 1. `initialize` and `session` have the form of version 1 in any case.
        protocol: Option<u32> as Option<u64>,
    }

    /// The directories that a thread works in.
    struct Directories<'a> {
        /// Working directory.
        cwd: &'a str,
        /// Further directories of the workspace.
        additional_directories: &'a [String],
    }

    /// Parameters for opening the agent's session that differ from those the thread was created with.
    struct SessionParams<'a> {
        /// Working directory of the session; `null` is the thread's.
        cwd: Option<&'a String> | null,
        /// Names of additional MCP servers.
        mcp_servers: Vec<Option<String>>,
    }

    /// A change of the thread list.
    struct ListChanged<'a> {
        thread_id: ThreadId,
        /// Time of the notification, in milliseconds since the epoch.
        ts: Millis as u64,
        /// The thread's new entry in `thread/list`; `null` if the thread is deleted.
        thread: Option<ChangedThread<'a>> | null,
    }

    /// Threads that the principal of the connection has seen.
    struct SeenChanged<'a> {
        /// Time of the notification, in milliseconds since the epoch.
        ts: Millis as u64,
        /// The threads. A mark that is earlier than one before changes nothing.
        threads: &'a [SeenThread],
    }

    /// How far a principal has seen a thread.
    struct SeenThread for SeenThread {
        [rename = "threadId"] thread: ThreadId,
        /// Changes until then have been seen, in milliseconds since the epoch.
        seen_at: Millis as u64,
    }

    /// A reset of the thread list, without members.
    struct ListReset {}

    /// Whether a thread's log can be written.
    struct LogChanged<'a> {
        thread_id: ThreadId,
        /// Time of the notification, in milliseconds since the epoch.
        ts: Millis as u64,
        /// Why the log cannot be written, or which events cannot be read; absent if the thread works again.
        error: Option<&'a str>,
    }

    /// Events that cannot be read.
    struct LogDamaged<'a> {
        thread_id: ThreadId,
        /// Time of the notification, in milliseconds since the epoch.
        ts: Millis as u64,
        /// Number of the first of these events.
        first_seq: Seq,
        /// Number of the last of these events.
        seq: Seq,
        /// Why they cannot be read.
        reason: &'a str,
    }

    /// The other clients that follow a thread.
    struct SubscribersChanged<'a> {
        thread_id: ThreadId,
        /// Time of the notification, in milliseconds since the epoch.
        ts: Millis as u64,
        /// At most 32 of the other clients. Clients that answer questions come first, each group in order of arrival.
        others: &'a [crate::surface::contract::Subscriber],
        /// Number of further clients.
        more: usize,
    }

    /// A client that follows a thread.
    struct Subscriber<'a> {
        /// The principal whose credentials the client used.
        principal: &'a str,
        /// The client's name, as it reported it.
        client: &'a str,
        /// Whether the client receives the agent's questions as requests: it answers questions, and its role allows that.
        may_answer: bool,
    }
}

shown! { crate::surface::contract::Subscriber as Subscriber, |subscriber| Subscriber {
    principal: &subscriber.who.principal,
    client: &subscriber.who.client,
    may_answer: subscriber.may_answer,
} }

wire! {
    /// A change of the thread, with its originator.
    struct ThreadChanged<'a> { [flatten] at: At<'a>, by: By<'a> }

    /// A deleted thread.
    struct ThreadDeleted<'a> { [flatten] at: At<'a>, session: SessionDeleted, by: By<'a> }

    /// Result of a rollback.
    struct TurnsRolledBack<'a> {
        [flatten] at: At<'a>,
        /// The last turn that is kept; `null` if no turn is kept.
        last_kept_turn_id: Option<TurnId> | null,
        fidelity: Fidelity,
        by: By<'a>,
    }

    /// The origin of a forked thread.
    struct ThreadForked<'a> {
        [flatten] at: At<'a>,
        from_thread_id: ThreadId,
        /// The last turn that was copied.
        last_turn_id: Option<TurnId>,
        /// The agent's id for the fork of its session.
        session_id: Option<&'a String>,
        /// How well the agent remembers, if it opens the fork of its session. The answer to `thread/fork` says whether it has.
        fidelity: Fidelity,
        by: By<'a>,
    }

    /// A move of the lease.
    struct LeaseMoved<'a> {
        [flatten] at: At<'a>,
        /// The new holder; absent if the daemon itself answers.
        holder: Option<&'a LeaseHolder>,
        why: LeaseMove,
        by: By<'a>,
    }

    /// Usage of the agent's context.
    struct TokenUsageUpdated<'a> {
        [flatten] at: At<'a>,
        used: u64 as Option<u64>,
        size: u64 as Option<u64>,
        /// ACP's `Cost`: what the agent's session has cost, as the agent reported it.
        cost: Option<&'a RawJson> as Option<Acp>,
        /// What the thread has cost in this currency, with all sessions of its agent, as ACP's `Cost`.
        thread_cost: Option<&'a RawJson> as Option<Acp>,
    }
}

wire! {
    /// A file, and the number of bytes.
    struct FileTouched<'a> {
        [flatten] at: At<'a>,
        path: &'a str,
        bytes: u64,
        /// The client that acted instead of the daemon.
        by: Option<By<'a>>,
    }

    /// A written file, the number of bytes, and what they replaced.
    struct FileWritten<'a> {
        [flatten] at: At<'a>,
        path: &'a str,
        bytes: u64,
        replaced: Option<Replaced>,
        /// The client that acted instead of the daemon.
        by: Option<By<'a>>,
    }

    /// A terminal.
    struct TerminalNamed<'a> {
        [flatten] at: At<'a>,
        item_id: Option<ItemId>,
        terminal_id: &'a str,
        /// The client that acted instead of the daemon.
        by: Option<By<'a>>,
    }

    /// A terminal that waits for input.
    struct TerminalWaiting<'a> {
        [flatten] at: At<'a>,
        item_id: ItemId,
        terminal_id: &'a str,
        /// Whether the terminal does not show what is typed, as for a password.
        secret: bool,
    }

    /// A call that the policy allowed.
    struct Permitted<'a> {
        [flatten] at: At<'a>,
        /// The method that the agent called.
        method: &'a str,
        /// The file, command or other subject of the call.
        subject: &'a str,
        by: By<'a>,
    }

    /// A remembered answer.
    struct Remembered<'a> { [flatten] at: At<'a>, answer: &'a RawJson }

    /// A revoked answer.
    struct Revoked<'a> { [flatten] at: At<'a>, id: u64 }

    /// An unknown message of the agent.
    struct AgentNotification<'a> {
        [flatten] at: At<'a>,
        method: &'a str,
        /// The `update` of a `session/update`.
        update: Option<&'a RawJson>,
        /// The params of any other method.
        params: Option<&'a RawJson>,
    }

    /// A turn.
    struct TurnChanged<'a> { [flatten] at: At<'a>, turn: Turn<'a> }

    /// The queue of a thread.
    struct QueueChanged<'a> {
        [flatten] at: At<'a>,
        /// Ids of the queued turns, in their order.
        queued_turn_ids: &'a [TurnId],
        /// Whether no queued turn starts by itself.
        paused: bool,
        by: By<'a>,
    }

    /// The originator of the interruption.
    struct TurnInterrupting<'a> { [flatten] at: At<'a>, by: By<'a> }

    /// A message for the running turn.
    struct TurnSteering<'a> {
        [flatten] at: At<'a>,
        text: String,
        /// ACP content blocks.
        content: &'a [RawJson] as Vec<Acp>,
        by: By<'a>,
    }

    /// A turn that has ended.
    struct TurnCompleted<'a> {
        [flatten] at: At<'a>,
        turn: Turn<'a>,
        token_usage: Option<&'a RawJson> as Option<Acp>,
    }

    /// A plan.
    struct PlanUpdated<'a> { [flatten] at: At<'a>, [flatten] plan: Plan<'a> }

    /// A plan that is no longer valid.
    struct PlanRemoved<'a> {
        [flatten] at: At<'a>,
        /// The agent's id for the plan. Absent for the plan without an id.
        plan_id: Option<&'a str>,
        by: By<'a>,
    }

    /// A diff.
    struct DiffUpdated<'a> {
        thread_id: Plain<'a>,
        /// Number of the event; absent if the diff is only shown live.
        seq: Option<Seq>,
        /// Milliseconds since the epoch.
        ts: Millis as u64,
        turn_id: Option<TurnId>,
        /// Unified diff of all files that the turn changed.
        diff: &'a str,
    }

    /// Prompts that the agent suggests.
    struct SuggestionsUpdated<'a> {
        thread_id: Plain<'a>,
        /// Absent, because suggestions are only shown live.
        seq: Option<Seq>,
        /// Milliseconds since the epoch.
        ts: Millis as u64,
        turn_id: Option<TurnId>,
        /// At most 8 suggestions, the most likely one first. An empty list withdraws those before.
        suggestions: &'a [crate::agent::Suggestion],
    }

    /// A prompt that the agent suggests.
    struct Suggestion<'a> {
        /// ACP content blocks: text, and links to resources. The texts have at most 4 KiB and no control characters.
        prompt: &'a [RawJson] as Vec<Acp>,
    }
}

shown! { crate::agent::Suggestion as Suggestion, |suggestion| Suggestion {
    prompt: &suggestion.prompt,
} }
