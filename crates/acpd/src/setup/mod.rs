//! `acpd setup`: writes a configuration file for the agents that are on this host.
//!
//! In: the agents of this host, and the user's choices. Out: a configuration file with comments. Owns: nothing.
//! Never: replaces a file without being asked to, or asks where there is no terminal.

mod choose;

use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};

use acpd_catalog::{Catalog, LaunchMethod, OnHost, Presence, usual_places};
use acpd_model::similar::nearest;
use acpd_runtime::agent::registry::{Agents, DEMO, search_path};
use anyhow::Context;
use serde_json::json;

pub use self::choose::{list, one};
use crate::agents::{Wanted, install_agent};
use crate::cli::SetupArgs;
use crate::config::{self, Chosen, MODE};
use crate::exit::Exit;
use crate::replace_file::replace;
use crate::settings::Settings;
use crate::terminal::confirm::confirm;
use crate::terminal::plain::{plain_line, visible_line};
use crate::terminal::print;

/// A file that was written.
#[derive(Debug)]
pub struct Written {
    /// Where the file is.
    pub path: PathBuf,
    /// Where the replaced file is kept.
    pub copy: Option<PathBuf>,
}

/// Runs the command.
pub async fn setup(settings: &Settings, args: &SetupArgs) -> anyhow::Result<Exit> {
    let path = &settings.config_path;
    let existing = read(path)?;
    if existing.is_some() && !args.force && !args.print {
        return Err(Exit::Failure.error(format!(
            "{} exists and stays as it is: \"acpd setup --print\" prints a new one, and --force replaces it and keeps a copy",
            path.display()
        )));
    }
    let asks = !args.yes && !args.print && !args.json && can_ask();
    let mut agents = selected(settings, args, asks).await?;
    let default = choose::default_agent(&agents, args.default_agent.as_deref(), asks).await?;
    let mut installed = Vec::new();
    // What installs them must not be the owner at the daemon's socket, which this command does not use.
    acpd_host::count_as_agent();
    for agent in agents.iter_mut().filter(|agent| !agent.is_ready) {
        if args.print || !wants_adapter(agent, args, asks).await? {
            continue;
        }
        make_ready(settings, agent).await?;
        installed.push(agent.id.clone());
    }
    let text = config::text(&agents, default.as_deref());
    if args.print {
        print::out(&text);
        return Ok(Exit::Success);
    }
    let written = write(path, existing.as_deref(), &text)?;
    report(&written, &agents, default.as_deref(), &installed, args.json);
    Ok(Exit::Success)
}

/// Returns the agents of this host.
pub async fn find(settings: &Settings) -> anyhow::Result<Vec<OnHost>> {
    let data_dir = settings.daemon.data_dir.clone();
    let found = tokio::task::spawn_blocking(move || {
        let home = std::env::home_dir();
        let snapshot = Catalog::new(&data_dir).look();
        snapshot.on_host(&search_path(), &usual_places(home.as_deref()))
    });
    Ok(found.await?)
}

/// Installs what an agent needs to be started.
async fn make_ready(settings: &Settings, agent: &mut Chosen) -> anyhow::Result<()> {
    let agents = Agents::fixed(settings.daemon.agent_book(), &settings.daemon.data_dir);
    install_agent(agents, settings.daemon.reserved(), &agent.id, Wanted::default()).await?;
    agent.set_installed();
    Ok(())
}

/// Writes a new file for these agents, where there is none.
pub fn write_new(path: &Path, agents: &[Chosen], default: Option<&str>) -> anyhow::Result<Written> {
    write(path, None, &config::text(agents, default))
}

fn write(path: &Path, before: Option<&str>, text: &str) -> anyhow::Result<Written> {
    // A file that acpd itself does not accept would be worse than none.
    config::parse(path, text)
        .context("acpd made a wrong configuration, which is a bug; nothing was written")?;
    let folder = path.parent().context("the configuration has no directory")?;
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let copy = replace(path, before, text, MODE)
        .with_context(|| format!("the configuration {} cannot be written", path.display()))?;
    Ok(Written {
        path: path.to_owned(),
        copy,
    })
}

fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
    }
}

fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Returns the agents that the arguments name, or that the user chooses, or all of this host.
async fn selected(settings: &Settings, args: &SetupArgs, asks: bool) -> anyhow::Result<Vec<Chosen>> {
    let found: Vec<Chosen> = find(settings).await?.into_iter().map(Chosen::from).collect();
    if !args.agents.is_empty() {
        let snapshot = Catalog::new(&settings.daemon.data_dir).look();
        return args
            .agents
            .iter()
            .map(|name| named(name, &found, &snapshot.registry))
            .collect();
    }
    if asks {
        return choose::agents(found).await;
    }
    Ok(found)
}

