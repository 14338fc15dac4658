//! What the registry document has no member for: the program that a package brings, the variables that the
//! agent needs of its user's environment, and where it keeps its own files.
//!
//! This is part of acpd and not of the document, so that a document that was fetched cannot ask for more of the
//! environment or of the disk.

/// A package that acpd knows.
#[derive(Debug)]
pub struct KnownPackage {
    /// Its name, without version; of what comes as a binary alone, the agent's id.
    package: &'static str,
    /// The program that it brings.
    program: &'static str,
    /// Variables to pass on, as in `pass_env`.
    pass_env: &'static [&'static str],
    /// Its settings, sessions and caches, which it writes. Places begin with a variable. One with an extension is a file.
    homes: &'static [&'static str],
}

const KNOWN: &[KnownPackage] = &[
    KnownPackage {
        package: "@agentclientprotocol/claude-agent-acp",
        program: "claude-agent-acp",
        pass_env: &["ANTHROPIC_*", "CLAUDE_*"],
        homes: &["$CLAUDE_CONFIG_DIR", "$HOME/.claude.json"],
    },
    KnownPackage {
        package: "@agentclientprotocol/codex-acp",
        program: "codex-acp",
        pass_env: &["CODEX_*", "OPENAI_*"],
        homes: &["$CODEX_HOME"],
    },
    KnownPackage {
        package: "@google/gemini-cli",
        program: "gemini",
        pass_env: &["GEMINI_*", "GOOGLE_*"],
        homes: &["$HOME/.gemini"],
    },
    KnownPackage {
        package: "opencode-ai",
        program: "opencode",
        pass_env: &["OPENCODE_*"],
        homes: &[
            "$XDG_CONFIG_HOME/opencode",
            "$XDG_DATA_HOME/opencode",
            "$XDG_STATE_HOME/opencode",
            "$XDG_CACHE_HOME/opencode",
        ],
    },
    KnownPackage {
        package: "@qwen-code/qwen-code",
        program: "qwen",
        pass_env: &["OPENAI_*", "QWEN_*"],
        homes: &["$HOME/.qwen"],
    },
    KnownPackage {
        package: "@github/copilot",
        program: "copilot",
        pass_env: &["COPILOT_*"],
        homes: &["$HOME/.copilot", "$XDG_CONFIG_HOME/github-copilot"],
    },
    KnownPackage {
        package: "@augmentcode/auggie",
        program: "auggie",
        pass_env: &["AUGMENT_*"],
        homes: &["$HOME/.augment"],
    },
    KnownPackage {
        package: "kimi-cli",
        program: "kimi-cli",
        pass_env: &["KIMI_*"],
        homes: &["$HOME/.kimi", "$XDG_DATA_HOME/kimi"],
    },
    // Without a model, from here or from its own file, it does not start.
    KnownPackage {
        package: "fast-agent-mcp",
        program: "fast-agent-mcp",
        pass_env: &["FAST_AGENT_*"],
        homes: &["$HOME/.fast-agent"],
    },
    KnownPackage {
        package: "kimi-code",
        program: "kimi",
        pass_env: &[],
        homes: &["$HOME/.kimi", "$HOME/.kimi-code", "$XDG_DATA_HOME/kimi"],
    },
    KnownPackage {
        package: "goose",
        program: "goose",
        pass_env: &[],
        homes: &[
            "$XDG_CONFIG_HOME/goose",
            "$XDG_DATA_HOME/goose",
            "$XDG_STATE_HOME/goose",
        ],
    },
    KnownPackage {
        package: "mistral-vibe",
        program: "vibe-acp",
        pass_env: &[],
        homes: &["$HOME/.vibe"],
    },
    KnownPackage {
        package: "hermes-agent",
        program: "hermes-acp",
        pass_env: &[],
        homes: &["$HOME/.hermes"],
    },
];

fn known(package: &str) -> Option<&'static KnownPackage> {
    KNOWN.iter().find(|known| known.package == package)
}

/// The program of a package, if it is known.
pub fn program(package: &str) -> Option<&'static str> {
    known(package).map(|known| known.program)
}

