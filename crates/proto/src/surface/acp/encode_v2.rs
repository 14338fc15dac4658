//! Encodes events as messages of version 2.
//!
//! In: events of a thread. Out: frames: those of version 1 in the words of version 2, and those that only version 2 has. Owns: nothing.
//! Never: writes what a connection must know its own state for: the state of the foreground and responses.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use acpd_model::{
    Event, EventKind, HostEvent, ItemEnd, ItemEvent, ItemId, ItemOutcome, ItemStart, LaneId, MessageType,
    Origin, RawJson, RequestEvent, SessionEvent, ThreadEvent, TurnEvent, TurnId, json,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use super::encode::{self as v1, fill_origin};
use super::frame::{Feature, Frame, FrameKind, QuestionKind, TurnResult};
use super::question::options_of_all_kinds;
use super::subagents::session_of;
use super::v2::{
    Output, begun_terminal, beside, ending, form, is_of_question, is_replacement, original_form, output,
    permission, update_beside, update_of_agent, with_own_terminal, without_skills,
};
use crate::agent::{Update, UpdateKind};
use crate::fanout::LiveUpdate;
use crate::projection::{BackgroundReport, background_report};
use crate::wire::{self, Object, has_string, inside, member, one_line, string_in};

/// Returns the frames for `events` of `thread`.
pub(super) fn frames(thread: &str, events: &[Event]) -> Vec<Frame> {
    let mut writer = Writer {
        thread,
        frames: Vec::with_capacity(events.len()),
    };
    for event in events {
        writer.event(event);
    }
    writer.frames
}

/// Returns the frames for an update that is only shown live.
pub(super) fn live_frames(thread: &str, turn: Option<TurnId>, update: &LiveUpdate) -> Vec<Frame> {
    let LiveUpdate::Output(output) = update else {
        return v1::live_frames(thread, turn, update);
    };
    let mut text = Vec::new();
    write_update(&mut text, &session_in(output.lane, thread), |update| {
        update
            .plain("sessionUpdate", "terminal_output_chunk")
            .put("terminalId", &output.terminal_id)
            .put("data", &STANDARD.encode(&output.text));
    });
    vec![Frame {
        seq: 0,
        turn,
        text: Some(text.into()),
        kind: FrameKind::Update,
    }]
}

struct Writer<'a> {
    thread: &'a str,
    frames: Vec<Frame>,
}

