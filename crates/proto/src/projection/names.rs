//! What a thread is called: by the name that a person gave it, else by the agent's title, else by its first prompt.

use acpd_model::RawJson;

/// The names that a thread has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    /// Given by a person.
    pub person: Option<String>,
    /// The agent's title.
    pub agent: Option<String>,
    /// The beginning of its first prompt.
    pub prompt: Option<String>,
}

impl Names {
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

/// The beginning of a prompt.
fn name_from(content: &[RawJson]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Block {
        text: String,
    }
    let text = content.iter().find_map(|block| block.read::<Block>().ok())?.text;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(80).collect())
}
