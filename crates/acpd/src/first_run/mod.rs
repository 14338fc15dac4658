//! `acpd` alone, on a terminal: from nothing to the first prompt, and a short menu ever after.
//!
//! In: the agents of this host, and what the user types. Out: what to do next. Owns: nothing. Never: asks where there is no
//! terminal, writes a configuration over another one, or tries to open a browser over SSH.

mod menu;
mod terminal_info;

use std::io::IsTerminal;
use std::process::Stdio;
use std::time::{Duration, Instant};

use acpd_catalog::{LaunchMethod, OnHost, Presence};
use acpd_client::Client;
use acpd_client::protocol::{ListThreads, ListedStatus, StartThread};
use acpd_runtime::agent::registry::DEMO;
use anyhow::Context;

use self::menu::{Entry, Menu, QUESTION};
use self::terminal_info::TerminalInfo;
use crate::cli::{AttachArgs, OpenArgs, RunArgs};
use crate::client::connect::connect;
use crate::client::local;
use crate::config::Chosen;
use crate::daemon::open;
use crate::exit::Exit;
use crate::options::Common;
use crate::own_program::own_program;
use crate::path_text::path_text;
use crate::settings::Settings;
use crate::setup;
use crate::terminal::ask::{ask, repeat_until};
use crate::terminal::confirm::confirm;
use crate::terminal::plain::{plain_line, visible_line};
use crate::terminal::print;
use crate::threads::run;

/// Time for a running daemon to apply a new configuration.
const RELOAD: Duration = Duration::from_secs(5);
const RELOAD_LOOK: Duration = Duration::from_millis(100);

/// What the user chose.
#[derive(Debug)]
pub enum Next {
    /// Open the web UI in a browser.
    Open,
    /// Show a thread in this terminal.
    Attach(String),
    /// Run a turn, in a terminal that cannot show a thread.
    Run {
        /// The agent.
        agent: String,
        /// The prompt.
        prompt: String,
    },
    /// Print the help.
    Help,
    /// Nothing more.
    Done,
}

/// Returns whether `acpd` alone may ask.
pub fn is_wanted(common: &Common) -> bool {
    let is_person =
        std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
    common.connect.is_none() && !common.quiet && is_person
}

/// Asks what to do, and prepares it: the agent, its configuration, and the daemon.
pub async fn begin(settings: &Settings) -> anyhow::Result<Next> {
    let agent = match settings.daemon.agent_book().default_agent() {
        Some(agent) => agent.to_owned(),
        None => choose_agent(settings).await?,
    };
    let terminal_info = TerminalInfo::here();
    let client = connect(settings, false).await?;
    let menu = menu(settings, &client, &agent, &terminal_info).await?;
    print::out(&menu.text());
    let picked = repeat_until(QUESTION, |typed| menu.pick(typed)).await?;
    match picked {
        Entry::Open if terminal_info.has_browser() => Ok(Next::Open),
        Entry::Open => {
            print_link(settings, &terminal_info).await?;
            Ok(Next::Done)
        }
        Entry::Prompt => prompt(&client, agent).await,
        Entry::Last(thread) => Ok(Next::Attach(thread)),
        Entry::Help => Ok(Next::Help),
        Entry::Quit => Ok(Next::Done),
    }
}

/// Does what the user chose.
pub async fn go_on(settings: &Settings, next: Next) -> anyhow::Result<Exit> {
    match next {
        Next::Open => {
            let args = OpenArgs {
                print: false,
                other_device: false,
                json: false,
            };
            open::open(settings, &args).await
        }
        Next::Attach(thread) => {
            let args = AttachArgs {
                thread: Some(thread),
                ..AttachArgs::default()
            };
            Box::pin(crate::attach::attach(settings, &args)).await
        }
        Next::Run { agent, prompt } => {
            let args = RunArgs {
                prompt,
                agent: Some(agent),
                ..RunArgs::default()
            };
            run::run(settings, args).await
        }
        Next::Help | Next::Done => Ok(Exit::Success),
    }
}

/// Lets the user choose one of the agents of this host, or of the configuration. Without a configuration, writes one.
async fn choose_agent(settings: &Settings) -> anyhow::Result<String> {
    let is_new = settings.config_file.is_none();
    let mut agents = if is_new || settings.daemon.agents.is_empty() {
        let found = setup::find(settings).await?.into_iter();
        // An agent that needs a command cannot be used with a configuration that does not have it.
        let is_usable = |agent: &OnHost| is_new || !matches!(agent.presence, Presence::Command { .. });
        found.filter(is_usable).map(Chosen::from).collect()
    } else {
        configured(settings)
    };
    let found = agents.len();
    agents.push(demo());
    if found == 0 {
        print::out(
            "No agent was found on this host. \"acpd agents list\" shows those that acpd can install.\n",
        );
    }
    print::out(&format!("Agents:\n{}", setup::list(&agents)));
    loop {
        let count = agents.len();
        let picked = repeat_until("Which one? Its number, or Enter for 1: ", |typed| {
            match typed.trim() {
                "" => Ok(0),
                typed => setup::one(typed, count).ok_or_else(|| format!("type a number from 1 to {count}")),
            }
        });
        let picked = picked.await?;
        let is_demo = agents[picked].id == DEMO && picked == found;
        if is_demo && !is_new {
            // Its file stays as it is.
            print::hint(
                "the demo agent is used this time only; \"acpd agents default demo\" makes it the default",
            );
            return Ok(DEMO.to_owned());
        }
        if !agents[picked].is_ready && !is_made_ready(settings, &mut agents[picked]).await? {
            continue;
        }
        let id = agents[picked].id.clone();
        if is_new {
            agents.truncate(found);
            let written = setup::write_new(&settings.config_path, &agents, Some(&id))?;
            let path = visible_line(&written.path.display().to_string());
            let change = if is_demo {
                "set default_agent there to another one later"
            } else {
                "edit it, or see \"acpd help setup\""
            };
            print::hint(&format!("wrote {path} with {id} as the default; {change}"));
        }
        return Ok(id);
    }
}