impl Writer<'_> {
    fn event(&mut self, event: &Event) {
        if let Some(update) = beside(event) {
            return self.beside(event, &update);
        }
        match &event.kind {
            EventKind::Item(ItemEvent::UserMessageAdded { item, content }) => {
                return self.user_message(event, *item, content);
            }
            EventKind::Item(ItemEvent::Started { item, start, .. }) => match start {
                ItemStart::TerminalCommand {
                    terminal_id,
                    command,
                    args,
                    cwd,
                    requested_by,
                    ..
                } => {
                    // The agent's commands that a client has started run in its editor.
                    let in_editor = matches!(event.by, Origin::Client(_)) && requested_by.is_none();
                    let command = (command.as_str(), &args[..]);
                    return self.terminal_started(event, terminal_id, command, cwd, !in_editor);
                }
                // What replaces another message is part of that one.
                ItemStart::Message { message_id, .. } if is_replacement(message_id.as_deref()) => {}
                ItemStart::ToolCall { tool_call_id, .. } if is_of_question(event, tool_call_id) => return,
                ItemStart::Message { role, message_id, .. } => {
                    self.clear_message(event, *item, *role, message_id.as_deref());
                }
                ItemStart::ToolCall { tool_call_id, .. } => self.clear_call(event, *item, tool_call_id),
                ItemStart::FileChange { .. } => {}
            },
            EventKind::Item(ItemEvent::Completed {
                end:
                    ItemEnd::TerminalCommand {
                        terminal_id,
                        exit_code,
                        signal,
                        output,
                        output_blob,
                        truncated,
                    },
                ..
            }) => {
                return self.own(event, FrameKind::Update, |update| {
                    update
                        .plain("sessionUpdate", "terminal_update")
                        .put("terminalId", terminal_id)
                        .raw("capabilities", "null");
                    // The chunks may lack the end of the output, and this one its beginning.
                    if output_blob.is_none() && !truncated {
                        update.object("output", |snapshot| {
                            snapshot.put("data", &STANDARD.encode(output));
                        });
                    }
                    update.object("exitStatus", |status| {
                        status
                            .maybe("exitCode", exit_code.as_ref())
                            .maybe("signal", signal.as_ref());
                    });
                });
            }
            // The call of a question that is about none ends with its answer.
            EventKind::Item(ItemEvent::Updated { .. } | ItemEvent::Completed { .. })
                if called(event).is_some_and(|id| is_of_question(event, &id)) =>
            {
                return;
            }
            // The turn was interrupted, and the agent has not reported the end of the call.
            EventKind::Item(ItemEvent::Completed {
                item,
                outcome: ItemOutcome::Interrupted,
                end: ItemEnd::ToolCall { status, call },
            }) if !status.is_final() => {
                let id = if event.repeats_id {
                    Some(item.to_string())
                } else {
                    member(call, "toolCallId").and_then(|id| json::read::<String>(id).ok())
                };
                let Some(id) = id else { return };
                return self.own(event, FrameKind::Update, |update| {
                    update
                        .plain("sessionUpdate", "tool_call_update")
                        .put("toolCallId", &id)
                        .plain("status", "cancelled");
                });
            }
            EventKind::Host(HostEvent::TerminalOutput {
                terminal_id, text, ..
            }) => {
                return self.own(event, FrameKind::Update, |update| {
                    update
                        .plain("sessionUpdate", "terminal_output_chunk")
                        .put("terminalId", terminal_id)
                        .put("data", &STANDARD.encode(text));
                });
            }
            EventKind::Turn(TurnEvent::PlanReplaced {
                plan_id,
                entries,
                markdown,
            }) if !is_plan_update(event) => {
                return self.own(event, FrameKind::Update, |update| {
                    update
                        .plain("sessionUpdate", "plan_update")
                        .object("plan", |plan| match markdown {
                            Some(text) => {
                                plan.plain("type", "markdown")
                                    .put("planId", plan_id)
                                    .put("content", &text.content)
                                    .maybe("path", text.path.as_ref());
                            }
                            None => {
                                plan.plain("type", "items")
                                    .put("planId", plan_id)
                                    .put("entries", entries);
                            }
                        });
                    let meta = event.raw.as_ref().and_then(|raw| member(raw, "_meta"));
                    if let Some(meta) = meta.filter(|meta| meta.starts_with('{')) {
                        update.raw("_meta", meta);
                    }
                });
            }
            EventKind::Thread(ThreadEvent::Renamed {
                name: None,
                shown: None,
            }) => {
                return self.own(event, FrameKind::Update, |update| {
                    update
                        .plain("sessionUpdate", "session_info_update")
                        .raw("title", "null");
                });
            }
            EventKind::Item(_)
            | EventKind::Turn(_)
            | EventKind::Host(_)
            | EventKind::Thread(_)
            | EventKind::Session(_)
            | EventKind::Request(_)
            | EventKind::Unknown => {}
        }
        if matches!(event.kind, EventKind::Item(_)) {
            for Output {
                chunk,
                terminal,
                begins,
            } in output(event)
            {
                if begins {
                    self.clear_terminal(event, &terminal);
                }
                self.own(event, FrameKind::Update, |out| {
                    out.others(Some(&chunk));
                });
            }
        }
        for frame in v1::frames(self.thread, std::slice::from_ref(event)) {
            if let Some(frame) = translated(event, self.thread, frame) {
                self.add(event, frame);
            }
        }
        match &event.kind {
            // An imported turn took place before.
            EventKind::Turn(TurnEvent::Started { imported: false, .. }) => {
                self.note(event, FrameKind::Running);
            }
            EventKind::Turn(TurnEvent::Settled {
                started_at: Some(_), ..
            }) => self.note(event, FrameKind::Stopped(Box::new(result_of(event)))),
            // What a subagent asks does not keep its parent from its work.
            EventKind::Request(
                RequestEvent::PermissionRequested {
                    request,
                    decided: false,
                    ..
                }
                | RequestEvent::InputRequested { request, .. },
            ) if event.lane.is_none() => self.note(event, FrameKind::Blocked(*request)),
            EventKind::Session(SessionEvent::AgentLost { .. }) => {
                let nothing = RawJson::trusted("[]");
                self.note(event, FrameKind::Background(nothing, None));
            }
            EventKind::Turn(_)
            | EventKind::Request(_)
            | EventKind::Item(_)
            | EventKind::Host(_)
            | EventKind::Thread(_)
            | EventKind::Session(_)
            | EventKind::Unknown => {}
        }
    }

    /// Adds a frame. Skills are for the editors that declared them.
    fn add(&mut self, event: &Event, frame: Frame) {
        let may_have_skills = matches!(
            event.kind,
            EventKind::Session(SessionEvent::CommandsReplaced {} | SessionEvent::AgentNotified { .. })
        );
        let text = frame.text.as_ref().filter(|_| may_have_skills);
        let rest = text.and_then(|text| with_update(text, without_skills));
        let Some(rest) = rest else {
            return self.frames.push(frame);
        };
        let of_kind = |kind, text| Frame {
            text: Some(text),
            kind,
            ..frame
        };
        let rest = of_kind(FrameKind::Undeclared(Feature::Skills), rest);
        self.frames.extend(
            frame
                .text
                .clone()
                .map(|text| of_kind(FrameKind::Declared(Feature::Skills), text)),
        );
        self.frames.push(rest);
    }

    /// Adds a frame without a message, for the connection only.
    fn note(&mut self, event: &Event, kind: FrameKind) {
        self.frames.push(Frame {
            seq: event.seq,
            turn: event.turn,
            text: None,
            kind,
        });
    }

    /// Adds an update of the daemon, in the session of the event.
    fn own(&mut self, event: &Event, kind: FrameKind, fill: impl FnOnce(&mut Object<'_>)) {
        let mut text = Vec::new();
        write_update(&mut text, &session_of_event(event, self.thread), fill);
        self.frames.push(Frame {
            seq: event.seq,
            turn: event.turn,
            text: Some(text.into()),
            kind,
        });
    }

    /// Adds what version 1 has no word for.
    fn beside(&mut self, event: &Event, update: &RawJson) {
        // The state itself is that of acpd.
        if let Some(BackgroundReport { list, state }) = background_report(event) {
            let state = state.map(|state| state.trim_matches('"').into());
            self.note(event, FrameKind::Background(background(&list), state));
        } else if let Some(update) = update_beside(update) {
            if let Some(terminal) = begun_terminal(event, &update) {
                self.clear_terminal(event, &terminal);
            }
            self.own(event, FrameKind::Update, |out| {
                out.others(Some(&update));
            });
        }
    }

    fn user_message(&mut self, event: &Event, item: ItemId, content: &[RawJson]) {
        self.own(event, FrameKind::Inserted(item), |update| {
            update.plain("sessionUpdate", "user_message");
            item.with_text(|item| {
                update.plain("messageId", item);
            });
            update.list("content", content).object("_meta", |meta| {
                meta.object("acpd", |acpd| fill_origin(acpd, event));
            });
        });
    }

    /// Adds a frame that empties a message before it is replayed.
    fn clear_message(&mut self, event: &Event, item: ItemId, role: MessageType, id: Option<&str>) {
        let word = match role {
            MessageType::UserMessage => "user_message",
            MessageType::AgentMessage => "agent_message",
            MessageType::AgentThought => "agent_thought",
        };
        let id = id.filter(|_| !event.repeats_id);
        let id = id.map_or_else(|| item.to_string(), str::to_owned);
        let name = cleared_name(event, word, &id);
        self.own(event, FrameKind::Cleared(name), |update| {
            update
                .plain("sessionUpdate", word)
                .put("messageId", &id)
                .raw("content", "[]");
        });
    }

    /// Adds a frame that empties a tool call before it is replayed.
    fn clear_call(&mut self, event: &Event, item: ItemId, id: &str) {
        let id = if event.repeats_id {
            item.to_string()
        } else {
            id.to_owned()
        };
        let name = cleared_name(event, "tool_call", &id);
        self.own(event, FrameKind::Cleared(name), |update| {
            update
                .plain("sessionUpdate", "tool_call_update")
                .put("toolCallId", &id);
            for name in ["status", "content", "locations", "rawInput", "rawOutput"] {
                update.raw(name, "null");
            }
        });
    }

    /// Adds a frame that empties a terminal of the agent before it is replayed.
    fn clear_terminal(&mut self, event: &Event, id: &str) {
        let name = cleared_name(event, "terminal", id);
        self.own(event, FrameKind::Cleared(name), |update| {
            update
                .plain("sessionUpdate", "terminal_update")
                .put("terminalId", id)
                .raw("output", "null")
                .raw("exitStatus", "null");
        });
    }

    fn terminal_started(
        &mut self,
        event: &Event,
        id: &str,
        (command, args): (&str, &[String]),
        cwd: &str,
        can_be_cancelled: bool,
    ) {
        let capabilities = if can_be_cancelled {
            r#"{"cancel":{}}"#
        } else {
            "null"
        };
        let line = std::iter::once(command).chain(args.iter().map(String::as_str));
        let line = line.collect::<Vec<_>>().join(" ");
        self.own(event, FrameKind::Update, |update| {
            update
                .plain("sessionUpdate", "terminal_update")
                .put("terminalId", id)
                .put("command", &line)
                .put("cwd", cwd)
                .raw("capabilities", capabilities)
                // The terminal may be replayed.
                .raw("output", "null")
                .raw("exitStatus", "null");
        });
    }
}

