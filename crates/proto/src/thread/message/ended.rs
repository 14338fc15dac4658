//! Messages that have ended. Some agents send the rest of a message after its turn.
//!
//! In: the starts and ends of messages with an id. Out: the message that a chunk continues. Owns: the last [`ENDED`] messages of the
//! process, and whether their ids tell them apart. Never: keeps text.

use std::collections::VecDeque;

use acpd_model::{MessageType, TurnId};

use super::said::Said;

/// Ended messages that more text can belong to.
const ENDED: usize = 64;

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

/// Whether the agent gives each message an id of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Ids {
    /// No turn has shown it yet.
    #[default]
    Unknown,
    /// A later turn had new ids.
    Unique,
    /// A later turn had the id of an earlier one: some agents count from 1 in each turn.
    Repeated,
}

/// The ended messages of the agent's process, oldest first.
#[derive(Debug, Default)]
pub(super) struct EndedMessages {
    last: VecDeque<EndedMessage>,
    ids: Ids,
}

impl EndedMessages {
    /// Notes that a message begins in a turn. `is_used` is whether any earlier message of the thread has its id.
    pub fn begun(&mut self, turn: TurnId, role: MessageType, message_id: &str, is_used: bool) {
        let known = self.find(role, message_id).map(|at| self.last[at].turn);
        if known.map_or(is_used, |known| known != turn) {
            self.ids = Ids::Repeated;
        } else if self.ids == Ids::Unknown && self.last.iter().any(|ended| ended.turn < turn) {
            self.ids = Ids::Unique;
        }
    }

    /// Adds a message.
    pub fn add(&mut self, message: EndedMessage) {
        drop(self.take(message.role, &message.message_id));
        if self.last.len() >= ENDED {
            self.last.pop_front();
        }
        self.last.push_back(message);
    }

    /// Returns the turn of the message that a chunk continues, if that is certain. While the agent works at another prompt
    /// (`is_prompted`), the id could also be the one of a new message.
    pub fn turn_of(&self, role: MessageType, message_id: &str, is_prompted: bool) -> Option<TurnId> {
        let is_certain = match self.ids {
            Ids::Unknown => !is_prompted || is_random(message_id),
            Ids::Unique => true,
            Ids::Repeated => false,
        };
        let found = self.find(role, message_id).filter(|_| is_certain)?;
        Some(self.last[found].turn)
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

/// Returns whether an id looks as if no other message could have it.
fn is_random(id: &str) -> bool {
    id.len() >= RANDOM_BYTES && id.bytes().filter(u8::is_ascii_digit).count() >= RANDOM_DIGITS
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLE: MessageType = MessageType::AgentMessage;

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
    fn an_id_is_trusted_once_a_later_turn_has_new_ones() {
        let mut messages = EndedMessages::default();
        messages.begun(TurnId(1), ROLE, "a", false);
        messages.add(ended(1, "a"));
        assert_eq!(messages.turn_of(ROLE, "a", false), Some(TurnId(1)));
        assert_eq!(messages.turn_of(ROLE, "a", true), None);
        assert_eq!(messages.turn_of(MessageType::AgentThought, "a", false), None);
        messages.begun(TurnId(2), ROLE, "b", false);
        assert_eq!(messages.turn_of(ROLE, "a", true), Some(TurnId(1)));
    }

    #[test]
    fn ids_that_come_again_in_a_later_turn_are_never_trusted() {
        let mut messages = EndedMessages::default();
        for turn in 1..=2 {
            messages.begun(TurnId(turn), ROLE, "msg-1", turn > 1);
            messages.add(ended(turn, "msg-1"));
        }
        assert_eq!(messages.turn_of(ROLE, "msg-1", false), None);
        // A message that comes again in its own turn shows nothing.
        let mut messages = EndedMessages::default();
        messages.begun(TurnId(1), ROLE, "a", false);
        messages.add(ended(1, "a"));
        messages.begun(TurnId(1), ROLE, "a", true);
        assert_eq!(messages.turn_of(ROLE, "a", false), Some(TurnId(1)));
    }

    #[test]
    fn numbers_of_messages_do_not_look_random() {
        for id in [
            "msg_ebce90c09001gryYsSnuDhEeCe",
            "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4",
        ] {
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
