//! The prompt that the agent works at. In version 2, the answer to a prompt says that it is in the conversation, and the report that the
//! agent is idle, after it has worked, ends the turn. An agent may repeat that it is idle at any time.

use acpd_model::limits::AGENT_STATE_BYTES;
use acpd_model::{RawJson, TurnId};
use serde_json::{Value, json};

use super::parts::{noted, object_in, text_in, without_notes};
use crate::wire::{RpcError, object};

/// The code of an answer to a request that was cancelled.
const CANCELLED: i64 = -32800;
const INTERNAL: i64 = -32603;

/// The end of a turn: its number, and the answer to its prompt in the form of version 1.
pub(in crate::agent) type Ending = (TurnId, Result<RawJson, RpcError>);

/// The prompt without an end, and whether the agent works.
#[derive(Debug, Default)]
pub(super) struct Prompts {
    prompt: Option<Prompt>,
    /// Whether the agent has said that it works, at a prompt or at something of its own, and since then not that it is idle.
    is_working: bool,
}

#[derive(Debug)]
struct Prompt {
    turn: TurnId,
    /// Whether it is in the agent's conversation: the agent has answered, or has repeated it. An agent does both, in any order, and reports that
    /// it works before, between or after them.
    is_inserted: bool,
    /// Whether the agent has written something since then. It must have worked, even if it did not say so.
    is_answered: bool,
    is_cancelled: bool,
}

impl Prompts {
    /// Records that a session is opened, which is idle until the agent says otherwise.
    pub fn open(&mut self) {
        *self = Self::default();
    }

    /// Begins a turn, whose prompt is sent.
    pub fn begin(&mut self, turn: TurnId) {
        self.prompt = Some(Prompt {
            turn,
            is_inserted: false,
            is_answered: false,
            is_cancelled: false,
        });
    }

    /// Records that the daemon has cancelled the turn.
    pub fn cancel(&mut self) {
        if let Some(prompt) = &mut self.prompt {
            prompt.is_cancelled = true;
        }
    }

    /// Handles the answer to a prompt. Returns the end of the turn if the prompt did not get into the conversation.
    pub fn answered(&mut self, turn: TurnId, result: Result<RawJson, RpcError>) -> Option<Ending> {
        let prompt = self.prompt.as_mut().filter(|prompt| prompt.turn == turn)?;
        let error = match result {
            Err(error) if !prompt.is_inserted => error,
            _ => {
                prompt.is_inserted = true;
                return None;
            }
        };
        self.prompt = None;
        let ending = match error.code {
            CANCELLED => Ok(json!({ "stopReason": "cancelled" }).into()),
            _ => Err(error),
        };
        Some((turn, ending))
    }

    /// Handles an update of the agent's own session. Returns the end of the turn if it is the one that ends it.
    pub fn follow(&mut self, update: &RawJson) -> Option<Ending> {
        match text_in(update, "sessionUpdate")?.as_str() {
            "user_message" | "user_message_chunk" => self.prompt.as_mut()?.is_inserted = true,
            "agent_message" | "agent_message_chunk" | "agent_thought" | "agent_thought_chunk" => {
                let prompt = self.prompt.as_mut()?;
                prompt.is_answered |= prompt.is_inserted;
            }
            "state_update" => match text_in(update, "state")?.as_str() {
                "running" | "requires_action" => self.is_working = true,
                "idle" => {
                    let has_worked = std::mem::take(&mut self.is_working);
                    return self.idle(update, has_worked);
                }
                _ => {}
            },
            _ => {}
        }
        None
    }

    /// Returns the end of the turn if the agent is idle because of it. That it is idle before it has the prompt is about earlier work. That it
    /// is idle before it has worked repeats that, unless the prompt is cancelled.
    fn idle(&mut self, idle: &RawJson, has_worked: bool) -> Option<Ending> {
        let ends = |prompt: &mut Prompt| {
            prompt.is_inserted && (has_worked || prompt.is_answered || prompt.is_cancelled)
        };
        let prompt = self.prompt.take_if(ends)?;
        Some((prompt.turn, ending(idle, prompt.is_cancelled)))
    }
}

/// Returns the answer to a prompt of version 1 that says the same as the report that the agent is idle.
fn ending(idle: &RawJson, is_cancelled: bool) -> Result<RawJson, RpcError> {
    let idle = &without_notes(idle);
    let answer = |reason: &str| {
        object(|out| {
            out.put("stopReason", reason)
                .json("usage", object_in(idle, "usage").as_ref())
                .json("_meta", object_in(idle, "_meta").as_ref());
        })
    };
    let reason = text_in(idle, "stopReason");
    match reason.as_deref() {
        Some("error") => Err(failure(idle)),
        Some(known @ ("end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled")) => {
            Ok(answer(known))
        }
        None if is_cancelled => Ok(answer("cancelled")),
        other => {
            let note = json!({ "stopReason": other.map_or(Value::Null, Value::from) });
            Ok(noted(&answer("end_turn"), &note.to_string()))
        }
    }
}

fn failure(idle: &RawJson) -> RpcError {
    let error = object_in(idle, "error").and_then(|error| error.read::<RpcError>().ok());
    match error {
        Some(error) => RpcError {
            data: error.data.filter(|data| data.get().len() <= AGENT_STATE_BYTES),
            ..RpcError::new(error.code, error.message)
        },
        None => RpcError::new(
            INTERNAL,
            "the agent ended the turn with an error that it does not describe",
        ),
    }
}
