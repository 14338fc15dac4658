//! What a thread is called: by the name that a person gave it, else by the agent's title, else by its first prompt.

use acpd_model::RawJson;
use acpd_model::text::shorten;

/// The names that a thread has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThreadNames {
    /// Given by a person.
    pub person: Option<String>,
    /// The agent's title.
    pub agent: Option<String>,
    /// The beginning of its first prompt.
    pub prompt: Option<String>,
}

impl ThreadNames {
    /// The one that counts.
    pub fn shown(&self) -> Option<&String> {
        self.person
            .as_ref()
            .or(self.agent.as_ref())
            .or(self.prompt.as_ref())
    }

    /// The one that counts once the person's name is `name`.
    pub fn shown_with(&self, name: Option<&String>) -> Option<String> {
        name.or(self.agent.as_ref()).or(self.prompt.as_ref()).cloned()
    }

    /// Takes the first prompt.
    pub(super) fn prompted(&mut self, content: &[RawJson]) {
        if self.prompt.is_none() {
            self.prompt = name_from(content);
        }
    }
}

/// Longest name that is made of a prompt, in characters.
const NAME_CHARS: usize = 80;

/// The beginning of a prompt.
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
