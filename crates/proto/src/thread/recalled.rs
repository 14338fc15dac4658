//! What the next process has read for a memo.
//!
//! In: the events and the blobs that the memo names. Out: the agent's answer, the inputs of the running turn, its file changes and long values.
//! Owns: these until the thread has continued. Never: reads what the memo does not name.

use std::collections::BTreeMap;

use acpd_model::{BlobId, Event, EventKind, ItemEvent, RawJson, Seq, SessionEvent, TurnEvent};

use super::journal::{Kept, RecalledFiles};

/// What was read for a memo.
#[derive(Debug, Default)]
pub(super) struct Recalled {
    /// The agent's answer to `initialize`, by the number of its event.
    bound: Option<(Seq, RawJson)>,
    /// The prompt of the running turn, by the number of its event.
    prompt: Option<(Seq, Vec<RawJson>)>,
    /// What was sent to a running turn after its prompt, by the numbers of the events.
    steered: BTreeMap<Seq, Vec<RawJson>>,
    pub files: RecalledFiles,
    blobs: BTreeMap<BlobId, Vec<u8>>,
}

impl Recalled {
    /// Takes what memos need of an event.
    pub fn fold(&mut self, event: &Event) {
        self.files.fold(event);
        match &event.kind {
            EventKind::Session(SessionEvent::AgentBound { agent, .. }) => {
                self.bound = Some((event.seq, agent.clone()));
            }
            // The first message of a turn is its prompt. Those that follow were sent before.
            EventKind::Item(ItemEvent::UserMessageAdded { content, .. }) if self.prompt.is_none() => {
                self.prompt = Some((event.seq, content.clone()));
            }
            EventKind::Turn(TurnEvent::SteerRequested { input }) => {
                self.steered.insert(event.seq, input.clone());
            }
            _ => {}
        }
    }

    pub fn add_blob(&mut self, id: BlobId, content: Vec<u8>) {
        self.blobs.insert(id, content);
    }

    /// Returns the agent's answer to `initialize` in this event.
    pub fn bound(&self, seq: Seq) -> Option<&RawJson> {
        let (found, agent) = self.bound.as_ref()?;
        (*found == seq).then_some(agent)
    }

    /// Returns the prompt of the running turn.
    pub fn prompt(&self) -> Option<&[RawJson]> {
        self.prompt.as_ref().map(|(_, blocks)| &**blocks)
    }

    /// Returns what this event sent to a running turn.
    pub fn steered(&self, seq: Seq) -> Option<&[RawJson]> {
        self.steered.get(&seq).map(Vec::as_slice)
    }

    /// Returns what was sent to the running turn after its prompt, in order.
    pub fn after_prompt(&self) -> impl Iterator<Item = &[RawJson]> {
        let prompt = self.prompt.as_ref().map_or(Seq::MAX, |(seq, _)| *seq);
        self.steered.range(prompt..).map(|(_, blocks)| &**blocks)
    }

    /// Returns a value of a memo; `None` if its blob was not read, or has no JSON.
    pub fn json(&self, kept: &Kept) -> Option<RawJson> {
        match kept {
            Kept::Inline(json) => Some(json.clone()),
            Kept::Blob(id) => {
                let content = self.blobs.get(id)?.clone();
                RawJson::parse(String::from_utf8(content).ok()?).ok()
            }
        }
    }
}
