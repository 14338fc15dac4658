//! The model's reply, and the steps of a streamed response.

use bytes::Bytes;
use serde_json::Value;

use crate::limits::PIECE_CHARS;

/// The content of a response.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Text, in the chunks in which it is streamed.
    Text {
        /// The chunks of the text, in order.
        pieces: Vec<String>,
        /// Whether to pause before each chunk.
        slow: bool,
    },
    /// A tool call.
    Call {
        /// The tool's name.
        name: String,
        /// The call's input.
        input: Input,
    },
}

/// The input of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Arguments that fit the tool's schema.
    Arguments(Value),
    /// Free text.
    Free(String),
}

impl Reply {
    /// Creates a text that is streamed without pauses.
    pub fn text(text: &str) -> Self {
        Self::Text {
            pieces: pieces(text, PIECE_CHARS),
            slow: false,
        }
    }

    /// Returns the whole text; empty for a tool call.
    pub fn whole_text(&self) -> String {
        match self {
            Self::Text { pieces, .. } => pieces.concat(),
            Self::Call { .. } => String::new(),
        }
    }
}

impl Input {
    /// Returns the input for APIs that expect a string.
    pub fn as_text(&self) -> String {
        match self {
            Self::Arguments(arguments) => arguments.to_string(),
            Self::Free(text) => text.clone(),
        }
    }

    /// Returns the input for APIs that expect an object.
    pub fn as_object(&self) -> Value {
        match self {
            Self::Arguments(arguments) => arguments.clone(),
            Self::Free(text) => serde_json::json!({ "input": text }),
        }
    }
}

/// Splits a text into chunks of this many characters.
pub fn pieces(text: &str, chars: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(chars.max(1))
        .map(|piece| piece.iter().collect())
        .collect()
}

/// A part of a streamed response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Whether to pause before it.
    pub pause: bool,
    /// One or more whole server-sent events, or lines.
    pub bytes: Bytes,
}

/// The steps of a streamed response.
#[derive(Debug, Default)]
pub struct Steps(Vec<Step>);

impl Steps {
    /// Adds an event with a name.
    pub fn named(&mut self, name: &str, data: &Value) {
        self.push(false, format!("event: {name}\ndata: {data}\n\n"));
    }

    /// Adds an event without a name.
    pub fn data(&mut self, data: &Value) {
        self.push(false, format!("data: {data}\n\n"));
    }

    /// Adds an event whose data is not JSON.
    pub fn raw(&mut self, data: &str) {
        self.push(false, format!("data: {data}\n\n"));
    }

    /// Adds a line of JSON, for a stream that has no events.
    pub fn line(&mut self, data: &Value) {
        self.push(false, format!("{data}\n"));
    }

    /// Adds a pause before the last event.
    pub fn pause_before_last(&mut self) {
        if let Some(step) = self.0.last_mut() {
            step.pause = true;
        }
    }

    /// Returns all steps.
    pub fn into_vec(self) -> Vec<Step> {
        self.0
    }

    fn push(&mut self, pause: bool, text: String) {
        self.0.push(Step {
            pause,
            bytes: text.into(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(pieces("grüß dich", 3), ["grü", "ß d", "ich"]);
        assert!(pieces("", 3).is_empty());
    }
}
