//! Messages that have ended. Some agents send the rest of a message after its turn.
//!
//! In: the starts and ends of the main agent's messages with an id. Out: the message that a chunk continues. Owns: the last [`ENDED`]
//! messages of the process, and whether its ids tell them apart. Never: keeps text, or trusts an id that a new message could have.

use std::collections::{BTreeMap, VecDeque};

use acpd_model::{BlobId, MessageType, TurnId};

use super::said::Said;

/// Ended messages that more text can belong to.
const ENDED: usize = 64;

/// Ids of the process that are known to come again. The first ones are enough: agents that use ids again begin with those.
const FIRST_IDS: usize = 1024;

/// The least size of an id that looks random or like a time, in bytes.
const RANDOM_BYTES: usize = 16;

/// The least number of digits in such an id. Numbers of messages have fewer.
const RANDOM_DIGITS: usize = 4;

/// An ended message.
#[derive(Debug)]
pub(super) struct EndedMessage {
    pub turn: TurnId,
    pub role: MessageType,
    pub message_id: String,
    /// Whether an earlier message had its id, so that editors have another one for it.
    pub repeats_id: bool,
    /// What it says; `None` if it has more than text.
    pub said: Option<Said>,
}

/// The ended messages of the agent's process, oldest first.
#[derive(Debug, Default)]
pub(super) struct EndedMessages {
    last: VecDeque<EndedMessage>,
    /// The turns of the first ids, by the digest of each.
    first: BTreeMap<BlobId, TurnId>,
    /// Whether two messages of a role had different ids that look random. Before that, all messages may have the same id.
    are_unique: bool,
    /// Whether a turn had an id of an earlier one: some agents count from 1 in each turn.
    are_repeated: bool,
}

impl EndedMessages {
    /// Notes that a message begins in a turn.
    pub fn begun(&mut self, turn: TurnId, role: MessageType, message_id: &str) {
        let id = digest(role, message_id);
        let known = self.find(role, message_id).map(|at| self.last[at].turn);
        let known = known.or_else(|| self.first.get(&id).copied());
        self.are_repeated |= known.is_some_and(|known| known != turn);
        if known.is_none() && self.first.len() < FIRST_IDS {
            self.first.insert(id, turn);
        }
        let is_another = |ended: &EndedMessage| {
            ended.role == role && ended.message_id != message_id && is_random(&ended.message_id)
        };
        self.are_unique |= is_random(message_id) && self.last.iter().any(is_another);
    }

    /// Adds a message.
    pub fn add(&mut self, message: EndedMessage) {
        drop(self.take(message.role, &message.message_id));
        if self.last.len() >= ENDED {
            self.last.pop_front();
        }
        self.last.push_back(message);
    }

    /// Returns the turn of the message that a chunk continues, if that is certain. `is_prompted` is whether the agent works at another
    /// prompt: then, the id can also be that of a new message.
    pub fn turn_of(&self, role: MessageType, message_id: &str, is_prompted: bool) -> Option<TurnId> {
        let at = self.find(role, message_id)?;
        let turn = self.last[at].turn;
        let is_last_turn = self.last.iter().all(|ended| ended.turn <= turn);
        let is_last = is_last_turn && self.last.range(at + 1..).all(|ended| ended.role != role);
        let is_certain = match (is_random(message_id), is_prompted) {
            (true, false) => true,
            (true, true) => is_last && self.are_unique,
            (false, false) => is_last_turn,
            (false, true) => false,
        };
        (is_certain && !self.are_repeated).then_some(turn)
    }

    /// Returns whether this is the whole text of the message with this id.
    pub fn says(&self, role: MessageType, message_id: &str, text: &str) -> bool {
        let said = self
            .find(role, message_id)
            .and_then(|at| self.last[at].said.as_ref());
        said.is_some_and(|said| said.is(text))
    }

    /// Removes the message with this id, which continues.
    pub fn take(&mut self, role: MessageType, message_id: &str) -> Option<EndedMessage> {
        let at = self.find(role, message_id)?;
        self.last.remove(at)
    }

    fn find(&self, role: MessageType, message_id: &str) -> Option<usize> {
        self.last
            .iter()
            .rposition(|ended| ended.role == role && ended.message_id == message_id)
    }
}

/// Returns a digest of an id, so that ids of any length take the same room. A thought and an answer may share one.
fn digest(role: MessageType, id: &str) -> BlobId {
    BlobId::of(format!("{role:?} {id}").as_bytes())
}

