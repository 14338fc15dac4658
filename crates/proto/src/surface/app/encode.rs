//! Encodes events: one frame per event.

use acpd_model::event::{Level, Outcome, QuestionTopic};
use acpd_model::{
    Event, EventKind, ItemEnd, ItemOutcome, ItemStart, MessageType, Millis, Origin, RawJson, RequestId, Seq,
    TurnId,
};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use super::lifecycle::fill_lifecycle;
use super::view::role_word;
use crate::fanout::LiveText;
use crate::projection::content_text;
use crate::wire::{Object, notification};

/// The messages that clients receive for one event.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The event's number; 0 for frames without an event.
    pub seq: Seq,
    /// The notification's method.
    pub method: &'static str,
    /// The notification, one JSON text.
    pub text: Bytes,
    /// For a question, its id and the same message as a request, for clients that answer.
    pub ask: Option<Box<(RequestId, Bytes)>>,
}

impl Frame {
    /// Creates a frame that belongs to no event.
    pub(super) fn without_event(method: &'static str, text: Vec<u8>) -> Self {
        Self {
            seq: 0,
            method,
            text: Bytes::from(text),
            ask: None,
        }
    }
}

/// Returns the frame for `event` of `thread`; `None` for a kind that this version cannot show.
pub fn frame(thread: &str, event: &Event) -> Option<Frame> {
    frames(thread, std::slice::from_ref(event)).pop()
}

/// Returns the frames for `events` of `thread`, all in one allocation.
pub fn frames(thread: &str, events: &[Event]) -> Vec<Frame> {
    let room = events
        .iter()
        .map(|event| event.raw.as_ref().map_or(300, |raw| raw.get().len() + 240))
        .sum();
    let mut out = Vec::with_capacity(room);
    let mut spans = Vec::with_capacity(events.len());
    for event in events {
        let Some(method) = method(&event.kind) else {
            continue;
        };
        let start = out.len();
        write(&mut out, thread, event, method, None);
        let ask = match &event.kind {
            EventKind::PermissionRequested {
                request,
                decided: false,
                ..
            }
            | EventKind::InputRequested { request, .. } => {
                let start = out.len();
                write(&mut out, thread, event, method, Some(*request));
                Some((*request, start))
            }
            _ => None,
        };
        spans.push((event.seq, method, start, ask, out.len()));
    }
    let all = Bytes::from(out);
    let cut = |(seq, method, start, ask, end): (Seq, _, usize, Option<(RequestId, usize)>, usize)| Frame {
        seq,
        method,
        text: all.slice(start..ask.map_or(end, |(_, asking)| asking)),
        ask: ask.map(|(request, asking)| Box::new((request, all.slice(asking..end)))),
    };
    spans.into_iter().map(cut).collect()
}

/// Returns the frame for output that is only shown live. It has no `seq`.
pub fn live_frame(thread: &str, turn: Option<TurnId>, at: Millis, shown: &LiveText) -> Frame {
    const METHOD: &str = "item/terminalCommand/output";
    let mut out = Vec::with_capacity(shown.text.len() + 256);
    notification(&mut out, METHOD, |params| {
        params.plain("threadId", thread).put("ts", &at);
        params.maybe("turnId", turn.as_ref());
        params
            .put("itemId", &shown.item)
            .put("terminalId", &shown.terminal_id);
        params
            .put("text", &shown.text)
            .put("skippedBytes", &shown.skipped);
    });
    Frame::without_event(METHOD, out)
}

/// Writes one message, which is a request if it has an id.
fn write(out: &mut Vec<u8>, thread: &str, event: &Event, method: &str, id: Option<RequestId>) {
    let mut message = Object::open(out);
    message.raw("jsonrpc", "\"2.0\"").maybe("id", id.as_ref());
    message
        .plain("method", method)
        .object("params", |params| fill(params, thread, event));
    message.close();
}

