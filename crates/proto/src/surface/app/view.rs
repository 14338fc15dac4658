//! Threads, turns and items, as results contain them.

use acpd_model::{EventKind, MessageType, Millis, RawJson, Summary, ThreadId};

use super::encode::{Frame, fill_content, fill_start};
use crate::projection::{Live, Turn, TurnsPage};
use crate::thread::TurnView;
use crate::wire::{self, Object, notification};

pub(super) fn role_word(role: MessageType) -> &'static str {
    match role {
        MessageType::UserMessage => "userMessage",
        MessageType::AgentMessage => "agentMessage",
        MessageType::AgentThought => "agentThought",
    }
}

fn fill_summary(thread: &mut Object<'_>, id: ThreadId, summary: &Summary) {
    thread
        .put("id", &id)
        .put("agentType", &summary.agent)
        .put("cwd", &summary.cwd);
    thread
        .maybe("name", summary.name.as_ref())
        .maybe("projectId", summary.project_id.as_ref());
    thread.maybe("metadata", summary.metadata.as_ref());
    thread
        .put("status", &summary.status)
        .maybe("lastTurnStatus", summary.last_turn.as_ref())
        .put("archived", &summary.archived);
    thread
        .put("createdAt", &summary.created_at)
        .put("updatedAt", &summary.updated_at);
    thread.put("turnCount", &summary.turns);
}

/// Returns the frame for connections that watch the thread list: the thread's new entry, or `null` if
/// the thread was deleted.
pub fn listed_frame(id: ThreadId, at: Millis, summary: Option<&Summary>) -> Frame {
    let mut out = Vec::with_capacity(512);
    notification(&mut out, LIST_CHANGED, |params| {
        params.put("threadId", &id).put("ts", &at);
        match summary {
            Some(summary) => params.object("thread", |thread| fill_summary(thread, id, summary)),
            None => params.raw("thread", "null"),
        };
    });
    Frame::without_event(LIST_CHANGED, out)
}

/// Returns the frame for a watching connection that missed changes.
pub fn list_reset_frame() -> Frame {
    let mut out = Vec::new();
    notification(&mut out, LIST_RESET, |_| {});
    Frame::without_event(LIST_RESET, out)
}

/// The method of [`listed_frame`].
const LIST_CHANGED: &str = "thread/list/changed";
/// The method of [`list_reset_frame`].
const LIST_RESET: &str = "thread/list/reset";

/// Returns a thread's list entry.
pub(super) fn summary_json(id: ThreadId, summary: &Summary) -> RawJson {
    wire::object(|thread| fill_summary(thread, id, summary))
}

/// Returns a thread with its state, and with its turns if the client requested them.
pub(super) fn thread_json(live: &Live, turns: Option<&TurnsPage>) -> RawJson {
    wire::object(|thread| {
        fill_summary(thread, live.thread, &live.summary);
        thread.put("latestSeq", &live.last_seq);
        thread.put("additionalDirectories", &live.spec.additional_directories);
        thread.maybe("sessionId", live.summary.session_id.as_ref());
        thread.maybe("turnId", live.turn.as_ref().map(|turn| &turn.id));
        let queued: Vec<_> = live.queue.iter().map(|turn| turn.id).collect();
        thread.put("queuedTurnIds", &queued);
        let pending: Vec<_> = live.requests.values().map(|request| request.id).collect();
        thread.put("pendingRequestIds", &pending);
        thread
            .maybe("modeId", live.mode.as_ref())
            .maybe("modes", live.modes.as_ref());
        thread.maybe("policy", live.policy.as_ref());
        thread.maybe("lease", live.lease.as_ref());
        let options = live.options().to_list();
        if live.config_options.is_some() || !options.is_empty() {
            thread.put("configOptions", &options);
        }
        thread.maybe("availableCommandsUpdate", live.commands.as_ref());
        if let Some(EventKind::PlanReplaced { entries }) = &live.plan {
            thread.put("plan", entries);
        }
        if let Some(EventKind::UsageUpdated { used, size, cost }) = &live.usage {
            thread.object("tokenUsage", |usage| {
                usage
                    .put("used", used)
                    .put("size", size)
                    .maybe("cost", cost.as_ref());
            });
        }
        if let Some(page) = turns {
            let turns: Vec<RawJson> = page.turns.iter().map(full_turn).collect();
            let older = page.older.map(|before| before.to_string());
            thread.list("turns", &turns).maybe("cursor", older.as_ref());
        }
    })
}

/// Returns a turn, as in the result of `turn/start`.
pub(super) fn turn_json(turn: &TurnView) -> RawJson {
    wire::object(|object| {
        object.put("id", &turn.id);
        match turn.status {
            Some(status) => object.put("status", &status),
            None if turn.queued => object.put("status", "queued"),
            None => object.put("status", "running"),
        };
        object.maybe("startedAt", turn.started_at.as_ref());
    })
}

fn full_turn(turn: &Turn) -> RawJson {
    wire::object(|object| {
        object
            .maybe("id", turn.id.as_ref())
            .maybe("clientTurnId", turn.client_turn_id.as_ref())
            .maybe("imported", turn.imported.then_some(&true));
        match (&turn.settled, turn.started_at) {
            (Some(settled), _) => {
                object
                    .put("status", &settled.status)
                    .maybe("stopReason", settled.stop_reason.as_ref());
                object
                    .maybe("error", settled.error.as_ref())
                    .put("completedAt", &settled.at);
                object.maybe("tokenUsage", settled.usage.as_ref());
            }
            (None, Some(_)) => {
                object.put("status", "running");
            }
            (None, None) => {
                object.put("status", "queued");
            }
        }
        object.maybe("startedAt", turn.started_at.as_ref());
        let items: Vec<RawJson> = turn.items.iter().map(item).collect();
        object.list("items", &items);
    })
}

fn item(item: &crate::projection::Item) -> RawJson {
    wire::object(|object| {
        object
            .put("itemId", &item.id)
            .maybe("parentItemId", item.parent.as_ref());
        match &item.end {
            Some((outcome, _)) => object.put("outcome", outcome),
            None => object.put("outcome", &None::<()>),
        };
        // An item's start and its content share members; each is written once.
        match (&item.start, item.content()) {
            (
                acpd_model::ItemStart::TerminalCommand {
                    command, args, cwd, ..
                },
                Some(end),
            ) => {
                object.put("command", command).put("args", args).put("cwd", cwd);
                fill_content(object, &end);
            }
            (_, Some(end)) => fill_content(object, &end),
            (start, None) => fill_start(object, start, None),
        }
    })
}
