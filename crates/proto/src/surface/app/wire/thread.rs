//! Threads, as results and notifications contain them.

use acpd_model::event::{LeaseHolder, PermissionOption, PlanEntry};
use acpd_model::subject::CallSubject;
use acpd_model::usage::{DailyUsage, Spent};
use acpd_model::{
    self as model, EventKind, Millis, QuestionType, RawJson, RequestId, Seq, Summary, ThreadId, ThreadStatus,
    TurnEvent, TurnId,
};
use acpd_policy::Policy;

use super::words::TurnStatus;
use super::{Members, OrNull, Serde};
use crate::projection::{self, Live, Turn, TurnsPage};
use crate::surface::reply::ListedThread;
use crate::wire::object;

#[cfg(test)]
use crate::surface::app::describe::{Acp, Json};

wire! {
    /// The summary of a thread, as lists show it.
    struct ThreadSummary<'a> {
        [flatten] entry: ThreadEntry<'a>,
        /// Arbitrary data that the client stored with the thread.
        metadata: Option<&'a RawJson>,
        /// In `thread/list`: the principal of the connection has seen all changes until then, in milliseconds since the epoch.
        /// The thread is unread if `updatedAt` is later. Absent if the principal has never called `thread/seen/set`.
        seen_at: Option<Millis> as Option<u64>,
    }

    /// The new summary of a thread whose entry in lists has changed.
    struct ChangedThread<'a> {
        [flatten] entry: ThreadEntry<'a>,
        /// Arbitrary data that the client stored with the thread; `null` if the thread has none. Absent if it has not changed.
        metadata: Option<OrNull<&'a RawJson>>,
    }

    /// The summary of a thread without its metadata.
    struct ThreadEntry<'a> {
        /// Id of the thread.
        id: ThreadId,
        /// Name of the agent, as in `agent/list`.
        agent_type: &'a str,
        /// Absolute path of the working directory.
        cwd: &'a str,
        /// The name that a user set, else the agent's title, else the beginning of the first prompt.
        name: Option<&'a String>,
        /// Project id that the client chose to group threads by.
        project_id: Option<&'a String>,
        status: ThreadStatus,
        /// Why the status is `failed`.
        error: Option<&'a String>,
        /// Status of the last ended turn; absent if there was none, or if it was dropped.
        last_turn_status: Option<TurnStatus>,
        /// Whether the last turn was interrupted by an error, such as a restart of acpd, and not by a client.
        last_turn_cut_off: Option<bool>,
        /// Whether the thread is archived.
        archived: bool,
        /// Whether a user pinned the thread. Clients list pinned threads first.
        pinned: Option<bool>,
        /// The place that a user has chosen for the pinned thread. Clients list those without a place first, then the lowest.
        pin_place: Option<u32> as Option<u64>,
        /// When the thread was created or forked, in milliseconds since the epoch.
        created_at: Millis as u64,
        /// When a turn last started or ended, in milliseconds since the epoch.
        updated_at: Millis as u64,
        /// Number of turns in the conversation. Dropped turns do not count.
        turn_count: u32 as u64,
        /// The oldest unanswered question.
        question: Option<WaitingQuestion<'a>>,
    }

    /// A question that waits for an answer, as lists show it. `item/approve` needs nothing else.
    struct WaitingQuestion<'a> {
        request_id: RequestId,
        [rename = "type"] kind: QuestionType,
        /// The title of the permission request, or the agent's message; the first 512 bytes.
        title: &'a str,
        /// The subagent that asks, as sentences name it: `Subagent "review"`. Absent for the main agent.
        asker: Option<&'a str>,
        /// The effects of the call. `subjects` and `options` are absent if they are longer than 4 KiB together, or if no
        /// effect is known: the question has to be opened before it is answered.
        subjects: Option<&'a [CallSubject]>,
        /// The answers that the agent offers.
        options: Option<&'a [PermissionOption]>,
        /// Number of further unanswered questions of the thread.
        more: u32 as u64,
        /// When the agent asked, in milliseconds since the epoch; absent if an older version of acpd stored the question.
        asked_at: Option<Millis> as Option<u64>,
    }

    /// What a question asks for.
    enum QuestionType for QuestionType {
        /// A permission; `item/approve` answers it.
        Permission,
        /// Information; `item/answer` answers it.
        Input,
    }
}

