//! Observes a thread: how long its parts take, for metrics, traces and the daemon's log.
//!
//! In: stored events, and the few steps without events. Out: durations for [`Metrics`](crate::metrics::Metrics), finished [spans](span) for
//! [`Traces`], lines of the log. Owns: what is open in the thread at the moment. Never: changes what happens in a thread, or
//! passes on text of users, agents or files.
//!
//! A thread without a running turn, a starting agent and open questions has no state here.

mod scene;
pub mod span;
mod trace;
pub(crate) mod words;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use acpd_model::event::{Binding, Outcome, TurnStatus};
use acpd_model::{
    Event, EventKind, ItemEnd, ItemEvent, ItemId, ItemStart, Millis, Origin, RawJson, RequestEvent,
    SessionEvent, TurnEvent, TurnId,
};
use acpd_proto::time::Now;
use acpd_proto::trace_context::TraceContext;

pub use self::scene::Scene;
use self::span::{SpanName, Traces, Value};
use self::trace::{Open, Trace};
use crate::metrics::AnsweredBy;
use crate::record::WireRecorder;

/// Where observations leave the daemon. By default, there is no such place.
#[derive(Debug, Clone, Default)]
pub struct Sinks {
    /// Receives the spans of turns.
    pub traces: Option<Arc<dyn Traces>>,
    /// Records messages of agents and clients.
    pub wire: Option<WireRecorder>,
}

/// Observes one thread.
#[derive(Debug, Default)]
pub struct Observer(Option<Box<State>>);

/// What is open in a thread.
#[derive(Debug, Default)]
struct State {
    turn: Option<Turn>,
    start: Option<Start>,
    /// Open questions, by number.
    questions: BTreeMap<u32, QuestionTiming>,
    /// The trace of the running turn, if it is recorded.
    trace: Option<Trace>,
}

/// The running turn.
#[derive(Debug)]
struct Turn {
    id: TurnId,
    began: Millis,
    has_update: bool,
}

/// An agent that starts.
#[derive(Debug)]
struct Start {
    began: Now,
    turn: Option<TurnId>,
}

/// An open question.
#[derive(Debug)]
struct QuestionTiming {
    opened: Millis,
    item: Option<ItemId>,
    kind: &'static str,
}

impl Observer {
    /// Notes that a turn is about to start with this `_meta` of its prompt. Only needed if traces are on.
    pub fn expect_turn(&mut self, scene: Scene<'_>, turn: TurnId, meta: Option<&RawJson>) {
        if let Some(traces) = scene.traces {
            let parent = meta.and_then(TraceContext::in_meta);
            self.0.get_or_insert_default().trace = Some(Trace::begin(traces, turn, parent));
        }
    }

    /// Observes stored events.
    pub fn observe(&mut self, scene: Scene<'_>, events: &[Event]) {
        for event in events {
            match &event.kind {
                // The most frequent kinds come first.
                EventKind::Item(ItemEvent::Delta { .. } | ItemEvent::Content { .. })
                | EventKind::Turn(TurnEvent::PlanReplaced { .. }) => {
                    self.updated(scene, event);
                }
                EventKind::Item(ItemEvent::Started { item, parent, start }) => {
                    self.updated(scene, event);
                    self.item_started(scene, event.at, *item, *parent, start);
                }
                EventKind::Item(ItemEvent::Completed { item, end, .. }) => {
                    self.item_completed(scene, event.at, *item, end)
                }
                EventKind::Turn(TurnEvent::Started { imported: false, .. }) => self.turn_started(event),
                EventKind::Turn(TurnEvent::Settled { .. }) => self.turn_settled(scene, event),
                EventKind::Request(RequestEvent::PermissionRequested { request, item, .. }) => {
                    self.updated(scene, event);
                    self.asked(event, request.number, *item, "permission");
                }
                EventKind::Request(RequestEvent::InputRequested { request, .. }) => {
                    self.updated(scene, event);
                    self.asked(event, request.number, None, "input");
                }
                EventKind::Request(RequestEvent::Settled { request, outcome, .. }) => {
                    let by = match &event.by {
                        Origin::Agent | Origin::Daemon => AnsweredBy::Unanswered,
                        _ if *outcome == Outcome::Cancelled => AnsweredBy::Unanswered,
                        Origin::Client(_) => AnsweredBy::Person,
                        Origin::Policy(_) => AnsweredBy::Policy,
                    };
                    self.answered(scene, event.at, request.number, by, words::outcome(outcome));
                }
                EventKind::Request(RequestEvent::Voided { request, .. }) => {
                    self.answered(scene, event.at, request.number, AnsweredBy::Unanswered, "void");
                }
                EventKind::Session(SessionEvent::AgentBound { how, .. }) => {
                    let how = match how {
                        Binding::New => "new",
                        Binding::Load => "load",
                        Binding::Resume => "resume",
                        Binding::Fork => "fork",
                    };
                    self.agent_started(scene, event.at, Some(how));
                }
                EventKind::Session(SessionEvent::AgentLost { expected, .. }) => {
                    self.agent_started(scene, event.at, None);
                    if !expected {
                        let turn = self.turn().map(|turn| tracing::field::display(turn.id));
                        tracing::warn!(
                            thread = %scene.thread,
                            turn,
                            agent = scene.agent,
                            "the agent exited unexpectedly; its thread has the end of its stderr"
                        );
                    }
                }
                _ => {}
            }
        }
        self.forget_if_quiet();
    }