fn method(kind: &EventKind) -> Option<&'static str> {
    use EventKind as K;
    Some(match kind {
        K::ThreadCreated(_) => "thread/started",
        K::StatusChanged { .. } => "thread/status/changed",
        K::SessionInfoUpdated { .. }
        | K::AgentBound { .. }
        | K::ModeChanged { .. }
        | K::ModelChanged { .. }
        | K::ConfigOptionsReplaced {}
        | K::CommandsReplaced {}
        | K::PolicySet { .. }
        | K::SessionParamsSet(_)
        | K::ThreadRenamed { .. }
        | K::MetadataSet { .. } => "thread/updated",
        K::ThreadArchived {} => "thread/archived",
        K::ThreadUnarchived {} => "thread/unarchived",
        K::ThreadDeleted { .. } => "thread/deleted",
        K::TurnsRolledBack { .. } => "thread/rolledBack",
        K::LeaseMoved { .. } => "thread/lease/moved",
        K::ThreadForked(_) => "thread/forked",
        K::CallPermitted { .. } => "policy/permitted",
        K::AnswerRemembered { .. } => "policy/remembered",
        K::AnswerRevoked { .. } => "policy/revoked",
        K::AgentLost { .. } | K::NoticeGiven { .. } | K::LineMalformed { .. } | K::CallRefused { .. } => {
            "thread/notice"
        }
        K::AgentNotified { .. } => "agent/notification",
        K::TurnQueued { .. } => "turn/queued",
        K::TurnStarted { .. } => "turn/started",
        K::TurnSettled { .. } => "turn/completed",
        K::InterruptRequested {} => "turn/interrupting",
        K::SteerRequested { .. } => "turn/steering",
        K::DiffUpdated { .. } => "turn/diff/updated",
        K::PlanReplaced { .. } => "turn/plan/updated",
        K::UsageUpdated { .. } => "thread/tokenUsage/updated",
        K::ItemStarted { start, .. } => match start {
            ItemStart::Message { .. } => "item/started",
            ItemStart::ToolCall { .. } => "item/toolCall/started",
            ItemStart::FileChange { .. } => "item/fileChange/started",
            ItemStart::TerminalCommand { .. } => "item/terminalCommand/started",
        },
        K::ItemDelta { role, .. } | K::ItemContent { role, .. } => match role {
            MessageType::UserMessage => "item/userMessage",
            MessageType::AgentMessage => "item/agentMessage/delta",
            MessageType::AgentThought => "item/agentThought/delta",
        },
        K::ItemUpdated { .. } => "item/updated",
        K::UserMessageAdded { .. } => "item/userMessage",
        K::TerminalOutput { .. } => "item/terminalCommand/output",
        K::ItemCompleted { end, .. } => match end {
            ItemEnd::Message { .. } => "item/completed",
            ItemEnd::ToolCall { .. } => "item/toolCall/completed",
            ItemEnd::FileChange { .. } => "item/fileChange/completed",
            ItemEnd::TerminalCommand { .. } => "item/terminalCommand/completed",
        },
        K::PermissionRequested { about, .. } => match about {
            QuestionTopic::CommandExecution => "item/commandExecution/requestApproval",
            QuestionTopic::FileChange => "item/fileChange/requestApproval",
            QuestionTopic::Permissions => "item/permissions/requestApproval",
        },
        K::InputRequested { .. } => "item/tool/requestUserInput",
        K::RequestSettled { .. } | K::RequestVoided { .. } => "serverRequest/resolved",
        K::FileRead { .. } => "thread/file/read",
        K::FileWritten { .. } => "thread/file/written",
        K::TerminalKilled { .. } => "thread/terminal/killed",
        K::TerminalReleased { .. } => "thread/terminal/released",
        K::Unknown => return None,
    })
}

