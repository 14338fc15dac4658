//! The settings of editors: whether they start acpd, and a program and an agent that exist.
//!
//! In: the settings. Out: findings. Never: changes a setting.

use std::path::Path;

use acpd_catalog::find_program;
use acpd_runtime::agent::registry::{Agents, search_path};

use super::report::{Finding, Group};
use super::subject::Subject;
use crate::editors::{EntryState, Found, found, line};

/// What is known about an editor.
#[derive(Debug, Clone)]
struct Facts {
    found: Found,
    /// Whether the program of the entry exists.
    has_program: bool,
    /// The agent of the entry, if it does not exist.
    unknown_agent: Option<String>,
}

/// Checks the editors that are on this host.
pub fn check(subject: &Subject) -> Vec<Finding> {
    let Ok(editors) = found() else {
        return Vec::new();
    };
    let daemon = &subject.settings.daemon;
    let agents = Agents::fixed(daemon.agent_book(), &daemon.data_dir);
    let facts = editors
        .into_iter()
        .filter(|editor| editor.is_here || matches!(editor.entry, EntryState::Starts(_)));
    let facts: Vec<Facts> = facts
        .map(|found| {
            let command: &[String] = match &found.entry {
                EntryState::Starts(command) => command,
                _ => &[],
            };
            let program = command.first().map(String::as_str).unwrap_or_default();
            let named = command.iter().skip_while(|word| *word != "--agent").nth(1);
            Facts {
                has_program: find_program(program, &search_path()).is_some() || Path::new(program).exists(),
                unknown_agent: named.filter(|agent| !agents.knows(agent)).cloned(),
                found,
            }
        })
        .collect();
    findings(&facts)
}

fn findings(facts: &[Facts]) -> Vec<Finding> {
    let group = Group::Editors;
    if facts.is_empty() {
        return vec![Finding::ok(
            group,
            "none of the editors that acpd knows was found",
        )];
    }
    facts.iter().map(of_editor).collect()
}

fn of_editor(facts: &Facts) -> Finding {
    let group = Group::Editors;
    let Found {
        id,
        title,
        file,
        entry,
        ..
    } = &facts.found;
    let install = format!("acpd editors install {id}");
    let file = file
        .as_ref()
        .map_or_else(String::new, |file| file.display().to_string());
    match entry {
        EntryState::Unknown => Finding::ok(
            group,
            format!("{title} is on this host; its settings are a program, which acpd does not read"),
        )
        .fix(format!("{install} prints what belongs into it")),
        EntryState::Missing => {
            Finding::ok(group, format!("{title} is on this host and does not start acpd")).fix(install)
        }
        EntryState::Unreadable(error) => {
            Finding::warning(group, format!("{file} of {title} cannot be read: {error}"))
                .fix("correct the file; the editor itself may ignore it")
        }
        EntryState::Starts(command) if command.is_empty() => {
            Finding::warning(group, format!("the entry of acpd in {file} has no command")).fix(install)
        }
        EntryState::Starts(command) if !facts.has_program => Finding::warning(
            group,
            format!(
                "{title} starts {}, and that program does not exist",
                line(command)
            ),
        )
        .fix(install),
        EntryState::Starts(command) => match &facts.unknown_agent {
            Some(agent) => Finding::warning(
                group,
                format!(
                    "{title} starts {}, and there is no agent {agent:?}",
                    line(command)
                ),
            )
            .fix(format!("{install} --agent NAME, with a name of acpd agents list")),
            None => Finding::ok(group, format!("{title} starts {}", line(command))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::Level;

    fn facts(entry: EntryState) -> Facts {
        Facts {
            found: Found {
                id: "zed",
                title: "Zed",
                is_here: true,
                file: Some("/z.json".into()),
                entry,
            },
            has_program: true,
            unknown_agent: None,
        }
    }

    #[test]
    fn each_state_has_its_finding() {
        let starts = || facts(EntryState::Starts(vec!["/bin/acpd".to_owned(), "acp".to_owned()]));
        for (facts, level, part) in [
            (facts(EntryState::Unknown), Level::Ok, "are a program"),
            (facts(EntryState::Missing), Level::Ok, "does not start acpd"),
            (
                facts(EntryState::Unreadable("line 3".to_owned())),
                Level::Warning,
                "line 3",
            ),
            (
                facts(EntryState::Starts(Vec::new())),
                Level::Warning,
                "no command",
            ),
            (starts(), Level::Ok, "Zed starts /bin/acpd acp"),
            (
                Facts {
                    has_program: false,
                    ..starts()
                },
                Level::Warning,
                "does not exist",
            ),
            (
                Facts {
                    unknown_agent: Some("x".to_owned()),
                    ..starts()
                },
                Level::Warning,
                "no agent \"x\"",
            ),
        ] {
            let found = findings(&[facts]);
            assert_eq!((found.len(), found[0].level), (1, level), "{found:?}");
            assert!(found[0].message.contains(part), "{found:?}");
            assert!(level == Level::Ok || found[0].fix.is_some());
        }
        assert_eq!(findings(&[])[0].level, Level::Ok);
    }
}
