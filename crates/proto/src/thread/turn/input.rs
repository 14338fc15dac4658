//! The input of a turn.

use acpd_model::{ErrorCode, Failure, RawJson};
use serde::Deserialize;

use crate::agent::Capabilities;

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
    for block in blocks {
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
