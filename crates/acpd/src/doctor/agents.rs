//! The agents: whether each can be started, its version, and what it needs besides.
//!
//! In: the configuration, the registry, and the programs of this host. Out: findings. Never: starts an agent unless the
//! user asked for it, or downloads one.

use std::path::{Path, PathBuf};
use std::process::Command;

use acpd_catalog::{
    Catalog, InstallMethod, LaunchMethod, OnHost, Presence, find_program, package_version, usual_places,
};
use acpd_client::protocol::{AcpObject, ExamineAgent};
use acpd_runtime::agent::config::{AgentConfig, StartIn};
use acpd_runtime::agent::mcp::McpServer;
use acpd_runtime::agent::probe::probe;
use acpd_runtime::agent::registry::{Agents, ListedAgent, Source, search_path};
use futures_util::future::join_all;
use serde_json::Value;

use super::report::{Finding, Group};
use super::subject::Subject;
use crate::client::connect::connect_running;
use crate::exit::sentence;

/// The first major version of Node that most agents run on.
const NODE: u32 = 20;

/// The first bytes of a script, in which its interpreter is named.
const SCRIPT_BYTES: usize = 128;

/// What is known about the agents.
#[derive(Debug, Clone, Default)]
struct Facts {
    agents: Vec<Agent>,
    /// Agents that are on this host and need an adapter or a setting.
    incomplete: Vec<OnHost>,
    /// MCP servers whose command line has a relative path.
    relative: Vec<Relative>,
    /// The major version of Node; `None` if it is not on `PATH`.
    node: Option<u32>,
    /// Whether any agent was started.
    were_started: bool,
}

/// A relative path in the command line of an MCP server.
#[derive(Debug, Clone)]
struct Relative {
    agent: String,
    server: String,
    path: String,
}

#[derive(Debug, Clone)]
struct Agent {
    id: String,
    is_configured: bool,
    /// How it is run, or why it cannot be.
    runs: Result<LaunchMethod, String>,
    version: Option<String>,
    needs_node: bool,
    /// Whether it runs without acpd's sandbox because it has its own.
    has_own_sandbox: bool,
    /// The answer of the agent, if it was started: its name and version, or why it does not work.
    answer: Option<Result<String, String>>,
}

/// Checks the agents. With `starts`, starts those that need no download.
pub async fn check(subject: &Subject, starts: bool) -> Vec<Finding> {
    let daemon = &subject.settings.daemon;
    let all = Agents::fixed(daemon.agent_book(), &daemon.data_dir);
    let snapshot = Catalog::new(&daemon.data_dir).look();
    let home = std::env::home_dir();
    let on_host = snapshot.on_host(&search_path(), &usual_places(home.as_deref()));
    let listed = all.list_of(&snapshot).into_iter();
    let wanted = listed.filter(|agent| match agent.source {
        Source::Config => true,
        Source::Registry | Source::Installed => {
            let found = on_host.iter().find(|found| found.id == agent.id);
            found.is_some_and(|found| matches!(found.presence, Presence::Runs(_)))
        }
        Source::BuiltIn => false,
    });
    let mut agents: Vec<Agent> = wanted.map(describe).collect();
    for agent in &mut agents {
        let found = all.find(&agent.id);
        agent.has_own_sandbox = found.is_ok_and(|found| found.config.uses_own_sandbox());
    }
    if starts {
        let answers = agents.iter().map(|agent| answer(&all, subject, agent));
        let answers: Vec<_> = join_all(answers).await;
        for (agent, answer) in agents.iter_mut().zip(answers) {
            agent.answer = answer;
        }
    }
    let is_configured = |id: &str| daemon.agents.contains_key(id);
    findings(&Facts {
        incomplete: on_host
            .into_iter()
            .filter(|found| !matches!(found.presence, Presence::Runs(_)) && !is_configured(&found.id))
            .collect(),
        relative: daemon
            .agents
            .iter()
            .flat_map(|(id, config)| relative_of(id, config))
            .collect(),
        node: node(),
        were_started: starts,
        agents,
    })
}

/// Returns the relative paths of an agent's MCP servers, if it starts in an empty directory.
fn relative_of(id: &str, config: &AgentConfig) -> Vec<Relative> {
    if config.start_in == StartIn::Workspace {
        return Vec::new();
    }
    let programs = config.mcp_servers.iter().filter_map(McpServer::program);
    programs
        .filter_map(|program| {
            Some(Relative {
                agent: id.to_owned(),
                server: program.name.clone(),
                path: program.relative_path()?.to_owned(),
            })
        })
        .collect()
}