/// Returns the session of an event: that of the thread or of a subagent.
fn session_of_event<'a>(event: &Event, thread: &'a str) -> Cow<'a, str> {
    session_in(event.lane, thread)
}

/// Returns the session of a lane, or that of the thread.
fn session_in(lane: Option<LaneId>, thread: &str) -> Cow<'_, str> {
    match lane {
        Some(lane) => Cow::Owned(session_of(thread, lane)),
        None => Cow::Borrowed(thread),
    }
}

/// Returns a frame of version 1 in the words of version 2; `None` if version 2 says it in another way.
fn translated(event: &Event, thread: &str, frame: Frame) -> Option<Frame> {
    let text = match &frame.kind {
        // Editors of version 2 know subagents, notices and plans by id. They receive messages and terminals as a whole.
        FrameKind::OfSubagent(_)
        | FrameKind::Subagent(..)
        | FrameKind::Undeclared(_)
        | FrameKind::Remark
        | FrameKind::Terminal(_)
        | FrameKind::Prompt => return None,
        // All options follow once for all changes.
        FrameKind::Setting(_) => None,
        FrameKind::Asked(_, QuestionKind::Permission) => {
            let options = options_of_all_kinds(event)?;
            let session = session_of_event(event, thread);
            let mut text = permission(event, &session, frame.text.as_ref()?, &options)?;
            one_line(&mut text);
            Some(text.into())
        }
        FrameKind::Asked(_, QuestionKind::Form | QuestionKind::Url) => {
            let session = session_of_event(event, thread);
            Some(form(&session, frame.text.as_ref()?, original_form(event))?)
        }
        FrameKind::Update
        | FrameKind::Chunk(_)
        | FrameKind::Declared(_)
        | FrameKind::DeclaredOfSubagent(_) => Some(message(event, frame.text.as_ref()?)?),
        FrameKind::Answered(_)
        | FrameKind::Began(_)
        | FrameKind::RolledBack(_)
        | FrameKind::PromptAccepted(_)
        | FrameKind::Ended(_)
        | FrameKind::Bound(..)
        | FrameKind::SignIn
        | FrameKind::Lease
        | FrameKind::Inserted(_)
        | FrameKind::Running
        | FrameKind::Stopped(_)
        | FrameKind::Blocked(_)
        | FrameKind::Background(..)
        | FrameKind::Cleared(_) => return Some(frame),
    };
    Some(Frame { text, ..frame })
}