fn fill(params: &mut Object<'_>, thread: &str, event: &Event) {
    params
        .plain("threadId", thread)
        .put("seq", &event.seq)
        .put("ts", &event.at);
    if let Some(turn) = event.turn {
        turn.with_text(|text| params.plain("turnId", text));
    }
    if let Some(item) = event.kind.item() {
        item.with_text(|text| params.plain("itemId", text));
    }
    let raw = event.raw.as_ref();
    match &event.kind {
        EventKind::ThreadCreated(_)
        | EventKind::StatusChanged { .. }
        | EventKind::SessionInfoUpdated { .. }
        | EventKind::AgentBound { .. }
        | EventKind::ModeChanged { .. }
        | EventKind::ModelChanged { .. }
        | EventKind::ConfigOptionsReplaced {}
        | EventKind::CommandsReplaced {}
        | EventKind::UsageUpdated { .. }
        | EventKind::FileRead { .. }
        | EventKind::TerminalKilled { .. }
        | EventKind::TerminalReleased { .. }
        | EventKind::FileWritten { .. } => {
            fill_thread(params, thread, event);
            fill_answerer(params, event);
        }
        EventKind::AgentLost { .. }
        | EventKind::NoticeGiven { .. }
        | EventKind::LineMalformed { .. }
        | EventKind::CallRefused { .. } => fill_notice(params, event),
        EventKind::AgentNotified { method } => {
            params.put("method", method);
            let member = if method == "session/update" && event.raw_params.is_none() {
                "update"
            } else {
                "params"
            };
            params.maybe(member, event.raw_params.as_ref().or(raw));
        }
        EventKind::TurnQueued { .. }
        | EventKind::TurnStarted { .. }
        | EventKind::TurnSettled { .. }
        | EventKind::InterruptRequested {}
        | EventKind::SteerRequested { .. }
        | EventKind::DiffUpdated { .. }
        | EventKind::PlanReplaced { .. } => fill_turn(params, event),
        EventKind::ThreadRenamed { .. }
        | EventKind::MetadataSet { .. }
        | EventKind::ThreadArchived {}
        | EventKind::ThreadUnarchived {}
        | EventKind::ThreadDeleted { .. }
        | EventKind::TurnsRolledBack { .. }
        | EventKind::LeaseMoved { .. }
        | EventKind::SessionParamsSet(_)
        | EventKind::ThreadForked(_) => fill_lifecycle(params, event),
        EventKind::ItemStarted { parent, start, .. } => {
            params.maybe("parentItemId", parent.as_ref());
            fill_start(params, start, raw);
            fill_answerer(params, event);
        }
        EventKind::ItemDelta { role, text, .. } => {
            params.put("text", text);
            if *role == MessageType::UserMessage {
                params.put("content", &[json!({ "type": "text", "text": text })]);
            }
        }
        EventKind::ItemContent { role, block, .. } => {
            let text = content_text(std::slice::from_ref(block));
            params.put("text", &text);
            if *role == MessageType::UserMessage {
                params.put("content", &[block]);
            } else {
                params.put("content", block);
            }
        }
        EventKind::ItemUpdated { status, .. } => {
            params.plain("status", status.as_acp()).json("toolCall", raw);
        }
        EventKind::UserMessageAdded { content, .. } => {
            params.put("text", &content_text(content)).put("content", content);
        }
        EventKind::TerminalOutput {
            terminal_id, text, ..
        } => {
            params.put("terminalId", terminal_id).put("text", text);
        }
        EventKind::ItemCompleted { outcome, end, .. } => {
            fill_end(params, *outcome, end);
            fill_answerer(params, event);
        }
        EventKind::PermissionRequested {
            request,
            title,
            options,
            agent_remembers,
            subjects,
            always,
            ..
        } => {
            params
                .put("requestId", request)
                .put("title", title)
                .put("options", options)
                .put("subjects", subjects);
            let passed_on = Some(agent_remembers).filter(|options| !options.is_empty());
            params
                .maybe("agentRemembers", passed_on)
                .maybe("always", always.as_ref());
            let words = raw
                .and_then(|raw| raw.read::<Asked>().ok())
                .map(|asked| asked.tool_call);
            params.json("toolCall", words.as_ref());
        }
        EventKind::InputRequested { request, message } => {
            params.put("requestId", request).put("title", message);
            fill_wanted(params, raw);
        }
        EventKind::RequestSettled { request, outcome } => {
            params.put("requestId", request);
            match outcome {
                Outcome::Selected {
                    option_id,
                    kind,
                    sent_option_id,
                } => {
                    let decision = if outcome.allows() { "accepted" } else { "declined" };
                    params
                        .put("outcome", decision)
                        .put("optionId", option_id)
                        .put("optionKind", kind)
                        .maybe("sentOptionId", sent_option_id.as_ref());
                }
                Outcome::Accepted { content } => {
                    params
                        .plain("outcome", "accepted")
                        .json("answers", content.as_ref());
                }
                Outcome::Declined => {
                    params.plain("outcome", "declined");
                }
                Outcome::Cancelled => {
                    params.put("outcome", "cancelled");
                }
            }
            params.put("by", &by_json(&event.by));
        }
        EventKind::CallPermitted { method, subject } => {
            params.put("method", method).put("subject", subject);
            params.put("by", &by_json(&event.by));
        }
        EventKind::PolicySet { policy } => {
            params.put("policy", policy);
        }
        EventKind::AnswerRemembered { answer } => {
            params.put("answer", answer);
        }
        EventKind::AnswerRevoked { id } => {
            params.put("id", id);
        }
        EventKind::RequestVoided { request, reason } => {
            params
                .put("requestId", request)
                .put("outcome", "void")
                .put("reason", reason);
            params.put("by", &by_json(&event.by));
        }
        EventKind::Unknown => {}
    }
}

