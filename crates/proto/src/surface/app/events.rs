//! Which notification an event becomes.

use std::borrow::Cow;
use std::slice;

use acpd_model::event::QuestionTopic;
use acpd_model::{
    Event, EventKind as K, HostEvent, ItemEnd, ItemEvent, ItemId, ItemOutcome, ItemStart, MessageType,
    RawJson, RequestEvent, SessionEvent, ThreadEvent, ThreadStatus, TurnEvent,
};

use super::notifications::Notification as N;
use super::wire::event::{self, ThreadUpdated};
use super::wire::item::ItemContent;
use super::wire::item_event as item;
use super::wire::lane::LaneUpdated;
use super::wire::notice::Notice;
use super::wire::origin::By;
use super::wire::plan::{self, Plan};
use super::wire::question::{Approval, InputWanted, Resolved, asked_call};
use super::wire::turn::Turn;
use super::wire::words::TurnStatus;
use super::wire::{At, OrNull, Plain};
use crate::agent::names_account;
use crate::projection::{content_text, server_name};

/// Returns the notification of an event; `None` for a kind that this version cannot show.
pub(super) fn notification<'a>(thread: &'a str, event: &'a Event) -> Option<N<'a>> {
    let at = At::of(thread, event);
    match &event.kind {
        K::Thread(kind) => Some(of_thread(thread, at, event, kind)),
        K::Session(kind) => of_session(at, event, kind),
        K::Turn(kind) => Some(of_turn(at, event, kind)),
        K::Item(kind) => Some(of_item(at, event, kind)),
        K::Host(kind) => Some(of_host(at, event, kind)),
        K::Request(kind) => of_request(at, event, kind),
        K::Unknown => None,
    }
}

/// Returns the notification of an event about a thread as a whole.
fn of_thread<'a>(thread: &'a str, at: At<'a>, event: &'a Event, kind: &'a ThreadEvent) -> N<'a> {
    let by = || By::from(&event.by);
    let updated = ThreadUpdated::unchanged;
    match kind {
        ThreadEvent::Created(made) => N::ThreadStarted(event::ThreadMade::new(
            at,
            event::NewThread::new(
                Plain(thread),
                &made.agent,
                &made.cwd,
                made.name.as_ref(),
                made.project_id.as_ref(),
                made.metadata.as_ref(),
                &made.additional_directories,
                ThreadStatus::Idle,
                event.at,
            ),
        )),
        ThreadEvent::StatusChanged { status } => {
            N::ThreadStatusChanged(event::StatusChanged::new(at, *status))
        }
        ThreadEvent::Renamed { shown, .. } => N::ThreadUpdated(ThreadUpdated {
            name: Some(OrNull(shown.as_ref())),
            by: Some(by()),
            ..updated(at)
        }),
        ThreadEvent::MetadataSet { metadata } => N::ThreadUpdated(ThreadUpdated {
            metadata: Some(OrNull(metadata.as_ref())),
            by: Some(by()),
            ..updated(at)
        }),
        ThreadEvent::DirectoriesSet(set) => N::ThreadUpdated(ThreadUpdated {
            directories: Some(event::Directories::new(&set.cwd, &set.additional_directories)),
            by: Some(by()),
            ..updated(at)
        }),
        ThreadEvent::PinSet { pinned, place } => N::ThreadUpdated(ThreadUpdated {
            pinned: Some(*pinned),
            pin_place: *place,
            by: Some(by()),
            ..updated(at)
        }),
        ThreadEvent::Archived {} => N::ThreadArchived(event::ThreadChanged::new(at, by())),
        ThreadEvent::Unarchived {} => N::ThreadUnarchived(event::ThreadChanged::new(at, by())),
        ThreadEvent::Deleted { session } => N::ThreadDeleted(event::ThreadDeleted::new(at, *session, by())),
        ThreadEvent::TurnsRolledBack {
            last_kept, fidelity, ..
        } => N::ThreadRolledBack(event::TurnsRolledBack::new(at, *last_kept, *fidelity, by())),
        ThreadEvent::Forked(forked) => {
            let session = forked.session_id.as_ref();
            let (from, last, fidelity) = (forked.from, forked.last, forked.fidelity);
            N::ThreadForked(event::ThreadForked::new(at, from, last, session, fidelity, by()))
        }
        ThreadEvent::LeaseMoved { holder, why } => {
            N::ThreadLeaseMoved(event::LeaseMoved::new(at, holder.as_deref(), *why, by()))
        }
        ThreadEvent::PolicySet { policy } => N::ThreadUpdated(ThreadUpdated {
            policy: Some(OrNull(policy.as_ref())),
            ..updated(at)
        }),
    }
}

