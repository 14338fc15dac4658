//! Turns and items for readers.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;

use acpd_model::event::{DiffSize, TurnStatus};
use acpd_model::{
    Event, EventKind, HostEvent, ItemEnd, ItemEvent, ItemId, ItemOutcome, ItemStart, LaneId, Millis, RawJson,
    Seq, ThreadEvent, ThreadId, TurnEvent, TurnId, TurnPosition,
};

use super::Live;
use super::item::ItemView;
use super::notes::{NOTES, Note, is_note};
use super::plans::{Plan, Plans};
use super::tool::ToolView;

/// A thread's turns and items at some event, without the turns that were dropped by then.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transcript {
    /// The id of the thread, as text.
    thread: Arc<str>,
    /// Number of the last folded event.
    pub last_seq: Seq,
    /// The turns, by number.
    pub turns: Vec<Turn>,
    /// Positions of the unfinished items: the turn's index and the item's index in it.
    open: BTreeMap<ItemId, (usize, usize)>,
    /// The item that started last.
    last: LastItem,
    /// Notes before the first turn.
    early: Vec<Note>,
}

/// The item that started last.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum LastItem {
    /// No item has started.
    #[default]
    None,
    /// The item, and the index of its turn.
    Kept(ItemId, usize),
    /// The item was dropped with its turn.
    Dropped,
}

/// One turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Id of the turn; `None` for events before the first turn.
    pub id: Option<TurnId>,
    /// The client's own id for the turn.
    pub client_turn_id: Option<String>,
    /// Whether the turn took place outside of acpd.
    pub imported: bool,
    /// When the turn started; `None` while it is queued.
    pub started_at: Option<Millis>,
    /// The event that started the turn, or ended it without a start. Turns are in this order in the conversation: the user may have
    /// reordered them while they were queued, and times go back when a clock is set.
    pub place: Seq,
    /// The result of the turn, once it has ended.
    pub settled: Option<SettledTurn>,
    /// ACP content blocks of the prompt, while the turn is queued, and if it ended without a start.
    pub input: Vec<RawJson>,
    /// The items of the turn, in order.
    pub items: Vec<Item>,
    /// Events that are shown between the items and after the end of the turn, in order.
    pub notes: Vec<Note>,
    /// Number of calls that the policy allowed without a permission request.
    pub permitted: u32,
    /// Milliseconds in which a question waited for its answer; without the present wait, while the turn runs.
    pub waited_ms: u64,
    /// When the present wait began, while the turn runs.
    pub waiting_since: Option<Millis>,
    /// The plans that the agent changed in the turn, as they were at its end.
    pub plans: Plans,
}

impl Turn {
    fn is_queued(&self) -> bool {
        self.id.is_some() && self.started_at.is_none() && self.settled.is_none()
    }

    fn is_running(&self) -> bool {
        self.started_at.is_some() && self.settled.is_none()
    }
}

/// The result of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct SettledTurn {
    /// How the turn ended.
    pub status: TurnStatus,
    /// ACP's stop reason.
    pub stop_reason: Option<String>,
    /// The cause, if the turn failed.
    pub error: Option<String>,
    /// When the turn ended.
    pub at: Millis,
    /// The token usage that the agent reported.
    pub usage: Option<RawJson>,
    /// The size of the turn's diff, if it changed files.
    pub changes: Option<DiffSize>,
    /// Number of the event that last changed a plan with steps.
    pub plan: Option<Seq>,
    /// Numbers of the last events of all plans, in order; empty if `plan` is the only one.
    pub plans: Vec<Seq>,
}

impl SettledTurn {
    /// Returns the numbers of the events with the turn's plans, in the order of the plans.
    pub fn plans(&self) -> impl DoubleEndedIterator<Item = Seq> {
        let only = self.plan.filter(|_| self.plans.is_empty());
        only.into_iter().chain(self.plans.iter().copied())
    }
}

/// One item.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Id of the item.
    pub id: ItemId,
    /// The tool call that the item belongs to.
    pub parent: Option<ItemId>,
    /// The subagent that the item belongs to.
    pub lane: Option<LaneId>,
    /// When the item started; unknown in imported turns, which took place before their events.
    pub started_at: Option<Millis>,
    /// The item as it started.
    pub start: ItemStart,
    /// The content so far, while the item is unfinished.
    pub view: Option<ItemView>,
    /// The outcome and final content, once the item has ended.
    pub end: Option<(ItemOutcome, ItemEnd)>,
}

