//! The input of a turn.

use acpd_model::{ErrorCode, Failure, RawJson};
use serde::Deserialize;

use crate::agent::{Capabilities, SkillBlocks};

/// A prompt that was not sent to the agent yet.
#[derive(Debug)]
pub(in crate::thread) struct UnsentPrompt {
    /// ACP content blocks.
    pub blocks: Vec<RawJson>,
    /// `_meta` of the prompt, unchanged.
    pub meta: Option<RawJson>,
}

impl UnsentPrompt {
    /// Rejects blocks that the agent does not support.
    pub fn check(&self, capabilities: Option<&Capabilities>) -> Result<(), Failure> {
        check_blocks(&self.blocks, capabilities)
    }
}

/// Rejects an empty or invalid input, and blocks that the agent does not support.
pub(in crate::thread) fn check_input(
    input: &[RawJson],
    capabilities: Option<&Capabilities>,
) -> Result<(), Failure> {
    if input.is_empty() {
        return Err(Failure::invalid_params("a turn needs some input"));
    }
    check_blocks(input, capabilities)
}

/// Rejects invalid blocks, and blocks that the agent does not support.
fn check_blocks(blocks: &[RawJson], capabilities: Option<&Capabilities>) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct Block {
        #[serde(rename = "type")]
        kind: String,
    }
    for (at, block) in blocks.iter().enumerate() {
        let Ok(Block { kind }) = block.read() else {
            return Err(Failure::invalid_params(
                "each block of the input must be an ACP content block with a type",
            ));
        };
        let capability = match kind.as_str() {
            "text" | "resource_link" => continue,
            "image" => ("image", capabilities.is_none_or(|c| c.image)),
            "audio" => ("audio", capabilities.is_none_or(|c| c.audio)),
            "resource" => ("embeddedContext", capabilities.is_none_or(|c| c.embedded_context)),
            "skill" => match capabilities.map_or(SkillBlocks::Anywhere, |c| c.skills) {
                SkillBlocks::Nowhere => ("skill", false),
                SkillBlocks::First if at > 0 => {
                    let message = "the agent takes one skill block, as the first block of a prompt: it did not declare \
                                   promptCapabilities.skill.inline";
                    return Err(Failure::new(ErrorCode::Unsupported, message));
                }
                SkillBlocks::First | SkillBlocks::Anywhere => continue,
            },
            _ => {
                return Err(Failure::invalid_params(format!(
                    "{kind:?} is not an ACP content block"
                )));
            }
        };
        if !capability.1 {
            let message = format!(
                "the agent takes no {kind} blocks: it did not declare promptCapabilities.{}",
                capability.0
            );
            return Err(Failure::new(ErrorCode::Unsupported, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Returns whether an agent that declares this about skills takes a prompt of these blocks.
    fn takes(declared: &Value, blocks: &[&Value]) -> bool {
        let hello = json!({ "agentCapabilities": { "promptCapabilities": { "skill": declared } } });
        let capabilities = Capabilities::read(&RawJson::from(hello));
        let blocks: Vec<RawJson> = blocks
            .iter()
            .map(|block| RawJson::from((*block).clone()))
            .collect();
        check_input(&blocks, Some(&capabilities)).is_ok()
    }

    #[test]
    fn skills_are_where_the_agent_takes_them() {
        let (skill, text) = (
            &json!({ "type": "skill", "name": "deploy" }),
            &json!({ "type": "text", "text": "to staging" }),
        );
        for (declared, first, later) in [
            (json!(null), false, false),
            (json!(true), false, false),
            (json!({}), true, false),
            (json!({ "inline": null }), true, false),
            (json!({ "inline": {} }), true, true),
        ] {
            assert_eq!(takes(&declared, &[skill, text]), first, "{declared}");
            assert_eq!(takes(&declared, &[text, skill]), later, "{declared}");
            assert_eq!(takes(&declared, &[skill, skill]), later, "{declared}");
        }
    }
}