fn describe(agent: ListedAgent) -> Agent {
    let program = agent
        .command
        .first()
        .map(PathBuf::from)
        .filter(|_| agent.installed);
    let program = program.and_then(|program| find_program(program.to_str()?, &search_path()));
    Agent {
        is_configured: agent.source == Source::Config,
        runs: match (agent.runs, agent.reason) {
            (Some(runs), None) => Ok(runs),
            (_, reason) => Err(reason.unwrap_or_else(|| "it cannot be started".to_owned())),
        },
        version: agent.version.or_else(|| package_version(program.as_deref()?)),
        needs_node: agent.runs == Some(LaunchMethod::Npx) || program.as_deref().is_some_and(is_node_script),
        has_own_sandbox: false,
        id: agent.id,
        answer: None,
    }
}

/// Starts an agent that needs no download, and returns what it says about itself. The daemon starts it, if one runs.
async fn answer(all: &Agents, subject: &Subject, agent: &Agent) -> Option<Result<String, String>> {
    let (Ok(LaunchMethod::Path | LaunchMethod::Installed), Ok(found)) = (&agent.runs, all.find(&agent.id))
    else {
        return None;
    };
    let asked = match connect_running(&subject.settings, false).await {
        Ok(Some(daemon)) => {
            let params = ExamineAgent {
                agent_type: agent.id.clone(),
            };
            let report = daemon.agent_doctor(&params).await;
            report.map(|report| (report.error, report.hello.and_then(|hello| hello.agent_info)))
        }
        Ok(None) => {
            // A daemon that starts meanwhile must not take it for the owner.
            acpd_host::count_as_agent();
            let daemon = &subject.settings.daemon;
            let cwd = acpd_runtime::agent::probe::anywhere();
            let report = probe(&found.config, &daemon.reserved(), cwd, &daemon.limits).await;
            let info = report.hello.and_then(|hello| hello.agent_info);
            // The agent may have sent anything.
            Ok((report.error, info.and_then(|info| info.read().ok())))
        }
        Err(error) => return Some(Err(sentence(&error))),
    };
    Some(match asked {
        Ok((None, info)) => Ok(info.as_ref().map(name_of).unwrap_or_default()),
        Ok((Some(error), _)) => Err(error),
        Err(error) => Err(sentence(&error.into())),
    })
}

/// Returns the name and version that an agent says it has.
fn name_of(info: &AcpObject) -> String {
    let parts = ["name", "version"].map(|key| info.get(key).and_then(Value::as_str).unwrap_or_default());
    parts.join(" ").trim().to_owned()
}

/// Returns whether a program is a script that Node runs.
fn is_node_script(program: &Path) -> bool {
    use std::io::Read;
    let mut begin = [0; SCRIPT_BYTES];
    let read = std::fs::File::open(program).and_then(|mut file| file.read(&mut begin));
    let begin = &begin[..read.unwrap_or(0)];
    let line = begin.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    line.strip_prefix("#!")
        .is_some_and(|line| line.split(['/', ' ']).any(|word| word == "node"))
}

/// Returns the major version of the Node on `PATH`.
fn node() -> Option<u32> {
    let program = find_program("node", &search_path())?;
    // In a workspace, the shims of version managers would run the version that its files name.
    let output = Command::new(program)
        .arg("--version")
        .current_dir("/")
        .output()
        .ok()?;
    major(&String::from_utf8_lossy(&output.stdout))
}

fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let group = Group::Agents;
    let mut found: Vec<Finding> = facts
        .agents
        .iter()
        .map(|agent| of_agent(agent, facts.node))
        .collect();
    let own_sandbox = facts.agents.iter().filter(|agent| agent.has_own_sandbox);
    found.extend(own_sandbox.map(|agent| {
        let id = &agent.id;
        Finding::ok(
            group,
            format!(
                "{id} runs without acpd's sandbox: its commands are confined by its own, which does not work inside acpd's; sandbox = \
                 \"workspace\" in [agents.{id}] switches acpd's on"
            ),
        )
    }));
    found.extend(facts.relative.iter().map(of_relative));
    found.extend(facts.incomplete.iter().map(of_incomplete));
    if found.is_empty() {
        found.push(
            Finding::warning(group, "no agent is configured, and none was found on this host; only the demo agent runs")
                .fix("install one (acpd agents list has their names), then acpd setup; or try acpd run --agent demo hello"),
        );
        return found;
    }
    if facts.agents.iter().any(|agent| agent.needs_node)
        && let Some(version) = facts.node.filter(|version| *version < NODE)
    {
        found.push(
            Finding::warning(
                group,
                format!("node on PATH has version {version}; most agents need {NODE} or later"),
            )
            .fix("install a newer Node.js"),
        );
    }
    if facts.were_started {
        found.push(Finding::ok(
            group,
            "no session was opened, so a missing sign-in shows with the first prompt",
        ));
    } else {
        found.push(Finding::ok(
            group,
            "no agent was started; --agents starts those that need no download",
        ));
    }
    found
}

