//! Encodes events as Codex's notifications.

use std::sync::Arc;

use acpd_model::event::{Level, PermissionOption, PlanEntry};
use acpd_model::text::visible_line;
use acpd_model::{
    Event, EventKind, HostEvent, ItemEnd, ItemEvent, ItemId, ItemOutcome, ItemStart, LaneId, MessageType,
    Millis, RawJson, RequestEvent, RequestId, Seq, SessionEvent, Summary, ThreadEvent, ThreadId,
    ThreadStatus, TurnEvent, TurnId,
};
use bytes::Bytes;
use serde_json::json;

use super::bounded;
use super::call::{Call, FileUpdate};
use super::frame::{Ask, Frame, FrameKind, ListEntry, Listed, ServerRequest, TerminalStart};
use super::item::{CommandOutput, delta_method, escaped, put_delta, shown_block, shown_text, write_text};
use super::thread::{status_of, status_word, write_listed};
use super::turn::{Outcome, put_error, write_turn};
use super::turn_id::turn_id;
use super::write::{notification, put_turn};
use crate::fanout::LiveUpdate;
use crate::surface::contract::Source;
use crate::surface::ours::{ours_of_host, ours_of_request, ours_of_session, ours_of_thread};
use crate::surface::remark::{Remark, terminal_waits};
use crate::wire::{Object, member, write_json};

/// Returns the frames for `source`.
pub(super) fn frames(source: Source<'_>) -> Vec<Frame> {
    match source {
        Source::Events { thread, events } => {
            let mut writer = Writer::new(thread, events.len());
            for event in events {
                (writer.seq, writer.turn, writer.at) = (event.seq, event.turn, event.at);
                writer.event(event);
            }
            writer.finish()
        }
        Source::Shown {
            thread,
            turn,
            at,
            update,
        } => {
            let mut writer = Writer::new(thread, 1);
            (writer.turn, writer.at) = (turn, at);
            match update {
                LiveUpdate::Output(output) => writer.output(output.item, &output.text),
                LiveUpdate::TurnDiff(diff) => writer.turn_diff(diff),
                // Codex has no message for them.
                LiveUpdate::Suggestions(_) => {}
            }
            writer.finish()
        }
        Source::Listed { thread, summary, .. } => vec![listed(thread, summary)],
        // Codex asks for the list again by itself, and has no message for the other.
        Source::ListReset | Source::Seen { .. } => Vec::new(),
    }
}

/// Returns the kind of a frame about a turn with this id of its client.
fn turn_named(name: Option<&str>) -> FrameKind {
    FrameKind::Named(name.map(Arc::from))
}

fn listed(thread: ThreadId, summary: Option<&Summary>) -> Frame {
    let entry = summary.map(|summary| {
        let mut out = Vec::new();
        write_listed(&mut out, thread, summary);
        ListEntry {
            created_at: summary.created_at,
            name: summary.name.clone(),
            archived: summary.archived,
            status: status_of(summary),
            thread: RawJson::trusted(&String::from_utf8_lossy(&out)),
        }
    });
    Frame {
        seq: 0,
        turn: None,
        at: Millis::default(),
        method: "",
        text: Bytes::new(),
        kind: FrameKind::Listed(Arc::new(Listed { thread, entry })),
    }
}

/// Writes the frames of a batch, all in one allocation.
struct Writer<'a> {
    thread: &'a str,
    out: Vec<u8>,
    /// Each frame with the start and end of its text in the buffer.
    frames: Vec<(Frame, usize, usize)>,
    seq: Seq,
    turn: Option<TurnId>,
    at: Millis,
}

impl<'a> Writer<'a> {
    fn new(thread: &'a str, events: usize) -> Self {
        Self {
            thread,
            out: Vec::with_capacity(events * 200),
            frames: Vec::with_capacity(events),
            seq: 0,
            turn: None,
            at: Millis::default(),
        }
    }

    fn finish(self) -> Vec<Frame> {
        let all = Bytes::from(self.out);
        let cut = |(frame, start, end): (Frame, usize, usize)| Frame {
            text: all.slice(start..end),
            ..frame
        };
        self.frames.into_iter().map(cut).collect()
    }

