//! What the model answers, and the steps in which an answer is sent.

use bytes::Bytes;
use serde_json::Value;

use crate::limits::PIECE_CHARS;

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Text, in the pieces in which it is streamed.
    Text {
        /// The pieces.
        pieces: Vec<String>,
        /// Whether there is a pause before each piece.
        slow: bool,
    },
    /// A tool is to be called.
    Call {
        /// Its name.
        name: String,
        /// With what.
        input: Input,
    },
}

/// What a tool is called with.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Arguments of its schema.
    Arguments(Value),
    /// Free text.
    Free(String),
}

impl Reply {
    /// A text that is streamed without pauses.
    pub fn text(text: &str) -> Self {
        Self::Text {
            pieces: pieces(text, PIECE_CHARS),
            slow: false,
        }
    }

    /// All of a text; empty for a call.
    pub fn whole_text(&self) -> String {
        match self {
            Self::Text { pieces, .. } => pieces.concat(),
            Self::Call { .. } => String::new(),
        }
    }
}

impl Input {
    /// As APIs write it that want a text.
    pub fn as_text(&self) -> String {
        match self {
            Self::Arguments(arguments) => arguments.to_string(),
            Self::Free(text) => text.clone(),
        }
    }

    /// As APIs write it that want an object.
    pub fn as_object(&self) -> Value {
        match self {
            Self::Arguments(arguments) => arguments.clone(),
            Self::Free(text) => serde_json::json!({ "input": text }),
        }
    }
}

/// Cuts a text into pieces of so many characters.
pub fn pieces(text: &str, chars: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(chars.max(1))
        .map(|piece| piece.iter().collect())
        .collect()
}

/// A part of a streamed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Whether to wait before it.
    pub pause: bool,
    /// One or more whole server-sent events.
    pub bytes: Bytes,
}

/// The steps of a streamed answer, as an API writes them.
#[derive(Debug, Default)]
pub struct Steps(Vec<Step>);

impl Steps {
    /// An event with a name.
    pub fn named(&mut self, name: &str, data: &Value) {
        self.push(false, format!("event: {name}\ndata: {data}\n\n"));
    }

    /// An event without a name.
    pub fn data(&mut self, data: &Value) {
        self.push(false, format!("data: {data}\n\n"));
    }

    /// An event whose data is no JSON.
    pub fn raw(&mut self, data: &str) {
        self.push(false, format!("data: {data}\n\n"));
    }

    /// Waits before the last event.
    pub fn pause_before_last(&mut self) {
        if let Some(step) = self.0.last_mut() {
            step.pause = true;
        }
    }

    /// All of them.
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