/// Returns the notification of an event about the agent and its session.
fn of_session<'a>(at: At<'a>, event: &'a Event, kind: &'a SessionEvent) -> Option<N<'a>> {
    let raw = event.raw.as_ref();
    let by = || By::from(&event.by);
    let updated = ThreadUpdated::unchanged;
    Some(match kind {
        SessionEvent::InfoUpdated { title, overruled } => N::ThreadUpdated(ThreadUpdated {
            name: title
                .as_ref()
                .filter(|_| !overruled)
                .map(|title| OrNull(Some(title))),
            session_info: raw,
            ..updated(at)
        }),
        SessionEvent::AgentBound {
            session_id,
            how,
            agent,
            session,
            protocol,
        } => N::ThreadUpdated(ThreadUpdated {
            agent: Some(event::AgentBound::new(
                session_id, *how, agent, session, *protocol,
            )),
            ..updated(at)
        }),
        SessionEvent::ParamsSet(params) => {
            let servers = params.mcp_servers.iter().map(server_name).collect();
            N::ThreadUpdated(ThreadUpdated {
                session: Some(event::SessionParams::new(params.cwd.as_ref(), servers)),
                by: Some(by()),
                ..updated(at)
            })
        }
        SessionEvent::SubagentUpdated(patch) => N::ThreadLaneUpdated(LaneUpdated::of(at, patch)),
        SessionEvent::AgentLost { .. }
        | SessionEvent::NoticeGiven { .. }
        | SessionEvent::LineMalformed { .. }
        | SessionEvent::CallRefused { .. } => N::ThreadNotice(Notice::of(at, event)?),
        SessionEvent::AgentNotified { method } => {
            let params = event.raw_params.as_ref().or(raw);
            let params = params.filter(|params| !names_account(method, params));
            let is_update = method == "session/update" && event.raw_params.is_none();
            let (update, params) = if is_update { (params, None) } else { (None, params) };
            N::AgentNotification(event::AgentNotification::new(at, method, update, params))
        }
        // Clients need no cursors of the agent: they fork and roll back threads by turns.
        SessionEvent::CursorUpdated { .. } => {
            let (update, params) = match &event.raw_params {
                Some(params) => (None, Some(params)),
                None => (raw, None),
            };
            N::AgentNotification(event::AgentNotification::new(
                at,
                "session/update",
                update,
                params,
            ))
        }
        SessionEvent::ModeChanged { mode_id } => N::ThreadUpdated(ThreadUpdated {
            mode_id: Some(mode_id),
            ..updated(at)
        }),
        SessionEvent::ModelChanged { model_id } => N::ThreadUpdated(ThreadUpdated {
            model_id: Some(model_id),
            ..updated(at)
        }),
        SessionEvent::ConfigOptionsReplaced { .. } => N::ThreadUpdated(ThreadUpdated {
            config_option_update: raw,
            ..updated(at)
        }),
        SessionEvent::CommandsReplaced {} => N::ThreadUpdated(ThreadUpdated {
            available_commands_update: raw,
            ..updated(at)
        }),
    })
}

