//! The JSONL format: one line for each event.

use std::borrow::Cow;

use acpd_model::event::{Content, Outcome, ThreadCreated};
use acpd_model::{Event, EventKind, ItemEnd, ItemOutcome, ItemStart, Origin, RawJson};

use super::name::type_of;
use super::text::{content_text, rfc3339};
use crate::projection::server_name;
use crate::surface::contract::LostEvents;
use crate::wire::{Object, members};

/// Appends the line of `event` with its line break. JSON from elsewhere is copied, not parsed.
pub fn line(out: &mut Vec<u8>, thread: &str, event: &Event) {
    let start = out.len();
    let (name, data) = match type_of(&event.kind) {
        Some(name) => (Cow::Borrowed(name), None),
        None => unnamed(&event.kind),
    };
    let mut line = Object::open(out);
    line.put("seq", &event.seq)
        .put("ts", &event.at)
        .put("time", &rfc3339(event.at))
        .put("type", &name)
        .plain("threadId", thread);
    if let Some(turn) = event.turn {
        turn.with_text(|text| line.plain("turnId", text));
    }
    if let Some(item) = event.kind.item() {
        item.with_text(|text| line.plain("itemId", text));
    }
    line.object("by", |by| fill_by(by, &event.by));
    fill(&mut line, event);
    line.json("data", data.as_ref())
        .json("raw", event.raw.as_ref())
        .json("rawParams", event.raw_params.as_ref());
    line.close();
    // In JSON, line breaks occur only between tokens, where any white space means the same.
    for byte in &mut out[start..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    out.push(b'\n');
}

/// Appends the line in place of events that cannot be read.
pub fn lost_line(out: &mut Vec<u8>, thread: &str, lost: &LostEvents) {
    let mut line = Object::open(out);
    line.put("seq", &lost.last)
        .plain("type", "log:damaged")
        .plain("threadId", thread)
        .put("firstSeq", &lost.first)
        .put("reason", &lost.reason);
    line.close();
    out.push(b'\n');
}

/// Returns what to write for a kind without a name: its name in the log, and its members.
fn unnamed(kind: &EventKind) -> (Cow<'static, str>, Option<RawJson>) {
    let mut found = (Cow::Borrowed("unknown"), None);
    if let Ok(stored) = RawJson::of(kind) {
        if let Ok(tag) = stored.read::<String>() {
            found.0 = Cow::Owned(format!("event:{tag}"));
        }
        members(&stored, |tag, data| {
            found = (Cow::Owned(format!("event:{tag}")), RawJson::parse(data).ok());
        });
    }
    found
}

fn fill_by(object: &mut Object<'_>, by: &Origin) {
    match by {
        Origin::Agent => object.plain("kind", "agent"),
        Origin::Daemon => object.plain("kind", "daemon"),
        Origin::Policy(ruling) => object
            .plain("kind", "policy")
            .maybe("scope", ruling.scope.as_ref())
            .maybe("rule", ruling.rule.as_ref())
            .put("reason", &ruling.reason),
        Origin::Client(caller) => object
            .plain("kind", "client")
            .put("principal", &caller.principal)
            .put("client", &caller.client),
    };
}

/// Adds the members that are specific to the event.
fn fill(line: &mut Object<'_>, event: &Event) {
    use EventKind as K;
    match &event.kind {
        K::ItemStarted { parent, start, .. } => {
            line.maybe("parentItemId", parent.as_ref());
            fill_start(line, start, event.raw.as_ref());
        }
        K::ItemDelta { text, .. } => {
            line.put("text", text);
        }
        K::ItemContent { block, .. } => {
            line.put("text", &content_text(std::slice::from_ref(block)))
                .json("content", Some(block));
        }
        K::ItemUpdated { status, .. } => {
            line.plain("status", status.as_acp());
            copy(line, event.raw.as_ref(), "content", &["content"]);
            copy(line, event.raw.as_ref(), "output", &["rawOutput", "output"]);
        }
        K::ItemCompleted { outcome, end, .. } => fill_end(line, *outcome, end),
        K::UserMessageAdded { content, .. } => {
            line.put("text", &content_text(content)).put("content", content);
        }
        K::TerminalOutput {
            terminal_id, text, ..
        } => {
            line.put("terminalId", terminal_id).put("output", text);
        }
        K::ThreadCreated(_)
        | K::StatusChanged { .. }
        | K::SessionInfoUpdated { .. }
        | K::AgentBound { .. }
        | K::AgentLost { .. }
        | K::NoticeGiven { .. }
        | K::LineMalformed { .. }
        | K::AgentNotified { .. }
        | K::CallRefused { .. } => fill_thread(line, event),
        K::ThreadRenamed { .. }
        | K::MetadataSet { .. }
        | K::PinSet { .. }
        | K::DirectoriesSet(_)
        | K::ThreadDeleted { .. }
        | K::ThreadForked(_)
        | K::TurnsRolledBack { .. }
        | K::SessionParamsSet(_)
        | K::SteerRequested { .. } => fill_lifecycle(line, event),
        K::QueueChanged { order, paused } => {
            line.put("order", order).put("paused", paused);
        }
        K::TurnQueued { .. } | K::TurnStarted { .. } | K::TurnSettled { .. } | K::DiffUpdated { .. } => {
            fill_turn(line, event);
        }
        K::PlanReplaced { entries } => {
            line.put("entries", entries);
        }
        K::CallPermitted { method, subject } => {
            line.put("method", method).put("subject", subject);
        }
        K::LeaseMoved { holder, why } => {
            line.maybe("holder", holder.as_ref()).put("why", why);
        }
        K::PolicySet { policy } => {
            line.put("policy", policy);
        }
        K::AnswerRemembered { answer } => {
            line.put("answer", answer);
        }
        K::AnswerRevoked { id } => {
            line.put("id", id);
        }
        K::ModelChanged { model_id } => {
            line.put("modelId", model_id);
        }
        K::ModeChanged { mode_id } => {
            line.put("modeId", mode_id);
        }
        K::ConfigOptionsReplaced { .. } => {
            copy(line, event.raw.as_ref(), "configOptions", &["configOptions"])
        }
        K::CommandsReplaced {} => {
            copy(
                line,
                event.raw.as_ref(),
                "availableCommands",
                &["availableCommands"],
            );
        }
        K::UsageUpdated { used, size, cost, .. } => {
            line.put("used", used)
                .put("size", size)
                .json("cost", cost.as_ref());
        }
        K::PermissionRequested { .. }
        | K::InputRequested { .. }
        | K::RequestSettled { .. }
        | K::RequestVoided { .. } => {
            fill_request(line, event);
        }
        K::TerminalKilled { terminal_id }
        | K::TerminalReleased { terminal_id }
        | K::TerminalWaiting { terminal_id, .. }
        | K::TerminalInput { terminal_id, .. } => {
            line.put("terminalId", terminal_id);
        }
        K::FileWritten {
            path,
            bytes,
            replaced,
            content,
        } => {
            line.put("path", path)
                .put("bytes", bytes)
                .maybe("replaced", replaced.as_ref());
            if let Some(Content { text, blob }) = content {
                line.put("content", text).maybe("blob", blob.as_ref());
            }
        }
        K::FileRead { path, bytes } => {
            line.put("path", path).put("bytes", bytes);
        }
        // These kinds have no members, or their members are under `data`.
        _ => {}
    }
}

fn fill_thread(line: &mut Object<'_>, event: &Event) {
    match &event.kind {
        EventKind::ThreadCreated(made) => fill_created(line, made),
        EventKind::StatusChanged { status } => {
            line.put("status", status);
        }
        EventKind::SessionInfoUpdated { title, overruled } => {
            line.maybe("title", title.as_ref());
            if *overruled {
                line.put("overruled", overruled);
            }
        }
        EventKind::AgentBound {
            session_id,
            how,
            agent,
            session,
        } => {
            line.put("sessionId", session_id)
                .put("how", how)
                .json("agent", Some(agent))
                .json("session", Some(session));
        }
        EventKind::AgentLost {
            reason,
            stderr,
            expected,
        } => {
            line.put("reason", reason)
                .put("stderr", stderr)
                .put("expected", expected);
        }
        EventKind::NoticeGiven {
            level,
            code,
            message,
            detail,
            folder,
        } => {
            line.put("level", level)
                .put("code", code)
                .put("message", message)
                .maybe("detail", detail.as_ref())
                .maybe("folder", folder.as_ref());
        }
        EventKind::LineMalformed { reason, text, bytes } => {
            line.put("reason", reason).put("text", text).put("bytes", bytes);
        }
        EventKind::AgentNotified { method } => {
            line.put("method", method);
        }
        EventKind::CallRefused {
            method,
            reason,
            requested_by,
        } => {
            line.put("method", method)
                .put("reason", reason)
                .maybe("requestedBy", requested_by.as_deref());
        }
        _ => {}
    }
}

fn fill_lifecycle(line: &mut Object<'_>, event: &Event) {
    match &event.kind {
        EventKind::ThreadRenamed { name, shown } => {
            line.put("name", name).put("shown", shown);
        }
        EventKind::MetadataSet { metadata } => {
            line.put("metadata", metadata);
        }
        EventKind::PinSet { pinned, place } => {
            line.put("pinned", pinned);
            if let Some(place) = place {
                line.put("place", place);
            }
        }
        EventKind::DirectoriesSet(directories) => {
            line.put("cwd", &directories.cwd)
                .put("additionalDirectories", &directories.additional_directories);
        }
        EventKind::ThreadDeleted { session } => {
            line.put("session", session);
        }
        EventKind::ThreadForked(forked) => {
            line.put("fromThreadId", &forked.from)
                .maybe("lastTurnId", forked.last.as_ref())
                .maybe("sessionId", forked.session_id.as_ref())
                .put("fidelity", &forked.fidelity);
        }
        EventKind::TurnsRolledBack { last_kept, fidelity } => {
            line.put("lastKeptTurnId", last_kept).put("fidelity", fidelity);
        }
        EventKind::SteerRequested { input } => {
            line.put("text", &content_text(input)).put("content", input);
        }
        EventKind::SessionParamsSet(params) => {
            line.maybe("cwd", params.cwd.as_ref())
                .put("mcpServers", &names(&params.mcp_servers));
        }
        _ => {}
    }
}

fn fill_created(line: &mut Object<'_>, made: &ThreadCreated) {
    line.put("agent", &made.agent)
        .put("cwd", &made.cwd)
        .maybe("name", made.name.as_ref());
    line.maybe("projectId", made.project_id.as_ref())
        .json("metadata", made.metadata.as_ref());
    if !made.additional_directories.is_empty() {
        line.put("additionalDirectories", &made.additional_directories);
    }
    if !made.mcp_servers.is_empty() {
        line.put("mcpServers", &names(&made.mcp_servers));
    }
}

/// Returns the names of MCP servers. The export never contains their credentials.
fn names(servers: &[RawJson]) -> Vec<Option<String>> {
    servers.iter().map(server_name).collect()
}

fn fill_turn(line: &mut Object<'_>, event: &Event) {
    match &event.kind {
        EventKind::TurnQueued {
            input,
            client_turn_id,
            ..
        } => {
            line.maybe("clientTurnId", client_turn_id.as_ref());
            line.put("text", &content_text(input)).put("content", input);
        }
        EventKind::TurnStarted {
            client_turn_id,
            imported,
        } => {
            line.maybe("clientTurnId", client_turn_id.as_ref())
                .maybe("imported", imported.then_some(&true));
        }
        EventKind::TurnSettled {
            status,
            stop_reason,
            error,
            started_at,
            usage,
            changes,
            plan: _,
            permitted: _,
            waited_ms,
        } => {
            line.put("status", status)
                .maybe("stopReason", stop_reason.as_ref());
            line.maybe("error", error.as_ref())
                .maybe("startedTs", started_at.as_ref())
                .maybe("waitedMs", Some(waited_ms).filter(|waited| **waited > 0));
            line.json("usage", usage.as_ref());
            line.maybe("changes", changes.as_ref());
        }
        EventKind::DiffUpdated { diff } => {
            line.put("diff", diff);
        }
        _ => {}
    }
}

fn fill_start(line: &mut Object<'_>, start: &ItemStart, raw: Option<&RawJson>) {
    match start {
        ItemStart::Message {
            message_id,
            client_message_id,
            ..
        } => {
            line.maybe("messageId", message_id.as_ref());
            line.maybe("clientMessageId", client_message_id.as_ref());
        }
        ItemStart::ToolCall {
            tool_call_id,
            title,
            kind,
            status,
        } => {
            line.put("toolCallId", tool_call_id).put("name", title);
            line.put("kind", kind).plain("status", status.as_acp());
            copy(line, raw, "args", &["rawInput", "input"]);
        }
        ItemStart::FileChange { path } => {
            line.put("path", path);
        }
        ItemStart::TerminalCommand {
            terminal_id,
            command,
            args,
            cwd,
            output_bytes: _,
            requested_by,
        } => {
            line.put("terminalId", terminal_id).put("command", command);
            line.put("args", args).put("cwd", cwd);
            line.maybe("requestedBy", requested_by.as_deref());
        }
    }
}

fn fill_end(line: &mut Object<'_>, outcome: ItemOutcome, end: &ItemEnd) {
    line.put("outcome", &outcome);
    match end {
        ItemEnd::Message { content, .. } => {
            line.put("text", &content_text(content)).put("content", content);
        }
        ItemEnd::ToolCall { status, call } => {
            line.plain("status", status.as_acp()).json("toolCall", Some(call));
        }
        ItemEnd::FileChange { path, diff, replaced } => {
            line.put("path", path)
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
            line.put("terminalId", terminal_id).put("exitCode", exit_code);
            line.put("signal", signal)
                .put("output", output)
                .maybe("blob", output_blob.as_ref())
                .put("truncated", truncated);
        }
    }
}

fn fill_request(line: &mut Object<'_>, event: &Event) {
    match &event.kind {
        EventKind::PermissionRequested {
            request,
            about,
            title,
            options,
            agent_remembers,
            subjects,
            always,
            ..
        } => {
            line.put("requestId", request)
                .put("about", about)
                .put("title", title);
            line.put("options", options).put("subjects", subjects);
            let passed_on = Some(agent_remembers).filter(|options| !options.is_empty());
            line.maybe("agentRemembers", passed_on)
                .maybe("always", always.as_ref());
            copy(line, event.raw.as_ref(), "toolCall", &["toolCall"]);
        }
        EventKind::InputRequested { request, message, .. } => {
            line.put("requestId", request).put("title", message);
            copy(line, event.raw.as_ref(), "schema", &["requestedSchema"]);
            copy(line, event.raw.as_ref(), "url", &["url"]);
        }
        EventKind::RequestSettled { request, outcome, .. } => {
            line.put("requestId", request);
            match outcome {
                Outcome::Selected {
                    option_id,
                    kind,
                    sent_option_id,
                } => {
                    line.plain("outcome", "selected")
                        .put("allowed", &outcome.allows());
                    line.put("optionId", option_id).put("optionKind", kind);
                    line.maybe("sentOptionId", sent_option_id.as_ref());
                }
                Outcome::Accepted { content } => {
                    line.plain("outcome", "accepted").put("allowed", &true);
                    line.json("answers", content.as_ref());
                }
                Outcome::Declined => {
                    line.plain("outcome", "declined").put("allowed", &false);
                }
                Outcome::Cancelled => {
                    line.plain("outcome", "cancelled").put("allowed", &false);
                }
            }
        }
        EventKind::RequestVoided { request, reason } => {
            line.put("requestId", request).plain("outcome", "void");
            line.put("allowed", &false).put("reason", reason);
        }
        _ => {}
    }
}

/// Copies the first of these members that exists in `from`, under the name `to`.
fn copy(line: &mut Object<'_>, from: Option<&RawJson>, to: &str, names: &[&str]) {
    let Some(from) = from else { return };
    let mut found = None;
    members(from, |key, value| {
        if names.contains(&key) && found.is_none() {
            found = Some(value);
        }
    });
    if let Some(value) = found {
        line.raw(to, value);
    }
}