fn of_relative(Relative { agent, server, path }: &Relative) -> Finding {
    let message = format!(
        "the MCP server {server:?} of {agent} has the relative path {path:?}: the agent may start it in an empty directory"
    );
    Finding::warning(Group::Agents, message)
        .fix("write an absolute path, or start_in = \"workspace\" for the agent")
}

fn of_agent(agent: &Agent, node: Option<u32>) -> Finding {
    let group = Group::Agents;
    let id = &agent.id;
    let version = agent
        .version
        .as_ref()
        .map_or_else(String::new, |version| format!(" {version}"));
    match (&agent.runs, &agent.answer) {
        (Err(reason), _) if agent.is_configured => {
            Finding::problem(group, format!("{id} cannot be started: {reason}")).fix(format!(
                "install it, or correct [agents.{id}] in the configuration"
            ))
        }
        (Err(reason), _) => Finding::warning(group, format!("{id} cannot be started: {reason}"))
            .fix(format!("acpd agents install {id}")),
        (Ok(_), _) if agent.needs_node && node.is_none() => Finding::problem(
            group,
            format!("{id}{version} is a program for Node.js, and there is no node on PATH"),
        )
        .fix("install Node.js, or add its directory to PATH and restart the daemon"),
        (Ok(_), Some(Err(error))) => Finding::problem(group, format!("{id}{version} does not work: {error}"))
            .fix(format!("acpd agents doctor {id} shows what the agent writes")),
        (Ok(_), Some(Ok(name))) if name.is_empty() => Finding::ok(group, format!("{id}{version} answers")),
        (Ok(_), Some(Ok(name))) => Finding::ok(group, format!("{id}{version} answers as {name}")),
        (Ok(how @ (LaunchMethod::Npx | LaunchMethod::Uvx)), None) => Finding::warning(
            group,
            format!(
                "{id} is downloaded by {} when it starts for the first time, which may take too long",
                how.name()
            ),
        )
        .fix(format!("acpd agents install {id}")),
        (Ok(LaunchMethod::Installed), None) => {
            Finding::ok(group, format!("{id}{version} is installed in the data directory"))
        }
        (Ok(LaunchMethod::Path), None) => Finding::ok(group, format!("{id}{version} is found")),
    }
}