/// Writes the client that acted instead of the daemon, for files and terminals.
fn fill_answerer(params: &mut Object<'_>, event: &Event) {
    let of_machine = matches!(
        event.kind,
        EventKind::FileRead { .. }
            | EventKind::FileWritten { .. }
            | EventKind::TerminalKilled { .. }
            | EventKind::TerminalReleased { .. }
            | EventKind::ItemStarted {
                start: ItemStart::FileChange { .. } | ItemStart::TerminalCommand { .. },
                ..
            }
            | EventKind::ItemCompleted {
                end: ItemEnd::FileChange { .. } | ItemEnd::TerminalCommand { .. },
                ..
            }
    );
    if let Origin::Client(_) = &event.by
        && of_machine
    {
        params.put("by", &by_json(&event.by));
    }
}

fn fill_thread(params: &mut Object<'_>, thread: &str, event: &Event) {
    match &event.kind {
        EventKind::ThreadCreated(made) => {
            params.object("thread", |t| {
                t.put("id", thread)
                    .put("agentType", &made.agent)
                    .put("cwd", &made.cwd);
                t.maybe("name", made.name.as_ref())
                    .maybe("projectId", made.project_id.as_ref());
                t.maybe("metadata", made.metadata.as_ref())
                    .put("additionalDirectories", &made.additional_directories);
                t.put("status", "idle").put("createdAt", &event.at);
            });
        }
        EventKind::StatusChanged { status } => {
            params.put("status", status);
        }
        EventKind::SessionInfoUpdated { title, overruled } => {
            params
                .maybe("name", title.as_ref().filter(|_| !overruled))
                .maybe("sessionInfo", event.raw.as_ref());
        }
        EventKind::AgentBound {
            session_id,
            how,
            agent,
            session,
        } => {
            params.object("agent", |a| {
                a.put("sessionId", session_id)
                    .put("how", how)
                    .put("initialize", agent)
                    .put("session", session);
            });
        }
        EventKind::ModeChanged { mode_id } => {
            params.put("modeId", mode_id);
        }
        EventKind::ModelChanged { model_id } => {
            params.put("modelId", model_id);
        }
        EventKind::ConfigOptionsReplaced {} => {
            params.maybe("configOptionUpdate", event.raw.as_ref());
        }
        EventKind::CommandsReplaced {} => {
            params.maybe("availableCommandsUpdate", event.raw.as_ref());
        }
        EventKind::UsageUpdated { used, size, cost } => {
            params
                .put("used", used)
                .put("size", size)
                .maybe("cost", cost.as_ref());
        }
        EventKind::FileRead { path, bytes } => {
            params.put("path", path).put("bytes", bytes);
        }
        // The file change shows the content; the log stores it as evidence.
        EventKind::FileWritten {
            path,
            bytes,
            replaced,
            ..
        } => {
            params
                .put("path", path)
                .put("bytes", bytes)
                .maybe("replaced", replaced.as_ref());
        }
        EventKind::TerminalKilled { terminal_id } | EventKind::TerminalReleased { terminal_id } => {
            params.put("terminalId", terminal_id);
        }
        _ => {}
    }
}

fn fill_notice(params: &mut Object<'_>, event: &Event) {
    match &event.kind {
        EventKind::AgentLost {
            reason,
            stderr,
            expected,
        } => {
            let level = if *expected { Level::Info } else { Level::Error };
            params
                .put("level", &level)
                .put("code", "agentLost")
                .put("message", reason)
                .put("detail", stderr);
        }
        EventKind::NoticeGiven { level, code, message } => {
            params
                .put("level", level)
                .put("code", code)
                .put("message", message)
                .json("update", event.raw.as_ref());
        }
        EventKind::LineMalformed { reason, text, bytes } => {
            let message = format!("The agent wrote a line that is no message: {reason}");
            params
                .put("level", &Level::Warning)
                .put("code", "malformedLine")
                .put("message", &message);
            params.put("detail", text).put("bytes", bytes);
        }
        EventKind::CallRefused { method, reason } => {
            let message = format!("The agent called {method} and was refused: {reason}");
            params.put("by", &by_json(&event.by));
            params
                .put("level", &Level::Info)
                .put("code", "callRefused")
                .put("message", &message);
        }
        _ => {}
    }
}

