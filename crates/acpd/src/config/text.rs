//! The text of a new configuration file.
//!
//! In: the chosen agents. Out: TOML in which every setting is explained, and all but the agents are comments with their
//! defaults. Never: writes a secret.

use std::fmt::Write;

use acpd_catalog::{OFFICIAL, Presence};
use acpd_model::Limits;
use acpd_model::text::plain_line;

use super::chosen::Chosen;
use super::document::key;

/// Mode of a new configuration file: it may get keys of agents.
pub const MODE: u32 = 0o600;

/// A comment line that begins with this, without a space, is a setting.
const SETTING: char = '#';

/// Returns the text of a new file without agents.
pub fn new_text() -> String {
    text(&[], None)
}

/// Returns the text of a file with these agents. `default` is the agent of commands that name none.
pub fn text(agents: &[Chosen], default: Option<&str>) -> String {
    let mut text = Text::default();
    text.prose(&[
        "The configuration of acpd. Every setting is optional.",
        "A line that begins with \"#\" and a setting shows its default, or an example: remove the \"#\" to change it.",
        "\"acpd config check\" reports mistakes. A running daemon applies most changes within a second.",
        "All settings: docs/configuration.md, or /docs/configuration.html of a running daemon.",
    ]);
    general(&mut text, default);
    server(&mut text);
    optional(&mut text);
    limits(&mut text);
    text.gap();
    text.prose(&[
        "Agents. Those of the registry (\"acpd agents list\") need no section: one without a command only refines them.",
    ]);
    text.line("[agents]");
    text.prose(&["An agent of your own: any program that speaks ACP over standard input and output."]);
    text.setting("example = { command = \"my-agent\", args = [\"--acp\"], title = \"My agent\" }");
    for agent in agents {
        self::agent(&mut text, agent);
    }
    text.0
}

fn general(text: &mut Text, default: Option<&str>) {
    text.gap();
    text.prose(&["The agent of commands and editors that name none."]);
    match default {
        Some(name) => text.line(&format!("default_agent = {}", string(name))),
        None => text.setting("default_agent = \"demo\""),
    }
    text.gap();
    text.prose(&["Where the daemon listens. Other addresses than loopback need TLS: see [server]."]);
    text.setting("listen = \"127.0.0.1:4127\"");
    text.gap();
    text.prose(&["The log of all threads, access tokens, and installed agents. Closed to other users."]);
    text.setting("data_dir = \"~/.local/state/acpd\"");
    text.gap();
    text.prose(&[
        "What a stored event survives: the end of the daemon (\"process\"), or also a power cut (\"power\").",
    ]);
    text.setting("durability = \"process\"");
    text.gap();
    text.prose(&[
        "What agents may do without a question: \"permissive\", \"standard\", \"restricted\", \"readonly\", or your own rules.",
        "Without a policy, each agent decides itself when it asks. See docs/policy.md.",
    ]);
    text.setting("policy = \"standard\"");
    text.gap();
    text.prose(&[
        "What the kernel lets agents reach (Linux): \"workspace\" may write the thread's folder, \"readonly\" may not,",
        "\"off\" is no sandbox.",
    ]);
    text.setting("sandbox = \"workspace\"");
    text.gap();
    text.prose(&["The list of agents that \"acpd agents update\" downloads."]);
    text.setting(&format!("registry_url = {OFFICIAL:?}"));
}

fn server(text: &mut Text) {
    text.gap();
    text.prose(&["Access from other devices: docs/remote.md."]);
    text.line("[server]");
    text.prose(&[
        "Names under which browsers reach the daemon, besides those of this host: \"name\" or \"name:port\".",
    ]);
    text.setting("hosts = []");
    text.prose(&[
        "A certificate, which other addresses than loopback need. This makes one; or name your own:",
    ]);
    text.prose(&["tls = { cert = \"box.pem\", key = \"box.key\" }"]);
    text.setting("tls = { self_signed = true }");
    text.prose(&["Listen on the network without TLS: tokens and threads are sent in clear text."]);
    text.setting("insecure_listen = false");
    text.gap();
    text.line("[codex]");
    text.prose(&["An address for clients of Codex alone. Without it, the address above serves them too."]);
    text.setting("listen = \"127.0.0.1:4500\"");
}