    fn event(&mut self, event: &Event) {
        // Codex shows one conversation in a thread, and of subagents only what they do.
        if event.lane.is_some() && event.kind.is_about_message() {
            return;
        }
        match &event.kind {
            EventKind::Item(kind) => self.item(event, kind),
            EventKind::Host(HostEvent::TerminalOutput { item, text, .. }) => self.output(*item, text),
            EventKind::Request(kind) => self.request(event, kind),
            EventKind::Turn(TurnEvent::Queued { client_turn_id, .. }) => {
                self.queued(client_turn_id.as_deref())
            }
            EventKind::Turn(TurnEvent::Started { client_turn_id, .. }) => {
                self.turn_started(client_turn_id.as_deref())
            }
            EventKind::Turn(TurnEvent::Settled {
                status,
                stop_reason,
                error,
                started_at,
                ..
            }) => {
                let (stop_reason, error) = (stop_reason.as_deref(), error.as_deref());
                self.turn_ended(&Outcome::ended(
                    *status,
                    stop_reason,
                    error,
                    *started_at,
                    event.at,
                ));
            }
            EventKind::Thread(ThreadEvent::StatusChanged { status }) => self.status(*status),
            EventKind::Thread(ThreadEvent::Renamed { shown, .. }) => self.named(shown.as_deref()),
            EventKind::Session(SessionEvent::InfoUpdated {
                title: Some(title),
                overruled: false,
            }) => self.named(Some(title)),
            EventKind::Thread(ThreadEvent::Archived {}) => self.about_thread("thread/archived"),
            EventKind::Thread(ThreadEvent::Unarchived {}) => self.about_thread("thread/unarchived"),
            EventKind::Thread(ThreadEvent::Deleted { .. }) => self.about_thread("thread/deleted"),
            EventKind::Thread(ThreadEvent::TurnsRolledBack { .. }) => self.about_thread("thread/reverted"),
            EventKind::Turn(TurnEvent::QueueChanged { .. }) => self.about_thread("thread/queue/changed"),
            EventKind::Session(SessionEvent::NoticeGiven {
                level: Level::Warning | Level::Error,
                message,
                detail,
                ..
            }) => self.warning(message, detail.as_deref()),
            EventKind::Session(SessionEvent::AgentLost {
                reason,
                expected: false,
                ..
            }) => self.warning(reason, None),
            EventKind::Host(HostEvent::TerminalWaiting {
                terminal_id, secret, ..
            }) => {
                let Remark { message, detail } = terminal_waits(self.thread, terminal_id, *secret);
                self.warning(&message, Some(&detail));
            }
            EventKind::Turn(TurnEvent::PlanReplaced {
                entries,
                markdown: None,
                ..
            }) => self.plan(entries),
            EventKind::Turn(TurnEvent::PlanRemoved { was_latest: true, .. }) => self.plan(&[]),
            EventKind::Turn(TurnEvent::DiffUpdated { diff }) => self.turn_diff(diff),
            EventKind::Turn(TurnEvent::UsageUpdated { used, size, .. }) => self.usage(*used, *size),
            EventKind::Session(
                SessionEvent::AgentBound { .. }
                | SessionEvent::ModeChanged { .. }
                | SessionEvent::ModelChanged { .. }
                | SessionEvent::ConfigOptionsReplaced { .. },
            )
            | EventKind::Thread(ThreadEvent::DirectoriesSet(_)) => self.fact(FrameKind::Settings),
            // Codex has no words for these.
            EventKind::Thread(
                ours_of_thread!() | ThreadEvent::Forked(_) | ThreadEvent::LeaseMoved { .. },
            )
            | EventKind::Session(
                ours_of_session!()
                | SessionEvent::InfoUpdated { .. }
                | SessionEvent::SubagentUpdated(_)
                | SessionEvent::AgentLost { expected: true, .. }
                | SessionEvent::NoticeGiven {
                    level: Level::Info, ..
                }
                | SessionEvent::LineMalformed { .. }
                | SessionEvent::AgentNotified { .. }
                | SessionEvent::CallRefused { .. }
                | SessionEvent::CommandsReplaced {},
            )
            // Its only plans are lists of steps.
            | EventKind::Turn(
                TurnEvent::PlanReplaced { markdown: Some(_), .. }
                | TurnEvent::PlanRemoved { was_latest: false, .. }
                | TurnEvent::InterruptRequested {}
                | TurnEvent::SteerRequested { .. },
            )
            | EventKind::Host(
                ours_of_host!() | HostEvent::FileRead { .. } | HostEvent::FileWritten { .. },
            )
            | EventKind::Unknown => {}
        }
    }

