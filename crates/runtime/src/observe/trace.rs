//! The trace of one turn, while the turn runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use acpd_model::{ItemId, Millis, TurnId};
use acpd_proto::trace_context::TraceContext;

use super::scene::Scene;
use super::span::{Attribute, Span, SpanName, Traces, Value};

/// Maximum number of unfinished items, and of callbacks, that a trace keeps. Further ones have no span.
const OPEN: usize = 256;

/// The trace of a running turn.
#[derive(Debug)]
pub(super) struct Trace {
    turn: TurnId,
    /// The turn's own span.
    context: TraceContext,
    /// The client's span around the turn.
    parent: Option<[u8; 8]>,
    items: BTreeMap<ItemId, Open>,
    callbacks: BTreeMap<u64, Open>,
}

/// An unfinished span.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    pub began: Millis,
    pub id: [u8; 8],
    pub word: &'static str,
    pub parent: Option<[u8; 8]>,
}

impl Trace {
    /// Begins the trace of a turn, as a part of the client's, or as a new one.
    pub fn begin(traces: &Arc<dyn Traces>, turn: TurnId, parent: Option<TraceContext>) -> Self {
        let span = traces.span_id();
        let (context, parent) = match parent {
            Some(context) => {
                let parent = Some(context.span);
                (TraceContext { span, ..context }, parent)
            }
            None => {
                let trace = traces.trace_id();
                let context = TraceContext {
                    trace,
                    span,
                    sampled: true,
                    state: None,
                };
                (context, None)
            }
        };
        Self {
            turn,
            context,
            parent,
            items: BTreeMap::new(),
            callbacks: BTreeMap::new(),
        }
    }

    pub fn turn(&self) -> TurnId {
        self.turn
    }

    /// Returns the context of the turn's span. The span of a turn whose client does not record its trace does not exist, so
    /// the agent receives the client's own.
    pub fn context(&self) -> TraceContext {
        let span = self.parent.filter(|_| !self.context.sampled);
        TraceContext {
            span: span.unwrap_or(self.context.span),
            ..self.context.clone()
        }
    }

    pub fn item_started(
        &mut self,
        traces: &Arc<dyn Traces>,
        item: ItemId,
        parent: Option<ItemId>,
        word: &'static str,
        at: Millis,
    ) {
        let parent = parent.and_then(|parent| self.span_of(parent));
        if self.items.len() < OPEN && self.context.sampled {
            let id = traces.span_id();
            let open = Open {
                began: at,
                id,
                word,
                parent,
            };
            self.items.insert(item, open);
        }
    }

    pub fn span_of(&self, item: ItemId) -> Option<[u8; 8]> {
        Some(self.items.get(&item)?.id)
    }

    pub fn end_item(&mut self, item: ItemId) -> Option<Open> {
        self.items.remove(&item)
    }

    pub fn callback_began(&mut self, traces: &Arc<dyn Traces>, call: u64, word: &'static str, at: Millis) {
        if self.callbacks.len() < OPEN && self.context.sampled {
            let open = Open {
                began: at,
                id: traces.span_id(),
                word,
                parent: None,
            };
            self.callbacks.insert(call, open);
        }
    }

    pub fn end_callback(&mut self, call: u64) -> Option<Open> {
        self.callbacks.remove(&call)
    }

    /// Records a span below `parent`, or else below the turn.
    pub fn record(
        &self,
        scene: Scene<'_>,
        (name, id): (SpanName, [u8; 8]),
        parent: Option<[u8; 8]>,
        times: (Millis, Millis),
        failed: bool,
        attributes: Vec<Attribute>,
    ) {
        let parent = Some(parent.unwrap_or(self.context.span));
        let turn = Some(self.turn);
        self.send(scene, turn, (name, id, parent), times, failed, attributes);
    }

    /// Records the span of the turn.
    pub fn record_root(
        &self,
        scene: Scene<'_>,
        times: (Millis, Millis),
        failed: bool,
        attributes: Vec<Attribute>,
    ) {
        let span = (SpanName::Turn, self.context.span, self.parent);
        self.send(scene, Some(self.turn), span, times, failed, attributes);
    }

    fn send(
        &self,
        scene: Scene<'_>,
        turn: Option<TurnId>,
        (name, id, parent): (SpanName, [u8; 8], Option<[u8; 8]>),
        (began, ended): (Millis, Millis),
        failed: bool,
        mut attributes: Vec<Attribute>,
    ) {
        let Some(traces) = scene.traces.filter(|_| self.context.sampled) else {
            return;
        };
        attributes.push(("acpd.thread.id", Value::Name(scene.thread.to_string().into())));
        attributes.extend(turn.map(|turn| ("acpd.turn.id", Value::Name(turn.to_string().into()))));
        attributes.push(("gen_ai.agent.name", Value::Name(scene.agent.into())));
        traces.record(Span {
            name,
            trace: self.context.trace,
            id,
            parent,
            has_remote_parent: name == SpanName::Turn && parent.is_some(),
            state: self.context.state.clone(),
            began,
            // The host's clock may have been set back in between.
            ended: ended.max(began),
            failed,
            attributes,
        });
    }
}

/// Records a span that belongs to no turn, in a trace of its own.
pub(super) fn record_alone(
    scene: Scene<'_>,
    traces: &Arc<dyn Traces>,
    name: SpanName,
    times: (Millis, Millis),
    failed: bool,
    attributes: Vec<Attribute>,
) {
    let trace = Trace::begin(traces, TurnId(0), None);
    let span = (name, trace.context.span, None);
    trace.send(scene, None, span, times, failed, attributes);
}