/// The package whose agent comes as a binary too, by the id of an entry: ids are what its users call the program.
pub(super) fn package_of(id: &str) -> Option<&'static str> {
    let known = KNOWN
        .iter()
        .find(|known| known.package == id || known.program == id);
    known.map(|known| known.package)
}

/// What to pass on to a package's agent.
pub(super) fn pass_env(package: &str) -> Vec<String> {
    let names = known(package).map_or(&[][..], |known| known.pass_env);
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Where the agent of a package keeps its own files.
pub(super) fn homes_of(package: &str) -> &'static [&'static str] {
    known(package).map_or(&[], |known| known.homes)
}

/// Programs that run the package or script that follows, and words between them.
const RUNNERS: [&str; 9] = ["npx", "npm", "pnpm", "bunx", "bun", "node", "deno", "uvx", "uv"];
const BETWEEN: [&str; 5] = ["exec", "dlx", "x", "tool", "run"];

/// Where the agent of a command line keeps its own files: known by its program, by the package that a runner fetches, or by a path that
/// leads into the package. Nothing of an agent that is not known.
pub fn homes<'a>(mut words: impl Iterator<Item = &'a str>) -> Vec<&'static str> {
    let command = words.next().unwrap_or_default();
    let is_runner = RUNNERS.contains(&file_name(command)) || file_name(command).starts_with("python");
    // Nothing behind it: those are the agent's own arguments.
    let run = words.find(|word| is_runner && !word.starts_with('-') && !BETWEEN.contains(word));
    homes_where(|known| known.is_named(command) || run.is_some_and(|run| known.is_named(run)))
}

/// Where all other known agents than the one with these files keep theirs. What several agents share belongs to each of them.
pub fn homes_of_others(own: &[&str]) -> Vec<&'static str> {
    let mut others = homes_where(|_| true);
    others.retain(|home| !own.contains(home));
    others
}

fn file_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn homes_where(wanted: impl Fn(&KnownPackage) -> bool) -> Vec<&'static str> {
    let known = KNOWN.iter().filter(|known| wanted(known));
    known.flat_map(|known| known.homes).copied().collect()
}

impl KnownPackage {
    /// Whether a word of a command line means it.
    fn is_named(&self, word: &str) -> bool {
        let name = file_name(word);
        let below = format!("/{}/", self.package);
        let package = word.strip_prefix(self.package);
        name == self.program
            || package.is_some_and(|rest| rest.is_empty() || rest.starts_with(['@', '=', '[']))
            || word.contains(&below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_own_files_are_known_by_its_command_line() {
        for (line, home) in [
            ("gemini --acp", "$HOME/.gemini"),
            ("/opt/bin/gemini", "$HOME/.gemini"),
            ("npx --yes @google/gemini-cli@0.61.0 --acp", "$HOME/.gemini"),
            (
                "node /x/node_modules/@google/gemini-cli/dist/index.js",
                "$HOME/.gemini",
            ),
            ("uvx fast-agent-mcp==0.10.46", "$HOME/.fast-agent"),
            ("codex-acp", "$CODEX_HOME"),
        ] {
            assert_eq!(homes(line.split(' ')), [home], "{line}");
        }
        for line in [
            "gemini-other",
            "npx @google/gemini-cli-other",
            "sh -c gemini-x",
            "ssh box",
            "other --model gemini",
            "node /x/other.js gemini",
            "npx --yes other-agent codex-acp",
        ] {
            assert_eq!(homes(line.split(' ')), [""; 0], "{line}");
        }
    }

    #[test]
    fn an_agents_own_home_is_no_other_agents() {
        let has = |line: &str, home: &str| homes_of_others(&homes(line.split(' '))).contains(&home);
        for line in [
            "npx --yes @agentclientprotocol/claude-agent-acp@0.100.0",
            "/usr/local/bin/claude-agent-acp",
        ] {
            assert!(
                !has(line, "$CLAUDE_CONFIG_DIR") && !has(line, "$HOME/.claude.json"),
                "{line}"
            );
            assert!(has(line, "$CODEX_HOME"), "{line}");
        }
        assert!(has("my-agent --acp", "$CLAUDE_CONFIG_DIR"));
        assert!(!has("kimi --acp", "$HOME/.kimi"), "kimi-cli has the same");
    }
}
