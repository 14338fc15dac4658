//! Cursors of the agent's session: the positions at which it forks its session.
//!
//! In: the starts of items, the agent's ids of prompts, and cursors as the agent announces them. Out: the place of an anchor, and the
//! cursor at the end of a turn. Owns: the first and the last message or tool call of each turn, and one cursor for each end of a turn.
//! Never: places a cursor by an id that the agent uses more than once, or keeps one within a turn, where no thread is forked.

use std::collections::BTreeMap;

use acpd_model::event::{CursorPlace, CursorSide};
use acpd_model::{BlobId, ItemId, ItemStart, MessageType, TurnId};
use serde::{Deserialize, Serialize};

use super::dropped_turns::DroppedTurns;
use super::used_ids::named;

/// Turns at whose ends cursors can be placed. The oldest are removed first.
const TURNS: usize = 1024;

/// Bytes of the ids of cursors. The cursors of the oldest turns are removed first.
const CURSOR_BYTES: usize = 64 << 10;

/// What the agent and its clients know by an id of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named<'a> {
    /// What has the id: a thought and an answer may share one.
    pub kind: &'static str,
    /// The id.
    pub id: &'a str,
}

impl Named<'_> {
    /// Returns a digest of the id, so that ids of any length take the same room. Snapshots have it, so it must stay the same.
    fn digest(self) -> u64 {
        let BlobId(hash) = BlobId::of(format!("{} {}", self.kind, self.id).as_bytes());
        u64::from_le_bytes(std::array::from_fn(|at| hash[at]))
    }
}

/// The first or the last message or tool call of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct End {
    item: ItemId,
    /// The digest of the agent's id; `None` without one, and if the agent uses it more than once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
}

/// The messages and tool calls of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Ends {
    first: End,
    last: End,
    /// Whether the turn begins with a prompt, of which only the agent has an id.
    prompted: bool,
}

impl Ends {
    fn forget(&mut self, id: u64) -> bool {
        let mut found = false;
        for end in [&mut self.first, &mut self.last] {
            if end.id == Some(id) {
                (end.id, found) = (None, true);
            }
        }
        found
    }
}

/// A cursor at the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Cursor {
    id: String,
    /// Whether the agent forks its session here.
    forks: bool,
}

/// The cursors of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cursors {
    /// The turns of the agent's session that have messages or tool calls, by number.
    turns: BTreeMap<u32, Ends>,
    /// The cursors, each by the last turn before it.
    placed: BTreeMap<u32, Cursor>,
}

impl Cursors {
    /// Returns the id of the cursor after `turn`, if the agent forks its session there.
    pub fn fork_after(&self, turn: TurnId) -> Option<&str> {
        let cursor = self.placed.get(&turn.0).filter(|cursor| cursor.forks)?;
        Some(&cursor.id)
    }

    /// Returns whether the agent forks its session at this cursor.
    pub fn forks_at(&self, id: &str) -> bool {
        self.placed.values().any(|cursor| cursor.forks && cursor.id == id)
    }

    /// Returns the place next to what the agent knows by this id. Only the first and the last of a turn have one.
    pub fn place(&self, anchor: Named<'_>, side: CursorSide) -> Option<CursorPlace> {
        let id = Some(anchor.digest());
        let place = |turn: u32, end: End| CursorPlace {
            turn: TurnId(turn),
            item: end.item,
            side,
        };
        self.turns.iter().rev().find_map(|(&turn, ends)| {
            let mut both = [ends.last, ends.first].into_iter();
            both.find(|end| end.id == id).map(|end| place(turn, end))
        })
    }

    /// Adds an item of a turn. A cursor that was at the end of the turn is within it now, unless the item is the rest of the last message.
    pub(super) fn item_started(&mut self, turn: TurnId, item: ItemId, start: &ItemStart) {
        let is_prompt = match start {
            ItemStart::Message { role, message_id, .. } => {
                *role == MessageType::UserMessage && message_id.is_none()
            }
            ItemStart::ToolCall { .. } => false,
            // The agent has none of these.
            ItemStart::FileChange { .. } | ItemStart::TerminalCommand { .. } => return,
        };
        let named = named(start).map(|(kind, id)| Named { kind, id }.digest());
        let last = self.turns.get(&turn.0).map(|ends| ends.last);
        // A long message is several items.
        let continues = named.is_some() && last.is_some_and(|last| last.id == named);
        if !continues {
            self.placed.remove(&turn.0);
        }
        let id = named.filter(|id| continues || !self.forget_used(*id));
        let end = End { item, id };
        self.turns
            .entry(turn.0)
            .and_modify(|ends| ends.last = end)
            .or_insert(Ends {
                first: end,
                last: end,
                prompted: is_prompt,
            });
        while self.turns.len() > TURNS
            && let Some((oldest, _)) = self.turns.pop_first()
        {
            self.placed.remove(&oldest);
        }
    }