impl Item {
    /// Returns, for a running command that waits for input, whether the terminal does not show the input.
    pub fn waiting(&self) -> Option<bool> {
        match self.view {
            Some(ItemView::Terminal { waiting, .. }) if self.end.is_none() => waiting,
            _ => None,
        }
    }

    /// Returns the content, final or so far.
    pub fn content(&self) -> Option<ItemEnd> {
        match (&self.end, &self.view) {
            (Some((_, end)), _) => Some(end.clone()),
            (None, Some(view)) => Some(view.to_end()),
            (None, None) => None,
        }
    }
}

/// A page of a thread's turns, oldest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TurnsPage {
    /// The turns on this page. The items of the first one can be incomplete.
    pub turns: Vec<Turn>,
    /// Where the next older page ends; `None` if there is nothing older.
    pub older: Option<TurnPosition>,
}

impl TurnsPage {
    /// Adds the page before this one. A turn that both have a part of becomes one.
    pub fn prepend(&mut self, page: Self) {
        let Self { mut turns, older } = page;
        if let (Some(rest), Some(first)) = (turns.last(), self.turns.first_mut())
            && rest.id == first.id
            && let Some(mut rest) = turns.pop()
        {
            rest.items.append(&mut first.items);
            rest.notes.append(&mut first.notes);
            first.items = rest.items;
            first.notes = rest.notes;
            first.started_at = first.started_at.or(rest.started_at);
            first.client_turn_id = first.client_turn_id.take().or(rest.client_turn_id);
        }
        turns.append(&mut self.turns);
        self.turns = turns;
        self.older = older;
    }
}

impl Transcript {
    /// Creates the empty transcript of a thread.
    pub fn new(thread: ThreadId) -> Self {
        Self {
            thread: thread.to_string().into(),
            ..Self::default()
        }
    }

    /// Returns the turns. Notes before the first turn are in the first one, if only in one without an id.
    pub fn into_turns(mut self) -> Vec<Turn> {
        if !self.early.is_empty() && self.turns.is_empty() {
            self.insert_turn(None);
        }
        if let Some(first) = self.turns.first_mut() {
            first.notes.splice(0..0, self.early);
        }
        self.turns
    }

    /// Sets the present prompts of queued turns, and what the running turn has counted.
    pub fn add_present(&mut self, live: &Live) {
        if let Some(running) = &live.turn {
            let turn = self.turns.iter_mut().find(|turn| turn.id == Some(running.id));
            if let Some(turn) = turn {
                turn.permitted = running.permitted;
                (turn.waited_ms, turn.waiting_since) = (running.waited_ms, running.waiting_since);
            }
        }
        for queued in &live.queue {
            if let Some(turn) = self.turns.iter_mut().find(|turn| turn.id == Some(queued.id)) {
                turn.input.clone_from(&queued.input);
            }
        }
    }

    /// Adds the plans of the turns, and the plan of the running one.
    pub fn add_plans(&mut self, plans: &[Event], live: &Live) {
        let by_seq: BTreeMap<Seq, &Event> = plans.iter().map(|event| (event.seq, event)).collect();
        for turn in &mut self.turns {
            let settled = turn.settled.iter().flat_map(SettledTurn::plans);
            for event in settled.filter_map(|seq| by_seq.get(&seq)) {
                turn.plans.fold(event);
            }
        }
        let Some(running) = live.turn.as_ref().map(|turn| turn.id) else {
            return;
        };
        if let Some(turn) = self.turns.iter_mut().find(|turn| turn.id == Some(running)) {
            let plans = live.plans.of_turn(running).cloned();
            plans.for_each(|plan: Plan| turn.plans.replace(plan));
        }
    }

    /// Adds the unfinished items of these turns that are between two positions.
    pub fn add_open(&mut self, live: &Live, from: Option<TurnPosition>, before: Option<TurnPosition>) {
        for (id, open) in live.items.iter() {
            let turn = open.turn.map_or(0, |turn| turn.0);
            let is_before = |position: TurnPosition| match position.item {
                Some(end) => turn < position.turn || turn == position.turn && *id < end,
                None => turn < position.turn,
            };
            if from.is_some_and(is_before) || before.is_some_and(|before| !is_before(before)) {
                continue;
            }
            let turn = match open.turn {
                Some(_) => self.turns.iter_mut().find(|turn| turn.id == open.turn),
                None => {
                    let known = self.turns.iter().position(|turn| turn.id.is_none());
                    let at = known.unwrap_or_else(|| self.insert_turn(None));
                    self.turns.get_mut(at)
                }
            };
            let Some(turn) = turn else { continue };
            let item = Item {
                id: *id,
                parent: open.parent,
                lane: open.lane,
                started_at: (!turn.imported).then_some(open.started_at),
                start: open.start.clone(),
                view: Some(open.view.clone()),
                end: None,
            };
            let at = turn.items.partition_point(|item| item.id < *id);
            turn.items.insert(at, item);
        }
    }

