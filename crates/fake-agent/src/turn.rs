//! A turn of this agent: what scenarios do beyond a turn of every scripted agent.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use acpd_scripted_agent::turn::{self, Turn as ScriptedTurn};
pub use acpd_scripted_agent::turn::{Choice, End, Flow};
use serde_json::Value;

use crate::calls::Calls;
use crate::out::Out;
use crate::session::Shared;
use crate::wire::RpcResult;

/// The result of a turn, for the main loop.
#[derive(Debug)]
pub struct Outcome {
    /// The response to the prompt.
    pub answer: RpcResult,
    /// Messages to send after the response, each after a pause in milliseconds.
    pub late: Vec<(u64, Value)>,
    /// The exit code with which to exit after the response.
    pub exit: Option<i32>,
}

/// A running turn.
#[derive(Debug)]
pub struct Turn {
    /// Whether the client supports boolean options.
    pub booleans: bool,
    /// See [`Outcome::late`].
    pub late: Vec<(u64, Value)>,
    /// See [`Outcome::exit`].
    pub exit: Option<i32>,
    /// The sessions that the present one is a subagent of, the outermost first.
    pub parents: Vec<String>,
    scripted: ScriptedTurn,
}

impl Turn {
    /// Creates the turn for a prompt that the session has already counted; does not start it.
    pub fn new(session: &Shared, prompt: Vec<Value>, out: &Arc<Out>, calls: &Arc<Calls>) -> Self {
        Self {
            booleans: false,
            late: Vec::new(),
            exit: None,
            parents: Vec::new(),
            scripted: ScriptedTurn::new(session, prompt, out, calls),
        }
    }

    /// Builds the result of the turn after the last step.
    pub fn finish(self, flow: Flow) -> Outcome {
        Outcome {
            answer: turn::response(flow),
            late: self.late,
            exit: self.exit,
        }
    }
}

impl Deref for Turn {
    type Target = ScriptedTurn;

    fn deref(&self) -> &ScriptedTurn {
        &self.scripted
    }
}

impl DerefMut for Turn {
    fn deref_mut(&mut self) -> &mut ScriptedTurn {
        &mut self.scripted
    }
}
