//! The tested agents: their installation, their configuration for the fake model, and their known failures.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use acpd_catalog::{confines_itself, instead_of_cwd};
use serde_json::{Value, json};

use super::cases::Case;
use super::root;

/// A third-party agent.
pub struct Agent {
    /// Its directory below `.tools/agents`, and its name in the configuration.
    pub name: &'static str,
    /// The name that users know.
    pub title: &'static str,
    /// The name of its package.
    pub package: &'static str,
    /// The registry of the package.
    pub source: Source,
    /// The executable, relative to the packages or programs that the source installs.
    pub entry: &'static str,
    /// The command-line arguments.
    pub args: &'static [&'static str],
    /// The environment variables.
    pub env: fn(&Setting) -> Vec<(&'static str, String)>,
    /// The arguments with which its program is an MCP server that acpd has to give it; none if it has its own tools.
    pub server: &'static [&'static str],
    /// Files in its home directory, by relative path.
    pub files: fn(&Setting) -> Vec<(&'static str, String)>,
    /// Makes its stored data look older, while it does not run.
    pub age: fn(&Setting),
    /// The actions for which it requests permission.
    pub guards: Guards,
    /// Files in which it stores "always" answers itself: below `home` and `work`.
    pub answers: &'static [&'static str],
    /// Remarks about cases that work.
    pub notes: &'static [(Case, &'static str)],
    /// The known failures.
    pub known: &'static [Known],
}

/// The registry of a package, and its runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A script for Node from npm.
    NodeScript,
    /// A program from npm.
    NpmProgram,
    /// A program from `PyPI`, in a virtual environment.
    PyPi,
}

/// The actions for which an agent requests permission.
#[derive(Debug, Clone, Copy)]
pub enum Guards {
    /// Commands.
    Commands,
    /// File changes, and only commands that look dangerous.
    Files,
    /// Nothing.
    Nothing,
}

/// A case that is known to fail.
pub struct Known {
    /// The failing case.
    pub case: Case,
    /// A part of the failure's text, so that no other failure is accepted.
    pub sign: &'static str,
    /// The text in the documentation.
    pub note: &'static str,
}

/// The environment of an agent under test.
pub struct Setting {
    /// Its home directory, which is initially empty.
    pub home: PathBuf,
    /// Its working directory.
    pub work: PathBuf,
    /// URL of the model.
    pub model: String,
    /// A file to which each start of the agent adds a line.
    pub starts: PathBuf,
}

impl Setting {
    fn in_home(&self, path: &str) -> String {
        self.home.join(path).display().to_string()
    }
}

impl Agent {
    /// Returns the directory of its installation.
    pub fn folder(&self) -> PathBuf {
        installed().join(self.name)
    }

    /// Returns why it could not be installed, if so.
    pub fn absent(&self) -> Option<String> {
        let needed = match self.source {
            Source::NodeScript => &[self.name, "node"][..],
            Source::NpmProgram | Source::PyPi => &[self.name],
        };
        needed.iter().find_map(|name| skipped(name))
    }

    /// Returns the installed version.
    pub fn version(&self) -> String {
        let read = |path: PathBuf| {
            std::fs::read_to_string(&path).unwrap_or_else(|error| {
                panic!("cannot read {} ({error}): run make test-agents", path.display())
            })
        };
        if self.source == Source::PyPi {
            let pins = read(self.folder().join("pins"));
            let (_, version) = pins.trim().split_once("==").expect("a pin names a version");
            return version.to_owned();
        }
        let path = self.packages().join(self.package).join("package.json");
        let package: Value = serde_json::from_str(&read(path)).expect("a package describes itself");
        package["version"]
            .as_str()
            .expect("a package has a version")
            .to_owned()
    }

    /// Returns the directory in which its source installs packages or programs.
    fn packages(&self) -> PathBuf {
        self.folder().join(match self.source {
            Source::NodeScript | Source::NpmProgram => "node_modules",
            Source::PyPi => "venv/bin",
        })
    }

    /// Returns its command line.
    pub fn command(&self) -> Vec<String> {
        let interpreter = (self.source == Source::NodeScript).then(|| installed().join("node/bin/node"));
        let program = interpreter.into_iter().chain([self.packages().join(self.entry)]);
        let program = program.map(|path| path.display().to_string());
        program
            .chain(self.args.iter().map(|arg| (*arg).to_owned()))
            .collect()
    }