    /// Returns whether the transcript has an unfinished item that [`add_open`](Self::add_open) has added.
    pub fn has_open(&self, item: ItemId) -> bool {
        let mut items = self.turns.iter().rev().flat_map(|turn| &turn.items);
        items.any(|known| known.id == item)
    }

    /// Adds notes after an unfinished item that [`add_open`](Self::add_open) has added.
    pub fn add_notes(&mut self, item: ItemId, events: impl IntoIterator<Item = Event>) {
        let has = |turn: &&mut Turn| turn.items.iter().any(|known| known.id == item);
        if let Some(turn) = self.turns.iter_mut().rev().find(has) {
            turn.notes.extend(events.into_iter().map(|event| Note {
                thread: Arc::clone(&self.thread),
                after: Some(item),
                after_turn: false,
                event,
            }));
            turn.notes.sort_by_key(|note| note.event.seq);
        }
    }

    fn note(&mut self, event: &Event) {
        if !is_note(event) {
            return;
        }
        let runs = self.turns.iter().rev().any(Turn::is_running);
        let is_shown = |turn: &Turn| turn.id.is_some() && !turn.is_queued();
        let shown = self.turns.iter().enumerate().filter(|(_, turn)| is_shown(turn));
        let last = shown.max_by_key(|(_, turn)| turn.place).map(|(at, _)| at);
        let (after, turn) = match (self.last, last) {
            (LastItem::Kept(item, turn), _) if runs => (Some(item), Some(turn)),
            (_, last) => (None, last),
        };
        let after_turn = after.is_none() && turn.is_some();
        let notes = match turn.and_then(|turn| self.turns.get_mut(turn)) {
            Some(turn) => &mut turn.notes,
            None => &mut self.early,
        };
        if notes
            .iter()
            .rev()
            .take_while(|note| note.is_at(after, after_turn))
            .count()
            < NOTES
        {
            notes.push(Note {
                thread: Arc::clone(&self.thread),
                after,
                after_turn,
                event: event.clone(),
            });
        }
    }

    /// Applies the next event.
    pub fn fold(&mut self, event: &Event) {
        self.last_seq = event.seq;
        self.note(event);
        match &event.kind {
            EventKind::Turn(TurnEvent::Queued {
                client_turn_id,
                input,
                ..
            }) => {
                let turn = self.turn(event.turn);
                turn.client_turn_id.clone_from(client_turn_id);
                turn.input.clone_from(input);
            }
            EventKind::Turn(TurnEvent::Started {
                client_turn_id,
                imported,
            }) => {
                let turn = self.turn(event.turn);
                turn.imported = *imported;
                turn.client_turn_id.clone_from(client_turn_id);
                (turn.started_at, turn.place) = (Some(event.at), event.seq);
                turn.input.clear();
            }
            EventKind::Turn(TurnEvent::Settled {
                status,
                stop_reason,
                error,
                usage,
                changes,
                plan,
                plans,
                permitted,
                waited_ms,
                ..
            }) => {
                let turn = self.turn(event.turn);
                turn.permitted = *permitted;
                turn.waited_ms = *waited_ms;
                if turn.started_at.is_none() {
                    turn.place = event.seq;
                }
                turn.settled = Some(SettledTurn {
                    status: *status,
                    stop_reason: stop_reason.clone(),
                    error: error.clone(),
                    at: event.at,
                    usage: usage.as_deref().cloned(),
                    changes: changes.as_deref().copied(),
                    plan: plan.map(NonZeroU64::get),
                    plans: plans.as_ref().map_or_else(Vec::new, |plans| plans.0.clone()),
                });
            }
            // A subagent's plan is not the turn's.
            EventKind::Turn(TurnEvent::PlanReplaced { .. } | TurnEvent::PlanRemoved { .. }) => {
                let turn = self.turns.iter_mut().find(|turn| turn.id == event.turn);
                if let Some(turn) = turn.filter(|turn| turn.id.is_some() && event.lane.is_none()) {
                    turn.plans.fold(event);
                }
            }
            EventKind::Thread(ThreadEvent::TurnsRolledBack { last_kept, .. }) => self.roll_back(*last_kept),
            EventKind::Item(ItemEvent::Started { item, parent, start }) => {
                let view = Some(ItemView::new(start, event.raw.as_ref()));
                let at = self.turn_index(event.turn);
                let started = Item {
                    id: *item,
                    parent: *parent,
                    lane: event.lane,
                    started_at: (!self.turns[at].imported).then_some(event.at),
                    start: start.clone(),
                    view,
                    end: None,
                };
                self.last = LastItem::Kept(*item, at);
                self.open.insert(*item, (at, self.turns[at].items.len()));
                self.turns[at].items.push(started);
            }
            EventKind::Item(ItemEvent::Completed { item, outcome, end }) => {
                if let Some((turn, at)) = self.open.remove(item) {
                    let done = &mut self.turns[turn].items[at];
                    done.view = None;
                    done.end = Some((*outcome, end.clone()));
                }
            }
            EventKind::Item(
                ItemEvent::Delta { item, .. }
                | ItemEvent::Content { item, .. }
                | ItemEvent::Updated { item, .. }
                | ItemEvent::UserMessageAdded { item, .. },
            )
            | EventKind::Host(
                HostEvent::TerminalOutput { item, .. }
                | HostEvent::TerminalWaiting { item, .. }
                | HostEvent::TerminalInput { item, .. },
            ) => match self.open.get(item) {
                Some((turn, at)) => {
                    if let Some(view) = &mut self.turns[*turn].items[*at].view {
                        view.apply(&event.kind, event.raw.as_ref());
                    }
                }
                None => self.apply_late(*item, event),
            },
            EventKind::Thread(_)
            | EventKind::Session(_)
            | EventKind::Turn(
                TurnEvent::QueueChanged { .. }
                | TurnEvent::DiffUpdated { .. }
                | TurnEvent::UsageUpdated { .. }
                | TurnEvent::InterruptRequested {}
                | TurnEvent::SteerRequested { .. },
            )
            | EventKind::Host(
                HostEvent::FileRead { .. }
                | HostEvent::FileWritten { .. }
                | HostEvent::TerminalKilled { .. }
                | HostEvent::TerminalReleased { .. },
            )
            | EventKind::Request(_)
            | EventKind::Unknown => {}
        }
    }