    /// Records the agent's id of the prompt of `turn`. What the agent repeats later in the turn may be another message.
    pub(super) fn prompt_named(&mut self, turn: TurnId, id: &str) {
        let known = self.turns.get(&turn.0).copied();
        let is_prompt = |ends: &Ends| ends.prompted && ends.first.id.is_none() && ends.first == ends.last;
        let id = Named { kind: "user", id }.digest();
        if known.as_ref().is_some_and(is_prompt)
            && !self.forget_used(id)
            && let Some(ends) = self.turns.get_mut(&turn.0)
        {
            (ends.first.id, ends.last.id) = (Some(id), Some(id));
        }
    }

    /// Returns whether an id is used already. It names nothing from now on.
    fn forget_used(&mut self, id: u64) -> bool {
        let mut found = false;
        for ends in self.turns.values_mut() {
            found |= ends.forget(id);
        }
        found
    }

    /// Applies an announcement of the agent. An agent must not move a cursor: the cursor cannot be trusted then.
    pub(super) fn announced(&mut self, id: &str, place: Option<CursorPlace>, forks: Option<bool>) {
        let mut placed = self.placed.iter();
        let known = placed.find_map(|(&turn, cursor)| (cursor.id == id).then_some(turn));
        let turn = place.map(|place| self.turn_before(place));
        match (known, turn) {
            (Some(known), Some(turn)) if turn != Some(known) => {
                self.placed.remove(&known);
            }
            (Some(known), _) => {
                if let (Some(cursor), Some(forks)) = (self.placed.get_mut(&known), forks) {
                    cursor.forks = forks;
                }
            }
            (None, Some(Some(turn))) => self.put(turn, id, forks.unwrap_or(false)),
            (None, _) => {}
        }
    }

    fn put(&mut self, turn: u32, id: &str, forks: bool) {
        if self.placed.get(&turn).is_some_and(|known| known.forks && !forks) {
            return;
        }
        let id = id.to_owned();
        self.placed.insert(turn, Cursor { id, forks });
        let bytes = |cursor: &Cursor| cursor.id.len();
        let mut total: usize = self.placed.values().map(bytes).sum();
        while total > CURSOR_BYTES
            && let Some((_, oldest)) = self.placed.pop_first()
        {
            total -= bytes(&oldest);
        }
    }

    /// Returns the turn that ends at a place; `None` for a place within a turn, or before the first turn of the session.
    fn turn_before(&self, place: CursorPlace) -> Option<u32> {
        let CursorPlace {
            turn: TurnId(turn),
            item,
            side,
        } = place;
        let ends = self.turns.get(&turn)?;
        match side {
            CursorSide::After => (ends.last.item == item).then_some(turn),
            CursorSide::Before if ends.first.item == item => {
                let (&before, _) = self.turns.range(..turn).next_back()?;
                Some(before)
            }
            CursorSide::Before => None,
        }
    }

    /// Removes the cursors, because the session is another one. Its turns are those that are kept.
    pub(super) fn let_go(&mut self, dropped: &DroppedTurns) {
        self.placed.clear();
        self.turns.retain(|turn, _| !dropped.contains(TurnId(*turn)));
    }