    /// Returns the variables that it needs for the fake model, and that keep it in its own home directory.
    pub fn variables(&self, setting: &Setting) -> Vec<(&'static str, String)> {
        let node = installed().join("node/bin");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut env = vec![
            ("PATH", format!("{}:{path}", node.display())),
            ("HOME", setting.home.display().to_string()),
            ("TMPDIR", setting.in_home("tmp")),
            ("XDG_CONFIG_HOME", setting.in_home(".config")),
            ("XDG_DATA_HOME", setting.in_home(".local/share")),
            ("XDG_STATE_HOME", setting.in_home(".local/state")),
            ("XDG_CACHE_HOME", setting.in_home(".cache")),
            // Blocks all other hosts: no server listens on the discard port.
            ("HTTP_PROXY", "http://127.0.0.1:9".to_owned()),
            ("HTTPS_PROXY", "http://127.0.0.1:9".to_owned()),
            ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
            ("no_proxy", "127.0.0.1,localhost".to_owned()),
            ("NO_BROWSER", "1".to_owned()),
        ];
        env.extend((self.env)(setting));
        env
    }

    /// Returns its section of the configuration; `mark` is added to its environment.
    pub fn configuration(&self, setting: &Setting, mark: (&str, &str)) -> String {
        let count = format!("echo >>'{}'; exec \"$@\"", setting.starts.display());
        let mut args = vec!["-c".to_owned(), count, "sh".to_owned()];
        args.extend(self.command());
        let mut env = vec![(mark.0, mark.1.to_owned())];
        env.extend(self.variables(setting));
        // The shell hides the program, by which acpd finds these variables and the agent's own sandbox.
        for (name, place) in instead_of_cwd(std::iter::once(self.package)) {
            env.push((name, place.replace("$HOME", &setting.home.display().to_string())));
        }
        let env: Vec<_> = env
            .iter()
            .map(|(name, value)| format!("{name} = {value:?}"))
            .collect();
        // Uses the default sandbox of agents, extended by the installation next to this repository and the file that
        // counts starts.
        std::fs::write(&setting.starts, "").expect("a file can be written");
        let shown = |path: PathBuf| path.canonicalize().unwrap_or(path).display().to_string();
        let read = [self.folder(), installed().join("node")].map(shown);
        let server = match self.server {
            [] => String::new(),
            args => format!(
                "[[agents.{0}.mcp_servers]]\nname = {0:?}\ncommand = {1:?}\nargs = {args:?}\n",
                self.name,
                self.packages().join(self.entry).display().to_string()
            ),
        };
        let sandbox = if self.confines_itself() {
            "\"off\"".to_owned()
        } else {
            let write = setting.starts.display().to_string();
            format!("{{ read = {read:?}, write = [{write:?}] }}")
        };
        format!(
            "[agents.{}]\ncommand = \"/bin/sh\"\nargs = {args:?}\nenv = {{ {} }}\nsandbox = {sandbox}\n{server}",
            self.name,
            env.join(", "),
        )
    }

    /// Returns whether it confines its commands itself, so that acpd does not.
    pub fn confines_itself(&self) -> bool {
        confines_itself(std::iter::once(self.package))
    }

    /// Returns a script for the model that creates a file, and requires permission.
    pub fn guarded(&self, file: &Path) -> String {
        let file = file.display();
        match self.guards {
            // Claude offers no "always" option for commands such as `touch`.
            Guards::Commands | Guards::Nothing => format!("run truncate -s 1 {file}"),
            Guards::Files => format!("write {file} once allowed"),
        }
    }

    /// Creates the agent's home directory.
    pub fn settle(&self, setting: &Setting) {
        let write = |path: &Path, text: &str| {
            let folder = path.parent().expect("a file is in a folder");
            std::fs::create_dir_all(folder).expect("a folder can be made");
            std::fs::write(path, text).expect("a file can be written");
        };
        std::fs::create_dir_all(setting.home.join("tmp")).expect("a folder can be made");
        for (path, text) in (self.files)(setting) {
            write(&setting.home.join(path), &text);
        }
    }
}

/// Returns the directory with all agents' installations.
pub fn installed() -> PathBuf {
    root().join(".tools/agents")
}

/// Returns why a package could not be installed, if so.
pub fn skipped(name: &str) -> Option<String> {
    let reason = std::fs::read_to_string(installed().join(name).join("skipped")).ok()?;
    Some(reason.trim().to_owned())
}

