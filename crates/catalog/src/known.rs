//! Facts about packages that are missing from the registry document: a package's program, the environment variables
//! that its agent needs, and where the agent stores its own files.
//!
//! They are part of acpd and not of the document. So a downloaded document cannot request more access to the
//! environment or to the disk.

use super::names::{self, OwnNames};

/// A package that acpd has facts about.
#[derive(Debug)]
pub struct KnownPackage {
    /// Name of the package, without a version. For an agent that exists only as a binary, the agent's id.
    package: &'static str,
    /// Name of the program that the package provides.
    program: &'static str,
    /// Environment variables to pass on, as in `pass_env`.
    pass_env: &'static [&'static str],
    /// Where the agent writes its settings, sessions and caches. Paths begin with a variable. A path with an extension
    /// is a file.
    homes: &'static [&'static str],
    /// Names of directories in the home directory and in the directories of the XDG specification that the agent may use
    /// as well.
    names: &'static [&'static str],
    /// The variable that names the directory for what the agent otherwise writes into the working directory of its
    /// process, and that directory.
    instead_of_cwd: Option<(&'static str, &'static str)>,
    /// Whether the agent confines its own commands in a way that does not work inside another sandbox.
    confines_itself: bool,
}

const NONE: KnownPackage = KnownPackage {
    package: "",
    program: "",
    pass_env: &[],
    homes: &[],
    names: &[],
    instead_of_cwd: None,
    confines_itself: false,
};

const FAST_AGENT: KnownPackage = KnownPackage {
    package: "fast-agent-mcp",
    pass_env: &["FAST_AGENT_*"],
    homes: &["$HOME/.fast-agent"],
    names: &["fast-agent"],
    instead_of_cwd: Some(("FAST_AGENT_HOME", "$HOME/.fast-agent")),
    ..NONE
};

