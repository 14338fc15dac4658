//! Surrogate pairs that an agent has cut in half between two chunks of one message.
//!
//! JavaScript counts in halves of such pairs, so agents that cut text at any position cut emoji.
//!
//! In: chunks. Out: the same chunks with whole characters. Owns: the first half of a pair, until its second half comes. Never:
//! changes the agent's own text of a chunk, which the log keeps.

use acpd_model::MessageType;

use super::connection::{AgentConnection, AgentEvent};
use super::update::{Chunk, ChunkContent, Update, UpdateKind};

/// The first half of a surrogate pair at the end of a chunk.
#[derive(Debug)]
pub(super) struct Half {
    unit: u16,
    role: MessageType,
    message_id: Option<String>,
    /// Whether the chunk was a part of the earlier conversation.
    is_replayed: bool,
}

impl AgentConnection {
    /// Puts the half of the last chunk before the text of this one, if they are of one message.
    pub(super) fn join_halves(&mut self, chunk: &mut Chunk) {
        let belongs = |half: &Half| half.role == chunk.role && half.message_id == chunk.message_id;
        let is_text = matches!(chunk.content, ChunkContent::Text(_));
        if self
            .half
            .as_deref()
            .is_some_and(|half| !is_text || !belongs(half))
        {
            self.end_half();
        }
        let (first, last) = (chunk.first_half.take(), chunk.last_half.take());
        let half = self.half.take().map(|half| half.unit);
        if let Some(before) = joined(half, first)
            && let ChunkContent::Text(text) = &mut chunk.content
        {
            text.insert_str(0, &before);
        }
        let is_replayed = self.replay.is_replaying();
        self.half = last.map(|unit| {
            let message_id = chunk.message_id.clone();
            Box::new(Half {
                unit,
                role: chunk.role,
                message_id,
                is_replayed,
            })
        });
    }

    /// Ends the message that is cut within a character, if this event ends it.
    pub(super) fn before_event(&mut self, event: &AgentEvent) {
        let ends = match event {
            AgentEvent::Update(update) | AgentEvent::Replayed(update) => matches!(
                update.kind,
                UpdateKind::Tool(_)
                    | UpdateKind::Plan(_)
                    | UpdateKind::PlanRemoved(_)
                    | UpdateKind::Notice { .. }
                    | UpdateKind::Compaction { .. }
            ),
            AgentEvent::PromptEnded { .. }
            | AgentEvent::CallbackReceived { .. }
            | AgentEvent::Opened(_)
            | AgentEvent::Failed(_) => true,
            _ => false,
        };
        if ends {
            self.end_half();
        }
    }

    /// Shows U+FFFD in place of a half whose other half did not come.
    fn end_half(&mut self) {
        let Some(half) = self.half.take() else { return };
        let Half {
            role,
            message_id,
            is_replayed,
            ..
        } = *half;
        let update = Update {
            kind: UpdateKind::Chunk(Chunk {
                role,
                message_id,
                content: ChunkContent::Text(char::REPLACEMENT_CHARACTER.to_string()),
                alone: false,
                first_half: None,
                last_half: None,
            }),
            raw: None,
            raw_params: None,
        };
        self.push_event(if is_replayed {
            AgentEvent::Replayed(update)
        } else {
            AgentEvent::Update(update)
        });
    }
}

/// Returns the characters of the halves between two chunks.
fn joined(half: Option<u16>, first: Option<u16>) -> Option<String> {
    let units: Vec<u16> = half.into_iter().chain(first).collect();
    (!units.is_empty()).then(|| String::from_utf16_lossy(&units))
}
