//! Pages of a thread's turns. acpd cuts a page where it has enough bytes, even within a turn; Codex's pages consist of
//! whole turns.

use acpd_model::{Failure, ThreadId, TurnId, TurnPosition};

use super::params::{Pages, cursor};
use super::turn::{ItemsView, is_shown, items_of, write_history};
use crate::projection::{Turn, TurnsPage};
use crate::surface::contract::{DaemonRequest, request};
use crate::surface::reply::ThreadView;
use crate::surface::request::{Extent, Turns};
use crate::wire::Object;

/// Turns on a page, if the client does not say how many.
const TURNS: usize = 20;
/// Turns on a page, at most.
const MOST_TURNS: usize = 200;

/// Returns the turns of a whole thread.
pub(super) fn whole() -> Turns {
    Turns {
        before: None,
        limit: Some(MOST_TURNS),
        extent: Extent::WholeThread,
    }
}

/// Returns the request for a whole thread.
pub(super) fn read_whole(thread: ThreadId) -> DaemonRequest<Box<ThreadView>> {
    read(thread, whole())
}

fn read(thread: ThreadId, turns: Turns) -> DaemonRequest<Box<ThreadView>> {
    let turns = Some(turns);
    request!(ReadThread { thread, turns })
}

/// Returns the request for at most `limit` turns.
fn read_page(thread: ThreadId, before: Option<TurnPosition>, limit: usize) -> DaemonRequest<Box<ThreadView>> {
    let turns = Turns {
        before,
        limit: Some(limit),
        extent: Extent::WholeTurns,
    };
    read(thread, turns)
}

/// What a client wants of a thread's history.
#[derive(Debug)]
pub(super) struct Page {
    thread: ThreadId,
    /// The turn whose items are wanted; all turns if absent.
    turn: Option<TurnId>,
    /// Whether items are listed, or turns.
    items: bool,
    ascending: bool,
    view: ItemsView,
    limit: usize,
    /// The turn or the item after which an ascending page begins.
    after: u32,
    /// The item before which a descending page of a turn's items begins.
    before: Option<u32>,
}

impl Page {
    /// Reads a request for turns, or for `items`. Returns the request to make.
    pub fn read(params: &Pages, items: bool) -> Result<(Self, DaemonRequest<Box<ThreadView>>), Failure> {
        let ascending = match params.sort_direction.as_deref() {
            Some(word) => word == "asc",
            None => items,
        };
        let limit = params.limit.unwrap_or(TURNS).clamp(1, MOST_TURNS);
        let thread = params.thread_id;
        let turn = params.turn_id.filter(|_| items);
        let mut page = Self {
            thread,
            turn: turn.map(|turn| turn.of(thread)).transpose()?,
            items,
            ascending,
            view: if items {
                ItemsView::Full
            } else {
                ItemsView::read(params.items_view.as_deref())
            },
            limit,
            after: 0,
            before: None,
        };
        if let Some(turn) = page.turn {
            let anchor = params.cursor.as_ref().and_then(|cursor| cursor.get("itemId"));
            let place = match anchor.and_then(|item| item.as_str()) {
                Some(item) => item.strip_prefix("item_").and_then(|item| item.parse().ok()),
                None => cursor::<u32>(params.cursor.as_ref())?,
            };
            match (ascending, place) {
                (true, place) => page.after = place.unwrap_or_default(),
                (false, place) => page.before = place,
            }
            page.limit = params.limit.unwrap_or(usize::MAX).max(1);
            let request = read_page(thread, Some(after_turn(turn.0)), 1);
            return Ok((page, request));
        }
        let before = if ascending {
            page.after = cursor::<u32>(params.cursor.as_ref())?.unwrap_or_default();
            let most = u32::try_from(limit).unwrap_or(u32::MAX);
            Some(after_turn(page.after.saturating_add(most)))
        } else {
            cursor::<TurnPosition>(params.cursor.as_ref())?
        };
        Ok((page, read_page(thread, before, limit)))
    }

    /// Writes the result: `last_turn` is the number of the thread's last turn.
    pub fn write(&self, out: &mut Vec<u8>, read: &TurnsPage, last_turn: u32, cwd: &str) {
        let number = |turn: &Turn| turn.id.map_or(0, |id| id.0);
        let mut turns: Vec<&Turn> = read
            .turns
            .iter()
            .filter(|turn| is_shown(turn))
            .filter(|turn| match self.turn {
                Some(wanted) => turn.id == Some(wanted),
                None => !self.ascending || self.after == 0 || number(turn) > self.after,
            })
            .collect();
        if !self.ascending {
            turns.reverse();
        }
        let mut next = match (self.turn, self.ascending) {
            (Some(_), _) => None,
            (None, false) => read.older.map(|older| older.to_string()),
            (None, true) => {
                let most = u32::try_from(self.limit).unwrap_or(u32::MAX);
                let end = self.after.saturating_add(most);
                (end < last_turn).then(|| end.to_string())
            }
        };
        let mut result = Object::open(out);
        result.with("data", |out| {
            out.push(b'[');
            let start = out.len();
            for turn in turns {
                if self.items {
                    next = self.write_items(out, start, turn, cwd).or(next.take());
                } else {
                    separate(out, start);
                    write_history(out, self.thread, turn, cwd, self.view);
                }
            }
            out.push(b']');
        });
        result.put("nextCursor", &next).raw("backwardsCursor", "null");
        result.close();
    }

    /// Writes the items of a turn. Returns the cursor of the next page of this turn.
    fn write_items(&self, out: &mut Vec<u8>, start: usize, turn: &Turn, cwd: &str) -> Option<String> {
        let thread = self.thread;
        let mut items = items_of(thread, turn, cwd, ItemsView::Full);
        if self.turn.is_some() {
            items.retain(|(id, _)| match self.before {
                Some(before) => id.0 < before,
                None => id.0 > self.after,
            });
        }
        if !self.ascending {
            items.reverse();
        }
        let is_cut = self.turn.is_some() && items.len() > self.limit;
        if is_cut {
            items.truncate(self.limit);
        }
        for (_, item) in &items {
            separate(out, start);
            let mut entry = Object::open(out);
            super::write::put_turn(&mut entry, thread, turn.id);
            entry.with("item", |out| out.extend_from_slice(item));
            entry.raw("startedAtMs", "null").raw("completedAtMs", "null");
            entry.close();
        }
        let last = items.last().filter(|_| is_cut)?;
        Some(last.0.0.to_string())
    }
}

fn separate(out: &mut Vec<u8>, start: usize) {
    if out.len() > start {
        out.push(b',');
    }
}

/// Returns the position after a turn.
fn after_turn(turn: u32) -> TurnPosition {
    TurnPosition {
        turn: turn.saturating_add(1),
        item: None,
    }
}

/// Returns the request for the turn before `turn`.
pub(super) fn read_before(thread: ThreadId, turn: TurnId) -> DaemonRequest<Box<ThreadView>> {
    let before = TurnPosition {
        turn: turn.0,
        item: None,
    };
    let turns = Turns {
        before: Some(before),
        limit: Some(1),
        ..Turns::default()
    };
    read(thread, turns)
}