/// Lists a directory; returns nothing if it does not exist.
fn entries_of(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn nothing(_: &Setting) -> Vec<(&'static str, String)> {
    Vec::new()
}

/// Agents that ignore the servers of `session/new`, in a sandbox and without one.
const TAKES_NO_SERVERS: Known = Known {
    case: Case::Server,
    sign: "asks the editor's server for its tools",
    note: "starts no servers of clients, in any sandbox",
};

/// The package of Hermes has its client for servers in an extra.
const LACKS_MCP: Known = Known {
    note: "the package without its extra `mcp` starts no servers",
    ..TAKES_NO_SERVERS
};

/// All agents, in the order of the table.
pub const AGENTS: &[&Agent] = &[
    &AUGGIE,
    &CLAUDE,
    &CLINE,
    &CODEX,
    &CROW,
    &DEEPAGENTS,
    &FAST,
    &GEMINI,
    &COPILOT,
    &HERMES,
    &KIMI,
    &VIBE,
    &OPENCODE,
    &PI,
    &QWEN,
];

/// Claude Code through the adapter of the ACP project.
pub const CLAUDE: Agent = Agent {
    name: "claude",
    title: "Claude Code",
    package: "@agentclientprotocol/claude-agent-acp",
    source: Source::NodeScript,
    entry: "@agentclientprotocol/claude-agent-acp/dist/index.js",
    args: &[],
    env: |setting| {
        vec![
            ("ANTHROPIC_BASE_URL", setting.model.clone()),
            ("ANTHROPIC_API_KEY", "test".into()),
            ("CLAUDE_CONFIG_DIR", setting.in_home(".claude")),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
            ("DISABLE_AUTOUPDATER", "1".into()),
            ("DISABLE_TELEMETRY", "1".into()),
            ("DISABLE_ERROR_REPORTING", "1".into()),
            // Otherwise the tools do not include the shell until the model has searched for it.
            ("ENABLE_TOOL_SEARCH", "false".into()),
        ]
    },
    server: &[],
    files: nothing,
    age: |_| {},
    guards: Guards::Commands,
    answers: &["work/.claude/settings.local.json"],
    notes: &[],
    known: &[],
};

/// Codex through the adapter of the ACP project.
pub const CODEX: Agent = Agent {
    name: "codex",
    title: "Codex",
    package: "@agentclientprotocol/codex-acp",
    source: Source::NodeScript,
    entry: "@agentclientprotocol/codex-acp/dist/index.js",
    args: &[],
    env: |setting| {
        vec![
            ("CODEX_HOME", setting.in_home(".codex")),
            ("MOCK_API_KEY", "test".into()),
            ("INITIAL_AGENT_MODE", "workspace-write".into()),
        ]
    },
    server: &[],
    files: |setting| {
        let config = format!(
            "model = \"gpt-5.5\"\n\
             model_provider = \"mock\"\n\
             check_for_update_on_startup = false\n\
             [model_providers.mock]\n\
             name = \"mock\"\n\
             base_url = \"{}/v1\"\n\
             env_key = \"MOCK_API_KEY\"\n\
             wire_api = \"responses\"\n\
             requires_openai_auth = false\n\
             request_max_retries = 0\n\
             stream_max_retries = 0\n\
             [projects.{:?}]\n\
             trust_level = \"trusted\"\n",
            setting.model,
            setting.work.display().to_string()
        );
        vec![(".codex/config.toml", config)]
    },
    age: |_| {},
    guards: Guards::Commands,
    answers: &["home/.codex/rules/default.rules"],
    notes: &[],
    known: &[],
};

/// Gemini CLI.
pub const GEMINI: Agent = Agent {
    name: "gemini",
    title: "Gemini CLI",
    package: "@google/gemini-cli",
    source: Source::NodeScript,
    entry: "@google/gemini-cli/bundle/gemini.js",
    args: &["--acp"],
    env: |setting| {
        vec![
            ("GEMINI_API_KEY", "test".into()),
            ("GOOGLE_GEMINI_BASE_URL", setting.model.clone()),
            ("GEMINI_MODEL", "gemini-2.5-pro".into()),
            ("GEMINI_TELEMETRY_ENABLED", "false".into()),
            ("GEMINI_CLI_TRUST_WORKSPACE", "true".into()),
        ]
    },
    server: &[],
    files: |_| {
        let settings = json!({
            "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
            "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
            "privacy": { "usageStatisticsEnabled": false },
            "telemetry": { "enabled": false },
        });
        vec![(".gemini/settings.json", settings.to_string())]
    },
    age: |setting| {
        // Gemini names a session file by the minute, and a load within the same minute overwrites it.
        for project in entries_of(&setting.home.join(".gemini/tmp")) {
            for file in entries_of(&project.join("chats")) {
                let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
                let Some((day, time)) = name.split_once('T') else {
                    continue;
                };
                let session = time.get("hh-mm".len()..).unwrap_or_default();
                let other = if time.starts_with("00-00") {
                    "23-59"
                } else {
                    "00-00"
                };
                let other = file.with_file_name(format!("{day}T{other}{session}"));
                std::fs::rename(&file, other).expect("a session's file can be renamed");
            }
        }
    },
    guards: Guards::Commands,
    answers: &["home/.gemini/policies/auto-saved.toml"],
    notes: &[(Case::GoOn, "not within the minute in which the session began")],
    known: &[],
};

/// Hermes Agent.
pub const HERMES: Agent = Agent {
    name: "hermes",
    title: "Hermes Agent",
    package: "hermes-agent",
    source: Source::PyPi,
    entry: "hermes-acp",
    args: &[],
    env: nothing,
    server: &[],
    files: |setting| {
        let config = json!({ "model": {
            "provider": "custom",
            "default": "mock-model",
            "base_url": format!("{}/v1", setting.model),
            "api_key": "test",
            "context_length": 200_000,
        } });
        // JSON is YAML.
        vec![(".hermes/config.yaml", config.to_string())]
    },
    age: |_| {},
    guards: Guards::Files,
    answers: &[],
    notes: &[],
    known: &[LACKS_MCP],
};

/// Kimi Code CLI.
pub const KIMI: Agent = Agent {
    name: "kimi",
    title: "Kimi Code CLI",
    package: "@moonshot-ai/kimi-code",
    source: Source::NodeScript,
    entry: "@moonshot-ai/kimi-code/dist/main.mjs",
    args: &["acp"],
    env: |setting| {
        vec![
            ("KIMI_MODEL_PROVIDER_TYPE", "openai".into()),
            ("KIMI_MODEL_BASE_URL", format!("{}/v1", setting.model)),
            ("KIMI_MODEL_API_KEY", "test".into()),
            ("KIMI_MODEL_NAME", "mock-model".into()),
            ("KIMI_DISABLE_TELEMETRY", "1".into()),
            ("KIMI_CODE_NO_AUTO_UPDATE", "1".into()),
        ]
    },
    server: &[],
    files: nothing,
    age: |_| {},
    guards: Guards::Commands,
    answers: &[],
    notes: &[],
    known: &[],
};

/// Mistral Vibe.
pub const VIBE: Agent = Agent {
    name: "vibe",
    title: "Mistral Vibe",
    package: "mistral-vibe",
    source: Source::PyPi,
    entry: "vibe-acp",
    args: &[],
    env: |_| vec![("MOCK_API_KEY", "test".into())],
    server: &[],
    files: |setting| {
        let config = format!(
            "active_model = \"mock\"\n\
             enable_telemetry = false\n\
             enable_update_checks = false\n\
             enable_auto_update = false\n\
             enable_connectors = false\n\
             [experiments]\n\
             enable = false\n\
             [[providers]]\n\
             name = \"mock\"\n\
             api_base = \"{}/v1\"\n\
             api_key_env_var = \"MOCK_API_KEY\"\n\
             backend = \"generic\"\n\
             [[models]]\n\
             name = \"mock-model\"\n\
             provider = \"mock\"\n\
             alias = \"mock\"\n",
            setting.model
        );
        vec![(".vibe/config.toml", config)]
    },
    age: |_| {},
    guards: Guards::Commands,
    answers: &["home/.vibe/config.toml"],
    notes: &[],
    known: &[],
};

/// opencode.
pub const OPENCODE: Agent = Agent {
    name: "opencode",
    title: "opencode",
    package: "opencode-ai",
    source: Source::NpmProgram,
    entry: "opencode-ai/bin/opencode.exe",
    args: &["acp"],
    env: |_| {
        let on = |name| (name, "1".to_owned());
        vec![
            on("OPENCODE_DISABLE_AUTOUPDATE"),
            on("OPENCODE_DISABLE_MODELS_FETCH"),
            on("OPENCODE_DISABLE_LSP_DOWNLOAD"),
            on("OPENCODE_DISABLE_SHARE"),
        ]
    },
    server: &[],
    files: |setting| {
        let config = json!({
            "model": "mock/mock-model",
            "permission": { "bash": "ask", "edit": "ask" },
            "provider": { "mock": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "Mock",
                "options": { "baseURL": format!("{}/v1", setting.model), "apiKey": "test" },
                "models": { "mock-model": { "name": "Mock model" } },
            } },
        });
        vec![(".config/opencode/opencode.json", config.to_string())]
    },
    age: |_| {},
    guards: Guards::Commands,
    answers: &[],
    notes: &[],
    known: &[],
};