/// What the daemon does only if it is configured.
fn optional(text: &mut Text) {
    text.gap();
    text.prose(&["When an agent is done, has failed or waits for an answer: docs/notifications.md."]);
    text.line("[notifications]");
    text.prose(&[
        "The address of the web UI for links, as your devices reach it, and how long a question waits.",
    ]);
    text.setting("url = \"https://box.example:4127\"");
    text.setting("waiting_secs = 5");
    text.setting("targets.phone = { type = \"ntfy\", url = \"https://ntfy.sh/a-long-random-topic\" }");
    text.gap();
    text.prose(&["Limits beyond which old threads and attachments are removed: docs/data.md."]);
    text.line("[retention]");
    text.setting("max_age = \"365d\"");
    text.setting("archived_max_age = \"30d\"");
    text.setting("attachments_max_age = \"90d\"");
    text.setting("max_size = \"20 GiB\"");
    text.gap();
    text.prose(&[
        "Traces of turns, without any content, for an OpenTelemetry collector: docs/monitoring.md.",
    ]);
    text.line("[traces]");
    text.setting("endpoint = \"http://127.0.0.1:4318\"");
}

fn limits(text: &mut Text) {
    let limits = Limits::default();
    text.gap();
    text.line("[limits]");
    text.prose(&["Agents that run at once, and the memory of all together in MiB (0: half of the host's)."]);
    text.setting(&format!("agents = {}", limits.agents));
    text.setting(&format!("agent_memory_mib = {}", limits.agent_memory_mib));
    text.prose(&[
        "Seconds that an agent has to start, and that it stays without a turn and without a client.",
    ]);
    text.setting(&format!("agent_start_secs = {}", limits.agent_start_secs));
    text.setting(&format!("agent_idle_secs = {}", limits.agent_idle_secs));
    text.prose(&["Seconds of silence in a turn after which it is cancelled; 0 never cancels."]);
    text.setting(&format!("agent_silence_secs = {}", limits.agent_silence_secs));
    text.prose(&["Prompts that may wait in one thread."]);
    text.setting(&format!("queued_turns = {}", limits.queued_turns));
}

fn agent(text: &mut Text, agent: &Chosen) {
    text.gap();
    let Chosen {
        id,
        title,
        presence,
        is_ready,
    } = agent;
    let note = match presence {
        Presence::Adapter { .. } if !is_ready => {
            format!("{title}: \"acpd agents install {id}\" installs what connects it; then remove the \"#\".")
        }
        _ => format!("{title}."),
    };
    text.prose(&[&note]);
    let header = format!("[agents.{}]", key(id));
    if *is_ready {
        text.line(&header);
    } else {
        text.setting(&header);
        return;
    }
    if let Presence::Command { command, args } = presence {
        text.line(&format!("command = {}", string(command)));
        if !args.is_empty() {
            let args: Vec<String> = args.iter().map(|arg| string(arg)).collect();
            text.line(&format!("args = [{}]", args.join(", ")));
        }
    }
    text.prose(&["Variables of the daemon's environment that it receives (\"NAME\" or \"PREFIX*\"), and variables to set."]);
    text.setting("pass_env = [\"MY_KEY\"]");
    text.setting("env = { MY_KEY = \"value\" }");
    text.prose(&["Its own policy and sandbox instead of those above."]);
    text.setting("policy = \"standard\"");
    text.setting("sandbox = \"workspace\"");
}

