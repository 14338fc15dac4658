//! Where known agents keep what is theirs: settings, credentials, sessions.

use std::path::{Path, PathBuf};

/// The names of an agent (in the registry, as a package and as a program) → its files and directories below the user's home.
#[rustfmt::skip]
pub const HOMES: &[(&[&str], &[&str])] = &[
    (&["claude-acp", "claude-agent-acp", "claude-code-acp", "claude"], &[".claude", ".claude.json"]),
    (&["codex-acp", "codex"], &[".codex"]),
    (&["gemini", "gemini-cli"], &[".gemini"]),
    (&["opencode", "opencode-ai"], &[".config/opencode", ".local/share/opencode", ".local/state/opencode"]),
    (&["qwen-code", "qwen"], &[".qwen"]),
    (&["github-copilot-cli", "copilot"], &[".copilot"]),
    (&["auggie"], &[".augment"]),
    (&["kimi", "kimi-cli"], &[".kimi"]),
    (&["fast-agent", "fast-agent-mcp", "fast-agent-acp"], &[".fast-agent"]),
    (&["goose"], &[".config/goose", ".local/share/goose", ".local/state/goose"]),
    (&["mistral-vibe", "vibe-acp", "vibe"], &[".vibe"]),
    (&["hermes-agent", "hermes"], &[".hermes"]),
];

/// What belongs to other agents than the one of that name, which is run by `words`: a command and its arguments.
pub fn homes_of_others<'a>(name: &str, words: impl Iterator<Item = &'a str>, home: &Path) -> Vec<PathBuf> {
    let mut own: Vec<&str> = words.filter_map(program).collect();
    own.push(name);
    let others = HOMES
        .iter()
        .filter(|(names, _)| !names.iter().any(|name| own.contains(name)));
    let paths = others.flat_map(|(_, paths)| paths.iter());
    paths.map(|path| home.join(path)).collect()
}

/// The program or package that a word of a command line names: `claude-agent-acp` of `@agentclientprotocol/claude-agent-acp@1.0`.
fn program(word: &str) -> Option<&str> {
    word.rsplit('/').next()?.split(['@', '=']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(name: &str, command: &str, path: &str) -> bool {
        let others = homes_of_others(name, command.split(' '), Path::new("/home/ann"));
        others.contains(&PathBuf::from(path))
    }

    #[test]
    fn an_agents_own_home_is_no_other_agents() {
        let claude = "npx --yes @agentclientprotocol/claude-agent-acp@0.100.0";
        for (name, command) in [
            ("claude-acp", "x"),
            ("work", claude),
            ("work", "/usr/local/bin/claude-agent-acp"),
        ] {
            assert!(!has(name, command, "/home/ann/.claude"), "{name} {command}");
            assert!(!has(name, command, "/home/ann/.claude.json"));
            assert!(has(name, command, "/home/ann/.codex"));
        }
        assert!(has("work", "my-agent --acp", "/home/ann/.claude"));
        assert!(!has("vibe", "uvx mistral-vibe==2.0", "/home/ann/.vibe"));
    }
}