/// Qwen Code.
pub const QWEN: Agent = Agent {
    name: "qwen",
    title: "Qwen Code",
    package: "@qwen-code/qwen-code",
    source: Source::NodeScript,
    entry: "@qwen-code/qwen-code/cli.js",
    args: &["--acp"],
    env: |setting| {
        vec![
            ("OPENAI_API_KEY", "test".into()),
            ("OPENAI_BASE_URL", format!("{}/v1", setting.model)),
            ("OPENAI_MODEL", "mock-model".into()),
            ("QWEN_TELEMETRY_ENABLED", "false".into()),
        ]
    },
    server: &[],
    files: |_| {
        let settings = json!({
            "security": { "auth": { "selectedType": "openai" }, "folderTrust": { "enabled": false } },
            "general": { "enableAutoUpdate": false, "disableAutoUpdate": true },
            "privacy": { "usageStatisticsEnabled": false },
            "telemetry": { "enabled": false },
            "tools": { "approvalMode": "default" },
        });
        vec![(".qwen/settings.json", settings.to_string())]
    },
    age: |_| {},
    guards: Guards::Commands,
    answers: &["home/.qwen/settings.json", "work/.qwen/settings.json"],
    notes: &[],
    known: &[],
};

/// Cline.
pub const CLINE: Agent = Agent {
    name: "cline",
    title: "Cline",
    package: "cline",
    source: Source::NpmProgram,
    entry: "@cline/cli-linux-x64/bin/cline",
    args: &["--acp"],
    env: |_| {
        vec![
            ("CLINE_API_KEY", "test".into()),
            ("CLINE_PROVIDER", "openai-compatible".into()),
        ]
    },
    server: &[],
    files: |setting| {
        let providers = json!({
            "version": 1,
            "lastUsedProvider": "openai-compatible",
            "modes": {},
            "providers": { "openai-compatible": {
                "settings": {
                    "provider": "openai-compatible",
                    "apiKey": "test",
                    "model": "mock",
                    "baseUrl": format!("{}/v1", setting.model),
                },
                "updatedAt": "2026-01-01T00:00:00.000Z",
                "tokenSource": "manual",
            } },
        });
        vec![(".cline/data/settings/providers.json", providers.to_string())]
    },
    age: |_| {},
    guards: Guards::Commands,
    answers: &[],
    notes: &[],
    known: &[TAKES_NO_SERVERS],
};