/// Returns a text as a string of TOML.
fn string(text: &str) -> String {
    toml::Value::from(text).to_string()
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.0, "{line}");
    }

    fn prose(&mut self, lines: &[&str]) {
        for line in lines {
            // A downloaded registry has the titles of agents: a line end in one would begin a setting.
            self.line(&format!("# {}", plain_line(line)));
        }
    }

    fn setting(&mut self, setting: &str) {
        self.line(&format!("{SETTING}{setting}"));
    }

    fn gap(&mut self) {
        self.0.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use acpd_catalog::{InstallMethod, LaunchMethod};

    use super::*;
    use crate::config::File;

    fn chosen(id: &str, presence: Presence, is_ready: bool) -> Chosen {
        Chosen {
            id: id.to_owned(),
            title: id.to_uppercase(),
            presence,
            is_ready,
        }
    }

    fn agents() -> Vec<Chosen> {
        let adapter = || Presence::Adapter {
            program: "/usr/bin/claude".into(),
            install: Ok(InstallMethod::Npm),
        };
        let command = Presence::Command {
            command: "/home/ann\"x\"/bin/kimi".to_owned(),
            args: vec!["acp".to_owned(), "\\ \"".to_owned()],
        };
        vec![
            chosen("claude-acp", adapter(), false),
            chosen("codex-acp", adapter(), true),
            chosen("gemini", Presence::Runs(LaunchMethod::Path), true),
            chosen("an odd.name", command, true),
        ]
    }

    fn parse(text: &str) -> File {
        File::parse(Path::new("/etc/acpd/config.toml"), text)
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// Returns the places of the lines that are settings in comments.
    fn settings(text: &str) -> Vec<usize> {
        let lines = text.lines().enumerate();
        let settings = lines.filter(|(_, line)| line.starts_with(SETTING) && !line.starts_with("# "));
        settings.map(|(at, _)| at).collect()
    }

    /// Removes the comment sign of these lines.
    fn with(text: &str, places: &[usize]) -> String {
        let lines = text.lines().enumerate().map(|(at, line)| {
            let line = line
                .strip_prefix(SETTING)
                .filter(|_| places.contains(&at))
                .unwrap_or(line);
            format!("{line}\n")
        });
        lines.collect()
    }

    #[test]
    fn the_chosen_agents_are_active() {
        let file = parse(&text(&agents(), Some("gemini")));
        let names: Vec<_> = file.agents.keys().map(String::as_str).collect();
        assert_eq!(names, ["an odd.name", "codex-acp", "gemini"]);
        assert_eq!(file.default_agent.as_deref(), Some("gemini"));
        let odd = &file.agents["an odd.name"];
        assert_eq!(odd.command, "/home/ann\"x\"/bin/kimi");
        assert_eq!(odd.args, ["acp", "\\ \""]);
        assert!(file.agents["gemini"].command.is_empty());
    }

    #[test]
    fn a_title_of_a_registry_begins_no_setting() {
        let mut hostile = chosen("gemini", Presence::Runs(LaunchMethod::Path), true);
        hostile.title = "Gemini\n[agents.evil]\ncommand = \"evil\"\r\n#".to_owned();
        for is_ready in [true, false] {
            hostile.is_ready = is_ready;
            let file = parse(&text(std::slice::from_ref(&hostile), None));
            assert!(!file.agents.contains_key("evil"), "{:?}", file.agents.keys());
        }
    }

    #[test]
    fn every_line_can_be_used_alone_and_all_together() {
        for agents in [Vec::new(), agents()] {
            let text = text(&agents, None);
            let places = settings(&text);
            assert!(places.len() > 15, "{text}");
            for place in &places {
                parse(&with(&text, &[*place]));
            }
            let all = parse(&with(&text, &places));
            // What is shown as a default is the default.
            assert_eq!(all.limits, Limits::default());
            assert_eq!(all.durability(), File::default().durability());
            assert!(all.agents.contains_key("example"));
        }
    }

    /// Settings of the document that a newcomer does not need.
    const LEFT_OUT: [&str; 8] = [
        "data_dir_on_network",
        "agents.NAME.share",
        "agents.NAME.start_in",
        "agents.NAME.chunks",
        "agents.NAME.quirks",
        "agents.NAME.mode",
        "agents.NAME.mcp_servers",
        "limits",
    ];

    #[test]
    fn every_documented_setting_is_explained_or_left_out() {
        let page = include_str!("../../../../docs/configuration.md");
        let rows = page
            .lines()
            .filter(|line| line.starts_with("| `") && line.matches(" | ").count() == 2);
        let named: Vec<&str> = rows
            .flat_map(|row| {
                row.split(" | ")
                    .next()
                    .unwrap_or_default()
                    .split('`')
                    .skip(1)
                    .step_by(2)
            })
            .filter(|name| name.starts_with(char::is_lowercase) && !name.contains(' '))
            .take_while(|name| *name != "missing_file_is_empty")
            .collect();
        assert!(named.len() > 15, "{named:?}");
        let text = text(&agents(), None);
        for name in named.iter().filter(|name| !LEFT_OUT.contains(name)) {
            let key = name.rsplit('.').next().unwrap();
            let is_there = ["", "#"]
                .iter()
                .any(|sign| text.contains(&format!("\n{sign}{key} =")))
                || text.contains(&format!("{{ {key} ="))
                || text.contains(&format!(", {key} ="))
                || text.contains(&format!("\n[{key}]\n"));
            assert!(is_there, "{name} is not in\n{text}");
        }
    }

    /// `make generate` writes the example that packages contain.
    #[test]
    fn the_packaged_example_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/config.example.toml");
        let right = text(&[], None);
        if std::env::var_os("ACPD_GENERATE").is_some() {
            std::fs::write(path, right).unwrap();
        } else {
            assert_eq!(std::fs::read_to_string(path).unwrap(), right, "run make generate");
        }
    }
}
