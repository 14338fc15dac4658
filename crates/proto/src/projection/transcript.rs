//! Turns and items for readers.

use std::collections::BTreeMap;

use acpd_model::event::TurnStatus;
use acpd_model::{Event, EventKind, ItemEnd, ItemId, ItemOutcome, ItemStart, Millis, RawJson, Seq, TurnId};

use super::item::ItemView;
use super::tool::ToolView;

/// A thread's turns and items at some event, without the turns that were dropped by then.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transcript {
    /// Number of the last folded event.
    pub last_seq: Seq,
    /// The turns, in the order of their prompts.
    pub turns: Vec<Turn>,
    /// Positions of the unfinished items: the turn's index and the item's index in it.
    open: BTreeMap<ItemId, (usize, usize)>,
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
    /// The result of the turn, once it has ended.
    pub settled: Option<Settled>,
    /// The items of the turn, in order.
    pub items: Vec<Item>,
}

/// The result of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
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
}

/// One item.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Id of the item.
    pub id: ItemId,
    /// The tool call that the item belongs to.
    pub parent: Option<ItemId>,
    /// The item as it started.
    pub start: ItemStart,
    /// The content so far, while the item is unfinished.
    pub view: Option<ItemView>,
    /// The outcome and final content, once the item has ended.
    pub end: Option<(ItemOutcome, ItemEnd)>,
}

impl Item {
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
#[derive(Debug, Clone, PartialEq)]
pub struct TurnsPage {
    /// The turns on this page.
    pub turns: Vec<Turn>,
    /// The `before` of the next page; `None` if there are no older turns.
    pub older: Option<usize>,
}

impl Transcript {
    /// Returns up to `limit` turns before the one at `before`, or the latest.
    pub fn into_page(mut self, before: Option<usize>, limit: usize) -> TurnsPage {
        self.turns.truncate(before.unwrap_or(usize::MAX));
        let start = self.turns.len().saturating_sub(limit);
        TurnsPage {
            turns: self.turns.split_off(start),
            older: (start > 0).then_some(start),
        }
    }

    /// Applies the next event.
    pub fn fold(&mut self, event: &Event) {
        self.last_seq = event.seq;
        match &event.kind {
            EventKind::TurnQueued { client_turn_id, .. } => {
                self.turn(event.turn).client_turn_id.clone_from(client_turn_id)
            }
            EventKind::TurnStarted {
                client_turn_id,
                imported,
            } => {
                let turn = self.turn(event.turn);
                turn.imported = *imported;
                turn.client_turn_id.clone_from(client_turn_id);
                turn.started_at = Some(event.at);
            }
            EventKind::TurnSettled {
                status,
                stop_reason,
                error,
                usage,
                ..
            } => {
                self.turn(event.turn).settled = Some(Settled {
                    status: *status,
                    stop_reason: stop_reason.clone(),
                    error: error.clone(),
                    at: event.at,
                    usage: usage.clone(),
                });
            }
            EventKind::TurnsRolledBack { last_kept, .. } => self.roll_back(*last_kept),
            EventKind::ItemStarted { item, parent, start } => {
                let view = Some(ItemView::new(start, event.raw.as_ref()));
                let started = Item {
                    id: *item,
                    parent: *parent,
                    start: start.clone(),
                    view,
                    end: None,
                };
                let at = self.turn_index(event.turn);
                self.open.insert(*item, (at, self.turns[at].items.len()));
                self.turns[at].items.push(started);
            }
            EventKind::ItemCompleted { item, outcome, end } => {
                if let Some((turn, at)) = self.open.remove(item) {
                    let done = &mut self.turns[turn].items[at];
                    done.view = None;
                    done.end = Some((*outcome, end.clone()));
                }
            }
            EventKind::ItemDelta { item, .. }
            | EventKind::ItemContent { item, .. }
            | EventKind::ItemUpdated { item, .. }
            | EventKind::UserMessageAdded { item, .. }
            | EventKind::TerminalOutput { item, .. } => match self.open.get(item) {
                Some((turn, at)) => {
                    if let Some(view) = &mut self.turns[*turn].items[*at].view {
                        view.apply(&event.kind, event.raw.as_ref());
                    }
                }
                None => self.apply_late(*item, event),
            },
            _ => {}
        }
    }

    fn roll_back(&mut self, last_kept: Option<TurnId>) {
        // Events before the first turn are not dropped.
        self.turns
            .retain(|turn| turn.id.is_none() || turn.id <= last_kept);
        self.open.retain(|_, (turn, _)| *turn < self.turns.len());
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
            None => self.turns.len().checked_sub(1),
        };
        found.unwrap_or_else(|| {
            self.turns.push(Turn {
                id,
                client_turn_id: None,
                imported: false,
                started_at: None,
                settled: None,
                items: Vec::new(),
            });
            self.turns.len() - 1
        })
    }
}