fn fill_turn(params: &mut Object<'_>, event: &Event) {
    match &event.kind {
        EventKind::TurnQueued { client_turn_id, .. } => {
            params.object("turn", |turn| {
                turn.maybe("id", event.turn.as_ref()).put("status", "queued");
                turn.maybe("clientTurnId", client_turn_id.as_ref());
            });
        }
        EventKind::TurnStarted {
            client_turn_id,
            imported,
        } => {
            params.object("turn", |turn| {
                turn.maybe("id", event.turn.as_ref()).put("status", "running");
                turn.maybe("clientTurnId", client_turn_id.as_ref())
                    .maybe("imported", imported.then_some(&true))
                    .put("startedAt", &event.at);
            });
        }
        EventKind::TurnSettled {
            status,
            stop_reason,
            error,
            started_at,
            usage,
        } => {
            params.object("turn", |turn| {
                turn.maybe("id", event.turn.as_ref()).put("status", status);
                turn.maybe("stopReason", stop_reason.as_ref())
                    .maybe("error", error.as_ref());
                turn.maybe("startedAt", started_at.as_ref())
                    .put("completedAt", &event.at);
            });
            params.maybe("tokenUsage", usage.as_ref());
        }
        EventKind::InterruptRequested {} => {
            params.put("by", &by_json(&event.by));
        }
        EventKind::SteerRequested { input } => {
            params.put("text", &content_text(input)).put("content", input);
            params.put("by", &by_json(&event.by));
        }
        EventKind::DiffUpdated { diff } => {
            params.put("diff", diff);
        }
        EventKind::PlanReplaced { entries } => {
            params.put("entries", entries);
        }
        _ => {}
    }
}

/// Writes the members of an item that identify it.
pub(super) fn fill_start(params: &mut Object<'_>, start: &ItemStart, raw: Option<&RawJson>) {
    match start {
        ItemStart::Message { role, message_id } => {
            params
                .put("type", role_word(*role))
                .maybe("messageId", message_id.as_ref());
        }
        ItemStart::ToolCall {
            tool_call_id,
            title,
            kind,
            status,
        } => {
            params
                .put("type", "toolCall")
                .put("name", title)
                .put("title", title)
                .put("kind", kind);
            params
                .put("status", status)
                .put("toolCallId", tool_call_id)
                .json("toolCall", raw);
        }
        ItemStart::FileChange { path } => {
            params.put("type", "fileChange").put("path", path);
        }
        ItemStart::TerminalCommand {
            terminal_id,
            command,
            args,
            cwd,
            output_bytes: _,
        } => {
            params
                .put("type", "terminalCommand")
                .put("terminalId", terminal_id);
            params.put("command", command).put("args", args).put("cwd", cwd);
        }
    }
}

/// Writes the members of an item with its content.
pub(super) fn fill_content(params: &mut Object<'_>, end: &ItemEnd) {
    match end {
        ItemEnd::Message { role, content } => {
            params
                .put("type", role_word(*role))
                .put("text", &content_text(content))
                .put("content", content);
        }
        ItemEnd::ToolCall { status, call } => {
            params
                .put("type", "toolCall")
                .put("status", status)
                .put("toolCall", call);
        }
        ItemEnd::FileChange { path, diff, replaced } => {
            params
                .put("type", "fileChange")
                .put("path", path)
                .put("diff", diff)
                .maybe("replaced", replaced.as_ref());
        }
        ItemEnd::TerminalCommand {
            terminal_id,
            exit_code,
            signal,
            output,
            output_blob,
            truncated,
        } => {
            params
                .put("type", "terminalCommand")
                .put("terminalId", terminal_id);
            params.put("exitCode", exit_code).put("signal", signal);
            params
                .put("output", output)
                .maybe("outputBlob", output_blob.as_ref());
            params.put("truncated", truncated);
        }
    }
}

fn fill_end(params: &mut Object<'_>, outcome: ItemOutcome, end: &ItemEnd) {
    params.put("outcome", &outcome);
    fill_content(params, end);
}

/// The agent's own description of a permission request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    tool_call: RawJson,
}

/// Writes an elicitation: the form's schema or the URL, and all of its params.
fn fill_wanted(params: &mut Object<'_>, raw: Option<&RawJson>) {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Wanted {
        mode: RawJson,
        #[serde(default)]
        requested_schema: Option<RawJson>,
        #[serde(default)]
        url: Option<RawJson>,
    }
    if let Some(Wanted {
        mode,
        requested_schema,
        url,
    }) = raw.and_then(|raw| raw.read().ok())
    {
        params
            .json("mode", Some(&mode))
            .json("schema", requested_schema.as_ref())
            .json("url", url.as_ref());
    }
    params.json("elicitation", raw);
}

pub(super) fn by_json(by: &Origin) -> serde_json::Value {
    match by {
        Origin::Agent => json!({ "kind": "agent" }),
        Origin::Daemon => json!({ "kind": "daemon" }),
        Origin::Policy(ruling) => {
            json!({ "kind": "policy", "scope": ruling.scope, "rule": ruling.rule, "reason": ruling.reason })
        }
        Origin::Client(caller) => {
            json!({ "kind": "client", "principal": caller.principal, "client": caller.client })
        }
    }
}