/// Returns whether an id looks as if no other message could have it.
fn is_random(id: &str) -> bool {
    id.len() >= RANDOM_BYTES && id.bytes().filter(u8::is_ascii_digit).count() >= RANDOM_DIGITS
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLE: MessageType = MessageType::AgentMessage;

    const RANDOM: [&str; 2] = [
        "msg_ebce90c09001gryYsSnuDhEeCe",
        "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4",
    ];

    fn ended(turn: u32, id: &str) -> EndedMessage {
        EndedMessage {
            turn: TurnId(turn),
            role: ROLE,
            message_id: id.to_owned(),
            repeats_id: false,
            said: None,
        }
    }

    #[test]
    fn a_number_is_trusted_between_prompts_in_the_last_turn() {
        let mut messages = EndedMessages::default();
        messages.begun(TurnId(1), ROLE, "msg-1");
        messages.add(ended(1, "msg-1"));
        assert_eq!(messages.turn_of(ROLE, "msg-1", false), Some(TurnId(1)));
        assert_eq!(messages.turn_of(ROLE, "msg-1", true), None);
        assert_eq!(messages.turn_of(MessageType::AgentThought, "msg-1", false), None);
        messages.begun(TurnId(2), ROLE, "msg-2");
        messages.add(ended(2, "msg-2"));
        assert_eq!(messages.turn_of(ROLE, "msg-1", false), None);
        assert_eq!(messages.turn_of(ROLE, "msg-2", false), Some(TurnId(2)));
    }

    #[test]
    fn numbers_that_come_again_in_a_later_turn_are_never_trusted() {
        let mut messages = EndedMessages::default();
        for turn in 1..=2 {
            messages.begun(TurnId(turn), ROLE, "msg-1");
            messages.add(ended(turn, "msg-1"));
        }
        assert_eq!(messages.turn_of(ROLE, "msg-1", false), None);
        // A message that comes again in its own turn shows nothing.
        let mut messages = EndedMessages::default();
        messages.begun(TurnId(1), ROLE, "msg-1");
        messages.add(ended(1, "msg-1"));
        messages.begun(TurnId(1), ROLE, "msg-1");
        assert_eq!(messages.turn_of(ROLE, "msg-1", false), Some(TurnId(1)));
    }

    #[test]
    fn a_number_comes_again_after_many_messages() {
        let mut messages = EndedMessages::default();
        for turn in [1, 2] {
            for number in 0..3 * FIRST_IDS {
                let id = format!("msg-{number}");
                messages.begun(TurnId(turn), ROLE, &id);
                messages.add(ended(turn, &id));
                assert_eq!(messages.are_repeated, turn > 1, "{id}");
            }
        }
        assert_eq!(messages.first.len(), FIRST_IDS);
    }

    #[test]
    fn random_ids_are_trusted_once_there_are_two() {
        let mut messages = EndedMessages::default();
        messages.begun(TurnId(1), ROLE, RANDOM[0]);
        messages.add(ended(1, RANDOM[0]));
        messages.begun(TurnId(1), MessageType::AgentThought, RANDOM[1]);
        let found = messages.turn_of(ROLE, RANDOM[0], true);
        assert_eq!(found, None, "it may be the only one");
        messages.begun(TurnId(1), ROLE, RANDOM[1]);
        assert_eq!(messages.turn_of(ROLE, RANDOM[0], true), Some(TurnId(1)));
        messages.add(ended(1, RANDOM[1]));
        assert_eq!(
            messages.turn_of(ROLE, RANDOM[0], true),
            None,
            "it is not the last one"
        );
        assert_eq!(messages.turn_of(ROLE, RANDOM[0], false), Some(TurnId(1)));
        assert_eq!(messages.turn_of(ROLE, RANDOM[1], true), Some(TurnId(1)));
        messages.begun(TurnId(2), ROLE, RANDOM[0]);
        assert_eq!(messages.turn_of(ROLE, RANDOM[1], true), None, "they are repeated");
    }

    #[test]
    fn numbers_of_messages_do_not_look_random() {
        for id in RANDOM {
            assert!(is_random(id), "{id}");
        }
        for id in [
            "",
            "1",
            "kimchi_msg_0",
            "assistant-message-12",
            "a-very-long-name-without-a-number",
        ] {
            assert!(!is_random(id), "{id}");
        }
    }

    #[test]
    fn only_the_last_messages_are_known() {
        let mut messages = EndedMessages::default();
        for number in 0..=ENDED {
            messages.add(ended(1, &number.to_string()));
        }
        assert_eq!(messages.turn_of(ROLE, "0", false), None);
        assert_eq!(messages.turn_of(ROLE, "1", false), Some(TurnId(1)));
        assert_eq!(messages.last.len(), ENDED);
    }
}