fn configured(settings: &Settings) -> Vec<Chosen> {
    let agents = settings.daemon.agents.iter();
    let chosen = agents.map(|(id, agent)| Chosen {
        id: id.clone(),
        title: agent.title.clone().unwrap_or_else(|| id.clone()),
        presence: Presence::Runs(LaunchMethod::Path),
        is_ready: true,
    });
    chosen.collect()
}

fn demo() -> Chosen {
    Chosen {
        id: DEMO.to_owned(),
        title: "Demo agent, which needs no model and no account".to_owned(),
        presence: Presence::Runs(LaunchMethod::Path),
        is_ready: true,
    }
}

/// Installs the adapter of an agent, if the user wants it.
async fn is_made_ready(settings: &Settings, agent: &mut Chosen) -> anyhow::Result<bool> {
    let Presence::Adapter { install, .. } = &agent.presence else {
        return Ok(true);
    };
    let title = plain_line(&agent.title);
    let method = match install {
        Ok(method) => method.name(),
        Err(reason) => {
            print::err(&format!("{title} cannot be used yet: {}\n", plain_line(reason)));
            return Ok(false);
        }
    };
    if !confirm(&format!(
        "{title} needs {} to speak ACP. Install it with {method}?",
        agent.id
    ))
    .await?
    {
        return Ok(false);
    }
    let is_installed = install_agent(settings, &agent.id).await?;
    if is_installed {
        agent.set_installed();
    }
    Ok(is_installed)
}

/// Installs an agent by a command of its own, which prints why if it fails. That command counts as an agent, so that what it starts is
/// not the owner at the daemon's socket, where this one is.
async fn install_agent(settings: &Settings, id: &str) -> anyhow::Result<bool> {
    let mut command = tokio::process::Command::new(own_program()?);
    command
        .args(settings.options_of_serve())
        .args(["agents", "install", id])
        .env_remove("ACPD_CONNECT")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let status = command.status().await.context("acpd cannot start itself")?;
    Ok(status.success())
}

/// Returns what can be done now.
async fn menu(
    settings: &Settings,
    client: &Client,
    agent: &str,
    terminal_info: &TerminalInfo,
) -> anyhow::Result<Menu> {
    let newest = ListThreads {
        limit: Some(1),
        ..ListThreads::default()
    };
    let last = client.thread_list(&newest).await?.data.into_iter().next();
    let waiting = ListThreads {
        status: Some(ListedStatus::Waiting),
        limit: Some(100),
        ..ListThreads::default()
    };
    Ok(Menu {
        address: local::url(&settings.daemon.data_dir)?,
        agent: agent.to_owned(),
        cwd: std::env::current_dir().context("this directory is gone")?,
        waiting: client.thread_list(&waiting).await?.data.len(),
        last: last.map(|thread| {
            let name = thread.name.unwrap_or_else(|| "without a name".to_owned());
            (thread.id, name)
        }),
        has_browser: terminal_info.has_browser(),
    })
}

/// Begins a thread in this directory.
async fn prompt(client: &Client, agent: String) -> anyhow::Result<Next> {
    if std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb") {
        let prompt = ask("Prompt: ").await?;
        return Ok(if prompt.trim().is_empty() {
            Next::Done
        } else {
            Next::Run { agent, prompt }
        });
    }
    wait_for_agent(client, &agent).await?;
    let cwd = std::env::current_dir().context("this directory is gone")?;
    let params = StartThread {
        agent_type: agent,
        cwd: path_text(&cwd)?,
        ..StartThread::default()
    };
    let started = client.thread_start(&params).await?;
    Ok(Next::Attach(started.thread.id))
}

/// Waits until a daemon that ran before has read the configuration that was just written.
async fn wait_for_agent(client: &Client, agent: &str) -> anyhow::Result<()> {
    let deadline = Instant::now() + RELOAD;
    loop {
        let agents = client.agent_list().await?.data;
        let is_there = agents.iter().any(|listed| listed.id == agent);
        // If it is still missing then, the start of the thread says so.
        if is_there || Instant::now() > deadline {
            return Ok(());
        }
        tokio::time::sleep(RELOAD_LOOK).await;
    }
}

/// Prints how a browser of another computer reaches the daemon.
async fn print_link(settings: &Settings, terminal_info: &TerminalInfo) -> anyhow::Result<()> {
    let address = local::url(&settings.daemon.data_dir)?;
    print::out(&terminal_info.advice(&address));
    // Through a tunnel, the browser arrives as a process of this user.
    let args = OpenArgs {
        print: true,
        other_device: !terminal_info::is_loopback(&address),
        json: false,
    };
    open::open(settings, &args).await?;
    Ok(())
}