/// GitHub Copilot CLI.
pub const COPILOT: Agent = Agent {
    name: "copilot",
    title: "GitHub Copilot",
    package: "@github/copilot",
    source: Source::NpmProgram,
    entry: "@github/copilot-linux-x64/copilot",
    args: &["--acp"],
    env: |setting| {
        vec![
            ("COPILOT_PROVIDER_BASE_URL", format!("{}/v1", setting.model)),
            ("COPILOT_PROVIDER_TYPE", "openai".into()),
            ("COPILOT_PROVIDER_API_KEY", "test".into()),
            ("COPILOT_MODEL", "mock".into()),
            ("COPILOT_OFFLINE", "true".into()),
        ]
    },
    server: &[],
    files: nothing,
    age: |_| {},
    guards: Guards::Commands,
    answers: &[],
    notes: &[],
    known: &[TAKES_NO_SERVERS],
};

/// fast-agent.
pub const FAST: Agent = Agent {
    name: "fast",
    title: "fast-agent",
    package: "fast-agent-mcp",
    source: Source::PyPi,
    entry: "fast-agent",
    args: &["acp", "--model", "generic.mock", "-x"],
    env: |setting| {
        vec![
            ("GENERIC_API_KEY", "test".into()),
            ("GENERIC_BASE_URL", format!("{}/v1", setting.model)),
        ]
    },
    server: &[],
    files: nothing,
    age: |_| {},
    guards: Guards::Commands,
    answers: &[],
    notes: &[],
    known: &[],
};