impl<'a> WaitingQuestion<'a> {
    fn of(question: &'a model::WaitingQuestion) -> Self {
        let answerable = question.answerable.as_ref();
        Self {
            request_id: question.request_id,
            kind: question.kind,
            title: &question.title,
            asker: question.asker.as_deref(),
            subjects: answerable.map(|answerable| &*answerable.subjects),
            options: answerable.map(|answerable| &*answerable.options),
            more: question.more,
            asked_at: question.asked_at,
        }
    }
}

/// Returns a question as lists show it, as a JSON object.
pub fn question_json(question: &model::WaitingQuestion) -> RawJson {
    object(|out| WaitingQuestion::of(question).write_into(out))
}

impl<'a> ThreadSummary<'a> {
    pub fn of(id: ThreadId, summary: &'a Summary) -> Self {
        Self {
            entry: ThreadEntry::of(id, summary),
            metadata: summary.metadata.as_ref(),
            seen_at: None,
        }
    }
}

impl<'a> ChangedThread<'a> {
    /// Creates the new summary; `with_metadata` if the metadata may have changed.
    pub fn of(id: ThreadId, summary: &'a Summary, with_metadata: bool) -> Self {
        Self {
            entry: ThreadEntry::of(id, summary),
            metadata: with_metadata.then_some(OrNull(summary.metadata.as_ref())),
        }
    }
}

impl<'a> ThreadEntry<'a> {
    fn of(id: ThreadId, summary: &'a Summary) -> Self {
        Self {
            id,
            agent_type: &summary.agent,
            cwd: &summary.cwd,
            name: summary.name.as_ref(),
            project_id: summary.project_id.as_ref(),
            status: summary.status,
            error: summary.error.as_ref(),
            last_turn_status: summary.last_turn.map(TurnStatus::from),
            last_turn_cut_off: summary.cut_off.then_some(true),
            archived: summary.archived,
            pinned: summary.pinned.then_some(true),
            pin_place: summary.pin_place,
            created_at: summary.created_at,
            updated_at: summary.updated_at,
            turn_count: summary.turns,
            question: summary.question.as_deref().map(WaitingQuestion::of),
        }
    }
}

shown! { ListedThread as ThreadSummary, |listed| ThreadSummary {
    seen_at: listed.seen_at,
    ..ThreadSummary::of(listed.thread, &listed.summary)
} }

wire! {
    /// A thread with its current state.
    struct Thread<'a> {
        [flatten] summary: ThreadSummary<'a>,
        /// Number of the thread's last event.
        latest_seq: Seq,
        /// Additional directories of the workspace.
        additional_directories: &'a [String],
        /// The agent's id for its session.
        session_id: Option<&'a String>,
        /// Id of the running turn.
        turn_id: Option<TurnId>,
        /// Whether the running turn was interrupted and has not ended yet.
        interrupting: Option<bool>,
        /// Ids of queued turns.
        queued_turn_ids: Vec<TurnId>,
        /// Whether no queued turn starts by itself.
        queue_paused: Option<bool>,
        /// Messages for the running turn that the agent has not taken yet, in order.
        steering: Option<Vec<PendingSteering<'a>>>,
        /// Ids of open questions.
        pending_request_ids: Vec<RequestId>,
        /// Id of the agent's current mode.
        mode_id: Option<&'a String>,
        /// ACP's `SessionModeState`, as it was when the session was opened.
        modes: Option<&'a RawJson> as Option<Acp>,
        /// The thread's own permission policy.
        policy: Option<Serde<'a, Policy>> as Option<Json>,
        /// The editor that answers the agent's client requests; if absent, the daemon answers.
        lease: Option<&'a LeaseHolder>,
        /// ACP's `SessionConfigOption` objects.
        config_options: Option<Vec<RawJson>> as Option<Vec<Acp>>,
        /// ACP's `available_commands_update` with the agent's commands.
        available_commands_update: Option<&'a RawJson> as Option<Acp>,
        /// The plan with steps that changed last.
        plan: Option<&'a [PlanEntry]>,
        /// All plans, in the order in which they came. Absent if `plan` is the only one, and has no id.
        plans: Option<&'a [projection::Plan]>,
        token_usage: Option<TokenUsage<'a>>,
        /// What the thread has used, with all sessions of its agent, also of dropped turns. Absent if its agents have reported
        /// nothing.
        spent: Option<Spent>,
        /// The latest turns, oldest first, if the request includes turns.
        turns: Option<&'a [Turn]>,
        /// Cursor for older turns.
        cursor: Option<String>,
    }
}

