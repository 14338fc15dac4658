//! MCP servers from the configuration.
//!
//! In: an agent's `mcp_servers` as the user wrote them. Out: ACP's `McpServer` objects. Never: starts a server or
//! connects to one; agents do that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use acpd_catalog::find_program;
use acpd_model::RawJson;
use acpd_proto::wire;
use serde::Deserialize;

/// An MCP server: a program, or a URL with its transport.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "an MCP server has a name and a command, or a name, a type (http or sse) and a url"
)]
pub enum McpServer {
    /// A program that communicates over its stdin and stdout.
    Program(McpProgram),
    /// A server that listens at a URL.
    Address(McpAddress),
}

impl McpServer {
    /// Returns the program, or `None` for a server at a URL.
    pub fn program(&self) -> Option<&McpProgram> {
        match self {
            Self::Program(program) => Some(program),
            Self::Address(_) => None,
        }
    }
}

/// An MCP server that the agent starts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpProgram {
    /// The name of the server. A thread's own server with the same name overrides it.
    pub name: String,
    /// The program to run.
    pub command: String,
    /// Arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment variables to set.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

impl McpProgram {
    /// Returns the first relative path of its command line. It leads to a place that depends on the agent.
    pub fn relative_path(&self) -> Option<&str> {
        let command =
            Some(&self.command).filter(|command| command.contains('/') && !command.starts_with('/'));
        let is_relative = |arg: &&String| arg.starts_with("./") || arg.starts_with("../");
        let path = command.or_else(|| self.args.iter().find(is_relative));
        path.map(String::as_str)
    }
}

/// An MCP server that the agent connects to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpAddress {
    /// The name of the server. A thread's own server with the same name overrides it.
    pub name: String,
    /// The transport of the connection.
    #[serde(rename = "type")]
    pub transport: McpTransport,
    /// The URL of the server.
    pub url: String,
    /// HTTP headers to send.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// The transport of an MCP server at a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum McpTransport {
    /// Streamable HTTP.
    Http,
    /// Server-sent events, the transport that Streamable HTTP replaced.
    Sse,
}

impl McpServer {
    fn name(&self) -> &str {
        match self {
            Self::Program(McpProgram { name, .. }) | Self::Address(McpAddress { name, .. }) => name,
        }
    }

    fn to_acp(&self) -> RawJson {
        wire::object(|server| match self {
            Self::Program(McpProgram {
                name,
                command,
                args,
                env,
            }) => {
                server.put("name", name).put("command", command).put("args", args);
                server.list("env", &pairs(env));
            }
            Self::Address(McpAddress {
                name,
                transport,
                url,
                headers,
            }) => {
                let transport = match transport {
                    McpTransport::Http => "http",
                    McpTransport::Sse => "sse",
                };
                server.put("type", transport).put("name", name).put("url", url);
                server.list("headers", &pairs(headers));
            }
        })
    }
}

/// Converts variables or headers to ACP's list of pairs.
fn pairs(map: &BTreeMap<String, String>) -> Vec<RawJson> {
    let pair = |(name, value): (&String, &String)| {
        wire::object(|pair| {
            pair.put("name", name).put("value", value);
        })
    };
    map.iter().map(pair).collect()
}

/// Returns the servers for a session: the thread's own, then the configured servers with other names.
pub fn servers(wanted: Vec<RawJson>, configured: &[McpServer]) -> Vec<RawJson> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let named = wanted.iter().filter_map(|server| server.read::<Named>().ok());
    let taken: BTreeSet<String> = named.map(|server| server.name).collect();
    let others = configured.iter().filter(|server| !taken.contains(server.name()));
    let others: Vec<RawJson> = others.map(McpServer::to_acp).collect();
    [wanted, others].concat()
}

/// The command line of an MCP server that a client sent with a session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ServerCommand {
    /// The program to run.
    pub command: String,
    /// Arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
}

/// Returns the command lines of a session's servers. Servers at an address have none, and the agent refuses invalid ones.
pub fn commands(servers: &[RawJson]) -> Vec<ServerCommand> {
    servers.iter().filter_map(|server| server.read().ok()).collect()
}