/// Returns the message of an update; other notifications stay as they are.
fn message(event: &Event, message: &Bytes) -> Option<Bytes> {
    let text = str::from_utf8(message).ok()?;
    if inside(text, text, "method") != Some("\"session/update\"") {
        return Some(message.clone());
    }
    let is_notified = matches!(
        &event.kind,
        EventKind::Session(SessionEvent::AgentNotified { .. })
    );
    let message_id = || match event.kind.named_item() {
        Some(item) => item.to_string(),
        None => format!("event_{}", event.seq),
    };
    with_update(message, |update| {
        if is_notified && !may_pass(update) {
            return None;
        }
        update_of_agent(update, event.translated, message_id).map(|translated| RawJson::trusted(&translated))
    })
}

/// Returns the message of an update with what `change` makes of it; `None` if it makes nothing.
fn with_update(message: &Bytes, change: impl FnOnce(&RawJson) -> Option<RawJson>) -> Option<Bytes> {
    let text = str::from_utf8(message).ok()?;
    let params = inside(text, text, "params")?;
    let update = inside(text, params, "update")?;
    let changed = change(&RawJson::trusted(update))?;
    if changed.get() == update {
        return Some(message.clone());
    }
    let start = update.as_ptr() as usize - text.as_ptr() as usize;
    let (before, after) = (&text[..start], &text[start + update.len()..]);
    Some([before, changed.get(), after].concat().into())
}

