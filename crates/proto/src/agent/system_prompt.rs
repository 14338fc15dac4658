//! The system prompt of a session: instructions of a client for the agent, and which of them an agent takes.
//!
//! In: ACP's `SystemPrompt` objects, and what an agent declares. Out: the object to send, or why it cannot be sent. Never: changes a
//! prompt that a client has sent.

use acpd_model::{ErrorCode, Failure, RawJson};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Maximum size of a system prompt, in bytes of JSON.
pub const SYSTEM_PROMPT_BYTES: usize = 256 << 10;

/// How an agent combines a system prompt with its own instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum SystemPromptMode {
    /// Adds it to its own instructions.
    #[default]
    Append,
    /// Uses it instead of its own instructions.
    Override,
}

/// Where the system prompt of a session comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PromptSource {
    /// A client has set it for the thread.
    #[default]
    Client,
    /// The configuration has it for all threads of the agent.
    Configuration,
}

/// The ways in which an agent takes a system prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SystemPromptModes {
    /// In addition to its own instructions.
    pub append: bool,
    /// Instead of its own instructions.
    pub overrides: bool,
}

impl SystemPromptModes {
    /// Reads an agent's `sessionCapabilities.systemPrompt`.
    pub(super) fn read(declared: &Value) -> Self {
        let append = declared.is_object();
        Self {
            append,
            overrides: append && declared["mode"]["override"].is_object(),
        }
    }

    /// Rejects a system prompt that the agent with this title does not take.
    pub fn check(self, prompt: &RawJson, agent: &str) -> Result<(), Failure> {
        if !self.append {
            return Err(Failure::new(
                ErrorCode::Unsupported,
                format!(
                    "{agent} takes no system prompt: it did not declare sessionCapabilities.systemPrompt. Leave the system prompt \
                     out, or begin the first prompt with it"
                ),
            ));
        }
        match mode(prompt).as_deref() {
            Some("append") => Ok(()),
            Some("override") if self.overrides => Ok(()),
            Some("override") => Err(Failure::new(
                ErrorCode::Unsupported,
                format!(
                    "{agent} cannot replace its own instructions by a system prompt: it did not declare \
                     sessionCapabilities.systemPrompt.mode.override. Use the mode \"append\""
                ),
            )),
            other => Err(Failure::invalid_params(format!(
                "unknown mode {:?} of systemPrompt: use \"append\" or \"override\"",
                acpd_model::text::shorten(other.unwrap_or_default(), 80)
            ))),
        }
    }
}

fn mode(prompt: &RawJson) -> Option<String> {
    #[derive(Deserialize)]
    struct Mode {
        mode: String,
    }
    prompt.read().ok().map(|Mode { mode }| mode)
}

/// Returns ACP's object of a system prompt. Fails if the text is empty or too long.
pub fn system_prompt(mode: SystemPromptMode, text: &str) -> Result<RawJson, Failure> {
    if text.trim().is_empty() {
        return Err(Failure::invalid_params(
            "the content of systemPrompt is empty: leave systemPrompt out",
        ));
    }
    let prompt = json!({ "mode": mode, "content": [{ "type": "text", "text": text }] }).into();
    check_bytes(&prompt)?;
    Ok(prompt)
}

/// Rejects an object that is not a `SystemPrompt` of ACP, or is too large.
pub fn check_system_prompt(prompt: &RawJson) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct Prompt {
        #[serde(rename = "mode")]
        _mode: String,
        content: Vec<Block>,
    }
    #[derive(Deserialize)]
    struct Block {
        #[serde(rename = "type")]
        kind: String,
    }
    check_bytes(prompt)?;
    let Ok(Prompt { content, .. }) = prompt.read() else {
        return Err(Failure::invalid_params(
            "systemPrompt must be ACP's object with \"mode\" and a list of text blocks as \"content\"",
        ));
    };
    if content.is_empty() || content.iter().any(|block| block.kind != "text") {
        return Err(Failure::invalid_params(
            "the content of systemPrompt must have at least one block, and only text blocks",
        ));
    }
    Ok(())
}

fn check_bytes(prompt: &RawJson) -> Result<(), Failure> {
    let bytes = prompt.get().len();
    if bytes <= SYSTEM_PROMPT_BYTES {
        return Ok(());
    }
    Err(Failure::invalid_params(format!(
        "systemPrompt has {bytes} bytes; at most {SYSTEM_PROMPT_BYTES} are possible: shorten it, or put the rest into a file that \
         the agent reads"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mode_needs_its_own_capability() {
        let append = system_prompt(SystemPromptMode::Append, "be kind").unwrap();
        let overrides = system_prompt(SystemPromptMode::Override, "be brief").unwrap();
        assert_eq!(
            append.read::<Value>().unwrap(),
            json!({ "mode": "append", "content": [{ "type": "text", "text": "be kind" }] })
        );
        for (declared, appends, replaces) in [
            (json!(null), false, false),
            (json!(true), false, false),
            (json!({}), true, false),
            (json!({ "mode": null }), true, false),
            (json!({ "mode": { "override": true } }), true, false),
            (json!({ "mode": { "override": {} } }), true, true),
        ] {
            let modes = SystemPromptModes::read(&declared);
            assert_eq!(modes.check(&append, "Agent").is_ok(), appends, "{declared}");
            assert_eq!(modes.check(&overrides, "Agent").is_ok(), replaces, "{declared}");
        }
        let none = SystemPromptModes::default().check(&append, "Agent").unwrap_err();
        assert!(none.message.starts_with("Agent takes no system prompt"), "{none}");
        let other = RawJson::parse(r#"{"mode":"_mine","content":[]}"#).unwrap();
        let all = SystemPromptModes {
            append: true,
            overrides: true,
        };
        assert!(
            all.check(&other, "Agent")
                .unwrap_err()
                .message
                .contains("\"_mine\"")
        );
    }

    #[test]
    fn empty_large_and_foreign_prompts_are_refused() {
        assert!(system_prompt(SystemPromptMode::Append, " \n").is_err());
        assert!(system_prompt(SystemPromptMode::Append, &"x".repeat(SYSTEM_PROMPT_BYTES)).is_err());
        let check = |text: &str| check_system_prompt(&RawJson::parse(text).unwrap());
        assert!(check(r#"{"mode":"append","content":[{"type":"text","text":"x"}],"_meta":{}}"#).is_ok());
        for bad in [
            r#""be kind""#,
            r#"{"append":"be kind"}"#,
            r#"{"mode":"append","content":"x"}"#,
            r#"{"mode":"append","content":[]}"#,
            r#"{"mode":"append","content":[{"type":"image"}]}"#,
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