    /// Adds a frame without a message.
    fn fact(&mut self, kind: FrameKind) {
        let end = self.out.len();
        self.frame(end, "", kind);
    }

    /// Adds a frame with the text from `start` on.
    fn frame(&mut self, start: usize, method: &'static str, kind: FrameKind) {
        let frame = Frame {
            seq: self.seq,
            turn: self.turn,
            at: self.at,
            method,
            text: Bytes::new(),
            kind,
        };
        self.frames.push((frame, start, self.out.len()));
    }

    /// Adds a notification about the thread; `fill` adds the params after the thread's id.
    fn notify(&mut self, method: &'static str, kind: FrameKind, fill: impl FnOnce(&mut Object<'_>)) {
        let start = self.out.len();
        let thread = self.thread;
        notification(&mut self.out, method, |params| {
            params.plain("threadId", thread);
            fill(params);
        });
        self.frame(start, method, kind);
    }

    fn about_thread(&mut self, method: &'static str) {
        self.notify(method, FrameKind::Message, |_| {});
    }

    /// Adds a notification about the turn.
    fn in_turn(&mut self, method: &'static str, kind: FrameKind, fill: impl FnOnce(&mut Object<'_>)) {
        let (thread, turn) = (self.thread, self.turn);
        self.notify(method, kind, |params| {
            put_turn(params, thread, turn);
            fill(params);
        });
    }

    /// Adds a notification about the progress of an item; `kind` gets the place of the escaped text in it.
    fn delta(
        &mut self,
        method: &'static str,
        item: ItemId,
        text: &str,
        kind: impl FnOnce(u32, u32) -> FrameKind,
    ) {
        let (start, turn) = (self.out.len(), self.turn);
        let mut place = (0, 0);
        let thread = self.thread;
        let text = bounded::text(text, thread);
        notification(&mut self.out, method, |params| {
            params.plain("threadId", thread);
            put_turn(params, thread, turn);
            item.with_text(|item| {
                put_delta(params, method, item, |out| {
                    let from = out.len();
                    write_json(out, &*text);
                    // Without the quotes.
                    place = (from + 1, out.len() - 1);
                });
            });
        });
        let at = |place: usize| u32::try_from(place - start).unwrap_or(u32::MAX);
        self.frame(start, method, kind(at(place.0), at(place.1)));
    }

    fn item_started(&mut self, kind: FrameKind, write: impl FnOnce(&mut Vec<u8>)) {
        let at = self.at;
        self.in_turn("item/started", kind, |params| {
            params.with("item", write);
            params.put("startedAtMs", &at);
        });
    }

    fn item_completed(&mut self, kind: FrameKind, write: impl FnOnce(&mut Vec<u8>)) {
        let (at, thread) = (self.at, self.thread);
        self.in_turn("item/completed", kind, |params| {
            params.with("item", |out| bounded::write_item(out, thread, write));
            params.put("completedAtMs", &at);
        });
    }

    fn item(&mut self, event: &Event, kind: &ItemEvent) {
        match kind {
            ItemEvent::Started { item, parent, start } => self.started(event, *item, *parent, start),
            ItemEvent::Delta { item, role, text, .. } => self.text(*item, *role, text),
            ItemEvent::Content {
                item, role, block, ..
            } => self.text(*item, *role, &shown_block(block)),
            ItemEvent::Updated { item, .. } => {
                if let Some(mut update) = event.raw.as_ref().and_then(Call::read_update) {
                    if event.lane.is_some() {
                        update.mark_subagents();
                    }
                    self.fact(FrameKind::Call(*item, Arc::new(update)));
                }
            }
            ItemEvent::Completed { item, outcome, end } => self.ended(event.lane, *item, *outcome, end),
            // The end of the item has the whole message.
            ItemEvent::UserMessageAdded { .. } => {}
        }
    }

    fn started(&mut self, event: &Event, item: ItemId, parent: Option<ItemId>, start: &ItemStart) {
        match start {
            // A message of the user is shown when it is complete.
            ItemStart::Message {
                role: MessageType::UserMessage,
                client_message_id,
                ..
            } => {
                if let Some(id) = client_message_id {
                    self.fact(FrameKind::Named(Some(Arc::from(id.as_str()))));
                }
            }
            ItemStart::Message { role, .. } => {
                let kind = FrameKind::TextStarted(item, *role);
                self.item_started(kind, |out| write_text(out, *role, &item.to_string(), ""));
            }
            ItemStart::ToolCall {
                title, kind, status, ..
            } => {
                let mut call = Call::started(title, kind, *status);
                if let Some(raw) = &event.raw {
                    call.apply(&Call::read(raw));
                }
                if event.lane.is_some() {
                    call.mark_subagents();
                }
                self.fact(FrameKind::Call(item, Arc::new(call)));
            }
            // Its content is known when it ends.
            ItemStart::FileChange { .. } => {
                if let Some(call) = parent {
                    self.fact(FrameKind::FileStarted(item, call));
                }
            }
            ItemStart::TerminalCommand { .. } => {
                if let Some(terminal) = TerminalStart::of(start) {
                    self.fact(FrameKind::Terminal(item, terminal));
                }
            }
        }
    }

    fn text(&mut self, item: ItemId, role: MessageType, text: &str) {
        if let Some(method) = delta_method(role) {
            self.delta(method, item, text, |from, to| FrameKind::Text(item, from, to));
        }
    }

    fn output(&mut self, item: ItemId, text: &str) {
        let method = "item/commandExecution/outputDelta";
        self.delta(method, item, text, |from, to| FrameKind::Output(item, from, to));
    }

    fn ended(&mut self, lane: Option<LaneId>, item: ItemId, outcome: ItemOutcome, end: &ItemEnd) {
        match end {
            ItemEnd::Message {
                role: MessageType::UserMessage,
                content,
            } => self.fact(FrameKind::UserMessage(item, content.as_slice().into())),
            ItemEnd::Message { role, content } => {
                let text = escaped(&shown_text(content));
                let kind = FrameKind::TextEnded(item);
                self.item_completed(kind, |out| write_text(out, *role, &item.to_string(), &text));
            }
            ItemEnd::ToolCall { call, .. } => {
                let mut call = Call::read(call);
                if lane.is_some() {
                    call.mark_subagents();
                }
                self.fact(FrameKind::CallEnded(item, outcome, Arc::new(call)));
            }
            ItemEnd::FileChange { path, diff, .. } => {
                let file = Arc::new(FileUpdate::of_unified(path, diff));
                self.fact(FrameKind::FileEnded(item, outcome, file));
            }
            ItemEnd::TerminalCommand {
                exit_code, output, ..
            } => {
                let output = CommandOutput {
                    text: Some(output.clone()),
                    exit_code: *exit_code,
                };
                self.fact(FrameKind::TerminalEnded(item, outcome, Arc::new(output)));
            }
        }
    }

    fn queued(&mut self, name: Option<&str>) {
        if self.turn.is_some() {
            self.notify("thread/queue/changed", turn_named(name), |_| {});
        }
    }

    fn turn_started(&mut self, name: Option<&str>) {
        let Some(turn) = self.turn else { return };
        let id = turn_id(self.thread, Some(turn));
        let started = Outcome::running(Some(self.at));
        self.notify("turn/started", turn_named(name), |params| {
            params.with("turn", |out| write_turn(out, &id, &started, "notLoaded", |_| {}));
        });
    }

    fn turn_ended(&mut self, outcome: &Outcome) {
        let Some(turn) = self.turn else { return };
        let id = turn_id(self.thread, Some(turn));
        if let Some(why) = &outcome.error {
            self.notify("error", FrameKind::Message, |params| put_error(params, &id, why));
        }
        self.notify("turn/completed", FrameKind::TurnEnded, |params| {
            params.with("turn", |out| write_turn(out, &id, outcome, "notLoaded", |_| {}));
        });
    }

    fn request(&mut self, event: &Event, kind: &RequestEvent) {
        match kind {
            RequestEvent::PermissionRequested {
                request,
                item,
                title,
                options,
                subjects,
                always,
                whole,
                decided: false,
                ..
            } => {
                let asked = event.raw.as_ref().and_then(|raw| member(raw, "toolCall"));
                let call = whole.as_deref().cloned().or_else(|| asked.map(RawJson::trusted));
                let label = |option: &PermissionOption| visible_line(&option.label(always.as_deref()));
                let labels = options.iter().map(label);
                let ask = Ask::Permission {
                    item: *item,
                    title: title.clone(),
                    options: options.clone(),
                    subjects: subjects.clone(),
                    labels: labels.collect(),
                    always: always.as_deref().cloned(),
                    call: Arc::new(call.map(|call| Call::read(&call)).unwrap_or_default()),
                };
                self.asked(*request, ask);
            }
            RequestEvent::InputRequested { request, message, .. } => {
                let params = event.raw.clone().unwrap_or_else(|| RawJson::trusted("{}"));
                let message = message.clone();
                self.asked(*request, Ask::Input { params, message });
            }
            RequestEvent::Settled {
                request,
                outcome,
                item,
                ..
            } => self.fact(FrameKind::Answered(*request, *item, outcome.refuses())),
            RequestEvent::Voided { request, .. } => {
                self.fact(FrameKind::Answered(*request, None, false));
            }
            ours_of_request!() | RequestEvent::PermissionRequested { decided: true, .. } => {}
        }
    }

    fn asked(&mut self, request: RequestId, ask: Ask) {
        self.fact(FrameKind::Asked(Arc::new(ServerRequest { request, ask })));
    }

    fn status(&mut self, status: ThreadStatus) {
        let status = status_word(status);
        self.notify("thread/status/changed", FrameKind::Message, |params| {
            params.raw("status", status);
        });
    }

    fn named(&mut self, name: Option<&str>) {
        self.notify("thread/name/updated", FrameKind::Message, |params| {
            params.maybe("threadName", name.as_ref());
        });
    }

    fn warning(&mut self, message: &str, detail: Option<&str>) {
        let detail = detail.filter(|detail| !detail.is_empty());
        let text = detail.map_or_else(|| message.to_owned(), |detail| format!("{message}\n{detail}"));
        self.notify("warning", FrameKind::Message, |params| {
            params.put("message", &text);
        });
    }

    fn plan(&mut self, entries: &[PlanEntry]) {
        let step = |entry: &PlanEntry| {
            let status = match entry.status.as_str() {
                "in_progress" => "inProgress",
                "completed" => "completed",
                _ => "pending",
            };
            json!({ "step": entry.content, "status": status })
        };
        let plan: Vec<_> = entries.iter().map(step).collect();
        self.in_turn("turn/plan/updated", FrameKind::Message, |params| {
            params.put("plan", &plan);
        });
    }

    fn turn_diff(&mut self, diff: &str) {
        let diff = bounded::text(diff, self.thread);
        self.in_turn("turn/diff/updated", FrameKind::Message, |params| {
            params.large("diff", &diff);
        });
    }

    fn usage(&mut self, used: u64, size: u64) {
        let tokens = json!({
            "totalTokens": used, "inputTokens": used, "cachedInputTokens": 0, "cacheWriteInputTokens": 0,
            "outputTokens": 0, "reasoningOutputTokens": 0,
        });
        self.in_turn("thread/tokenUsage/updated", FrameKind::Message, |params| {
            params.object("tokenUsage", |usage| {
                usage.put("total", &tokens).put("last", &tokens);
                usage.put("modelContextWindow", &size);
            });
        });
    }
}
