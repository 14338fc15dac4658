//! The contents of the configuration file.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use acpd_log::Durability;
use acpd_model::Limits;
use acpd_policy::Policy;
use acpd_runtime::agent::config::AgentConfig;
use acpd_runtime::agent::mcp::McpServer;
use acpd_runtime::agent::registry::Agents;
use acpd_runtime::agent::sandbox::{self, SandboxSettings};
use acpd_runtime::retention::RetentionSettings;
use acpd_server::{CodexConfig, NotificationsConfig, ServerConfig, TracesConfig};
use serde::Deserialize;
use toml::de::DeTable;

use super::paths::Folder;
use crate::traces;

/// The contents of the configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct File {
    /// The address on which the daemon listens.
    pub listen: Option<SocketAddr>,
    /// Network settings.
    pub server: ServerConfig,
    /// Settings for Codex clients.
    pub codex: CodexConfig,
    /// Settings for traces.
    pub traces: TracesConfig,
    /// The directory of the log and the tokens.
    pub data_dir: Option<PathBuf>,
    /// Whether the data directory may be on a network file system, because only one host uses it.
    pub data_dir_on_network: bool,
    durability: Survives,
    /// Agents by name.
    pub agents: BTreeMap<String, AgentConfig>,
    /// The agent for editors that name none.
    pub default_agent: Option<String>,
    /// The policy for all agents.
    pub policy: Option<Policy>,
    /// Sandbox settings for all agents.
    pub sandbox: SandboxSettings,
    /// URL of the registry document.
    pub registry_url: Option<String>,
    /// Limits of the daemon.
    pub limits: Limits,
    /// Limits above which old data is removed.
    pub retention: RetentionSettings,
    /// Targets of notifications.
    pub notifications: NotificationsConfig,
}

/// The failure that a stored event survives.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Survives {
    /// The end of the daemon process, including `kill -9`.
    #[default]
    Process,
    /// A power failure too; each commit waits for the disk.
    Power,
}

impl File {
    /// Creates a configuration that only has a data directory.
    pub fn in_directory(data_dir: Option<PathBuf>) -> Self {
        Self {
            data_dir,
            ..Self::default()
        }
    }

    /// Returns what a stored event survives.
    pub fn durability(&self) -> Durability {
        match self.durability {
            Survives::Process => Durability::Process,
            Survives::Power => Durability::Power,
        }
    }