    /// Notes that the agent starts.
    pub fn agent_starts(&mut self, now: Now) {
        let state = self.0.get_or_insert_default();
        let turn = state.turn.as_ref().map(|turn| turn.id);
        state.start = Some(Start { began: now, turn });
    }

    /// Notes that the agent waits for a user to sign in: how long that takes is not the agent's.
    pub fn sign_in_required(&mut self) {
        if let Some(state) = &mut self.0 {
            state.start = None;
        }
        self.forget_if_quiet();
    }

    /// Notes that a callback of the agent is carried out.
    pub fn callback_began(&mut self, scene: Scene<'_>, call: u64, name: &'static str, at: Millis) {
        if let (Some(trace), Some(traces)) = (self.trace(), scene.traces) {
            trace.callback_began(traces, call, name, at);
        }
    }

    /// Notes the result of a callback.
    pub fn callback_ended(&mut self, scene: Scene<'_>, call: u64, at: Millis, failed: bool) {
        let Some(trace) = self.trace() else { return };
        if let Some(Open { began, id, word, .. }) = trace.end_callback(call) {
            let attributes = vec![("acpd.callback", Value::Word(word))];
            trace.record(
                scene,
                (SpanName::Callback, id),
                None,
                (began, at),
                failed,
                attributes,
            );
        }
    }

    /// Returns the `_meta` for a request to the agent in this turn.
    pub fn outgoing(&self, turn: Option<TurnId>, meta: Option<RawJson>) -> Option<RawJson> {
        let trace = self.0.as_deref().and_then(|state| state.trace.as_ref());
        match trace.filter(|trace| turn.is_none_or(|turn| turn == trace.turn())) {
            Some(trace) => Some(trace.context().put_into(meta.as_ref())),
            None => meta,
        }
    }

    fn turn(&self) -> Option<&Turn> {
        self.0.as_deref()?.turn.as_ref()
    }

    fn trace(&mut self) -> Option<&mut Trace> {
        self.0.as_deref_mut()?.trace.as_mut()
    }

    fn turn_started(&mut self, event: &Event) {
        let Some(id) = event.turn else { return };
        self.0.get_or_insert_default().turn = Some(Turn {
            id,
            began: event.at,
            has_update: false,
        });
    }

    /// Observes what may be the first update of the turn.
    fn updated(&mut self, scene: Scene<'_>, event: &Event) {
        let Some(turn) = self.0.as_deref_mut().and_then(|state| state.turn.as_mut()) else {
            return;
        };
        if !turn.has_update && event.by == Origin::Agent && event.turn == Some(turn.id) {
            turn.has_update = true;
            scene.metrics.first_update(since(turn.began, event.at));
        }
    }

    fn turn_settled(&mut self, scene: Scene<'_>, event: &Event) {
        let EventKind::Turn(TurnEvent::Settled {
            status,
            stop_reason,
            started_at,
            usage,
            ..
        }) = &event.kind
        else {
            return;
        };
        let Some(id) = event.turn else { return };
        // A queued turn that is withdrawn never started.
        let Some(began) = *started_at else { return };
        let took = since(began, event.at);
        scene.metrics.turn(*status, took);
        let (millis, word) = (took.as_millis(), words::status(*status));
        if *status == TurnStatus::Failed {
            tracing::warn!(thread = %scene.thread, turn = %id, agent = scene.agent, millis, "a turn failed");
        } else {
            tracing::debug!(thread = %scene.thread, turn = %id, agent = scene.agent, millis, status = word, "a turn ended");
        }
        let Some(state) = self.0.as_deref_mut() else {
            return;
        };
        state.turn.take_if(|turn| turn.id == id);
        if let Some(trace) = state.trace.take_if(|trace| trace.turn() == id) {
            let mut attributes = vec![
                ("gen_ai.operation.name", Value::Word("invoke_agent")),
                ("acpd.turn.status", Value::Word(word)),
            ];
            let reason = stop_reason.as_deref().map(words::stop_reason);
            attributes.extend(reason.map(|reason| ("acpd.turn.stop_reason", Value::Word(reason))));
            attributes.extend(usage.as_deref().into_iter().flat_map(words::usage));
            trace.record_root(
                scene,
                (began, event.at),
                *status == TurnStatus::Failed,
                attributes,
            );
        }
    }

