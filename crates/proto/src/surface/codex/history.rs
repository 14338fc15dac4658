//! Pages of a thread's turns. acpd cuts a page where it has enough bytes, even within a turn; Codex's pages consist of
//! whole turns.

use acpd_model::{Failure, ThreadId, TurnId, TurnPosition};

use super::params::{Pages, cursor};
use super::turn::{ItemsView, is_shown, items_of, write_history};
use crate::projection::{Turn, TurnsPage};
use crate::surface::request::{Request, Turns};
use crate::wire::Object;

/// Pages that are read for one response, at most. What is older is left out: clients can request it.
const PAGES: usize = 16;

/// Turns on a page, if the client does not say how many.
const TURNS: usize = 20;
/// Turns on a page, at most.
const MOST_TURNS: usize = 200;

/// Turns that are being read, the newest first.
#[derive(Debug)]
pub(super) struct Gathering {
    thread: ThreadId,
    /// Whether to read up to the beginning of the thread.
    whole: bool,
    limit: usize,
    /// The turns so far, oldest first.
    pub turns: Vec<Turn>,
    /// Where older turns begin.
    pub older: Option<TurnPosition>,
    pages: usize,
    /// Whether it counts as a [long read](LONG_READS).
    pub is_long: bool,
}

/// Responses of more than one page that are read for a connection at once, at most. A page has up to a mebibyte.
pub(super) const LONG_READS: usize = 4;

impl Gathering {
    /// Prepares to read the whole thread.
    pub fn whole(thread: ThreadId) -> Self {
        Self {
            whole: true,
            ..Self::page(thread, MOST_TURNS)
        }
    }

    /// Prepares to read a page of at most `limit` turns.
    pub fn page(thread: ThreadId, limit: usize) -> Self {
        Self {
            thread,
            whole: false,
            limit,
            turns: Vec::new(),
            older: None,
            pages: 0,
            is_long: false,
        }
    }

    /// Returns the first page to read.
    pub fn first(&self, before: Option<TurnPosition>) -> Turns {
        Turns {
            before,
            limit: Some(self.limit),
        }
    }

    /// Returns the request for the first page.
    pub fn request(&self, before: Option<TurnPosition>) -> Request {
        Request::ReadThread {
            thread: self.thread,
            turns: Some(self.first(before)),
        }
    }

    /// Adds a page. Returns the request for the next one, if it is needed.
    pub fn add(&mut self, page: TurnsPage) -> Option<Request> {
        let TurnsPage { mut turns, older } = page;
        // The rest of a turn that the page before has cut.
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
        self.pages += 1;
        let is_cut = older.is_some_and(|older| older.item.is_some());
        let goes_on = older.filter(|_| (self.whole || is_cut) && self.pages < PAGES)?;
        Some(self.request(Some(goes_on)))
    }
}

/// What a client wants of a thread's history.
#[derive(Debug)]
pub(super) struct Page {
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
    /// Reads a request for turns, or for `items`. Returns the first request to make.
    pub fn read(params: &Pages, items: bool) -> Result<(Self, Gathering, Request), Failure> {
        let ascending = match params.sort_direction.as_deref() {
            Some(word) => word == "asc",
            None => items,
        };
        let limit = params.limit.unwrap_or(TURNS).clamp(1, MOST_TURNS);
        let thread = params.thread_id;
        let turn = params.turn_id.filter(|_| items);
        let mut page = Self {
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
            let gathering = Gathering::page(thread, 1);
            let request = gathering.request(Some(after_turn(turn.0)));
            return Ok((page, gathering, request));
        }
        let gathering = Gathering::page(thread, limit);
        let before = if ascending {
            page.after = cursor::<u32>(params.cursor.as_ref())?.unwrap_or_default();
            let most = u32::try_from(limit).unwrap_or(u32::MAX);
            Some(after_turn(page.after.saturating_add(most)))
        } else {
            cursor::<TurnPosition>(params.cursor.as_ref())?
        };
        let request = gathering.request(before);
        Ok((page, gathering, request))
    }

    /// Writes the result: `last_turn` is the number of the thread's last turn.
    pub fn write(&self, out: &mut Vec<u8>, gathered: &Gathering, last_turn: u32, cwd: &str) {
        let number = |turn: &Turn| turn.id.map_or(0, |id| id.0);
        let mut turns: Vec<&Turn> = gathered
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
            (None, false) => gathered.older.map(|older| older.to_string()),
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
                    next = self
                        .write_items(out, start, gathered.thread, turn, cwd)
                        .or(next.take());
                } else {
                    separate(out, start);
                    write_history(out, gathered.thread, turn, cwd, self.view);
                }
            }
            out.push(b']');
        });
        result.put("nextCursor", &next).raw("backwardsCursor", "null");
        result.close();
    }

    /// Writes the items of a turn. Returns the cursor of the next page of this turn.
    fn write_items(
        &self,
        out: &mut Vec<u8>,
        start: usize,
        thread: ThreadId,
        turn: &Turn,
        cwd: &str,
    ) -> Option<String> {
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
pub(super) fn read_before(thread: ThreadId, turn: TurnId) -> Request {
    let before = TurnPosition {
        turn: turn.0,
        item: None,
    };
    Request::ReadThread {
        thread,
        turns: Some(Turns {
            before: Some(before),
            limit: Some(1),
        }),
    }
}