impl<'a> Thread<'a> {
    /// Describes a thread with its state, and with its turns if the client requested them.
    pub fn of(live: &'a Live, turns: Option<&'a TurnsPage>) -> Self {
        let options = live.options().to_list();
        Self {
            summary: ThreadSummary::of(live.thread, &live.summary),
            latest_seq: live.last_seq,
            additional_directories: &live.spec.additional_directories,
            session_id: live.summary.session_id.as_ref(),
            turn_id: live.turn.as_ref().map(|turn| turn.id),
            interrupting: live
                .turn
                .as_ref()
                .and_then(|turn| turn.interrupted.is_some().then_some(true)),
            queued_turn_ids: live.queue.iter().map(|turn| turn.id).collect(),
            queue_paused: live.queue_paused.then_some(true),
            steering: Some(live.steers.iter().map(PendingSteering::of).collect())
                .filter(|steering: &Vec<_>| !steering.is_empty()),
            pending_request_ids: live.requests.values().map(|request| request.id).collect(),
            mode_id: live.mode.as_ref(),
            modes: live.modes.as_ref(),
            policy: live.policy.as_ref().map(Serde),
            lease: live.lease.as_ref(),
            config_options: Some(options).filter(|list| live.config_options.is_some() || !list.is_empty()),
            available_commands_update: live.commands.as_ref(),
            plan: live.plans.latest_steps().map(|plan| &*plan.entries),
            plans: Some(live.plans.as_slice()).filter(|_| !live.plans.is_plain()),
            token_usage: match live.usage.as_deref() {
                Some(EventKind::Turn(TurnEvent::UsageUpdated { used, size, cost, .. })) => Some(TokenUsage {
                    used: *used,
                    size: *size,
                    cost: cost.as_ref(),
                }),
                _ => None,
            },
            spent: live
                .summary
                .usage
                .as_deref()
                .map(DailyUsage::total)
                .filter(|spent| !spent.is_empty()),
            turns: turns.map(|page| &*page.turns),
            cursor: turns.and_then(|page| page.older).map(|before| before.to_string()),
        }
    }
}

wire! {
    /// A message for the running turn that the agent has not taken yet.
    struct PendingSteering<'a> {
        /// Number of its event.
        seq: Seq,
        turn_id: Option<TurnId>,
        text: &'a str,
    }
}

impl<'a> PendingSteering<'a> {
    fn of(steering: &'a projection::PendingSteering) -> Self {
        Self::new(steering.seq, steering.turn, &steering.text)
    }
}

wire! {
    /// The editor connection that answers the agent's client requests (files, terminals).
    struct LeaseHolder for LeaseHolder {
        /// The principal whose credentials the connection used.
        principal: String,
        /// The editor's name, as it reported it.
        client: String,
        /// Unique id of the connection.
        connection: String,
    }

    /// Usage of the agent's context.
    struct TokenUsage<'a> {
        /// Tokens in use.
        used: u64 as Option<u64>,
        /// Tokens that fit into the context.
        size: u64 as Option<u64>,
        /// ACP's `Cost`: what the agent's session has cost, as the agent reported it.
        cost: Option<&'a RawJson> as Option<Acp>,
    }
}