    fn roll_back(&mut self, last_kept: Option<TurnId>) {
        // Events before the first turn are not dropped.
        self.turns
            .retain(|turn| turn.id.is_none() || turn.id <= last_kept);
        self.open.retain(|_, (turn, _)| *turn < self.turns.len());
        if matches!(self.last, LastItem::Kept(_, turn) if turn >= self.turns.len()) {
            self.last = LastItem::Dropped;
        }
    }

    /// Applies an update of a tool call that has already ended, which still changes its content.
    fn apply_late(&mut self, id: ItemId, event: &Event) {
        let item = self
            .turns
            .iter_mut()
            .rev()
            .flat_map(|turn| &mut turn.items)
            .find(|item| item.id == id);
        let Some(Item {
            end: Some((_, ItemEnd::ToolCall { call, .. })),
            ..
        }) = item
        else {
            return;
        };
        let mut tool = ToolView::default();
        tool.apply(call);
        if let Some(raw) = &event.raw {
            tool.apply(raw);
        }
        *call = tool.to_json();
    }

    fn turn(&mut self, id: Option<TurnId>) -> &mut Turn {
        let at = self.turn_index(id);
        &mut self.turns[at]
    }

    fn turn_index(&mut self, id: Option<TurnId>) -> usize {
        // Events between turns belong to the turn before them. Only before the first turn there is none.
        let found = match id {
            Some(_) => self.turns.iter().rposition(|turn| turn.id == id),
            None => self.turns.iter().rposition(|turn| !turn.is_queued()),
        };
        found.unwrap_or_else(|| self.insert_turn(id))
    }

    /// Adds a turn in its place: after the turns with lower numbers. The items before the first turn are first.
    fn insert_turn(&mut self, id: Option<TurnId>) -> usize {
        let turn = Turn {
            id,
            client_turn_id: None,
            imported: false,
            started_at: None,
            place: 0,
            settled: None,
            input: Vec::new(),
            items: Vec::new(),
            plans: Plans::default(),
            permitted: 0,
            waited_ms: 0,
            waiting_since: None,
            notes: Vec::new(),
        };
        let at = self.turns.partition_point(|turn| turn.id < id);
        let shift = |turn: &mut usize| *turn += usize::from(*turn >= at);
        self.open.values_mut().for_each(|(turn, _)| shift(turn));
        if let LastItem::Kept(_, turn) = &mut self.last {
            shift(turn);
        }
        self.turns.insert(at, turn);
        at
    }
}
