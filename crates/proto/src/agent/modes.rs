//! Modes of known agents: in which of them an agent asks before it acts, and in which it decides by itself.
//!
//! In: the name that an agent declares in `agentInfo`, and ids of modes. Out: the mode in which acpd's policy and the user
//! decide. Never: changes a mode that asks, or one that only reads.

/// The modes of one agent.
#[derive(Debug)]
struct KnownModes {
    /// A lower-case prefix of the agent's name, without the scope of a package.
    agent: &'static str,
    /// Modes in which the agent asks, the best first. Versions of an agent have different ids.
    asking: &'static [&'static str],
    /// Modes in which the agent acts without a question.
    deciding: &'static [&'static str],
}

const KNOWN: [KnownModes; 9] = [
    KnownModes {
        agent: "claude",
        asking: &["default", "manual"],
        deciding: &["auto", "acceptEdits", "bypassPermissions", "dontAsk"],
    },
    KnownModes {
        agent: "codex",
        asking: &["workspace-write", "auto"],
        deciding: &["agent", "agent-full-access", "full-access"],
    },
    KnownModes {
        agent: "gemini",
        asking: &["default"],
        deciding: &["autoEdit", "yolo"],
    },
    KnownModes {
        agent: "qwen",
        asking: &["default"],
        deciding: &["auto-edit", "auto_edit", "autoEdit", "auto", "yolo"],
    },
    KnownModes {
        agent: "kimi",
        asking: &["default"],
        deciding: &["auto", "yolo"],
    },
    KnownModes {
        agent: "mistral-vibe",
        asking: &["default"],
        deciding: &["accept-edits", "auto-approve"],
    },
    KnownModes {
        agent: "openhands",
        asking: &["always-ask"],
        deciding: &["llm-approve", "always-approve"],
    },
    KnownModes {
        agent: "deepagents",
        asking: &["ask"],
        deciding: &["auto"],
    },
    KnownModes {
        agent: "copilot",
        asking: &["https://agentclientprotocol.com/protocol/session-modes#agent"],
        deciding: &["https://agentclientprotocol.com/protocol/session-modes#autopilot"],
    },
];

/// Modes that mean the same for every agent that has them.
const DECIDING: [&str; 9] = [
    "bypassPermissions",
    "dontAsk",
    "yolo",
    "auto-approve",
    "always-approve",
    "full-access",
    "agent-full-access",
    "autopilot",
    "https://agentclientprotocol.com/protocol/session-modes#autopilot",
];

/// Modes in which every agent that has them asks.
const ASKING: [&str; 2] = ["always-ask", "ask"];

/// Modes in which an agent changes nothing.
const READING: [&str; 3] = [
    "plan",
    "read-only",
    "https://agentclientprotocol.com/protocol/session-modes#plan",
];

/// Agents that act without a question, whatever their modes are for.
const NEVER_ASKING: [&str; 2] = ["pi", "pi-acp"];

/// Returns an agent's name in lower case, without the scope of a package.
fn plain_name(agent: &str) -> String {
    let name = agent.rsplit('/').next().unwrap_or_default();
    name.to_lowercase()
}

fn known(agent: &str) -> Option<&'static KnownModes> {
    let name = plain_name(agent);
    KNOWN.iter().find(|known| name.starts_with(known.agent))
}

/// Returns whether an agent never asks, in no mode.
pub fn never_asks(agent: &str) -> bool {
    NEVER_ASKING.contains(&plain_name(agent).as_str())
}

/// Returns whether it is known what the mode of an agent means: that the agent asks in it, only reads, or decides by itself.
pub fn is_known(agent: &str, mode: &str) -> bool {
    let own = known(agent).is_some_and(|own| own.asking.contains(&mode) || own.deciding.contains(&mode));
    own || [&DECIDING[..], &ASKING, &READING]
        .iter()
        .any(|modes| modes.contains(&mode))
}

/// Returns whether an agent decides by itself in a mode what it may do.
pub fn decides(agent: &str, mode: &str) -> bool {
    let own = known(agent).map_or(&DECIDING[..], |known| known.deciding);
    own.contains(&mode)
}

/// Returns the mode to set instead of a mode in which the agent decides by itself, if the agent offers one.
pub fn asking(agent: &str, offered: &[String]) -> Option<&'static str> {
    let asking = known(agent)?.asking.iter();
    asking
        .copied()
        .find(|mode| offered.iter().any(|offered| offered == mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_agent_has_a_mode_that_asks() {
        let all = |modes: &[&str]| modes.iter().map(|&mode| mode.to_owned()).collect::<Vec<_>>();
        let claude = "@agentclientprotocol/claude-agent-acp";
        assert!(decides(claude, "auto") && !decides(claude, "default") && !decides(claude, "plan"));
        assert_eq!(asking(claude, &all(&["auto", "default"])), Some("default"));
        assert_eq!(asking(claude, &all(&["auto"])), None);
        assert!(decides("codex-acp", "agent") && !decides("codex-acp", "auto"));
        let codex = all(&["read-only", "workspace-write", "agent"]);
        assert_eq!(
            asking("@agentclientprotocol/codex-acp", &codex),
            Some("workspace-write")
        );
    }

    #[test]
    fn modes_of_unknown_agents_are_rarely_understood() {
        assert!(
            is_known("claude-agent-acp", "plan") && is_known("other", "yolo") && is_known("other", "ask")
        );
        assert!(!is_known("OpenCode", "build") && is_known("OpenCode", "plan"));
        // A later version may have modes of which this table knows nothing.
        assert!(is_known("claude-agent-acp", "auto") && !is_known("claude-agent-acp", "swift"));
        assert!(never_asks("pi-acp") && never_asks("@scope/Pi-ACP") && !never_asks("pieces"));
    }

    #[test]
    fn only_plain_ids_count_for_an_unknown_agent() {
        assert!(decides("other", "yolo") && !decides("other", "auto") && !decides("other", "agent"));
        assert_eq!(asking("other", &["default".to_owned()]), None);
    }
}