/// Returns the servers with absolute paths of their programs, as agents of version 2 want them: a name is looked up on `search`, and another
/// path is relative to `cwd`. A program that is not found stays as it is. Reads the disk.
pub fn with_paths(servers: &[RawJson], search: &str, cwd: &Path) -> Vec<RawJson> {
    let with_path = |server: &RawJson| {
        let ServerCommand { command, .. } = server.read().ok()?;
        let path = if command.contains('/') {
            cwd.join(&command)
        } else {
            find_program(&command, search)?
        };
        let path = path.to_str().filter(|path| *path != command)?;
        Some(wire::object(|out| {
            wire::members(server, |key, value| {
                if key == "command" {
                    out.put("command", path);
                } else {
                    out.raw(key, value);
                }
            });
        }))
    };
    let resolved = servers
        .iter()
        .map(|server| with_path(server).unwrap_or_else(|| server.clone()));
    resolved.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn configured(json: Value) -> Vec<McpServer> {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_server_is_what_acp_wants_whole() {
        let servers = servers(
            Vec::new(),
            &configured(json!([
                { "name": "a", "command": "mcp-a" },
                { "name": "b", "command": "mcp-b", "args": ["-x"], "env": { "K": "v" } },
                { "name": "c", "type": "http", "url": "https://c.example/", "headers": { "H": "v" } },
                { "name": "d", "type": "sse", "url": "https://d.example/" },
            ])),
        );
        let expected = json!([
            { "name": "a", "command": "mcp-a", "args": [], "env": [] },
            { "name": "b", "command": "mcp-b", "args": ["-x"], "env": [{ "name": "K", "value": "v" }] },
            {
                "type": "http", "name": "c", "url": "https://c.example/",
                "headers": [{ "name": "H", "value": "v" }],
            },
            { "type": "sse", "name": "d", "url": "https://d.example/", "headers": [] },
        ]);
        assert_eq!(serde_json::to_value(&servers).unwrap(), expected);
    }

    #[test]
    fn a_threads_own_server_takes_the_place_of_one_of_the_same_name() {
        let own = RawJson::parse(r#"{"name":"a","command":"mine","n":1.10}"#).unwrap();
        let configured = configured(json!([
            { "name": "a", "command": "mcp-a" },
            { "name": "b", "command": "mcp-b" },
        ]));
        let servers = servers(vec![own.clone()], &configured);
        assert_eq!(servers.len(), 2);
        assert_eq!(servers[0], own, "as it came");
        assert!(servers[1].get().contains("mcp-b"));
    }

    #[test]
    fn a_program_has_its_path_for_an_agent_of_version_2() {
        let server =
            |command: &str| json!({ "name": "a", "command": command, "args": ["-x"], "_meta": { "n": 1 } });
        let http = json!({ "type": "http", "name": "b", "url": "http://b" });
        let wanted: Vec<RawJson> = [
            server("sh"),
            server("./tools/a"),
            server("/bin/sh"),
            server("acpd-no-such-program"),
            http.clone(),
        ]
        .map(RawJson::from)
        .into();
        let resolved = with_paths(&wanted, "relative:/bin", Path::new("/w"));
        assert_eq!(
            serde_json::to_value(&resolved).unwrap(),
            json!([
                server("/bin/sh"),
                server("/w/./tools/a"),
                server("/bin/sh"),
                server("acpd-no-such-program"),
                http
            ])
        );
    }

    #[test]
    fn relative_paths_are_found() {
        for (words, expected) in [
            (&["mcp-a", "--root", "/srv", "a/b"][..], None),
            (&["/srv/mcp-a"], None),
            (&["tools/mcp-a"], Some("tools/mcp-a")),
            (&["./mcp-a", "./b"], Some("./mcp-a")),
            (&["node", "-x", "../a.js"], Some("../a.js")),
        ] {
            let server = configured(json!([{ "name": "a", "command": words[0], "args": words[1..] }]));
            let program = server[0].program().unwrap();
            assert_eq!(program.relative_path(), expected, "{words:?}");
        }
    }

    #[test]
    fn invalid_servers_are_refused() {
        for wrong in [
            json!({ "name": "a" }),
            json!({ "command": "a" }),
            json!({ "name": "a", "url": "https://a.example/" }),
            json!({ "name": "a", "type": "pigeon", "url": "https://a.example/" }),
            json!({ "name": "a", "command": "a", "argv": [] }),
        ] {
            let error = serde_json::from_value::<McpServer>(wrong).unwrap_err();
            assert!(error.to_string().contains("a name and a command"), "{error}");
        }
    }
}
