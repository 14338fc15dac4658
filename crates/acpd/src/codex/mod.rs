//! `acpd codex`: starts the installed Codex on the daemon, or serves a client that would start Codex itself.
//!
//! * [`args`]: what acpd reads of Codex's arguments
//! * [`program`]: the Codex program
//! * [`endpoint`]: the address at which Codex reaches the daemon
//! * [`pipe`]: `acpd codex app-server`

mod args;
mod endpoint;
mod pipe;
mod program;

use std::ffi::OsString;

use acpd_client::Client;
use acpd_model::similar::nearest;

use crate::cli::CodexArgs;
use crate::client::connect::connect;
use crate::client::link::Link;
use crate::client::reach::reach;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::plain::plain_line;

use args::{Given, Task};
use endpoint::{Endpoint, TOKEN_VARIABLE};
use program::Program;

/// Runs Codex, or serves as its app server.
pub async fn codex(settings: &Settings, args: CodexArgs) -> anyhow::Result<Exit> {
    let CodexArgs { agent, codex, args } = args;
    match (args::read(&args)?, agent) {
        (Task::Pipe, None) => pipe::pipe(settings).await,
        (Task::Pipe, Some(agent)) => Err(Exit::Usage.error(format!(
            "--agent is for Codex's TUI: with app-server, the client chooses the agent; set {agent:?} as its model"
        ))),
        (Task::Print, _) => Err(Program::find(codex.as_deref())?.run(&args, None)),
        (Task::Connect(given), agent) => {
            if let (Some(command), Some(_)) = (&given.command, &agent) {
                return Err(Exit::Usage.error(format!(
                    "--agent is for new threads: remove it from \"acpd codex {command}\""
                )));
            }
            let program = Program::find(codex.as_deref())?;
            let (remotes, checked) = tokio::join!(program.remotes(), check(settings, agent.as_deref()));
            checked?;
            let endpoint = Endpoint::of(settings, remotes?)?;
            let line = command_line(settings, &endpoint, &given, agent, args)?;
            let token = endpoint.token.as_deref();
            Err(program.run(&line, token.map(|token| (TOKEN_VARIABLE, token))))
        }
    }
}

/// Connects to the daemon, which starts if none runs, and checks that it accepts the token and knows the agent. Codex's own
/// errors would not name the cause.
async fn check(settings: &Settings, agent: Option<&str>) -> anyhow::Result<()> {
    match agent {
        Some(agent) => check_agent(&connect(settings, false).await?, agent).await,
        None => {
            Link::open(reach(settings).await?, pipe::PATH)
                .await?
                .close()
                .await;
            Ok(())
        }
    }
}

/// Checks that the daemon knows the agent of a model, and can start it.
async fn check_agent(client: &Client, model: &str) -> anyhow::Result<()> {
    let agent = model.split_once('/').map_or(model, |(agent, _)| agent);
    let agents = client.agent_list().await?.data;
    let Some(found) = agents.iter().find(|listed| listed.id == agent) else {
        let advice = match nearest(agent, agents.iter().map(|listed| &*listed.id)) {
            Some(similar) => format!("did you mean {:?}?", plain_line(similar)),
            None => "\"acpd agents list\" lists them".to_owned(),
        };
        return Err(Exit::NotFound.error(format!("agent {agent:?} does not exist; {advice}")));
    };
    if !found.installed {
        let reason = found.reason.as_deref().unwrap_or("it is not installed");
        return Err(Exit::Failure.error(format!(
            "the agent {agent:?} cannot be started: {}",
            plain_line(reason)
        )));
    }
    Ok(())
}

/// Returns Codex's whole command line. acpd's options come first, since commands may follow them.
fn command_line(
    settings: &Settings,
    endpoint: &Endpoint,
    given: &Given,
    agent: Option<String>,
    args: Vec<OsString>,
) -> anyhow::Result<Vec<OsString>> {
    let mut line: Vec<OsString> = vec!["--remote".into(), endpoint.url.clone().into()];
    if endpoint.token.is_some() {
        line.extend(["--remote-auth-token-env".into(), TOKEN_VARIABLE.into()]);
    }
    let opens_tui = given.command.is_none();
    // On a remote daemon's host, the local directory means nothing.
    if opens_tui && !given.directory && settings.remote.is_none() {
        line.extend(["-C".into(), std::env::current_dir()?.into()]);
    }
    if let (false, Some(agent)) = (given.model, agent) {
        line.extend(["-m".into(), agent.into()]);
    }
    line.extend(args);
    Ok(line)
}
