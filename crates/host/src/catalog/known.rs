//! What the registry document has no member for: the program that a package brings, and the variables that the
//! agent needs of its user's environment.
//!
//! This is part of acpd and not of the document, so that a document that was fetched cannot ask for more of the
//! environment.

/// A package that acpd knows.
#[derive(Debug)]
pub struct Known {
    /// Its name, without version; for a binary, the agent's id.
    package: &'static str,
    /// The program that it brings.
    program: &'static str,
    /// Variables to pass on, as in `pass_env`.
    pass_env: &'static [&'static str],
}

const KNOWN: &[Known] = &[
    Known {
        package: "@agentclientprotocol/claude-agent-acp",
        program: "claude-agent-acp",
        pass_env: &["ANTHROPIC_*", "CLAUDE_*"],
    },
    Known {
        package: "@agentclientprotocol/codex-acp",
        program: "codex-acp",
        pass_env: &["CODEX_*", "OPENAI_*"],
    },
    Known {
        package: "@google/gemini-cli",
        program: "gemini",
        pass_env: &["GEMINI_*", "GOOGLE_*"],
    },
    Known {
        package: "opencode-ai",
        program: "opencode",
        pass_env: &["OPENCODE_*"],
    },
    Known {
        package: "@qwen-code/qwen-code",
        program: "qwen",
        pass_env: &["OPENAI_*", "QWEN_*"],
    },
    Known {
        package: "@github/copilot",
        program: "copilot",
        pass_env: &["COPILOT_*"],
    },
    Known {
        package: "@augmentcode/auggie",
        program: "auggie",
        pass_env: &["AUGMENT_*"],
    },
    Known {
        package: "kimi-cli",
        program: "kimi-cli",
        pass_env: &["KIMI_*"],
    },
    // Without a model, from here or from its own file, it does not start.
    Known {
        package: "fast-agent-mcp",
        program: "fast-agent-mcp",
        pass_env: &["FAST_AGENT_*"],
    },
];

fn known(package: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.package == package)
}

/// The program of a package, if it is known.
pub fn program(package: &str) -> Option<&'static str> {
    known(package).map(|known| known.program)
}

/// What to pass on to a package's agent.
pub fn pass_env(package: &str) -> Vec<String> {
    let names = known(package).map_or(&[][..], |known| known.pass_env);
    names.iter().map(|&name| name.to_owned()).collect()
}