/// Describes an agent that is on this host but cannot be started as it is.
fn of_incomplete(found: &OnHost) -> Finding {
    let group = Group::Agents;
    let (id, title) = (&found.id, &found.title);
    match &found.presence {
        Presence::Runs(_) => Finding::ok(group, format!("{id} is found")),
        Presence::Command { command, .. } => Finding::ok(
            group,
            format!("{title} is on this host ({command}), and the configuration does not have it"),
        )
        .fix(format!(
            "acpd setup --agent {id}, or an [agents.{id}] of your own"
        )),
        Presence::Adapter { program, install } => {
            let message = format!("{} is on this host; {id} connects it to acpd", program.display());
            match install {
                Ok(InstallMethod::Download | InstallMethod::Npm | InstallMethod::Uv | InstallMethod::Pip) => {
                    Finding::ok(group, message).fix(format!("acpd agents install {id}"))
                }
                Err(reason) => {
                    Finding::warning(group, format!("{message}, and cannot be installed: {reason}"))
                        .fix("install what the message names")
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::doctor::report::Level;

    fn agent(runs: Result<LaunchMethod, &str>) -> Agent {
        Agent {
            id: "gemini".to_owned(),
            is_configured: true,
            runs: runs.map_err(str::to_owned),
            version: Some("0.61.0".to_owned()),
            needs_node: false,
            has_own_sandbox: false,
            answer: None,
        }
    }

    fn worst(facts: &Facts) -> (Level, String) {
        let found = findings(facts);
        assert!(
            found
                .iter()
                .all(|finding| finding.level == Level::Ok || finding.fix.is_some())
        );
        // Of the worst ones, the first: notes come last.
        let level = found.iter().map(|finding| finding.level).max().unwrap();
        let worst = found.iter().find(|finding| finding.level == level).unwrap();
        (level, worst.message.clone())
    }

    #[test]
    fn each_state_of_an_agent_has_its_finding() {
        let path = || agent(Ok(LaunchMethod::Path));
        let answered = |answer: Result<&str, &str>| Agent {
            answer: Some(answer.map(str::to_owned).map_err(str::to_owned)),
            ..path()
        };
        for (agent, node, level, part) in [
            (path(), None, Level::Ok, "gemini 0.61.0 is found"),
            (
                agent(Ok(LaunchMethod::Installed)),
                None,
                Level::Ok,
                "in the data directory",
            ),
            (
                agent(Ok(LaunchMethod::Npx)),
                Some(22),
                Level::Warning,
                "downloaded by npx",
            ),
            (
                agent(Err("no such program")),
                None,
                Level::Problem,
                "no such program",
            ),
            (
                Agent {
                    is_configured: false,
                    ..agent(Err("gone"))
                },
                None,
                Level::Warning,
                "gone",
            ),
            (
                Agent {
                    needs_node: true,
                    ..path()
                },
                None,
                Level::Problem,
                "no node on PATH",
            ),
            (
                Agent {
                    needs_node: true,
                    ..path()
                },
                Some(18),
                Level::Warning,
                "has version 18",
            ),
            (
                Agent {
                    needs_node: true,
                    ..path()
                },
                Some(22),
                Level::Ok,
                "is found",
            ),
            (answered(Ok("Gemini 1")), None, Level::Ok, "answers as Gemini 1"),
            (answered(Ok("")), None, Level::Ok, "gemini 0.61.0 answers"),
            (
                answered(Err("it exited")),
                None,
                Level::Problem,
                "does not work: it exited",
            ),
            (
                Agent {
                    has_own_sandbox: true,
                    ..path()
                },
                None,
                Level::Ok,
                "is found",
            ),
        ] {
            let facts = Facts {
                agents: vec![agent],
                node,
                ..Facts::default()
            };
            let (found, message) = worst(&facts);
            assert_eq!(found, level, "{message}");
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(worst(&Facts::default()).0, Level::Warning);
        let own = Facts {
            agents: vec![Agent {
                has_own_sandbox: true,
                ..path()
            }],
            ..Facts::default()
        };
        let found = findings(&own);
        assert!(
            found
                .iter()
                .any(|finding| finding.message.contains("runs without acpd's sandbox")),
            "{found:?}"
        );
    }

    #[test]
    fn an_agent_that_needs_an_adapter_is_named_with_the_command() {
        let incomplete = |presence| Facts {
            incomplete: vec![OnHost {
                id: "claude-acp".to_owned(),
                title: "Claude".to_owned(),
                presence,
            }],
            ..Facts::default()
        };
        let adapter = |install| Presence::Adapter {
            program: "/usr/bin/claude".into(),
            install,
        };
        let found = findings(&incomplete(adapter(Ok(InstallMethod::Npm))));
        assert_eq!(found[0].fix.as_deref(), Some("acpd agents install claude-acp"));
        assert_eq!(
            worst(&incomplete(adapter(Err("npm is missing".to_owned())))).0,
            Level::Warning
        );
        let command = Presence::Command {
            command: "/home/ann/.local/bin/gemini".to_owned(),
            args: Vec::new(),
        };
        assert_eq!(worst(&incomplete(command)).0, Level::Ok);
    }

    #[test]
    fn relative_paths_of_servers_are_named_if_they_lead_nowhere() {
        let config = |start_in: &str| -> AgentConfig {
            let server = json!({ "name": "files", "command": "node", "args": ["./files.js"] });
            serde_json::from_value(json!({ "start_in": start_in, "mcp_servers": [server] })).unwrap()
        };
        assert!(relative_of("gemini", &config("workspace")).is_empty());
        let facts = Facts {
            agents: vec![agent(Ok(LaunchMethod::Path))],
            relative: relative_of("gemini", &config("empty")),
            ..Facts::default()
        };
        let (level, message) = worst(&facts);
        assert_eq!(level, Level::Warning);
        assert!(
            message.contains("\"files\" of gemini") && message.contains("./files.js"),
            "{message}"
        );
    }

    #[test]
    fn a_script_of_node_is_recognized() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        for (text, expected) in [
            ("#!/usr/bin/env node\nx", true),
            ("#!/usr/bin/env -S node --flag\n", true),
            ("#!/opt/node/bin/node\n", true),
            ("#!/bin/sh\nnode x\n", false),
            ("\u{7f}ELF node", false),
            ("", false),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(is_node_script(&path), expected, "{text}");
        }
        assert!(!is_node_script(&dir.path().join("none")));
        assert_eq!(major("v22.1.0\n"), Some(22));
        assert_eq!(major("x"), None);
    }
}
