//! System prompts from the configuration.
//!
//! In: an agent's `system_prompt` as the user wrote it. Out: ACP's `SystemPrompt`. Never: decides whether the agent takes it.

use acpd_model::{Failure, RawJson};
use acpd_proto::agent::{SystemPromptMode, system_prompt};
use serde::Deserialize;

/// A system prompt: a text that the agent adds to its own instructions, or a table that says how it uses it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "a system prompt is a text, or a table with its content and a mode (append or override)"
)]
pub enum SystemPromptSetting {
    /// The text.
    Text(String),
    /// The text, and how the agent uses it.
    Table(SystemPromptTable),
}

/// A system prompt with its mode.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemPromptTable {
    /// How the agent combines it with its own instructions.
    #[serde(default)]
    pub mode: SystemPromptMode,
    /// The text.
    pub content: String,
}

impl SystemPromptSetting {
    /// Returns ACP's object. Fails if the text is empty or too long.
    pub fn to_acp(&self) -> Result<RawJson, Failure> {
        match self {
            Self::Text(text) => system_prompt(SystemPromptMode::Append, text),
            Self::Table(SystemPromptTable { mode, content }) => system_prompt(*mode, content),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_added_to_the_agents_own_instructions() {
        let read = |json: &str| serde_json::from_str::<SystemPromptSetting>(json).unwrap();
        let both = [
            read(r#""be kind""#),
            read(r#"{"content":"be kind"}"#),
            read(r#"{"mode":"override","content":"be kind"}"#),
        ];
        let modes = both.map(|setting| {
            let prompt: serde_json::Value = setting.to_acp().unwrap().read().unwrap();
            assert_eq!(prompt["content"][0]["text"], "be kind");
            prompt["mode"].as_str().unwrap().to_owned()
        });
        assert_eq!(modes, ["append", "append", "override"]);
        assert!(read(r#""""#).to_acp().is_err());
    }

    #[test]
    fn another_shape_is_explained() {
        let error = serde_json::from_str::<SystemPromptSetting>(r#"{"text":"x"}"#).unwrap_err();
        assert!(error.to_string().contains("a table with its content"), "{error}");
    }
}
