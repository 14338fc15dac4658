//! The ids that agents have given to messages and tool calls of a thread.
//!
//! In: the starts of items. Out: whether the id of an item had been used. Owns: a Bloom filter. Never: misses a used id. It may
//! report a new one as used, more often the more there are, which costs only the agent's own name for it.

use acpd_model::{BlobId, ItemId, ItemStart, MessageType};
use serde::{Deserialize, Serialize};

/// Size of the filter. After a thousand ids, about one new id in 5,000 counts as used; after ten thousand, one in four.
const BITS: usize = 1 << 15;

/// Bits of one id.
const BITS_OF_ID: usize = 4;

/// The used ids of a thread; takes no memory before the first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UsedIds(Vec<u64>);

impl UsedIds {
    /// Adds the id of an item, if it has one.
    pub fn insert(&mut self, start: &ItemStart) {
        let Some((kind, id)) = named(start) else {
            return;
        };
        self.0.resize(BITS / 64, 0);
        for bit in bits(kind, id) {
            self.0[bit / 64] |= 1_u64 << (bit % 64);
        }
    }

    /// Returns whether the id of an item had been used. An agent's id that looks like one of the daemon's counts as used.
    pub fn contains(&self, start: &ItemStart) -> bool {
        let Some((kind, id)) = named(start) else {
            return false;
        };
        let is_set = |bit: usize| {
            let word = self.0.get(bit / 64);
            word.is_some_and(|word| (word >> (bit % 64)) & 1 == 1)
        };
        id.parse::<ItemId>().is_ok() || bits(kind, id).into_iter().all(is_set)
    }
}

/// Returns the agent's id of an item, and what has it: a thought and an answer may share one.
fn named(start: &ItemStart) -> Option<(&'static str, &str)> {
    match start {
        ItemStart::ToolCall { tool_call_id, .. } => Some(("call", tool_call_id.as_str())),
        ItemStart::Message {
            role,
            message_id: Some(id),
        } => Some((
            match role {
                MessageType::UserMessage => "user",
                MessageType::AgentMessage => "agent",
                MessageType::AgentThought => "thought",
            },
            id.as_str(),
        )),
        _ => None,
    }
}

/// Returns the places of an id in the filter. Snapshots of the filter are stored, so the hash must stay the same.
fn bits(kind: &str, id: &str) -> [usize; BITS_OF_ID] {
    let BlobId(hash) = BlobId::of(format!("{kind} {id}").as_bytes());
    std::array::from_fn(|at| usize::from(u16::from_le_bytes([hash[2 * at], hash[2 * at + 1]])) % BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: MessageType, id: &str) -> ItemStart {
        ItemStart::Message {
            role,
            message_id: Some(id.to_owned()),
        }
    }

    #[test]
    fn a_used_id_is_known_and_few_others_are() {
        let mut used = UsedIds::default();
        let answer = |number: u32| message(MessageType::AgentMessage, &format!("m{number}"));
        for number in 0..1000 {
            used.insert(&answer(number));
        }
        assert!((0..1000).all(|number| used.contains(&answer(number))));
        let taken = (1000..2000).filter(|number| used.contains(&answer(*number)));
        assert!(taken.count() < 10);
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
        };
        assert!(!used.contains(&unnamed));
    }
}
