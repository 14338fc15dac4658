//! The JSONL format: one line for each event.

use acpd_model::event::{Content, Outcome, Patch, SubagentPatch, ThreadCreated};
use acpd_model::{
    Event, EventKind, HostEvent, ItemEnd, ItemEvent, ItemOutcome, ItemStart, Origin, RawJson, RequestEvent,
    SessionEvent, ThreadEvent, TurnEvent,
};
use serde::Serialize;

use super::text::{content_text, rfc3339};
use crate::agent::names_account;
use crate::projection::server_name;
use crate::surface::contract::LostEvents;
use crate::wire::{Object, decoded, members};

/// Appends the line of `event` with its line break. JSON from elsewhere is copied, not parsed.
pub fn line(out: &mut Vec<u8>, thread: &str, event: &Event) {
    let start = out.len();
    let mut line = Object::open(out);
    line.put("seq", &event.seq)
        .put("ts", &event.at)
        .put("time", &rfc3339(event.at))
        .plain("type", event.kind.export_name())
        .plain("threadId", thread);
    if let Some(turn) = event.turn {
        turn.with_text(|text| line.plain("turnId", text));
    }
    if let Some(item) = event.kind.item() {
        item.with_text(|text| line.plain("itemId", text));
    }
    if let Some(lane) = event.lane {
        lane.with_text(|text| line.plain("lane", text));
    }
    line.object("by", |by| fill_by(by, &event.by));
    fill(&mut line, event);
    line.json(
        "raw",
        event.raw.as_ref().filter(|raw| !names_users_account(event, raw)),
    )
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

/// Returns whether the event of an earlier version contains an account of the user.
fn names_users_account(event: &Event, raw: &RawJson) -> bool {
    if let EventKind::Session(SessionEvent::AgentNotified { method }) = &event.kind {
        names_account(method, raw)
    } else {
        false
    }
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
    match &event.kind {
        EventKind::Thread(kind) => fill_thread(line, kind),
        EventKind::Session(kind) => fill_session(line, kind, event.raw.as_ref()),
        EventKind::Turn(kind) => fill_turn(line, kind),
        EventKind::Item(kind) => fill_item(line, kind, event.raw.as_ref()),
        EventKind::Host(kind) => fill_host(line, kind),
        EventKind::Request(kind) => fill_request(line, kind, event.raw.as_ref()),
        EventKind::Unknown => {}
    }
}

fn fill_thread(line: &mut Object<'_>, kind: &ThreadEvent) {
    match kind {
        ThreadEvent::Created(made) => fill_created(line, made),
        ThreadEvent::StatusChanged { status } => {
            line.put("status", status);
        }
        ThreadEvent::Renamed { name, shown } => {
            line.put("name", name).put("shown", shown);
        }
        ThreadEvent::MetadataSet { metadata } => {
            line.put("metadata", metadata);
        }
        ThreadEvent::PinSet { pinned, place } => {
            line.put("pinned", pinned);
            if let Some(place) = place {
                line.put("place", place);
            }
        }
        ThreadEvent::DirectoriesSet(directories) => {
            line.put("cwd", &directories.cwd)
                .put("additionalDirectories", &directories.additional_directories);
        }
        ThreadEvent::Archived {} | ThreadEvent::Unarchived {} => {}
        ThreadEvent::Deleted { session } => {
            line.put("session", session);
        }
        ThreadEvent::Forked(forked) => {
            line.put("fromThreadId", &forked.from)
                .maybe("lastTurnId", forked.last.as_ref())
                .maybe("sessionId", forked.session_id.as_ref())
                .put("fidelity", &forked.fidelity);
        }
        ThreadEvent::TurnsRolledBack {
            last_kept,
            fidelity,
            session_id,
        } => {
            line.put("lastKeptTurnId", last_kept)
                .put("fidelity", fidelity)
                .maybe("sessionId", session_id.as_ref());
        }
        ThreadEvent::LeaseMoved { holder, why } => {
            line.maybe("holder", holder.as_ref()).put("why", why);
        }
        ThreadEvent::PolicySet { policy } => {
            line.put("policy", policy);
        }
    }
}

/// Writes what has changed. A member that was cleared is `null`.
fn fill_subagent(line: &mut Object<'_>, patch: &SubagentPatch) {
    line.maybe("sessionId", patch.session_id.as_ref())
        .maybe("parent", patch.parent.as_ref());
    if patch.assumed {
        line.put("assumed", &true);
    }
    put_changed(line, "title", &patch.title);
    put_changed(line, "description", &patch.description);
    put_changed(line, "state", &patch.state);
    put_changed(line, "cwd", &patch.cwd);
    put_changed(line, "directories", &patch.directories);
    line.maybe("mayCancel", patch.may_cancel.as_ref());
}

fn put_changed<T: Serialize>(line: &mut Object<'_>, name: &str, patch: &Patch<T>) {
    if !patch.is_unchanged() {
        line.put(name, patch);
    }
}

fn fill_session(line: &mut Object<'_>, kind: &SessionEvent, raw: Option<&RawJson>) {
    match kind {
        SessionEvent::InfoUpdated { title, overruled } => {
            line.maybe("title", title.as_ref());
            if *overruled {
                line.put("overruled", overruled);
            }
        }
        SessionEvent::AgentBound {
            session_id,
            how,
            agent,
            session,
            protocol,
        } => {
            line.put("sessionId", session_id)
                .put("how", how)
                .json("agent", Some(agent))
                .json("session", Some(session))
                .maybe("protocol", protocol.as_ref());
        }
        SessionEvent::ParamsSet(params) => {
            line.maybe("cwd", params.cwd.as_ref())
                .put("mcpServers", &names(&params.mcp_servers))
                .json("systemPrompt", params.system_prompt.as_ref());
        }
        SessionEvent::SubagentUpdated(patch) => fill_subagent(line, patch),
        SessionEvent::AgentLost {
            reason,
            stderr,
            expected,
        } => {
            line.put("reason", reason)
                .put("stderr", stderr)
                .put("expected", expected);
        }
        SessionEvent::NoticeGiven {
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
        SessionEvent::LineMalformed { reason, text, bytes } => {
            line.put("reason", reason).put("text", text).put("bytes", bytes);
        }
        SessionEvent::AgentNotified { method } => {
            line.put("method", method);
        }
        SessionEvent::CallRefused {
            method,
            reason,
            requested_by,
        } => {
            line.put("method", method)
                .put("reason", reason)
                .maybe("requestedBy", requested_by.as_deref());
        }
        SessionEvent::ModeChanged { mode_id } => {
            line.put("modeId", mode_id);
        }
        SessionEvent::ModelChanged { model_id } => {
            line.put("modelId", model_id);
        }
        SessionEvent::ConfigOptionsReplaced { .. } => copy(line, raw, "configOptions", &["configOptions"]),
        SessionEvent::CursorUpdated {
            cursor_id,
            place,
            forks,
        } => {
            line.put("cursorId", cursor_id)
                .maybe("place", place.as_ref())
                .maybe("forks", forks.as_ref());
        }
        SessionEvent::CommandsReplaced {} => {
            copy(line, raw, "availableCommands", &["availableCommands"]);
        }
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
    line.json("systemPrompt", made.system_prompt.as_ref());
}

/// Returns the names of MCP servers. The export never contains their credentials.
fn names(servers: &[RawJson]) -> Vec<Option<String>> {
    servers.iter().map(server_name).collect()
}

fn fill_turn(line: &mut Object<'_>, kind: &TurnEvent) {
    match kind {
        TurnEvent::Queued {
            input,
            client_turn_id,
            ..
        } => {
            line.maybe("clientTurnId", client_turn_id.as_ref());
            line.put("text", &content_text(input)).put("content", input);
        }
        TurnEvent::Started {
            client_turn_id,
            imported,
        } => {
            line.maybe("clientTurnId", client_turn_id.as_ref())
                .maybe("imported", imported.then_some(&true));
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
            permitted: _,
            waited_ms,
        } => {
            line.put("status", status)
                .maybe("stopReason", stop_reason.as_ref());
            line.maybe("error", error.as_ref())
                .maybe("startedTs", started_at.as_ref())
                .maybe("waitedMs", Some(waited_ms).filter(|waited| **waited > 0));
            line.json("usage", usage.as_deref());
            line.maybe("changes", changes.as_ref());
        }
        TurnEvent::DiffUpdated { diff } => {
            line.put("diff", diff);
        }
        TurnEvent::QueueChanged { order, paused } => {
            line.put("order", order).put("paused", paused);
        }
        TurnEvent::PlanReplaced {
            plan_id,
            entries,
            markdown,
        } => {
            line.put("entries", entries)
                .maybe("planId", Some(plan_id).filter(|id| !id.is_empty()))
                .maybe("markdown", markdown.as_ref().map(|plan| &plan.content))
                .maybe("path", markdown.as_ref().and_then(|plan| plan.path.as_ref()));
        }
        TurnEvent::PlanRemoved { plan_id, .. } => {
            line.maybe("planId", Some(plan_id).filter(|id| !id.is_empty()));
        }
        TurnEvent::UsageUpdated { used, size, cost, .. } => {
            line.put("used", used)
                .put("size", size)
                .json("cost", cost.as_ref());
        }
        TurnEvent::InterruptRequested {} => {}
        TurnEvent::SteerRequested { input } => {
            line.put("text", &content_text(input)).put("content", input);
        }
    }
}

fn fill_item(line: &mut Object<'_>, kind: &ItemEvent, raw: Option<&RawJson>) {
    match kind {
        ItemEvent::Started { parent, start, .. } => {
            line.maybe("parentItemId", parent.as_ref());
            fill_start(line, start, raw);
        }
        ItemEvent::Delta { text, .. } => {
            line.put("text", text);
        }
        ItemEvent::Content { block, .. } => {
            line.put("text", &content_text(std::slice::from_ref(block)))
                .json("content", Some(block));
        }
        ItemEvent::Updated { status, .. } => {
            line.plain("status", status.as_acp());
            copy(line, raw, "content", &["content"]);
            copy(line, raw, "output", &["rawOutput", "output"]);
        }
        ItemEvent::Completed { outcome, end, .. } => fill_end(line, *outcome, end),
        ItemEvent::UserMessageAdded { content, .. } => {
            line.put("text", &content_text(content)).put("content", content);
        }
    }
}

fn fill_host(line: &mut Object<'_>, kind: &HostEvent) {
    match kind {
        HostEvent::TerminalOutput {
            terminal_id, text, ..
        } => {
            line.put("terminalId", terminal_id).put("output", text);
        }
        HostEvent::TerminalKilled { terminal_id }
        | HostEvent::TerminalReleased { terminal_id }
        | HostEvent::TerminalWaiting { terminal_id, .. }
        | HostEvent::TerminalInput { terminal_id, .. } => {
            line.put("terminalId", terminal_id);
        }
        HostEvent::FileWritten {
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
        HostEvent::FileRead { path, bytes } => {
            line.put("path", path).put("bytes", bytes);
        }
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

fn fill_request(line: &mut Object<'_>, kind: &RequestEvent, raw: Option<&RawJson>) {
    match kind {
        RequestEvent::PermissionRequested {
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
            copy(line, raw, "toolCall", &["toolCall"]);
        }
        RequestEvent::InputRequested { request, message, .. } => {
            line.put("requestId", request).put("title", message);
            copy(line, raw, "schema", &["requestedSchema"]);
            copy(line, raw, "url", &["url"]);
        }
        RequestEvent::Settled { request, outcome, .. } => {
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
        RequestEvent::Voided { request, reason } => {
            line.put("requestId", request).plain("outcome", "void");
            line.put("allowed", &false).put("reason", reason);
        }
        RequestEvent::CallPermitted { method, subject } => {
            line.put("method", method).put("subject", subject);
        }
        RequestEvent::AnswerRemembered { answer } => {
            line.put("answer", answer);
        }
        RequestEvent::AnswerRevoked { id } => {
            line.put("id", id);
        }
    }
}

/// Copies the first of these members that exists in `from`, under the name `to`.
fn copy(line: &mut Object<'_>, from: Option<&RawJson>, to: &str, names: &[&str]) {
    let Some(from) = from else { return };
    let mut found = None;
    members(from, |key, value| {
        if found.is_none() && names.contains(&&*decoded(key)) {
            found = Some(value);
        }
    });
    if let Some(value) = found {
        line.raw(to, value);
    }
}