    /// Returns what is wrong and cannot be expressed by the types. Each sentence begins with its key.
    pub fn problems(&self) -> Vec<String> {
        let mut checks = vec![
            self.limits.check(),
            self.notifications.check(),
            self.check_addresses(),
            sandbox::check(&self.agents, &self.sandbox),
        ];
        checks.extend(self.agents.iter().map(|(name, agent)| check_command(name, agent)));
        checks.extend(self.traces.endpoint.as_deref().map(traces::check));
        checks.into_iter().filter_map(Result::err).collect()
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

    pub(super) fn resolve_paths(&mut self, folder: &Folder) {
        if let Some(tls) = &mut self.server.tls {
            for path in [&mut tls.cert, &mut tls.key].into_iter().flatten() {
                *path = folder.resolve(path);
            }
        }
        if let Some(dir) = &mut self.data_dir {
            *dir = folder.resolve(dir);
        }
        for target in self.notifications.targets.values_mut() {
            for path in [&mut target.secret_file, &mut target.token_file]
                .into_iter()
                .flatten()
            {
                *path = folder.resolve(path);
            }
            for path in &mut target.folders {
                *path = folder.resolve(path);
            }
            if let Some(command) = &mut target.command {
                *command = folder.resolve_program(command);
            }
        }
        for agent in self.agents.values_mut() {
            agent.command = folder.resolve_program(&agent.command);
            for server in &mut agent.mcp_servers {
                if let McpServer::Program(program) = server {
                    program.command = folder.resolve_program(&program.command);
                }
            }
        }
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
}

/// Checks the command line of an agent.
fn check_command(name: &str, agent: &AgentConfig) -> Result<(), String> {
    let command = &agent.command;
    if command.is_empty() && !agent.args.is_empty() {
        return Err(format!(
            "agents.{name} has args and no command: add the command, or remove args to run the agent of the registry"
        ));
    }
    let mut words = command.split_whitespace();
    let first = words.next().unwrap_or_default();
    let others: Vec<&str> = words.collect();
    if others.is_empty() || Path::new(command).exists() {
        return Ok(());
    }
    let others: Vec<String> = others.iter().map(|word| format!("{word:?}")).collect();
    Err(format!(
        "agents.{name}.command is {command:?}: a command is one program; write command = {first:?} and args = [{}]",
        others.join(", ")
    ))
}

/// Returns the data directory that a file names, even if other parts of the file are wrong.
pub fn data_dir_of(path: &Path, text: &str) -> Option<PathBuf> {
    let (table, _) = DeTable::parse_recoverable(text);
    let dir = table.get_ref().get("data_dir")?.get_ref().as_str()?;
    Some(Folder::of(path).resolve(Path::new(dir)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "/etc/acpd/config.toml";

    fn parse(text: &str) -> Result<File, String> {
        File::parse(Path::new(PATH), text).map_err(|error| error.to_string())
    }

    #[test]
    fn paths_are_relative_to_the_file() {
        let text = "data_dir = 'data'\n[server.tls]\ncert = 'box.pem'\nkey = '/k/box.key'\n\
                    [agents.a]\ncommand = './bin/agent'\n[agents.b]\ncommand = 'gemini'\n\
                    [[agents.b.mcp_servers]]\nname = 'files'\ncommand = '../mcp'\n";
        let file = parse(text).unwrap();
        assert_eq!(file.data_dir.unwrap(), Path::new("/etc/acpd/data"));
        let tls = file.server.tls.unwrap();
        assert_eq!(tls.cert.unwrap(), Path::new("/etc/acpd/box.pem"));
        assert_eq!(tls.key.unwrap(), Path::new("/k/box.key"));
        assert_eq!(file.agents["a"].command, "/etc/acpd/./bin/agent");
        assert_eq!(file.agents["b"].command, "gemini");
        let McpServer::Program(program) = &file.agents["b"].mcp_servers[0] else {
            panic!("it is a program");
        };
        assert_eq!(program.command, "/etc/acpd/../mcp");
    }

    #[test]
    fn an_error_names_the_key_the_line_and_what_to_write() {
        for (text, expected) in [
            (
                "liste = 1",
                "line 1: unknown key \"liste\"; did you mean \"listen\"?",
            ),
            (
                "[server]\nhost = ['a']",
                "line 2, at server: unknown key \"host\"; did you mean \"hosts\"?",
            ),
            (
                "listen = 4127",
                "line 1, at listen: expected an address with a port, such as \"127.0.0.1:4127\", found the number 4127",
            ),
            (
                "listen = 'localhost:4127'",
                "line 1, at listen: expected an address with a port, such as \"127.0.0.1:4127\"",
            ),
            (
                "durability = 'disk'",
                "line 1, at durability: \"disk\" is unknown; known are \"process\" and \"power\"",
            ),
            (
                "[limits]\n\nagent_idle_secs = '10m'",
                "line 3, at limits.agent_idle_secs: expected a whole number of seconds, found the text \"10m\"",
            ),
            (
                "[limits]\nagent_idle_secs = -1",
                "line 2, at limits.agent_idle_secs: expected a whole number of seconds, found the number -1",
            ),
            (
                "[agents.a]\ncommand = ['gemini', '--acp']",
                "line 2, at agents.a.command: expected text in quotes, found a list; arguments go into args: command = \
                 \"gemini\", args = [\"--acp\"]",
            ),
            (
                "[agents.a]\ncommand = 'gemini --acp'",
                "agents.a.command is \"gemini --acp\": a command is one program; write command = \"gemini\" and args = [\"--acp\"]",
            ),
            (
                "[agents.a]\nargs = ['--acp']",
                "agents.a has args and no command: add the command, or remove args to run the agent of the registry",
            ),
            (
                "[agents.a]\nenv = { A = 1 }",
                "line 2, at agents.a.env.A: expected text in quotes",
            ),
            (
                "[agents.a]\nenv = 'A=secret'",
                "line 2, at agents.a.env: expected a table",
            ),
            (
                "[traces]\nendpoint = '127.0.0.1:4318'",
                "traces.endpoint: the endpoint is not an address of the form http://HOST:PORT or https://HOST:PORT",
            ),
            (
                "[traces]\nendpoint = 'http://user:secret@127.0.0.1:4318'",
                "traces.endpoint: the endpoint contains a password: set the header with OTEL_EXPORTER_OTLP_HEADERS instead",
            ),
            (
                "[codex]\nlisten = 4500",
                "line 2, at codex.listen: expected an address with a port, such as \"127.0.0.1:4127\", found the number 4500",
            ),
            (
                "listen = '127.0.0.1:1'\n[codex]\nlisten = '127.0.0.1:1'",
                "codex.listen is 127.0.0.1:1, the same as listen, where Codex clients are served already: remove \
                 codex.listen, or choose another address",
            ),
            (
                "[retention]\nmax_age = 90",
                "line 2, at retention.max_age: expected an age, such as \"12h\", \"90d\" or \"26w\", found the number 90",
            ),
            (
                "[retention]\narchived_max_age = '90 days'",
                "line 2, at retention.archived_max_age: expected an age, such as \"12h\", \"90d\" or \"26w\", found the text \
                 \"90 days\"",
            ),
            (
                "[retention]\nmax_size = '20 GB'",
                "line 2, at retention.max_size: expected a size, such as \"500 MiB\", \"20 GiB\" or \"1 TiB\", found the text \
                 \"20 GB\"",
            ),
            (
                "[retention]\nmax_agee = '90d'",
                "line 2, at retention: unknown key \"max_agee\"; did you mean \"max_age\"?",
            ),
            (
                "[notifications.targets.a]\ntype = 'mail'",
                "line 2, at notifications.targets.a.type: \"mail\" is unknown; known are \"webhook\" and \"command\" and \
                 \"ntfy\"",
            ),
            (
                "[notifications.targets.a]\ntype = 'ntfy'\nurl = 'https://ntfy.sh/x'\nsecret = 'x'",
                "notifications.targets.a has secret, which is for the type \"webhook\": remove it, or change the type",
            ),
            (
                "registry_url = 'ftp://x'",
                "registry_url is \"ftp://x\": it must begin with https:// or http://",
            ),
            (
                "[limits]\nqueued_turns = 0",
                "limits.queued_turns is 0: it must be 1 to 4096",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(
                error,
                format!("the configuration {PATH} is wrong: {expected}"),
                "{text}"
            );
        }
        let unclosed = parse("a = 1\n[policy").unwrap_err();
        assert!(
            unclosed.starts_with("the configuration /etc/acpd/config.toml is wrong: line 2: "),
            "{unclosed}"
        );
    }

    #[test]
    fn a_wrong_file_still_names_its_data_directory() {
        for text in ["data_dir = 'd'\n[policy", "nonsense = 1\ndata_dir = 'd'"] {
            let dir = data_dir_of(Path::new(PATH), text);
            assert_eq!(dir.as_deref(), Some(Path::new("/etc/acpd/d")), "{text}");
        }
        assert_eq!(data_dir_of(Path::new(PATH), "data_dir = 1"), None);
    }
}
