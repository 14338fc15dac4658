//! The text of a new configuration file.
//!
//! In: the templates of all sections, and the chosen agents. Out: TOML in which every setting is explained, and all but the agents are
//! comments with their defaults. Never: writes a secret.

use std::fmt::Write;

use acpd_catalog::Presence;
use acpd_model::text::plain_line;
use acpd_server::Config;

use super::chosen::Chosen;
use super::document::key;

/// Mode of a new configuration file: it may get keys of agents.
pub const MODE: u32 = 0o600;

/// A comment line that begins with this, without a space, is a setting.
const SETTING: char = '#';

/// The key that a new file sets if there is a default agent.
const DEFAULT_AGENT: &str = "default_agent";

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
    let shown = Config::ROWS
        .iter()
        .filter(|(_, about)| !about.template.is_empty());
    for (key, about) in shown {
        text.gap();
        let chosen = default.filter(|_| *key == DEFAULT_AGENT);
        for line in about.template.lines() {
            match chosen {
                Some(name) if line.starts_with(SETTING) && !line.starts_with("# ") => {
                    text.line(&format!("{key} = {}", string(name)));
                }
                _ => text.line(line),
            }
        }
    }
    for agent in agents {
        self::agent(&mut text, agent);
    }
    text.0
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

    use acpd_catalog::{InstallMethod, LaunchMethod, OFFICIAL};
    use acpd_model::Limits;

    use super::*;

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

    fn parse(text: &str) -> Config {
        crate::config::parse(Path::new("/etc/acpd/config.toml"), text)
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
            assert_eq!(all.durability, Config::default().durability);
            assert_eq!(all.address(), Config::default().address());
            assert_eq!(all.registry_url.as_deref(), Some(OFFICIAL));
            assert!(all.agents.contains_key("example"));
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
