//! The configuration of the daemon.
//!
//! In: the values of the configuration file, and what flags and environment variables override. Out: the same for the parts of the
//! daemon, what is wrong, and what a reload cannot change. Never: reads a file.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use acpd_host::Reserved;
use acpd_log::Durability;
use acpd_model::Limits;
use acpd_model::section::{About, Folder, Reload, Section, Setting};
use acpd_policy::Policy;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::net::tls::TlsConfig;
use crate::notify::{NotificationsConfig, TargetConfig};
use acpd_runtime::agent::config::AgentConfig;
use acpd_runtime::agent::registry::{AgentBook, Agents};
use acpd_runtime::agent::sandbox::{self, SandboxSettings};
use acpd_runtime::policy::book::PolicyBook;
use acpd_runtime::retention::RetentionSettings;

/// The port of a daemon whose address nothing names.
pub const PORT: u16 = 4127;

/// Defines [`Config`] and what is the same for each of its rows. `keys` are single values beside the sections, `sections` are tables, and
/// `given` is what the file cannot have. A new configuration file and the reference have the rows in this order.
macro_rules! config {
    (
        keys { $( $(#[$key_doc:meta])* $key:ident: $key_type:ty = $about:expr; )* }
        sections { $( $(#[$section_doc:meta])* $section:ident: $section_type:ty; )* }
        given { $( $(#[$given_doc:meta])* $given:ident: $given_type:ty; )* }
    ) => {
        /// The configuration of a daemon, as the file has it; flags and environment variables override its values.
        #[derive(Debug, Clone, Default, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Config {
            $( $(#[$key_doc])* pub $key: $key_type, )*
            $( $(#[$section_doc])* pub $section: $section_type, )*
            $( $(#[$given_doc])* #[serde(skip)] pub $given: $given_type, )*
        }

        impl Config {
            /// The keys and sections of the file, and what is known of them.
            pub const ROWS: &'static [(&'static str, About)] = &[
                $( (stringify!($key), $about), )*
                $( (stringify!($section), <$section_type as Section>::ABOUT), )*
            ];

            /// Returns what is wrong within a section.
            fn check_sections(&self) -> Vec<String> {
                [ $( Section::check(&self.$section, stringify!($section)), )* ].concat()
            }

            /// Makes the paths of all sections absolute.
            fn resolve_sections(&mut self, folder: &Folder) {
                $( Section::resolve(&mut self.$section, folder); )*
            }

            /// Returns the settings that differ from those with which the daemon has started, and that only a restart applies.
            pub(crate) fn needs_restart(&self, started: &Self) -> Vec<&'static str> {
                // In the rows, the keys come before the sections.
                let differs = [ $( self.$key != started.$key, )* ];
                let keys = Self::ROWS.iter().zip(differs);
                let keys = keys.filter(|((_, about), differs)| *differs && about.reload == Reload::Restart);
                let sections = [ $( self.$section.needs_restart(&started.$section, stringify!($section)), )* ];
                keys.map(|((key, _), _)| *key).chain(sections.into_iter().flatten()).collect()
            }
        }
    };
}

config! {
    keys {
        /// The agent of clients that name none.
        default_agent: Option<String> = About {
            reload: Reload::Live,
            settings: &[Setting::new(
                "",
                "name of an agent: [Default agent](#default-agent)",
                "the only configured agent, or the only one that is set up",
            )],
            template: r#"# The agent of commands and editors that name none.
#default_agent = "demo"
"#,
        };
        /// The address for clients. An address beyond loopback needs TLS, or [`ServerConfig::insecure_listen`].
        listen: Option<SocketAddr> = About {
            reload: Reload::Restart,
            settings: &[Setting::new(
                "",
                "`\"ADDRESS:PORT\"`",
                "`\"127.0.0.1:4127\"`, or another port if that is taken. A loopback address includes [the other \
                 one](remote.md#names-of-the-daemon)",
            )],
            template: r#"# Where the daemon listens. Other addresses than loopback need TLS: see [server].
#listen = "127.0.0.1:4127"
"#,
        };
        /// The directory of the log and the tokens; empty if the file names none, which a daemon does not start with. Agents cannot
        /// access it.
        #[serde(deserialize_with = "named_directory")]
        data_dir: PathBuf = About {
            reload: Reload::Restart,
            settings: &[Setting::new("", "path", "`~/.local/state/acpd`")],
            template: r#"# The log of all threads, access tokens, and installed agents. Closed to other users.
#data_dir = "~/.local/state/acpd"
"#,
        };
        /// Whether the data directory may be on a network file system, because only one host uses it. Only a start looks at it.
        data_dir_on_network: bool = About {
            reload: Reload::Live,
            settings: &[Setting::new(
                "",
                "`true`, `false`: whether `data_dir` may be on a network file system, because only one host uses it",
                "`false`",
            )],
            template: "",
        };
        /// The failures that a stored event survives.
        durability: Durability = About {
            reload: Reload::Restart,
            settings: &[Setting::new("", "`\"process\"`, `\"power\"`", "`\"process\"`")],
            template: r#"# What a stored event survives: the end of the daemon ("process"), or also a power cut ("power").
#durability = "process"
"#,
        };
        /// The approval policy for all agents.
        policy: Option<Policy> = About {
            reload: Reload::Live,
            settings: &[Setting::new("", "name of a preset, or a table: [policy.md](policy.md)", "none")],
            template: r#"# What agents may do without a question: "permissive", "standard", "restricted", "readonly", or your own rules.
# Without a policy, each agent decides itself when it asks. See docs/policy.md.
#policy = "standard"
"#,
        };
        /// The sandbox settings for all agents; an agent's own take precedence.
        sandbox: SandboxSettings = About {
            reload: Reload::Live,
            settings: &[Setting::new(
                "",
                "`\"workspace\"`, `\"readonly\"`, `\"off\"`, or a table: [Sandbox](#sandbox)",
                "`\"workspace\"` where possible",
            )],
            template: r#"# What the kernel lets agents reach (Linux): "workspace" may write the thread's folder, "readonly" may not,
# "off" disables the sandbox.
#sandbox = "workspace"
"#,
        };
        /// The URL of the document from which "acpd agents update" downloads the registry; by default the official one.
        registry_url: Option<String> = About {
            reload: Reload::Live,
            settings: &[Setting::new("", "`https://…`", "the official registry")],
            template: r#"# The list of agents that "acpd agents update" downloads.
#registry_url = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json"
"#,
        };
    }
    sections {
        /// Network settings.
        server: ServerConfig;
        /// Settings for Codex clients.
        codex: CodexConfig;
        /// The targets of notifications.
        notifications: NotificationsConfig;
        /// The limits above which old data is removed.
        retention: RetentionSettings;
        /// Settings for traces.
        traces: TracesConfig;
        /// The limits of this daemon.
        limits: Limits;
        /// Agents by name.
        agents: BTreeMap<String, AgentConfig>;
    }
    given {
        /// The path of the configuration file, even if the file does not exist. Agents cannot access it.
        config_file: Option<PathBuf>;
        /// The directory of recordings of the wire. Agents cannot access it.
        record_wire: Option<PathBuf>;
        /// The demo agent, which this program contains.
        demo: Option<AgentConfig>;
        /// A program that calls [`acpd_host::keep`] for `PROGRAM keep RUN`. It terminates the agents of a daemon that was killed.
        /// With `None`, the next start of the daemon terminates them.
        keeper: Option<PathBuf>;
    }
}

impl Config {
    /// Returns the address for clients.
    pub fn address(&self) -> SocketAddr {
        self.listen.unwrap_or((Ipv4Addr::LOCALHOST, PORT).into())
    }

    /// Returns what is wrong and cannot be expressed by the types. Each sentence begins with its key.
    pub fn check(&self) -> Vec<String> {
        let mut found = self.check_sections();
        let between = [
            self.check_addresses(),
            sandbox::check(&self.agents, &self.sandbox),
        ];
        found.extend(between.into_iter().filter_map(Result::err));
        found
    }

    fn check_addresses(&self) -> Result<(), String> {
        if let Some(address) = self.codex.listen
            && self.listen == Some(address)
            && address.port() != 0
        {
            return Err(format!(
                "codex.listen is {address}, the same as listen, where Codex clients are served already: remove \
                 codex.listen, or choose another address"
            ));
        }
        if let Some(url) = &self.registry_url
            && !["https://", "http://"]
                .iter()
                .any(|scheme| url.starts_with(scheme))
        {
            return Err(format!(
                "registry_url is {url:?}: it must begin with https:// or http://"
            ));
        }
        Ok(())
    }

    /// Makes the paths absolute.
    pub fn resolve(&mut self, folder: &Folder) {
        if !self.data_dir.as_os_str().is_empty() {
            self.data_dir = folder.resolve(&self.data_dir);
        }
        self.resolve_sections(folder);
    }

    /// Returns warnings about settings that name an unknown agent.
    pub fn warnings(&self, agents: &Agents) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(name) = &self.default_agent
            && !agents.knows(name)
        {
            warnings.push(format!(
                "default_agent is {name:?}, which is neither configured nor in the registry"
            ));
        }
        let refined = self.agents.iter().filter(|(_, agent)| agent.command.is_empty());
        for (name, _) in refined {
            if let Err(failure) = agents.find(name) {
                warnings.push(failure.message);
            }
        }
        warnings
    }

    /// Returns the agents of this configuration.
    pub fn agent_book(&self) -> AgentBook {
        AgentBook {
            configured: self.agents.clone(),
            sandbox: self.sandbox.clone(),
            default: self.default_agent.clone(),
            demo: self.demo.clone(),
        }
    }

    /// Returns the policies of this configuration.
    pub(crate) fn policy_book(&self) -> PolicyBook {
        PolicyBook::new(self.policy.clone(), &self.agents)
    }

    /// Returns the daemon's own files, which no agent can access.
    pub fn reserved(&self) -> Reserved {
        let key = self.server.tls.as_ref().and_then(|tls| tls.key.clone());
        let secrets = self.notifications.targets.values().flat_map(TargetConfig::files);
        let files = self
            .config_file
            .iter()
            .cloned()
            .chain(key)
            .chain(secrets)
            .collect();
        let directories = std::iter::once(&self.data_dir).chain(&self.record_wire);
        Reserved::new(directories.cloned().collect(), files)
    }
}

/// Reads the path of a directory. An empty one would be the directory of the file, or no directory at all.
fn named_directory<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    let path = PathBuf::deserialize(deserializer)?;
    if path.as_os_str().is_empty() {
        return Err(D::Error::custom(
            "the path is empty: name a directory, or remove the line",
        ));
    }
    Ok(path)
}

/// Network settings (`[server]`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// Host names under which browsers reach the daemon, besides the names of this host: `name` or `name:port`.
    pub hosts: Vec<String>,
    /// Allows listening on the network without TLS.
    pub insecure_listen: bool,
    /// Whether editors may speak version 2 of ACP.
    pub acp_v2: bool,
    /// The certificate and the key.
    pub tls: Option<TlsConfig>,
}

impl Section for ServerConfig {
    const ABOUT: About = About {
        reload: Reload::Restart,
        settings: &[
            Setting::new("hosts", "list of `\"name\"` or `\"name:port\"`", "none"),
            Setting::new("insecure_listen", "`true`, `false`", "`false`"),
            Setting::new(
                "acp_v2",
                "`true`, `false`: whether editors may speak [version 2](acp.md#version-2) of ACP",
                "`false`",
            ),
            Setting::new("tls.cert", "path of a PEM file", "none"),
            Setting::new("tls.key", "path of a PEM file", "none"),
            Setting::new("tls.self_signed", "`true`, `false`", "`false`"),
        ],
        template: r#"# Access from other devices: docs/remote.md.
[server]
# Names under which browsers reach the daemon, besides those of this host: "name" or "name:port".
#hosts = []
# A certificate, which other addresses than loopback need. This makes one; or name your own:
# tls = { cert = "box.pem", key = "box.key" }
#tls = { self_signed = true }
# Listen on the network without TLS: tokens and threads are sent in clear text.
#insecure_listen = false
# Speak version 2 of ACP, a preview, with editors that offer it.
#acp_v2 = false
"#,
    };

    fn resolve(&mut self, folder: &Folder) {
        if let Some(tls) = &mut self.tls {
            for path in [&mut tls.cert, &mut tls.key].into_iter().flatten() {
                *path = folder.resolve(path);
            }
        }
    }
}

/// Settings for Codex clients (`[codex]`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CodexConfig {
    /// An address for Codex clients alone, in addition to the daemon's address.
    pub listen: Option<SocketAddr>,
}

impl Section for CodexConfig {
    const ABOUT: About = About {
        reload: Reload::Restart,
        settings: &[Setting::new(
            "listen",
            "`\"ADDRESS:PORT\"`",
            "none: the main address serves Codex clients too",
        )],
        template: r#"[codex]
# An address for clients of Codex alone. Without it, the address above serves them too.
#listen = "127.0.0.1:4500"
"#,
    };
}

/// Settings for traces (`[traces]`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TracesConfig {
    /// The address of an OpenTelemetry collector that receives spans: `http://HOST:PORT`. Without it, there are no traces.
    pub endpoint: Option<String>,
}

/// The program that sends the spans checks the endpoint.
impl Section for TracesConfig {
    const ABOUT: About = About {
        reload: Reload::Restart,
        settings: &[Setting::new(
            "endpoint",
            "`\"http://HOST:PORT\"` or `\"https://…\"`",
            "none: no [traces](monitoring.md#traces)",
        )],
        template: r#"# Traces of turns, without any content, for an OpenTelemetry collector: docs/monitoring.md.
[traces]
#endpoint = "http://127.0.0.1:4318"
"#,
    };
}