const KNOWN: &[KnownPackage] = &[
    KnownPackage {
        package: "@agentclientprotocol/claude-agent-acp",
        program: "claude-agent-acp",
        pass_env: &["ANTHROPIC_*", "CLAUDE_*"],
        homes: &["$CLAUDE_CONFIG_DIR", "$HOME/.claude.json"],
        ..NONE
    },
    KnownPackage {
        package: "@agentclientprotocol/codex-acp",
        program: "codex-acp",
        pass_env: &["CODEX_*", "OPENAI_*"],
        homes: &["$CODEX_HOME"],
        names: &["codex"],
        confines_itself: true,
        ..NONE
    },
    KnownPackage {
        package: "@google/gemini-cli",
        program: "gemini",
        pass_env: &["GEMINI_*", "GOOGLE_*"],
        homes: &["$HOME/.gemini"],
        names: &["gemini"],
        ..NONE
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
        names: &["opencode"],
        ..NONE
    },
    KnownPackage {
        package: "@qwen-code/qwen-code",
        program: "qwen",
        pass_env: &["OPENAI_*", "QWEN_*"],
        homes: &["$HOME/.qwen"],
        names: &["qwen"],
        ..NONE
    },
    KnownPackage {
        package: "@github/copilot",
        program: "copilot",
        pass_env: &["COPILOT_*"],
        homes: &[
            "$HOME/.copilot",
            "$XDG_CONFIG_HOME/github-copilot",
            "$XDG_CACHE_HOME/copilot",
        ],
        names: &["copilot"],
        ..NONE
    },
    KnownPackage {
        package: "@augmentcode/auggie",
        program: "auggie",
        pass_env: &["AUGMENT_*"],
        homes: &["$HOME/.augment"],
        names: &["auggie"],
        ..NONE
    },
    KnownPackage {
        package: "kimi-cli",
        program: "kimi-cli",
        pass_env: &["KIMI_*"],
        homes: &["$HOME/.kimi", "$XDG_DATA_HOME/kimi"],
        names: &["kimi"],
        ..NONE
    },
    // The agent does not start without a model, which comes from this variable or from its own file.
    KnownPackage {
        program: "fast-agent-mcp",
        ..FAST_AGENT
    },
    KnownPackage {
        program: "fast-agent",
        ..FAST_AGENT
    },
    KnownPackage {
        program: "fast-agent-acp",
        ..FAST_AGENT
    },
    KnownPackage {
        package: "kimi-code",
        program: "kimi",
        homes: &["$HOME/.kimi", "$HOME/.kimi-code", "$XDG_DATA_HOME/kimi"],
        names: &["kimi"],
        ..NONE
    },
    KnownPackage {
        package: "goose",
        program: "goose",
        homes: &[
            "$XDG_CONFIG_HOME/goose",
            "$XDG_DATA_HOME/goose",
            "$XDG_STATE_HOME/goose",
        ],
        names: &["goose"],
        ..NONE
    },
    KnownPackage {
        package: "mistral-vibe",
        program: "vibe-acp",
        homes: &["$HOME/.vibe"],
        names: &["vibe"],
        ..NONE
    },
    KnownPackage {
        package: "hermes-agent",
        program: "hermes-acp",
        homes: &["$HOME/.hermes"],
        names: &["hermes"],
        ..NONE
    },
    KnownPackage {
        package: "@openai/codex",
        program: "codex",
        pass_env: &["CODEX_*", "OPENAI_*"],
        homes: &["$CODEX_HOME"],
        names: &["codex"],
        confines_itself: true,
        ..NONE
    },
    KnownPackage {
        package: "@zed-industries/claude-code-acp",
        program: "claude-code-acp",
        pass_env: &["ANTHROPIC_*", "CLAUDE_*"],
        homes: &["$CLAUDE_CONFIG_DIR", "$HOME/.claude.json"],
        ..NONE
    },
    KnownPackage {
        package: "cline",
        program: "cline",
        homes: &["$HOME/.cline"],
        names: &["cline"],
        ..NONE
    },
    KnownPackage {
        package: "pi-acp",
        program: "pi-acp",
        homes: &["$HOME/.pi"],
        names: &["pi", "pi-acp"],
        ..NONE
    },
    KnownPackage {
        package: "@earendil-works/pi-coding-agent",
        program: "pi",
        homes: &["$HOME/.pi"],
        names: &["pi"],
        ..NONE
    },
    // Its earlier name.
    KnownPackage {
        package: "@mariozechner/pi-coding-agent",
        program: "pi",
        homes: &["$HOME/.pi"],
        names: &["pi"],
        ..NONE
    },
    KnownPackage {
        package: "crow-cli",
        program: "crow-cli",
        // What lies beside it in `.agents` belongs to all agents.
        homes: &["$HOME/.agents/crow"],
        names: &["crow"],
        ..NONE
    },
    KnownPackage {
        package: "deepagents-code",
        program: "deepagents-code",
        homes: &["$HOME/.deepagents", "$XDG_CACHE_HOME/deepagents-code"],
        names: &["deepagents"],
        ..NONE
    },
    // The same package has a second program.
    KnownPackage {
        package: "deepagents-code",
        program: "dcode",
        homes: &["$HOME/.deepagents", "$XDG_CACHE_HOME/deepagents-code"],
        names: &["deepagents"],
        ..NONE
    },
    KnownPackage {
        package: "deepagents-acp",
        program: "deepagents-acp",
        homes: &["$HOME/.deepagents"],
        names: &["deepagents"],
        ..NONE
    },
    KnownPackage {
        package: "amp-acp",
        program: "amp-acp",
        homes: &[
            "$XDG_CONFIG_HOME/amp",
            "$XDG_DATA_HOME/amp",
            "$XDG_CACHE_HOME/amp",
        ],
        names: &["amp"],
        ..NONE
    },
    KnownPackage {
        package: "cursor-agent",
        program: "cursor-agent",
        homes: &["$HOME/.cursor", "$XDG_CONFIG_HOME/cursor"],
        ..NONE
    },
    KnownPackage {
        package: "droid",
        program: "droid",
        homes: &["$HOME/.factory"],
        ..NONE
    },
];

fn known(package: &str) -> Option<&'static KnownPackage> {
    KNOWN.iter().find(|known| known.package == package)
}

/// Returns the program of a package, if the package is known.
pub fn program(package: &str) -> Option<&'static str> {
    known(package).map(|known| known.program)
}

/// Returns the package of an agent that also exists as a binary, by the registry id. Ids match the names of programs.
pub(super) fn package_of(id: &str) -> Option<&'static str> {
    let known = KNOWN
        .iter()
        .find(|known| known.package == id || known.program == id);
    known.map(|known| known.package)
}

/// Programs of vendors that do not speak ACP themselves, by the registry id of the adapter that does.
const VENDORS: [(&str, &str); 3] = [
    ("claude-acp", "claude"),
    ("codex-acp", "codex"),
    ("mistral-vibe", "vibe"),
];

/// Returns the program whose presence shows that the user has this agent, although it needs an adapter.
pub(super) fn vendor_program(id: &str) -> Option<&'static str> {
    let vendor = VENDORS.iter().find(|(adapter, _)| *adapter == id);
    vendor.map(|(_, program)| *program)
}

/// Returns the environment variables to pass on to a package's agent.
pub(super) fn pass_env(package: &str) -> Vec<String> {
    let names = known(package).map_or(&[][..], |known| known.pass_env);
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Returns where the agent of a package stores its own files.
pub(super) fn homes_of(package: &str) -> &'static [&'static str] {
    known(package).map_or(&[], |known| known.homes)
}