/// Returns whether an update that changes nothing in acpd may reach an editor. One of a kind that acpd knows may be invalid, and some name
/// sessions of the agent.
fn may_pass(update: &RawJson) -> bool {
    match string_in(update, "sessionUpdate").as_deref() {
        Some("cursor_update" | "subagent_update") => false,
        Some("plan_update") => is_plan(update),
        Some(
            "plan_removed"
            | "session_info_update"
            | "usage_update"
            | "notice"
            | "compaction_update"
            | "compaction_summary_chunk"
            | "prompt_suggestions_update"
            | "session_message"
            | "session_message_chunk",
        ) => Update::parse(update.get(), None).is_ok_and(|update| update.kind != UpdateKind::Other),
        _ => true,
    }
}

/// Returns whether an update has a plan by id. It may be too large for acpd, or of a form that acpd does not know.
fn is_plan(update: &RawJson) -> bool {
    let plan = member(update, "plan").map(RawJson::trusted);
    plan.is_some_and(|plan| {
        let form = string_in(&plan, "type");
        let is_whole = match form.as_deref() {
            Some("items") => member(&plan, "entries").is_some_and(|entries| entries.starts_with('[')),
            Some("markdown") => has_string(&plan, "content"),
            form => form.is_some(),
        };
        is_whole && has_string(&plan, "planId")
    })
}

/// Returns the hash of the name of a message or a tool call that is unique in its thread: an agent's ids can be long.
fn cleared_name(event: &Event, kind: &str, id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (event.lane, kind, id).hash(&mut hasher);
    hasher.finish()
}

/// Returns a list of work in the background with the ids that editors have.
pub(super) fn background(list: &RawJson) -> RawJson {
    let work: Vec<RawJson> = list.read().unwrap_or_default();
    let shown: Vec<RawJson> = work.iter().map(with_own_terminal).collect();
    RawJson::of(&shown).unwrap_or_else(|_| RawJson::trusted("[]"))
}

/// Returns the id of the tool call that an event is about.
fn called(event: &Event) -> Option<Cow<'_, str>> {
    let said = event.raw.as_ref().and_then(|raw| string_in(raw, "toolCallId"));
    if let EventKind::Item(ItemEvent::Completed {
        end: ItemEnd::ToolCall { call, .. },
        ..
    }) = &event.kind
    {
        return said.or_else(|| string_in(call, "toolCallId"));
    }
    said
}

/// Returns how a turn has ended, with the stop reason that an agent of version 2 gave.
fn result_of(event: &Event) -> TurnResult {
    let result = TurnResult::of(event);
    let original = match &result {
        TurnResult::Stopped(response) if event.translated => ending(response),
        TurnResult::Stopped(_) | TurnResult::Original(_) | TurnResult::Failed(_) => None,
    };
    original.map_or(result, TurnResult::Original)
}

/// Returns whether the agent has sent the plan in the form of version 2.
fn is_plan_update(event: &Event) -> bool {
    let word = event.raw.as_ref().and_then(|raw| string_in(raw, "sessionUpdate"));
    word.as_deref() == Some("plan_update")
}

/// Writes an update of a session.
pub(super) fn write_update(out: &mut Vec<u8>, session: &str, fill: impl FnOnce(&mut Object<'_>)) {
    wire::notification(out, "session/update", |params| {
        params.put("sessionId", session).object("update", fill);
    });
    one_line(out);
}