/// pi, through its adapter.
pub const PI: Agent = Agent {
    name: "pi",
    title: "pi",
    package: "pi-acp",
    source: Source::NodeScript,
    entry: "pi-acp/dist/index.js",
    args: &[],
    env: |_| {
        let pi = installed().join("pi/node_modules/.bin/pi");
        vec![("PI_ACP_PI_COMMAND", pi.display().to_string())]
    },
    server: &[],
    files: |setting| {
        let model = json!({
            "id": "mock",
            "name": "mock",
            "reasoning": false,
            "input": ["text"],
            "contextWindow": 128_000,
            "maxTokens": 4096,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 },
        });
        let models = json!({ "providers": { "mock": {
            "baseUrl": format!("{}/v1", setting.model),
            "api": "openai-completions",
            "apiKey": "test",
            "models": [model],
        } } });
        let settings = json!({ "defaultProvider": "mock", "defaultModel": "mock", "quietStartup": true });
        vec![
            (".pi/agent/models.json", models.to_string()),
            (".pi/agent/settings.json", settings.to_string()),
        ]
    },
    age: |_| {},
    guards: Guards::Nothing,
    answers: &[],
    notes: &[],
    known: &[TAKES_NO_SERVERS],
};

/// Crow.
pub const CROW: Agent = Agent {
    name: "crow",
    title: "Crow",
    package: "crow-cli",
    source: Source::PyPi,
    entry: "crow-cli",
    args: &["acp"],
    env: nothing,
    // Its tools come from the client alone.
    server: &["mcp"],
    files: |setting| {
        let config = json!({
            "providers": { "mock": { "api_key": "test", "base_url": format!("{}/v1", setting.model) } },
            "models": { "mock": { "provider": "mock", "model": "mock-model" } },
        });
        // JSON is YAML.
        vec![(".agents/crow/config.yaml", config.to_string())]
    },
    age: |_| {},
    guards: Guards::Nothing,
    answers: &[],
    notes: &[],
    known: &[],
};

/// Deep Agents Code.
pub const DEEPAGENTS: Agent = Agent {
    name: "deepagents",
    title: "Deep Agents Code",
    package: "deepagents-code",
    source: Source::PyPi,
    entry: "dcode",
    args: &["--acp", "--model", "openai:mock-model"],
    env: |setting| {
        vec![
            ("OPENAI_API_KEY", "test".into()),
            ("OPENAI_BASE_URL", format!("{}/v1", setting.model)),
            ("DEEPAGENTS_CODE_OFFLINE", "1".into()),
            ("DEEPAGENTS_CODE_NO_UPDATE_CHECK", "1".into()),
        ]
    },
    server: &[],
    files: nothing,
    age: |_| {},
    guards: Guards::Commands,
    answers: &[],
    notes: &[],
    known: &[TAKES_NO_SERVERS],
};

/// Auggie, of Augment Code.
pub const AUGGIE: Agent = Agent {
    name: "auggie",
    title: "Auggie",
    package: "@augmentcode/auggie",
    source: Source::NodeScript,
    entry: "@augmentcode/auggie/augment.mjs",
    args: &[
        "--acp",
        "--permission",
        "launch-process:ask-user",
        "--permission",
        "save-file:ask-user",
    ],
    env: |setting| {
        let session = json!({
            "accessToken": "test",
            "tenantURL": format!("{}/", setting.model),
            "scopes": ["read", "write"],
        });
        vec![
            ("AUGMENT_SESSION_AUTH", session.to_string()),
            ("AUGMENT_DISABLE_AUTO_UPDATE", "1".into()),
        ]
    },
    server: &[],
    files: |setting| {
        // Otherwise a new session asks whether to send the workspace to the service.
        let settings = json!({ "indexingDenyDirs": [setting.work.display().to_string()] });
        vec![(".augment/settings.json", settings.to_string())]
    },
    age: |_| {},
    guards: Guards::Commands,
    answers: &["home/.augment/settings.json"],
    notes: &[],
    known: &[],
};
