//! What happened to a turn or the queue of turns.

use std::num::NonZeroU64;

use super::row::kinds;
use super::words::{DiffSize, MarkdownPlan, PlanEntry, PlanEvents};
use crate::ids::TurnId;
use crate::json::RawJson;
use crate::numbers::Millis;
use crate::status::TurnStatus;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_no_time(millis: &u64) -> bool {
    *millis == 0
}

kinds! {
    /// What happened to a turn or the queue of turns.
    TurnEvent {
        /// A prompt was queued until the turns before it are over, or the prompt of a queued turn was replaced.
        "turnQueued" as "turn:queue" in Turn => Queued {
            /// ACP content blocks.
            input: Vec<RawJson>,
            /// `_meta` for the agent, passed on unchanged.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            meta: Option<RawJson>,
            /// The client's own id for the turn. A repeated id refers to the same turn.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            client_turn_id: Option<String>,
        },
        /// The queue was reordered, paused or continued.
        "queueChanged" as "queue:change" in Turn => QueueChanged {
            /// The queued turns, in their new order.
            order: Vec<TurnId>,
            /// Whether no queued turn starts by itself.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            paused: bool,
        },
        /// A turn started.
        "turnStarted" as "turn:start" in Turn => Started {
            /// The client's own id for the turn.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            client_turn_id: Option<String>,
            /// Whether the turn was held in the agent's session outside of this thread and is now imported from the agent's
            /// history. Such a turn is already over and is not running. Another turn may be about to start.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            imported: bool,
        },
        /// A turn ended, with any result.
        "turnSettled" as "turn:end" in Turn => Settled {
            /// How the turn ended.
            status: TurnStatus,
            /// ACP's stop reason, as the agent sent it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            stop_reason: Option<String>,
            /// The error, if the turn failed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            error: Option<String>,
            /// When the turn started; absent for a turn that never started.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            started_at: Option<Millis>,
            /// The token usage that the agent reported at the end of the turn.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            usage: Option<Box<RawJson>>,
            /// The size of the turn's diff, which the event before this one has. Absent if the turn changed no file, and in
            /// logs from before this member existed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            changes: Option<Box<DiffSize>>,
            /// The event that last changed a plan with steps in the turn. Absent if the turn has none, and in logs from before this
            /// member existed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            plan: Option<NonZeroU64>,
            /// The last event of each plan of the turn, in the order in which the plans came. Absent if `plan` is the only one, and in
            /// logs from before this member existed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            plans: Option<Box<PlanEvents>>,
            /// Number of calls in the turn that the policy allowed without a permission request. Absent in logs from before this
            /// member existed.
            #[serde(default, skip_serializing_if = "is_zero")]
            permitted: u32,
            /// Milliseconds of the turn in which a question waited for its answer. Absent in logs from before this member existed.
            #[serde(default, skip_serializing_if = "is_no_time")]
            waited_ms: u64,
        },
        /// The turn is about to end and has changed files. In logs of earlier versions, the event follows each change.
        "diffUpdated" as "diff:update" in Turn => DiffUpdated {
            /// Unified diff of all files that the turn changed.
            diff: String,
        },
        /// The agent replaced a whole plan. An empty plan counts too.
        "planReplaced" as "plan:update" in State => PlanReplaced {
            /// The agent's id for the plan. Empty, and absent in the log, for the plan without an id, and in logs from before this
            /// member existed.
            #[serde(default, skip_serializing_if = "String::is_empty")]
            plan_id: String,
            /// Steps of the plan, in order. Empty for a plan of another form.
            entries: Vec<PlanEntry>,
            /// The plan as Markdown, in place of steps.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            markdown: Option<Box<MarkdownPlan>>,
        },
        /// A plan is no longer valid: the agent removed it, or the daemon did because the thread has too many.
        "planRemoved" as "plan:remove" in State => PlanRemoved {
            /// The agent's id for the plan. Empty, and absent in the log, for the plan without an id.
            #[serde(default, skip_serializing_if = "String::is_empty")]
            plan_id: String,
            /// Whether no other plan has changed since this one did. Clients that show one plan showed this one.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            was_latest: bool,
        },
        /// The agent reported the size of its context, and how much of it is in use.
        "usageUpdated" as "usage:update" in State => UsageUpdated {
            /// Tokens in use.
            used: u64,
            /// Tokens that fit into the context.
            size: u64,
            /// ACP's `cost` object: what the agent's session has cost.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            cost: Option<RawJson>,
            /// What the thread has cost with all its sessions, in the same form. Absent in events that were stored before this member
            /// existed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            thread_cost: Option<RawJson>,
        },
        /// A client interrupted the running turn. The daemon sent the cancellation to the agent.
        "interruptRequested" as "turn:interrupt" in Turn => InterruptRequested {},
        /// A client sent a message during the running turn, and the daemon passed it on to the agent. If the agent accepts
        /// it, it becomes a message of that turn; otherwise it becomes a turn of its own.
        "steerRequested" as "turn:steer" in Thread => SteerRequested {
            /// ACP content blocks.
            input: Vec<RawJson>,
        },
    }
}
