//! The name of a thread: the one that the user set, else the agent's title, else the start of the first prompt.

use acpd_model::RawJson;
use acpd_model::text::shorten;
use serde::{Deserialize, Serialize};

/// The possible names of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ThreadNames {
    /// Set by the user.
    pub person: Option<String>,
    /// The agent's title.
    pub agent: Option<String>,
    /// The start of its first prompt.
    pub prompt: Option<String>,
}

impl ThreadNames {
    /// Returns the name to show.
    pub fn shown(&self) -> Option<&String> {
        self.person
            .as_ref()
            .or(self.agent.as_ref())
            .or(self.prompt.as_ref())
    }

    /// Returns the name to show if the user's name is `name`.
    pub fn shown_with(&self, name: Option<&String>) -> Option<String> {
        name.or(self.agent.as_ref()).or(self.prompt.as_ref()).cloned()
    }

    /// Sets the name from a prompt, if it is the first one.
    pub(super) fn prompted(&mut self, content: &[RawJson]) {
        if self.prompt.is_none() {
            self.prompt = name_from(content);
        }
    }
}

/// Maximum length of a name from a prompt, in characters.
const NAME_CHARS: usize = 80;

/// Returns the start of a prompt.
fn name_from(content: &[RawJson]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Block {
        text: String,
    }
    let text = content.iter().find_map(|block| block.read::<Block>().ok())?.text;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(shorten(line, NAME_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_prompt_is_cut_where_it_can_be_seen() {
        let name = |text: &str| name_from(&[serde_json::json!({ "text": text }).into()]);
        assert_eq!(name("\n  Fix it.\nNow."), Some("Fix it.".to_owned()));
        assert_eq!(name(&"é".repeat(NAME_CHARS)), Some("é".repeat(NAME_CHARS)));
        let cut = name(&"é".repeat(NAME_CHARS + 1));
        assert_eq!(cut, Some(format!("{}…", "é".repeat(NAME_CHARS - 1))));
    }
}