/// Returns the notification of an event about a turn or the queue.
fn of_turn<'a>(at: At<'a>, event: &'a Event, kind: &'a TurnEvent) -> N<'a> {
    let by = || By::from(&event.by);
    match kind {
        TurnEvent::Queued {
            client_turn_id,
            input,
            ..
        } => {
            let turn = Turn {
                client_turn_id: client_turn_id.as_ref(),
                input: Some(input),
                ..Turn::with_status(event.turn, TurnStatus::Queued)
            };
            N::TurnQueued(event::TurnChanged::new(at, turn))
        }
        TurnEvent::QueueChanged { order, paused } => {
            N::TurnQueueChanged(event::QueueChanged::new(at, order, *paused, by()))
        }
        TurnEvent::Started {
            client_turn_id,
            imported,
        } => {
            let turn = Turn {
                client_turn_id: client_turn_id.as_ref(),
                imported: imported.then_some(true),
                started_at: Some(event.at),
                ..Turn::with_status(event.turn, TurnStatus::Running)
            };
            N::TurnStarted(event::TurnChanged::new(at, turn))
        }
        TurnEvent::Settled {
            status,
            stop_reason,
            error,
            started_at,
            usage,
            changes,
            plan: _,
            plans: _,
            permitted,
            waited_ms,
        } => {
            let turn = Turn {
                permitted: Some(*permitted).filter(|permitted| *permitted > 0),
                waited_ms: Some(*waited_ms).filter(|waited| *waited > 0),
                changes: changes.as_deref().copied(),
                stop_reason: stop_reason.as_ref(),
                error: error.as_ref(),
                started_at: *started_at,
                completed_at: Some(event.at),
                ..Turn::with_status(event.turn, TurnStatus::from(*status))
            };
            N::TurnCompleted(event::TurnCompleted::new(at, turn, usage.as_deref()))
        }
        TurnEvent::DiffUpdated { diff } => N::TurnDiffUpdated(event::DiffUpdated {
            thread_id: at.thread_id,
            seq: Some(at.seq),
            ts: at.ts,
            turn_id: at.turn_id,
            diff,
        }),
        TurnEvent::PlanReplaced {
            plan_id,
            entries,
            markdown,
        } => {
            let plan = Plan::of(plan_id, entries, markdown.as_deref());
            N::TurnPlanUpdated(event::PlanUpdated::new(at, plan))
        }
        TurnEvent::PlanRemoved { plan_id, .. } => {
            N::TurnPlanRemoved(event::PlanRemoved::new(at, plan::id_of(plan_id), by()))
        }
        TurnEvent::UsageUpdated {
            used,
            size,
            cost,
            thread_cost,
        } => {
            let (cost, thread_cost) = (cost.as_ref(), thread_cost.as_ref());
            N::ThreadTokenUsageUpdated(event::TokenUsageUpdated::new(at, *used, *size, cost, thread_cost))
        }
        TurnEvent::InterruptRequested {} => N::TurnInterrupting(event::TurnInterrupting::new(at, by())),
        TurnEvent::SteerRequested { input } => {
            N::TurnSteering(event::TurnSteering::new(at, content_text(input), input, by()))
        }
    }
}

/// Returns the notification of an event about an item.
fn of_item<'a>(at: At<'a>, event: &'a Event, kind: &'a ItemEvent) -> N<'a> {
    let raw = event.raw.as_ref();
    match kind {
        ItemEvent::Started { item, parent, start } => started(at, event, *item, *parent, start),
        ItemEvent::Delta { item, role, text, .. } => delta(at, *item, *role, text),
        ItemEvent::Content { item, role, block } => block_added(at, *item, *role, block),
        ItemEvent::Updated { item, status } => {
            N::ToolCallUpdated(item::ToolCallUpdated::new(at, *item, *status, raw))
        }
        ItemEvent::Completed { item, outcome, end } => completed(at, event, *item, *outcome, end),
        ItemEvent::UserMessageAdded { item, content } => {
            let text = Cow::Owned(content_text(content));
            N::UserMessage(item::UserMessage::new(
                at,
                *item,
                text,
                item::UserContent::Blocks(content),
            ))
        }
    }
}

/// Returns the notification of an event about a file or a terminal.
fn of_host<'a>(at: At<'a>, event: &'a Event, kind: &'a HostEvent) -> N<'a> {
    let client = || By::client(&event.by);
    match kind {
        HostEvent::TerminalOutput {
            item,
            terminal_id,
            text,
        } => N::TerminalOutput(item::TerminalOutput {
            thread_id: at.thread_id,
            seq: Some(at.seq),
            ts: at.ts,
            turn_id: at.turn_id,
            item_id: *item,
            terminal_id,
            text,
            skipped_bytes: None,
        }),
        HostEvent::FileRead { path, bytes } => {
            N::ThreadFileRead(event::FileTouched::new(at, path, *bytes, client()))
        }
        // The file change shows the content; the log stores it as evidence.
        HostEvent::FileWritten {
            path,
            bytes,
            replaced,
            content: _,
        } => N::ThreadFileWritten(event::FileWritten::new(at, path, *bytes, *replaced, client())),
        HostEvent::TerminalWaiting {
            item,
            terminal_id,
            secret,
        } => N::ThreadTerminalWaiting(event::TerminalWaiting::new(at, *item, terminal_id, *secret)),
        HostEvent::TerminalInput { item, terminal_id } => {
            N::ThreadTerminalInput(event::TerminalNamed::new(at, Some(*item), terminal_id, client()))
        }
        HostEvent::TerminalKilled { terminal_id } => {
            N::ThreadTerminalKilled(event::TerminalNamed::new(at, None, terminal_id, client()))
        }
        HostEvent::TerminalReleased { terminal_id } => {
            N::ThreadTerminalReleased(event::TerminalNamed::new(at, None, terminal_id, client()))
        }
    }
}