/// Returns where the agent of a command line stores its own files. The agent is recognized by its program, by the
/// package that a runner downloads, or by a path into the package. Returns nothing for an unknown agent.
pub fn homes<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'static str> {
    homes_where(named_in(words))
}

/// Returns the names under which the agent of a command line keeps files of its own.
pub fn own_names<'a>(words: impl Iterator<Item = &'a str> + Clone) -> OwnNames {
    let is_named = named_in(words.clone());
    let mut known = KNOWN.iter().filter(|known| is_named(known)).peekable();
    let names = match known.peek() {
        Some(_) => known
            .flat_map(|known| known.names)
            .map(|&name| name.to_owned())
            .collect(),
        None => names::of_command(words),
    };
    OwnNames {
        names,
        only_new: false,
    }
}

/// Returns the variables with which the agent of a command line writes nothing into the working directory of its process,
/// with their values.
pub fn instead_of_cwd<'a>(words: impl Iterator<Item = &'a str>) -> Vec<(&'static str, &'static str)> {
    let is_named = named_in(words);
    let known = KNOWN.iter().filter(|known| is_named(known));
    let mut found: Vec<_> = known.filter_map(|known| known.instead_of_cwd).collect();
    found.dedup();
    found
}

/// Returns whether the agent of a command line confines its own commands, in a way that does not work inside another
/// sandbox.
pub fn confines_itself<'a>(words: impl Iterator<Item = &'a str>) -> bool {
    let is_named = named_in(words);
    KNOWN.iter().any(|known| known.confines_itself && is_named(known))
}

/// Returns whether a package is known to confine its agent's commands itself.
pub(super) fn package_confines_itself(package: &str) -> bool {
    known(package).is_some_and(|known| known.confines_itself)
}

/// Returns the names under which an agent of the registry keeps files of its own.
pub(super) fn names_of(id: &str, package: &str, program: &str) -> OwnNames {
    match known(package) {
        Some(known) => OwnNames {
            names: known.names.iter().map(|&name| name.to_owned()).collect(),
            only_new: false,
        },
        None => OwnNames {
            names: names::of_agent(id, package, program),
            only_new: true,
        },
    }
}

/// Returns a test for the packages that a command line names.
fn named_in<'a>(mut words: impl Iterator<Item = &'a str>) -> impl Fn(&KnownPackage) -> bool {
    let command = words.next().unwrap_or_default();
    let run = names::run_by(command, words);
    move |known: &KnownPackage| known.is_named(command) || run.is_some_and(|run| known.is_named(run))
}

/// Returns where all other known agents store their files. `own` are the paths of the current agent. A path that
/// several agents share belongs to each of them.
pub fn homes_of_others(own: &[&str]) -> Vec<&'static str> {
    let mut others = homes_where(|_| true);
    others.retain(|home| !own.contains(home));
    others
}

fn homes_where(wanted: impl Fn(&KnownPackage) -> bool) -> Vec<&'static str> {
    let known = KNOWN.iter().filter(|known| wanted(known));
    known.flat_map(|known| known.homes).copied().collect()
}

impl KnownPackage {
    /// Returns whether a word of a command line names the package or its program.
    fn is_named(&self, word: &str) -> bool {
        let name = names::file_name(word);
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
            ("/opt/bin/fast-agent acp", "$HOME/.fast-agent"),
            ("codex-acp", "$CODEX_HOME"),
            ("/opt/venv/bin/crow-cli acp", "$HOME/.agents/crow"),
            ("uvx crow-cli==0.1.48 acp", "$HOME/.agents/crow"),
        ] {
            assert_eq!(homes(line.split(' ')), [home], "{line}");
        }
        for line in ["uvx fast-agent-mcp==0.10.48", "/opt/bin/fast-agent-acp"] {
            let variable = ("FAST_AGENT_HOME", "$HOME/.fast-agent");
            assert_eq!(instead_of_cwd(line.split(' ')), [variable], "{line}");
        }
        assert_eq!(instead_of_cwd(["gemini"].into_iter()), []);
        for line in [
            "/opt/venv/bin/dcode --acp",
            "/opt/venv/bin/deepagents-code --acp",
            "uvx --from deepagents-code==0.1.88 dcode --acp",
        ] {
            let mut found = homes(line.split(' '));
            found.dedup();
            assert!(
                found.starts_with(&["$HOME/.deepagents", "$XDG_CACHE_HOME/deepagents-code"]),
                "{line}"
            );
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
    fn agents_do_not_share_a_home() {
        let has = |line: &str, home: &str| homes_of_others(&homes(line.split(' '))).contains(&home);
        for line in [
            "npx --yes @agentclientprotocol/claude-agent-acp@0.101.0",
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
        assert!(has("my-agent --acp", "$HOME/.agents/crow"));
        assert!(
            !has("my-agent --acp", "$HOME/.agents"),
            "skills for all agents are there"
        );
    }
}
