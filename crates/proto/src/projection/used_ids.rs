//! The ids that agents have given to messages and tool calls of a thread.
//!
//! In: the starts of items. Out: whether the id of an item had been used. Owns: Bloom filters, each of twice the size of the one
//! before. Never: misses a used id. It reports about one new id in a thousand as used, which then has another name for editors.

use acpd_model::{BlobId, ItemId, ItemStart, MessageType};
use serde::{Deserialize, Serialize};

/// Size of the first filter, in bits.
const BITS: usize = 1 << 15;

/// Bits of a filter for each id in it.
const BITS_PER_ID: usize = 32;

/// Maximum number of filters, for about 64,000 ids in 258 KiB. Further ids make the last one less exact.
const FILTERS: usize = 6;

/// Bits that one id sets.
const BITS_OF_ID: usize = 4;

/// The used ids of a thread; takes no memory before the first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UsedIds(Vec<Filter>);

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Filter {
    ids: usize,
    words: Vec<u64>,
}

impl Filter {
    fn bits(&self) -> usize {
        self.words.len() * 64
    }

    fn has_room(&self) -> bool {
        self.ids < self.bits() / BITS_PER_ID
    }

    fn places(&self, hashes: [usize; BITS_OF_ID]) -> [usize; BITS_OF_ID] {
        hashes.map(|hash| hash % self.bits().max(1))
    }

    fn insert(&mut self, hashes: [usize; BITS_OF_ID]) {
        self.ids += 1;
        for place in self.places(hashes) {
            if let Some(word) = self.words.get_mut(place / 64) {
                *word |= 1 << (place % 64);
            }
        }
    }

    fn contains(&self, hashes: [usize; BITS_OF_ID]) -> bool {
        self.places(hashes).into_iter().all(|place| {
            let word = self.words.get(place / 64).copied().unwrap_or_default();
            (word >> (place % 64)) & 1 == 1
        })
    }
}

impl UsedIds {
    /// Adds the id of an item, if it has one.
    pub fn insert(&mut self, start: &ItemStart) {
        let Some((kind, id)) = named(start) else {
            return;
        };
        if self.0.len() < FILTERS && !self.0.last().is_some_and(Filter::has_room) {
            let words = vec![0; (BITS << self.0.len()) / 64];
            self.0.push(Filter { ids: 0, words });
        }
        if let Some(filter) = self.0.last_mut() {
            filter.insert(hashes(kind, id));
        }
    }

    /// Returns whether the id of an item had been used. An agent's id that looks like one of the daemon's counts as used.
    pub fn contains(&self, start: &ItemStart) -> bool {
        let Some((kind, id)) = named(start) else {
            return false;
        };
        let hashes = hashes(kind, id);
        id.parse::<ItemId>().is_ok() || self.0.iter().any(|filter| filter.contains(hashes))
    }
}

/// Returns the agent's id of an item, and what has it: a thought and an answer may share one.
pub(super) fn named(start: &ItemStart) -> Option<(&'static str, &str)> {
    match start {
        ItemStart::ToolCall { tool_call_id, .. } => Some(("call", tool_call_id.as_str())),
        ItemStart::Message {
            role,
            message_id: Some(id),
            ..
        } => Some((
            match role {
                MessageType::UserMessage => "user",
                MessageType::AgentMessage => "agent",
                MessageType::AgentThought => "thought",
            },
            id.as_str(),
        )),
        ItemStart::Message { message_id: None, .. }
        | ItemStart::FileChange { .. }
        | ItemStart::TerminalCommand { .. } => None,
    }
}

/// Returns the hashes of an id. Snapshots of the filters are stored, so these must stay the same.
fn hashes(kind: &str, id: &str) -> [usize; BITS_OF_ID] {
    let BlobId(hash) = BlobId::of(format!("{kind} {id}").as_bytes());
    std::array::from_fn(|at| {
        let bytes = [hash[4 * at], hash[4 * at + 1], hash[4 * at + 2], hash[4 * at + 3]];
        u32::from_le_bytes(bytes) as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: MessageType, id: &str) -> ItemStart {
        ItemStart::Message {
            role,
            message_id: Some(id.to_owned()),
            client_message_id: None,
        }
    }

    #[test]
    fn a_used_id_is_known_and_few_others_are() {
        let mut used = UsedIds::default();
        let answer = |number: u32| message(MessageType::AgentMessage, &format!("m{number}"));
        for number in 0..20_000 {
            used.insert(&answer(number));
        }
        assert!((0..20_000).all(|number| used.contains(&answer(number))));
        let taken = (20_000..40_000).filter(|number| used.contains(&answer(*number)));
        assert!(taken.count() < 40);
        let words: usize = used.0.iter().map(|filter| filter.words.len()).sum();
        assert!(words * 8 < 160 << 10, "{words}");
        let stored = serde_json::to_string(&used).unwrap();
        assert_eq!(serde_json::from_str::<UsedIds>(&stored).unwrap(), used);
    }

    #[test]
    fn a_thought_and_an_answer_may_share_an_id() {
        let mut used = UsedIds::default();
        let (thought, answer) = (MessageType::AgentThought, MessageType::AgentMessage);
        used.insert(&message(thought, "m"));
        assert!(used.contains(&message(thought, "m")));
        assert!(!used.contains(&message(answer, "m")));
    }

    #[test]
    fn the_daemons_own_ids_are_never_the_agents() {
        let used = UsedIds::default();
        assert!(used.contains(&message(MessageType::AgentMessage, "item_7")));
        assert!(!used.contains(&message(MessageType::AgentMessage, "item_x")));
        let unnamed = ItemStart::Message {
            role: MessageType::AgentMessage,
            message_id: None,
            client_message_id: None,
        };
        assert!(!used.contains(&unnamed));
    }
}