/// Returns the notification of an event about a question or an answer.
fn of_request<'a>(at: At<'a>, event: &'a Event, kind: &'a RequestEvent) -> Option<N<'a>> {
    let raw = event.raw.as_ref();
    let by = || By::from(&event.by);
    Some(match kind {
        RequestEvent::PermissionRequested {
            request,
            item,
            about,
            title,
            options,
            decided: _,
            agent_remembers,
            subjects,
            always,
            whole: _,
            keeps_content: _,
        } => {
            let approval = Approval {
                at,
                item_id: *item,
                request_id: *request,
                title,
                reason: None,
                options,
                subjects,
                agent_remembers,
                always: always.as_deref(),
                tool_call: asked_call(raw),
            };
            match about {
                QuestionTopic::CommandExecution => N::CommandApproval(approval),
                QuestionTopic::FileChange => N::FileChangeApproval(approval),
                QuestionTopic::Permissions => N::PermissionsApproval(approval),
            }
        }
        RequestEvent::InputRequested { request, message, .. } => {
            N::UserInput(InputWanted::of(at, *request, message, raw))
        }
        RequestEvent::Settled { .. } | RequestEvent::Voided { .. } => {
            N::RequestResolved(Resolved::of(at, event)?)
        }
        RequestEvent::CallPermitted { method, subject } => {
            N::PolicyPermitted(event::Permitted::new(at, method, subject, by()))
        }
        RequestEvent::AnswerRemembered { answer } => N::PolicyRemembered(event::Remembered::new(at, answer)),
        RequestEvent::AnswerRevoked { id } => N::PolicyRevoked(event::Revoked::new(at, *id)),
    })
}

fn started<'a>(
    at: At<'a>,
    event: &'a Event,
    id: ItemId,
    parent: Option<ItemId>,
    start: &'a ItemStart,
) -> N<'a> {
    let by = || By::client(&event.by);
    match ItemContent::started(start, event.raw.as_ref()) {
        ItemContent::Message(message) => {
            N::MessageStarted(item::MessageStarted::new(at, id, parent, message))
        }
        ItemContent::ToolCall(call) => N::ToolCallStarted(item::ToolCallStarted::new(at, id, parent, call)),
        ItemContent::FileChange(change) => {
            N::FileChangeStarted(item::FileChangeStarted::new(at, id, parent, change, by()))
        }
        ItemContent::TerminalCommand(command) => {
            N::TerminalCommandStarted(item::TerminalCommandStarted::new(at, id, parent, command, by()))
        }
    }
}

fn completed<'a>(at: At<'a>, event: &'a Event, id: ItemId, outcome: ItemOutcome, end: &'a ItemEnd) -> N<'a> {
    let by = || By::client(&event.by);
    match ItemContent::ended(end, None) {
        ItemContent::Message(message) => {
            N::MessageCompleted(item::MessageCompleted::new(at, id, outcome, message))
        }
        ItemContent::ToolCall(call) => {
            N::ToolCallCompleted(item::ToolCallCompleted::new(at, id, outcome, call))
        }
        ItemContent::FileChange(change) => {
            N::FileChangeCompleted(item::FileChangeCompleted::new(at, id, outcome, change, by()))
        }
        ItemContent::TerminalCommand(command) => N::TerminalCommandCompleted(
            item::TerminalCommandCompleted::new(at, id, outcome, command, by()),
        ),
    }
}

fn delta<'a>(at: At<'a>, id: ItemId, role: MessageType, added: &'a str) -> N<'a> {
    let text = Cow::Borrowed(added);
    match role {
        MessageType::UserMessage => {
            let content = item::UserContent::Text(added);
            N::UserMessage(item::UserMessage::new(at, id, text, content))
        }
        MessageType::AgentMessage => N::AgentMessageDelta(item::Delta::new(at, id, text, None)),
        MessageType::AgentThought => N::AgentThoughtDelta(item::Delta::new(at, id, text, None)),
    }
}

fn block_added<'a>(at: At<'a>, id: ItemId, role: MessageType, block: &'a RawJson) -> N<'a> {
    let blocks = slice::from_ref(block);
    let text = Cow::Owned(content_text(blocks));
    match role {
        MessageType::UserMessage => N::UserMessage(item::UserMessage::new(
            at,
            id,
            text,
            item::UserContent::Blocks(blocks),
        )),
        MessageType::AgentMessage => N::AgentMessageDelta(item::Delta::new(at, id, text, Some(block))),
        MessageType::AgentThought => N::AgentThoughtDelta(item::Delta::new(at, id, text, Some(block))),
    }
}
