//! Answers to requests for information, which ACP and Codex write in the same way.

use acpd_model::{RawJson, json};
use serde::Deserialize;

use crate::thread::Answer;

/// Reads the result of a request for information. `None` means no decision: the question stays open.
pub(super) fn read_answer(result: &str) -> Option<Answer> {
    #[derive(Deserialize)]
    struct Given {
        action: String,
        #[serde(default)]
        content: Option<RawJson>,
    }
    let Given { action, content } = json::read(result).ok()?;
    match (action.as_str(), content.filter(|content| content.get() != "null")) {
        ("accept", Some(content)) => Some(Answer::Provide(content)),
        ("accept", None) => Some(Answer::Accept { always: false }),
        ("decline", _) => Some(Answer::Decline { always: false }),
        ("cancel", _) => Some(Answer::Cancel),
        _ => None,
    }
}