    fn item_started(
        &mut self,
        scene: Scene<'_>,
        at: Millis,
        item: ItemId,
        parent: Option<ItemId>,
        start: &ItemStart,
    ) {
        let word = match start {
            ItemStart::ToolCall { kind, .. } => acpd_model::item::acp_tool_kind(kind),
            ItemStart::TerminalCommand { requested_by, .. } => {
                if requested_by.is_some() {
                    "user"
                } else {
                    "agent"
                }
            }
            ItemStart::Message { .. } | ItemStart::FileChange { .. } => return,
        };
        if let (Some(trace), Some(traces)) = (self.trace(), scene.traces) {
            trace.item_started(traces, item, parent, word, at);
        }
    }

    fn item_completed(&mut self, scene: Scene<'_>, at: Millis, item: ItemId, end: &ItemEnd) {
        let Some(trace) = self.trace() else { return };
        let Some(Open {
            began,
            id,
            word,
            parent,
        }) = trace.end_item(item)
        else {
            return;
        };
        let mut attributes = vec![("acpd.item.id", Value::Name(item.to_string().into()))];
        let (name, failed) = match end {
            ItemEnd::ToolCall { status, .. } => {
                attributes.push(("acpd.tool.kind", Value::Word(word)));
                attributes.push(("acpd.tool.status", Value::Word(status.as_acp())));
                (SpanName::Tool, *status == acpd_model::item::ToolStatus::Failed)
            }
            ItemEnd::TerminalCommand { exit_code, .. } => {
                attributes.push(("acpd.terminal.requested_by", Value::Word(word)));
                attributes.extend(exit_code.map(|code| ("process.exit.code", Value::Number(code.into()))));
                (SpanName::Terminal, *exit_code != Some(0))
            }
            ItemEnd::Message { .. } | ItemEnd::FileChange { .. } => return,
        };
        trace.record(scene, (name, id), parent, (began, at), failed, attributes);
    }

    fn asked(&mut self, event: &Event, number: u32, item: Option<ItemId>, kind: &'static str) {
        let question = QuestionTiming {
            opened: event.at,
            item,
            kind,
        };
        self.0.get_or_insert_default().questions.insert(number, question);
    }

    fn answered(&mut self, scene: Scene<'_>, at: Millis, number: u32, by: AnsweredBy, outcome: &'static str) {
        let Some(state) = self.0.as_deref_mut() else {
            return;
        };
        let Some(QuestionTiming { opened, item, kind }) = state.questions.remove(&number) else {
            return;
        };
        scene.metrics.answered(by, since(opened, at));
        if let (Some(trace), Some(traces)) = (&mut state.trace, scene.traces) {
            let attributes = vec![
                ("acpd.approval.kind", Value::Word(kind)),
                ("acpd.approval.answered_by", Value::Word(by.word())),
                ("acpd.approval.outcome", Value::Word(outcome)),
            ];
            let parent = item.and_then(|item| trace.span_of(item));
            let span = (SpanName::Approval, traces.span_id());
            trace.record(scene, span, parent, (opened, at), false, attributes);
        }
    }

    /// Observes that the agent's session is open, or that it has no process any more.
    fn agent_started(&mut self, scene: Scene<'_>, at: Millis, how: Option<&'static str>) {
        let Some(state) = self.0.as_deref_mut() else {
            return;
        };
        let Some(Start { began, turn }) = state.start.take() else {
            return;
        };
        let took = since(began.wall, at);
        scene.metrics.agent_start(how.is_some(), took);
        if let Some(how) = how {
            let turn = turn.map(tracing::field::display);
            let millis = took.as_millis();
            tracing::info!(thread = %scene.thread, turn, agent = scene.agent, how, millis, "the agent is ready");
        }
        let Some(traces) = scene.traces else { return };
        let attributes = vec![("acpd.agent.session", Value::Word(how.unwrap_or("none")))];
        let times = (began.wall, at);
        match state.trace.as_ref().filter(|trace| Some(trace.turn()) == turn) {
            Some(trace) => {
                let span = (SpanName::AgentStart, traces.span_id());
                trace.record(scene, span, None, times, how.is_none(), attributes);
            }
            None => trace::record_alone(
                scene,
                traces,
                SpanName::AgentStart,
                times,
                how.is_none(),
                attributes,
            ),
        }
    }

    fn forget_if_quiet(&mut self) {
        self.0.take_if(|state| {
            state.turn.is_none()
                && state.start.is_none()
                && state.trace.is_none()
                && state.questions.is_empty()
        });
    }
}

/// Returns the time between two events. The host's clock may have been set back in between.
fn since(earlier: Millis, later: Millis) -> Duration {
    Duration::from_millis(u64::try_from(later.saturating_sub(earlier)).unwrap_or(0))
}

#[cfg(test)]
mod tests;
