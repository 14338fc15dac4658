//! Encodes one event as ACP messages for editors.
//!
//! The agent's messages are passed on unchanged, except that the session id becomes the thread's id, a repeated id of a message
//! or tool call the item's, and links of tool calls to sessions are left out. All other messages follow ACP's schema. An event that
//! ACP cannot express produces no message.

use std::borrow::Cow;

use acpd_model::event::{Level, MarkdownPlan, PlanEntry};
use acpd_model::{
    Event, EventKind, HostEvent, ItemEnd, ItemEvent, ItemOutcome, ItemStart, MessageType, Origin, RawJson,
    RequestEvent, Seq, SessionEvent, ThreadEvent, TurnEvent, TurnId,
};
use bytes::Bytes;

use super::cursors::Anchor;
use super::frame::{Feature, Frame, FrameKind, QuestionKind, Setting, Terminal, TurnResult};
use super::question;
use super::repeated_ids::with_items_id;
use super::subagents::event_without_links;
use crate::agent::{Update, UpdateKind, is_own, names_account};
use crate::fanout::LiveUpdate;
use crate::projection::{AGENT_DECIDES, DIRECTORY_GONE};
use crate::surface::ours::{ours_of_host, ours_of_request, ours_of_session, ours_of_thread};
use crate::surface::remark::{Remark, terminal_waits};
use crate::wire::{self, Object, decoded, members};
use crate::wire::{has_string, member, one_line, others, splice, spliced, string_in};

/// Codes of notices that the user must read: work fails, or continues without the user, until something is done.
const IN_WORDS: [&str; 4] = [AGENT_DECIDES, DIRECTORY_GONE, "sandboxDenied", "outsideWorkspace"];

/// Returns the frames for `events` of `thread`, all in one allocation.
pub fn frames(thread: &str, events: &[Event]) -> Vec<Frame> {
    let room = events
        .iter()
        .map(|event| event.raw.as_ref().map_or(160, |raw| raw.get().len() + 160))
        .sum();
    let mut writer = Writer::new(thread, room, events.len());
    for event in events {
        (writer.seq, writer.turn) = (event.seq, event.turn);
        if let Some(anchor) = Anchor::of(event) {
            writer.note(FrameKind::Began(Box::new(anchor)));
        }
        writer.event(event);
    }
    writer.finish()
}

/// Returns the frames for an update that is only shown live.
pub(super) fn live_frames(thread: &str, turn: Option<TurnId>, update: &LiveUpdate) -> Vec<Frame> {
    match update {
        LiveUpdate::Suggestions(suggestions) => {
            let mut writer = Writer::new(thread, 512, 1);
            writer.turn = turn;
            writer.own(FrameKind::Declared(Feature::Suggestions), |update| {
                update
                    .plain("sessionUpdate", "prompt_suggestions_update")
                    .put("suggestions", suggestions);
            });
            writer.finish()
        }
        // ACP has no message for these.
        LiveUpdate::Output(_) | LiveUpdate::TurnDiff(_) => Vec::new(),
    }
}

pub(super) struct Writer<'a> {
    /// The thread's id.
    pub(super) thread: &'a str,
    /// The session of what is written: the thread's id, or that of a subagent.
    pub(super) session: Cow<'a, str>,
    out: Vec<u8>,
    /// Each frame with the start and end of its text in the buffer.
    pub(super) frames: Vec<(Frame, usize, usize)>,
    seq: Seq,
    turn: Option<TurnId>,
}

impl<'a> Writer<'a> {
    fn new(thread: &'a str, room: usize, frames: usize) -> Self {
        Self {
            thread,
            session: Cow::Borrowed(thread),
            out: Vec::with_capacity(room),
            frames: Vec::with_capacity(frames),
            seq: 0,
            turn: None,
        }
    }

