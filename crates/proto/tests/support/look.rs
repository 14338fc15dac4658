//! Looking at what came out of a scene.

use acpd_model::event::TurnStatus;
use acpd_model::{EventKind, ItemEnd, ItemId, ItemOutcome, TurnId};
use acpd_proto::projection::Transcript;
use serde_json::Value;

use super::scene::{Scene, Sent};

impl Scene {
    /// The notifications that clients got, by method.
    pub fn methods(&self) -> Vec<&'static str> {
        self.frames.iter().map(|frame| frame.method).collect()
    }

    /// The same, from event `seq` on.
    pub fn methods_from(&self, seq: u64) -> Vec<&'static str> {
        let late = self.frames.iter().filter(|frame| frame.seq >= seq);
        late.map(|frame| frame.method).collect()
    }

    /// The number that the next event will have.
    pub fn next_seq(&self) -> u64 {
        self.log.len() as u64 + 1
    }

    /// The params of every notification of `method`.
    pub fn params(&self, method: &str) -> Vec<Value> {
        let of_method = self.frames.iter().filter(|frame| frame.method == method);
        of_method.map(|frame| params_of(&frame.text)).collect()
    }

    /// The events' kinds.
    pub fn kinds(&self) -> impl DoubleEndedIterator<Item = &EventKind> {
        self.log.iter().map(|event| &event.kind)
    }

    /// The texts of all deltas, as they were stored.
    pub fn deltas(&self) -> Vec<&str> {
        self.kinds()
            .filter_map(|kind| match kind {
                EventKind::ItemDelta { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// How turn `turn` ended: status, stop reason and error.
    pub fn ending(&self, turn: TurnId) -> (TurnStatus, Option<&str>, Option<&str>) {
        let mut endings = self.log.iter().filter(|event| event.turn == Some(turn));
        endings
            .find_map(|event| match &event.kind {
                EventKind::TurnSettled {
                    status,
                    stop_reason,
                    error,
                    ..
                } => Some((*status, stop_reason.as_deref(), error.as_deref())),
                _ => None,
            })
            .unwrap_or_else(|| panic!("{turn} has not ended"))
    }

    /// The status that turn `turn` ended with.
    pub fn status(&self, turn: TurnId) -> TurnStatus {
        self.ending(turn).0
    }

    /// Why turn `turn` failed.
    pub fn settled_error(&self, turn: TurnId) -> &str {
        self.ending(turn).2.unwrap_or_default()
    }

    /// How turns ended, in the order in which they did.
    pub fn settled_turns(&self) -> Vec<TurnStatus> {
        self.kinds()
            .filter_map(|kind| match kind {
                EventKind::TurnSettled { status, .. } => Some(*status),
                _ => None,
            })
            .collect()
    }

    /// How `item` ended.
    pub fn end_of(&self, item: ItemId) -> (ItemOutcome, &ItemEnd) {
        self.kinds()
            .find_map(|kind| match kind {
                EventKind::ItemCompleted {
                    item: done,
                    outcome,
                    end,
                } if *done == item => Some((*outcome, end)),
                _ => None,
            })
            .unwrap_or_else(|| panic!("{item} has not ended"))
    }

    /// The words of finished messages that are not a person's.
    pub fn said(&self) -> Vec<String> {
        let spoken = |params: &&Value| params["type"] != "userMessage";
        self.params("item/completed")
            .iter()
            .filter(spoken)
            .map(|params| params["text"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The codes of all notices.
    pub fn notices(&self) -> Vec<String> {
        self.params("thread/notice")
            .iter()
            .map(|params| params["code"].as_str().unwrap().to_owned())
            .collect()
    }

    /// What was written to the agent, with this method.
    pub fn sent_as(&self, method: &str) -> Vec<&Sent> {
        self.sent
            .iter()
            .filter(|sent| sent.json["method"] == method)
            .collect()
    }

    /// What the agent was answered under `id`.
    pub fn answer_to(&self, id: &Value) -> &Value {
        let answered = self
            .sent
            .iter()
            .find(|sent| sent.json["id"] == *id && sent.answers.is_some());
        &answered.unwrap_or_else(|| panic!("{id} has no answer")).json
    }

    /// Turns and items, folded from the whole log.
    pub fn transcript(&self) -> Transcript {
        let mut transcript = Transcript::default();
        for event in &self.log {
            transcript.fold(event);
        }
        transcript
    }
}

/// The params of a notification or request.
pub fn params_of(text: &[u8]) -> Value {
    let mut message: Value = serde_json::from_slice(text).unwrap();
    message["params"].take()
}
