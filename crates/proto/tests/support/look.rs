//! Queries for the output of a scene.

use acpd_model::event::TurnStatus;
use acpd_model::{EventKind, ItemEnd, ItemEvent, ItemId, ItemOutcome, TurnEvent, TurnId};
use acpd_proto::projection::Transcript;
use serde_json::Value;

use super::scene::{Scene, Sent};

impl Scene {
    /// Returns the methods of all notifications to clients.
    pub fn methods(&self) -> Vec<&'static str> {
        self.frames.iter().map(|frame| frame.method).collect()
    }

    /// Returns the methods of the notifications from event `seq` on.
    pub fn methods_from(&self, seq: u64) -> Vec<&'static str> {
        let late = self.frames.iter().filter(|frame| frame.seq >= seq);
        late.map(|frame| frame.method).collect()
    }

    /// Returns the number of the next event.
    pub fn next_seq(&self) -> u64 {
        self.log.len() as u64 + 1
    }

    /// Returns the params of all notifications of `method`.
    pub fn params(&self, method: &str) -> Vec<Value> {
        let of_method = self.frames.iter().filter(|frame| frame.method == method);
        of_method.map(|frame| params_of(&frame.text)).collect()
    }

    /// Returns the kinds of all events.
    pub fn kinds(&self) -> impl DoubleEndedIterator<Item = &EventKind> {
        self.log.iter().map(|event| &event.kind)
    }

    /// Returns the stored texts of all deltas.
    pub fn deltas(&self) -> Vec<&str> {
        self.kinds()
            .filter_map(|kind| match kind {
                EventKind::Item(ItemEvent::Delta { text, .. }) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// Returns how turn `turn` ended: status, stop reason and error.
    pub fn ending(&self, turn: TurnId) -> (TurnStatus, Option<&str>, Option<&str>) {
        let mut endings = self.log.iter().filter(|event| event.turn == Some(turn));
        endings
            .find_map(|event| match &event.kind {
                EventKind::Turn(TurnEvent::Settled {
                    status,
                    stop_reason,
                    error,
                    ..
                }) => Some((*status, stop_reason.as_deref(), error.as_deref())),
                _ => None,
            })
            .unwrap_or_else(|| panic!("{turn} has not ended"))
    }

    /// Returns the final status of turn `turn`.
    pub fn status(&self, turn: TurnId) -> TurnStatus {
        self.ending(turn).0
    }

    /// Returns the error of turn `turn`.
    pub fn settled_error(&self, turn: TurnId) -> &str {
        self.ending(turn).2.unwrap_or_default()
    }

    /// Returns the final statuses of all turns, in order of their ends.
    pub fn settled_turns(&self) -> Vec<TurnStatus> {
        self.kinds()
            .filter_map(|kind| match kind {
                EventKind::Turn(TurnEvent::Settled { status, .. }) => Some(*status),
                _ => None,
            })
            .collect()
    }

    /// Returns how `item` ended.
    pub fn end_of(&self, item: ItemId) -> (ItemOutcome, &ItemEnd) {
        self.kinds()
            .find_map(|kind| match kind {
                EventKind::Item(ItemEvent::Completed {
                    item: done,
                    outcome,
                    end,
                }) if *done == item => Some((*outcome, end)),
                _ => None,
            })
            .unwrap_or_else(|| panic!("{item} has not ended"))
    }

    /// Returns the texts of all completed messages except the user's.
    pub fn said(&self) -> Vec<String> {
        let spoken = |params: &&Value| params["type"] != "userMessage";
        self.params("item/completed")
            .iter()
            .filter(spoken)
            .map(|params| params["text"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Returns the codes of all notices.
    pub fn notices(&self) -> Vec<String> {
        self.params("thread/notice")
            .iter()
            .map(|params| params["code"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Returns the messages of this method to the agent.
    pub fn sent_as(&self, method: &str) -> Vec<&Sent> {
        self.sent
            .iter()
            .filter(|sent| sent.json["method"] == method)
            .collect()
    }

    /// Returns the response to the agent's request `id`.
    pub fn answer_to(&self, id: &Value) -> &Value {
        let answered = self
            .sent
            .iter()
            .find(|sent| sent.json["id"] == *id && sent.answers.is_some());
        &answered.unwrap_or_else(|| panic!("{id} has no answer")).json
    }

    /// Returns turns and items, folded from the whole log.
    pub fn transcript(&self) -> Transcript {
        let mut transcript = Transcript::default();
        for event in &self.log {
            transcript.fold(event);
        }
        transcript
    }
}

/// Returns the params of a notification or request.
pub fn params_of(text: &[u8]) -> Value {
    let mut message: Value = serde_json::from_slice(text).unwrap();
    message["params"].take()
}