    /// Removes the turns before `running`, because a new session has none of them.
    pub(super) fn session_began(&mut self, running: Option<TurnId>) {
        self.placed.clear();
        self.turns.retain(|turn, _| running == Some(TurnId(*turn)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(id: &str) -> ItemStart {
        ItemStart::Message {
            role: MessageType::AgentMessage,
            message_id: Some(id.to_owned()),
            client_message_id: None,
        }
    }

    fn prompt() -> ItemStart {
        ItemStart::Message {
            role: MessageType::UserMessage,
            message_id: None,
            client_message_id: None,
        }
    }

    /// Adds a turn with a prompt and answers with these ids.
    fn turn(cursors: &mut Cursors, number: u32, ids: &[&str]) {
        cursors.item_started(TurnId(number), ItemId(number * 100), &prompt());
        for (at, id) in (1..).zip(ids) {
            cursors.item_started(TurnId(number), ItemId(number * 100 + at), &answer(id));
        }
    }

    fn announce(cursors: &mut Cursors, id: &str, kind: &'static str, anchor: &str, side: CursorSide) {
        let place = cursors.place(Named { kind, id: anchor }, side);
        cursors.announced(id, place, Some(true));
    }

    #[test]
    fn a_cursor_is_at_the_end_of_a_turn_or_nowhere() {
        let mut cursors = Cursors::default();
        turn(&mut cursors, 1, &["m-1", "m-2"]);
        announce(&mut cursors, "middle", "agent", "m-1", CursorSide::After);
        announce(&mut cursors, "thought", "thought", "m-2", CursorSide::After);
        announce(&mut cursors, "never", "agent", "m-9", CursorSide::After);
        assert_eq!(cursors.fork_after(TurnId(1)), None);
        announce(&mut cursors, "c-1", "agent", "m-2", CursorSide::After);
        assert_eq!(cursors.fork_after(TurnId(1)), Some("c-1"));
        // The rest of its last message may come after the cursor.
        cursors.item_started(TurnId(1), ItemId(180), &answer("m-2"));
        assert_eq!(cursors.fork_after(TurnId(1)), Some("c-1"));
        // The turn continues behind the cursor.
        cursors.item_started(TurnId(1), ItemId(190), &answer("m-3"));
        assert_eq!(cursors.fork_after(TurnId(1)), None);
        turn(&mut cursors, 2, &["m-4"]);
        announce(&mut cursors, "first", "agent", "m-4", CursorSide::Before);
        assert_eq!(cursors.fork_after(TurnId(1)), None, "the prompt is before it");
    }

    #[test]
    fn a_cursor_before_a_prompt_is_at_the_end_of_the_turn_before() {
        let mut cursors = Cursors::default();
        turn(&mut cursors, 1, &["m-1"]);
        cursors.item_started(TurnId(2), ItemId(200), &prompt());
        cursors.prompt_named(TurnId(2), "u-2");
        cursors.prompt_named(TurnId(2), "u-3");
        announce(&mut cursors, "c-1", "user", "u-2", CursorSide::Before);
        announce(&mut cursors, "c-2", "user", "u-3", CursorSide::Before);
        assert_eq!(cursors.fork_after(TurnId(1)), Some("c-1"));
        // Nothing of a session is before its first turn.
        cursors.session_began(Some(TurnId(2)));
        announce(&mut cursors, "c-3", "user", "u-2", CursorSide::Before);
        assert_eq!(cursors.fork_after(TurnId(1)), None);
    }

    #[test]
    fn an_id_that_is_used_again_names_nothing() {
        let mut cursors = Cursors::default();
        turn(&mut cursors, 1, &["m-1"]);
        announce(&mut cursors, "c-1", "agent", "m-1", CursorSide::After);
        turn(&mut cursors, 2, &["m-1"]);
        announce(&mut cursors, "c-2", "agent", "m-1", CursorSide::After);
        let after = |turn| cursors.fork_after(TurnId(turn));
        assert_eq!((after(1), after(2)), (Some("c-1"), None));
        // The next part of a long message is the same message.
        cursors.item_started(TurnId(3), ItemId(300), &answer("long"));
        cursors.item_started(TurnId(3), ItemId(301), &answer("long"));
        announce(&mut cursors, "c-3", "agent", "long", CursorSide::After);
        assert_eq!(cursors.fork_after(TurnId(3)), Some("c-3"));
    }

    #[test]
    fn a_cursor_that_moves_is_not_used() {
        let mut cursors = Cursors::default();
        turn(&mut cursors, 1, &["m-1"]);
        turn(&mut cursors, 2, &["m-2"]);
        announce(&mut cursors, "c", "agent", "m-1", CursorSide::After);
        announce(&mut cursors, "c", "agent", "m-1", CursorSide::After);
        assert_eq!(cursors.fork_after(TurnId(1)), Some("c"));
        announce(&mut cursors, "c", "agent", "m-2", CursorSide::After);
        let after = |turn| cursors.fork_after(TurnId(turn));
        assert_eq!((after(1), after(2)), (None, None));
    }

    #[test]
    fn the_use_of_a_cursor_changes() {
        let mut cursors = Cursors::default();
        turn(&mut cursors, 1, &["m-1"]);
        let place = cursors.place(
            Named {
                kind: "agent",
                id: "m-1",
            },
            CursorSide::After,
        );
        cursors.announced("c", place, None);
        assert_eq!(cursors.fork_after(TurnId(1)), None);
        cursors.announced("c", None, Some(true));
        cursors.announced("c", None, None);
        cursors.announced("other", None, Some(false));
        assert!(cursors.fork_after(TurnId(1)).is_some() && cursors.forks_at("c"));
        // Another one at the same place that forks nothing does not replace it.
        cursors.announced("other", place, None);
        assert_eq!(cursors.fork_after(TurnId(1)), Some("c"));
        cursors.announced("c", None, Some(false));
        assert!(cursors.fork_after(TurnId(1)).is_none() && !cursors.forks_at("c"));
    }

    #[test]
    fn only_so_many_are_kept() {
        let mut cursors = Cursors::default();
        let long = "x".repeat(1 << 10);
        for number in 1..=2_000 {
            turn(&mut cursors, number, &[&format!("m-{number}")]);
            let id = format!("{number} {long}");
            announce(
                &mut cursors,
                &id,
                "agent",
                &format!("m-{number}"),
                CursorSide::After,
            );
        }
        assert_eq!(cursors.turns.len(), TURNS);
        assert!(cursors.placed.len() <= 64, "{}", cursors.placed.len());
        assert!(cursors.fork_after(TurnId(2_000)).is_some());
        let stored = serde_json::to_string(&cursors).unwrap();
        assert!(stored.len() < 256 << 10, "{}", stored.len());
        assert_eq!(serde_json::from_str::<Cursors>(&stored).unwrap(), cursors);
    }
}