/// Returns the agent of this name: one of this host, or one of the registry.
fn named(name: &str, found: &[Chosen], registry: &acpd_catalog::Registry) -> anyhow::Result<Chosen> {
    if let Some(chosen) = found.iter().find(|chosen| chosen.id == name) {
        return Ok(chosen.clone());
    }
    if let Some(entry) = registry.get(name) {
        // It may be fetched by npx or uvx, or installed later.
        return Ok(Chosen {
            id: entry.id.clone(),
            title: entry.name.clone(),
            presence: Presence::Runs(LaunchMethod::Npx),
            is_ready: true,
        });
    }
    let known = found.iter().map(|chosen| chosen.id.as_str());
    let known = known.chain(registry.agents.iter().map(|entry| entry.id.as_str()));
    let hint = nearest(name, known).map(|nearest| format!("; did you mean {nearest:?}?"));
    Err(Exit::NotFound.error(format!(
        "agent {name:?} is neither on this host nor in the registry{}",
        hint.unwrap_or_else(|| "; \"acpd agents list\" shows those that acpd knows".to_owned())
    )))
}

async fn wants_adapter(agent: &Chosen, args: &SetupArgs, asks: bool) -> anyhow::Result<bool> {
    let Presence::Adapter { program, install } = &agent.presence else {
        return Ok(false);
    };
    let title = plain_line(&agent.title);
    match install {
        Err(reason) => {
            print::hint(&format!(
                "{title} stays a comment in the file: {}",
                plain_line(reason)
            ));
            Ok(false)
        }
        Ok(_) if args.install => Ok(true),
        Ok(method) if asks => {
            let program = visible_line(&program.display().to_string());
            let question = format!(
                "{title} ({program}) needs {} to speak ACP. Install it with {}?",
                agent.id,
                method.name()
            );
            confirm(&question).await
        }
        Ok(_) => Ok(false),
    }
}

fn report(written: &Written, agents: &[Chosen], default: Option<&str>, installed: &[String], as_json: bool) {
    let ready: Vec<&str> = agents
        .iter()
        .filter(|agent| agent.is_ready)
        .map(|agent| &*agent.id)
        .collect();
    let waiting: Vec<&str> = agents
        .iter()
        .filter(|agent| !agent.is_ready)
        .map(|agent| &*agent.id)
        .collect();
    if as_json {
        let done = json!({
            "file": written.path, "copy": written.copy, "agents": ready, "defaultAgent": default,
            "installed": installed, "notInstalled": waiting,
        });
        print::json(&done.to_string());
        return;
    }
    let list = if ready.is_empty() {
        "none".to_owned()
    } else {
        ready.join(", ")
    };
    print::out(&format!(
        "wrote {}\nagents: {}\n",
        visible_line(&written.path.display().to_string()),
        plain_line(&list)
    ));
    if let Some(default) = default {
        print::out(&format!("default agent: {}\n", plain_line(default)));
    }
    if let Some(copy) = &written.copy {
        print::hint(&format!(
            "the file before is kept as {}",
            visible_line(&copy.display().to_string())
        ));
    }
    for id in waiting {
        print::hint(&format!(
            "{id} is a comment in the file until \"acpd agents install {id}\" has installed it"
        ));
    }
    if ready.is_empty() {
        print::hint(&format!(
            "no agent was found; {DEMO:?} runs without one: acpd run --agent {DEMO} \"hello\""
        ));
    } else {
        print::hint("\"acpd doctor\" checks them, and \"acpd\" alone begins");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_agent_is_of_this_host_or_of_the_registry() {
        let registry = Catalog::new(Path::new("/nonexistent")).look().registry;
        let found = [Chosen {
            id: "hermes".to_owned(),
            title: "Hermes".to_owned(),
            presence: Presence::Runs(LaunchMethod::Path),
            is_ready: true,
        }];
        assert_eq!(named("hermes", &found, &registry).unwrap(), found[0]);
        assert_eq!(named("gemini", &found, &registry).unwrap().id, "gemini");
        let unknown = named("gemni", &found, &registry).unwrap_err();
        assert!(
            unknown.to_string().ends_with("did you mean \"gemini\"?"),
            "{unknown}"
        );
        assert_eq!(Exit::of(&unknown), Exit::NotFound);
    }
}