    /// Returns the frames, whose texts share one allocation.
    fn finish(mut self) -> Vec<Frame> {
        one_line(&mut self.out);
        let all = Bytes::from(self.out);
        let cut = |(frame, start, end): (Frame, usize, usize)| Frame {
            text: (end > start).then(|| all.slice(start..end)),
            ..frame
        };
        self.frames.into_iter().map(cut).collect()
    }
}

impl Writer<'_> {
    fn event(&mut self, event: &Event) {
        if event.repeats_id {
            return self.event(&with_items_id(event));
        }
        if let Some(event) = event_without_links(event) {
            return self.event(&event);
        }
        match event.lane {
            Some(lane) => self.subagents_event(lane, event),
            None => self.plain_event(event),
        }
    }

    /// Adds the frames of an event of the session.
    pub(super) fn plain_event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Item(kind) => self.item(event, kind),
            EventKind::Turn(TurnEvent::PlanReplaced {
                plan_id,
                entries,
                markdown,
            }) => self.plan(event, plan_id, entries, markdown.as_deref()),
            EventKind::Turn(TurnEvent::PlanRemoved { plan_id, was_latest }) => {
                self.plan_removed(event, plan_id, *was_latest);
            }
            EventKind::Session(SessionEvent::InfoUpdated { overruled: true, .. }) => self.untitled(event),
            EventKind::Turn(TurnEvent::UsageUpdated { .. })
            | EventKind::Session(SessionEvent::CommandsReplaced {} | SessionEvent::InfoUpdated { .. }) => {
                self.passed(event, FrameKind::Update)
            }
            EventKind::Session(SessionEvent::ModeChanged { mode_id }) => {
                let setting = Setting::Mode(mode_id.as_str().into());
                self.passed_or(event, FrameKind::Setting(setting), |update| {
                    update
                        .plain("sessionUpdate", "current_mode_update")
                        .put("currentModeId", mode_id);
                });
            }
            EventKind::Session(SessionEvent::ModelChanged { model_id }) => {
                self.note(FrameKind::Setting(Setting::Model(model_id.as_str().into())));
            }
            // A client changed the options: the event contains the agent's response to that request.
            EventKind::Session(SessionEvent::ConfigOptionsReplaced { .. }) => {
                let options = event.raw.as_ref().and_then(|raw| member(raw, "configOptions"));
                let options = options.unwrap_or("[]");
                let setting = Setting::Options(RawJson::trusted(options));
                self.passed_or(event, FrameKind::Setting(setting), |update| {
                    update
                        .plain("sessionUpdate", "config_option_update")
                        .raw("configOptions", options);
                });
            }
            EventKind::Session(SessionEvent::AgentNotified { method }) => self.notified(event, method),
            EventKind::Session(SessionEvent::NoticeGiven {
                level,
                code,
                message,
                detail,
                ..
            }) => self.notice(event, *level, (code, message), detail.as_deref()),
            EventKind::Host(HostEvent::TerminalWaiting {
                terminal_id, secret, ..
            }) => {
                let Remark { message, detail } = terminal_waits(self.thread, terminal_id, *secret);
                self.remark(Level::Warning, &message, Some(&detail));
            }
            EventKind::Session(SessionEvent::AgentLost {
                reason,
                expected: false,
                ..
            }) => self.own_notice(Level::Error, reason, None),
            EventKind::Session(SessionEvent::AgentBound { session, how, .. }) => {
                self.note(FrameKind::Bound(*how, Box::new(session.clone())));
            }
            EventKind::Request(
                kind @ (RequestEvent::PermissionRequested { decided: false, .. }
                | RequestEvent::InputRequested { .. }),
            ) => {
                self.question(event, kind);
            }
            EventKind::Request(
                RequestEvent::Settled { request, .. } | RequestEvent::Voided { request, .. },
            ) => {
                let start = self.out.len();
                let mut message = Object::open(&mut self.out);
                message
                    .raw("jsonrpc", "\"2.0\"")
                    .plain("method", "$/cancel_request");
                message.object("params", |params| {
                    params.put("requestId", request);
                });
                message.close();
                self.frame(start, FrameKind::Answered(*request));
            }
            EventKind::Thread(ThreadEvent::Renamed { name, shown }) => {
                // Some editors fail on `null`, and a thread without a name has no messages.
                if let Some(title) = shown.as_ref().or(name.as_ref()) {
                    self.own(FrameKind::Update, |update| {
                        update
                            .plain("sessionUpdate", "session_info_update")
                            .put("title", title);
                    });
                }
            }
            EventKind::Thread(ThreadEvent::LeaseMoved { holder, why }) => {
                let start = self.out.len();
                let thread = self.thread;
                wire::notification(&mut self.out, "_acpd/lease/moved", |params| {
                    params.plain("sessionId", thread).put("lease", holder);
                    params.put("why", why);
                });
                self.frame(start, FrameKind::Lease);
            }
            EventKind::Turn(
                TurnEvent::Queued { client_turn_id, .. } | TurnEvent::Started { client_turn_id, .. },
            ) => {
                self.note(FrameKind::PromptAccepted(
                    client_turn_id.as_deref().map(Box::from),
                ));
            }
            EventKind::Thread(ThreadEvent::TurnsRolledBack { last_kept, .. }) => {
                self.note(FrameKind::RolledBack(*last_kept));
            }
            EventKind::Turn(TurnEvent::Settled { .. }) => {
                self.note(FrameKind::Ended(Box::new(TurnResult::of(event))))
            }
            // ACP has no words for these.
            EventKind::Thread(
                ours_of_thread!()
                | ThreadEvent::StatusChanged { .. }
                | ThreadEvent::DirectoriesSet(_)
                | ThreadEvent::Archived {}
                | ThreadEvent::Unarchived {}
                | ThreadEvent::Deleted { .. }
                | ThreadEvent::Forked(_),
            )
            | EventKind::Session(
                ours_of_session!()
                | SessionEvent::SubagentUpdated(_)
                | SessionEvent::AgentLost { expected: true, .. }
                | SessionEvent::LineMalformed { .. }
                | SessionEvent::CallRefused { .. },
            )
            | EventKind::Turn(
                TurnEvent::QueueChanged { .. }
                | TurnEvent::DiffUpdated { .. }
                | TurnEvent::InterruptRequested {}
                | TurnEvent::SteerRequested { .. },
            )
            | EventKind::Host(
                ours_of_host!()
                | HostEvent::FileRead { .. }
                | HostEvent::FileWritten { .. }
                | HostEvent::TerminalOutput { .. },
            )
            | EventKind::Request(
                ours_of_request!() | RequestEvent::PermissionRequested { decided: true, .. },
            )
            | EventKind::Unknown => {}
        }
    }

    fn terminal(&mut self, id: &str, output: Option<&String>) {
        let terminal = Terminal {
            id: id.to_owned(),
            output: output.cloned(),
        };
        self.note(FrameKind::Terminal(Box::new(terminal)));
    }

    /// Adds a frame without a message, for the connection only.
    pub(super) fn note(&mut self, kind: FrameKind) {
        let end = self.out.len();
        self.frame(end, kind);
    }

    /// Adds a frame with the text from `start` on.
    fn frame(&mut self, start: usize, kind: FrameKind) {
        let frame = Frame {
            seq: self.seq,
            turn: self.turn,
            text: None,
            kind,
        };
        self.frames.push((frame, start, self.out.len()));
    }

    /// Adds a notification; `params` writes its params.
    fn notification(&mut self, method: &str, kind: FrameKind, params: impl FnOnce(&mut Vec<u8>, &str)) {
        let start = self.out.len();
        self.out.extend_from_slice(br#"{"jsonrpc":"2.0","method":"#);
        serde_json::Value::from(method)
            .to_string()
            .bytes()
            .for_each(|byte| self.out.push(byte));
        self.out.extend_from_slice(br#","params":"#);
        params(&mut self.out, &self.session);
        self.out.push(b'}');
        self.frame(start, kind);
    }

    /// Adds a `session/update`; `write` writes its update.
    fn update(&mut self, kind: FrameKind, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.out.len();
        self.out
            .extend_from_slice(br#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":""#);
        self.out.extend_from_slice(self.session.as_bytes());
        self.out.extend_from_slice(br#"","update":"#);
        write(&mut self.out);
        self.out.extend_from_slice(b"}}");
        self.frame(start, kind);
    }

    /// Adds an update by the daemon.
    pub(super) fn own(&mut self, kind: FrameKind, fill: impl FnOnce(&mut Object<'_>)) {
        self.update(kind, |out| {
            let mut update = Object::open(out);
            fill(&mut update);
            update.close();
        });
    }

    /// Adds the agent's message, unchanged.
    pub(super) fn passed(&mut self, event: &Event, kind: FrameKind) {
        if let Some(params) = &event.raw_params {
            self.notification("session/update", kind, |out, thread| {
                splice_session(out, params, thread)
            });
        } else if let Some(raw) = &event.raw {
            self.update(kind, |out| out.extend_from_slice(raw.get().as_bytes()));
        }
    }

    /// Adds what the agent reports of its session without the title, because a user has named the thread.
    fn untitled(&mut self, event: &Event) {
        let update = match &event.raw_params {
            Some(params) => member(params, "update").map(RawJson::trusted),
            None => event.raw.clone(),
        };
        let Some(rest) = update.and_then(|update| others(&update, &["title"])) else {
            return;
        };
        if others(&rest, &["sessionUpdate"]).is_none() {
            return;
        }
        let raw_params = event.raw_params.as_ref();
        let raw_params = raw_params.map(|params| spliced(params, &[("update", rest.get())]));
        let event = Event {
            raw: Some(rest),
            raw_params,
            ..event.clone()
        };
        self.passed(&event, FrameKind::Update);
    }

    /// Adds the agent's message if the event has one, otherwise the update that `fill` writes.
    fn passed_or(&mut self, event: &Event, kind: FrameKind, fill: impl FnOnce(&mut Object<'_>)) {
        if is_update(event) {
            self.passed(event, kind);
        } else {
            self.own(kind, fill);
        }
    }

    /// Adds a plan. Editors that do not know plans by id have one plan: the one that changed last.
    fn plan(&mut self, event: &Event, id: &str, entries: &[PlanEntry], markdown: Option<&MarkdownPlan>) {
        if said_word(event).as_deref() == Some("plan") {
            return self.passed(event, FrameKind::Update);
        }
        self.passed(event, FrameKind::Declared(Feature::Plans));
        let entries: Vec<PlanEntry> = match markdown {
            Some(plan) => vec![plan_as_entry(plan)],
            None => entries.iter().map(stable_entry).collect(),
        };
        self.own(FrameKind::Undeclared(Feature::Plans), |update| {
            update.plain("sessionUpdate", "plan").put("entries", &entries);
            update.object("_meta", |meta| {
                meta.object("acpd", |acpd| {
                    acpd.put("planId", id);
                    acpd.maybe("path", markdown.and_then(|plan| plan.path.as_ref()));
                });
            });
        });
    }

    fn plan_removed(&mut self, event: &Event, id: &str, was_latest: bool) {
        self.passed_or(event, FrameKind::Declared(Feature::Plans), |update| {
            update.plain("sessionUpdate", "plan_removed").put("planId", id);
        });
        if was_latest {
            self.own(FrameKind::Undeclared(Feature::Plans), |update| {
                update.plain("sessionUpdate", "plan").raw("entries", "[]");
            });
        }
    }

    fn item(&mut self, event: &Event, kind: &ItemEvent) {
        match kind {
            ItemEvent::Delta {
                item,
                role,
                text,
                message_id,
            } => {
                if event.raw.is_some() || event.raw_params.is_some() {
                    return self.passed(event, FrameKind::Chunk(*item));
                }
                self.update(FrameKind::Chunk(*item), |out| {
                    text_chunk(out, *role, text, message_id.as_deref())
                });
            }
            ItemEvent::Content { item, .. } => self.passed(event, FrameKind::Chunk(*item)),
            ItemEvent::Started {
                start:
                    ItemStart::ToolCall {
                        tool_call_id,
                        title,
                        kind,
                        status,
                    },
                ..
            } => self.passed_or(event, FrameKind::Update, |update| {
                update
                    .plain("sessionUpdate", "tool_call")
                    .put("toolCallId", tool_call_id);
                let title = if title.is_empty() { tool_call_id } else { title };
                update
                    .put("title", title)
                    .plain("kind", acpd_model::item::acp_tool_kind(kind))
                    .plain("status", status.as_acp());
                rest_of_tool(update, event.raw.as_ref());
            }),
            ItemEvent::Started {
                start: ItemStart::TerminalCommand { terminal_id, .. },
                ..
            } => self.terminal(terminal_id, None),
            ItemEvent::Completed {
                end: ItemEnd::TerminalCommand {
                    terminal_id, output, ..
                },
                ..
            } => self.terminal(terminal_id, Some(output)),
            ItemEvent::Updated { .. } => {
                let Some(raw) = &event.raw else { return };
                // The agent's description of a call in its permission request.
                self.passed_or(event, FrameKind::Update, |update| {
                    update.plain("sessionUpdate", "tool_call_update");
                    update.others(others(raw, &["sessionUpdate"]).as_ref());
                });
            }
            ItemEvent::Completed {
                outcome,
                end: ItemEnd::ToolCall { status, call },
                ..
            } => {
                let lost = *outcome != ItemOutcome::Completed && !status.is_final();
                // The call is lost: it gets no further updates, and the agent has not reported its end.
                if let Some(id) = member(call, "toolCallId").filter(|_| lost) {
                    self.own(FrameKind::Update, |update| {
                        update
                            .plain("sessionUpdate", "tool_call_update")
                            .raw("toolCallId", id)
                            .plain("status", "failed");
                    });
                }
            }
            ItemEvent::UserMessageAdded { item, content } => {
                for block in content {
                    self.own(FrameKind::Prompt, |update| {
                        update
                            .plain("sessionUpdate", "user_message_chunk")
                            .json("content", Some(block));
                        item.with_text(|item| update.plain("messageId", item));
                        update.object("_meta", |meta| {
                            meta.object("acpd", |acpd| fill_origin(acpd, event));
                        });
                    });
                }
            }
            // A message is passed on while the agent writes it, and the calls show changes of files.
            ItemEvent::Started {
                start: ItemStart::Message { .. } | ItemStart::FileChange { .. },
                ..
            }
            | ItemEvent::Completed {
                end: ItemEnd::Message { .. } | ItemEnd::FileChange { .. },
                ..
            } => {}
        }
    }

    fn notified(&mut self, event: &Event, method: &str) {
        if method != "session/update" {
            // Request ids exist only between the agent and the daemon, and only the daemon uses its own methods.
            if method.starts_with("$/") || is_own(method) {
                return;
            }
            let kind = match method {
                "elicitation/complete" => FrameKind::Declared(Feature::Elicitation),
                "auth/status_update" => FrameKind::Declared(Feature::AuthStatus),
                _ => FrameKind::Update,
            };
            let start = self.out.len();
            let mut message = Object::open(&mut self.out);
            message.raw("jsonrpc", "\"2.0\"").put("method", method);
            if let Some(params) = event.raw.as_ref().filter(|raw| !names_account(method, raw)) {
                let mut mapped = Vec::with_capacity(params.get().len() + 64);
                splice_session(&mut mapped, params, self.thread);
                message.raw("params", &String::from_utf8_lossy(&mapped));
            }
            message.close();
            return self.frame(start, kind);
        }
        // Updates that acpd could not use, or whose place is the log. Each is for the editors that declared its kind.
        let kind = match said_word(event).as_deref() {
            Some("compaction_update" | "compaction_summary_chunk") => {
                FrameKind::Declared(Feature::Compaction)
            }
            // A form of plans that this version does not know, or the removal of an unknown plan.
            Some("plan_update" | "plan_removed") => FrameKind::Declared(Feature::Plans),
            Some("notice") => FrameKind::Declared(Feature::Notices),
            // acpd says these itself, with its own ids.
            Some("cursor_update" | "prompt_suggestions_update" | "subagent_update") => return,
            // The conversation of the main agent is with the user.
            Some("session_message" | "session_message_chunk") if event.lane.is_none() => return,
            _ => FrameKind::Update,
        };
        if event.raw_params.is_some() {
            return self.passed(event, kind);
        }
        let Some(raw) = &event.raw else { return };
        // These are whole params that belong to another session of the agent or contain no update. No editor has that
        // session.
        if has_string(raw, "sessionId") && !has_string(raw, "sessionUpdate") {
            return;
        }
        let said_twice = |update: &Update| matches!(update.kind, UpdateKind::Chunk(_));
        if Update::parse(raw.get(), None).is_ok_and(|update| said_twice(&update)) {
            return;
        }
        self.passed(event, kind);
    }

    fn notice(&mut self, event: &Event, level: Level, (code, message): (&str, &str), detail: Option<&str>) {
        match (&event.by, code) {
            (Origin::Agent, "compaction") => self.passed(event, FrameKind::Declared(Feature::Compaction)),
            (Origin::Agent, _) => self.passed(event, FrameKind::Declared(Feature::Notices)),
            (_, "signInRequired") => {
                self.note(FrameKind::SignIn);
                self.own_notice(level, message, detail);
            }
            _ if IN_WORDS.contains(&code) => self.remark(level, message, detail),
            _ if level != Level::Info => self.own_notice(level, message, detail),
            _ => {}
        }
    }

    fn own_notice(&mut self, level: Level, message: &str, detail: Option<&str>) {
        if message.is_empty() {
            return;
        }
        let detail = detail.filter(|detail| !detail.is_empty());
        self.own(FrameKind::Declared(Feature::Notices), |update| {
            update
                .plain("sessionUpdate", "notice")
                .put("severity", &level)
                .put("title", message)
                .maybe("description", detail.as_ref());
        });
    }

    /// Adds a notice that the user must read, for editors without notices as text of the conversation.
    fn remark(&mut self, level: Level, message: &str, detail: Option<&str>) {
        self.own_notice(level, message, detail);
        let text = format!("\n\nacpd: {message}\n{}\n\n", detail.unwrap_or_default());
        self.update(FrameKind::Remark, |out| {
            text_chunk(out, MessageType::AgentMessage, &text, None);
        });
    }

    /// Adds a question as a request of the daemon under the question's own id.
    fn question(&mut self, event: &Event, kind: &RequestEvent) {
        let (request, method, wanted) = match kind {
            RequestEvent::PermissionRequested { request, .. } => {
                (*request, "session/request_permission", QuestionKind::Permission)
            }
            RequestEvent::InputRequested { request, .. } => {
                let mode = event.raw.as_ref().and_then(|raw| string_in(raw, "mode"));
                let wanted = if mode.as_deref() == Some("url") {
                    QuestionKind::Url
                } else {
                    QuestionKind::Form
                };
                (*request, "elicitation/create", wanted)
            }
            ours_of_request!() | RequestEvent::Settled { .. } | RequestEvent::Voided { .. } => return,
        };
        let start = self.out.len();
        let (out, thread) = (&mut self.out, self.thread);
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        out.extend_from_slice(format!("\"{request}\"").as_bytes());
        out.extend_from_slice(format!(r#","method":"{method}","params":"#).as_bytes());
        match (question::params(event, thread), &event.raw) {
            (Some(params), _) => out.extend_from_slice(params.get().as_bytes()),
            (None, Some(raw)) if has_string(raw, "sessionId") => splice_session(out, raw, thread),
            // The question belongs to a request of the daemon that no editor knows, so that it becomes one of the
            // session.
            (None, raw) => {
                let mut params = Object::open(out);
                params.plain("sessionId", thread);
                let rest = raw
                    .as_ref()
                    .and_then(|raw| others(raw, &["requestId", "sessionId"]));
                params.others(rest.as_ref());
                params.close();
            }
        }
        out.push(b'}');
        self.frame(start, FrameKind::Asked(request, wanted));
    }
}

/// Returns whether the event contains an update that the agent sent. A tool call in a question is not one, and neither is a
/// response to the daemon.
fn is_update(event: &Event) -> bool {
    event.raw_params.is_some()
        || event
            .raw
            .as_ref()
            .is_some_and(|raw| has_string(raw, "sessionUpdate"))
}

/// Returns the `sessionUpdate` that the agent sent.
fn said_word(event: &Event) -> Option<Cow<'_, str>> {
    string_in(event.raw.as_ref()?, "sessionUpdate")
}

/// Returns a plan that is a text as the only entry of a list.
fn plan_as_entry(plan: &MarkdownPlan) -> PlanEntry {
    let path = plan.path.as_ref().filter(|_| plan.content.is_empty());
    PlanEntry {
        content: path.unwrap_or(&plan.content).clone(),
        priority: "medium".to_owned(),
        status: "pending".to_owned(),
    }
}

/// Returns an entry in the words of ACP's version 1.
fn stable_entry(entry: &PlanEntry) -> PlanEntry {
    let priority = match &*entry.priority {
        known @ ("high" | "low") => known,
        _ => "medium",
    };
    let status = match &*entry.status {
        "completed" | "cancelled" => "completed",
        "in_progress" => "in_progress",
        _ => "pending",
    };
    PlanEntry {
        content: entry.content.clone(),
        priority: priority.to_owned(),
        status: status.to_owned(),
    }
}

fn splice_session(out: &mut Vec<u8>, params: &RawJson, thread: &str) {
    if has_string(params, "sessionId") {
        splice(out, params, &[("sessionId", &format!("\"{thread}\""))]);
    } else {
        out.extend_from_slice(params.get().as_bytes());
    }
}

/// Writes a chunk of plain text in the form that agents use.
fn text_chunk(out: &mut Vec<u8>, role: MessageType, text: &str, message_id: Option<&str>) {
    let word = match role {
        MessageType::UserMessage => "user_message_chunk",
        MessageType::AgentMessage => "agent_message_chunk",
        MessageType::AgentThought => "agent_thought_chunk",
    };
    let mut update = Object::open(out);
    update.plain("sessionUpdate", word).object("content", |content| {
        content.plain("type", "text").put("text", text);
    });
    update.maybe("messageId", message_id.as_ref());
    update.close();
}

/// Writes the members of a question's tool call that not every tool call has.
fn rest_of_tool(update: &mut Object<'_>, raw: Option<&RawJson>) {
    const WRITTEN: [&str; 4] = ["toolCallId", "title", "kind", "status"];
    let Some(raw) = raw else { return };
    members(raw, |key, value| {
        let name = decoded(key);
        let fits = !matches!(&*name, "content" | "locations") || value.starts_with('[');
        if fits && !WRITTEN.contains(&&*name) {
            update.raw(key, value);
        }
    });
}

/// Writes the origin of a user's message.
pub(super) fn fill_origin(acpd: &mut Object<'_>, event: &Event) {
    acpd.maybe("turnId", event.turn.as_ref()).put("at", &event.at);
    if let Origin::Client(caller) = &event.by {
        acpd.put("client", &caller.client);
    }
}
