//! `acpd agents` with a remote daemon, which does the work.

use acpd_client::protocol::{Agent, AgentExamined, AgentListParams, ExamineAgent, InstallAgent};
use serde::Deserialize;

use super::report::{print_report, source};
use crate::cli::{AgentsDoctorArgs, AgentsInstallArgs, AgentsListArgs};
use crate::client::connect::connect;
use crate::client::whole::{Page, Whole};
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::plain::{plain, plain_line};
use crate::terminal::print;
use crate::terminal::progress::Progress;
use crate::terminal::table::table;

/// Lists the agents that the daemon knows.
pub async fn list(settings: &Settings, args: &AgentsListArgs) -> anyhow::Result<Exit> {
    let client = connect(settings, false).await?;
    let listed: Page<Whole<Agent>> = client.call("agent/list", &AgentListParams::default()).await?;
    let agents = listed.data;
    if args.json {
        for agent in &agents {
            print::json(&agent.json.to_string());
        }
        return Ok(Exit::Success);
    }
    let rows: Vec<_> = agents.iter().map(|agent| row(agent)).collect();
    table(["NAME", "SOURCE", "VERSION", "RUNS"], &rows);
    Ok(Exit::Success)
}

fn row(agent: &Agent) -> [String; 4] {
    let text = |value: Option<&str>| plain_line(value.unwrap_or("-"));
    let runs = match &agent.reason {
        Some(reason) => format!("not yet: {}", plain_line(reason)),
        None => text(agent.runs.as_deref()),
    };
    [
        plain_line(&agent.id),
        source(&plain_line(&agent.source), agent.is_default),
        text(agent.version.as_deref()),
        runs,
    ]
}

/// The agent that was installed.
#[derive(Deserialize)]
struct InstalledThere {
    agent: Whole<Agent>,
}

/// Installs an agent on the daemon's host.
pub async fn install(settings: &Settings, args: &AgentsInstallArgs) -> anyhow::Result<Exit> {
    for (option, is_given) in [
        ("--unverified", args.unverified),
        ("--run-scripts", args.run_scripts),
    ] {
        if is_given {
            return Err(Exit::Usage.error(format!("{option} works only on the daemon's host")));
        }
    }
    let client = connect(settings, false).await?;
    let params = InstallAgent {
        agent_type: args.name.clone(),
    };
    let mut progress = Progress::begin(&format!("installing {}", plain_line(&args.name)));
    let installed = client.call("agent/install", &params).await;
    progress.end();
    let InstalledThere { agent } = installed?;
    if args.json {
        print::json(&agent.json.to_string());
    } else {
        let version = plain(agent.version.as_deref().unwrap_or_default());
        let done = format!("installed {} {version}", plain(&args.name));
        print::out(&format!("{}\n", done.trim_end()));
    }
    Ok(Exit::Success)
}

/// Starts an agent on the daemon's host and prints its capabilities.
pub async fn doctor(settings: &Settings, args: &AgentsDoctorArgs) -> anyhow::Result<Exit> {
    let client = connect(settings, false).await?;
    let params = ExamineAgent {
        agent_type: args.name.clone(),
    };
    let mut progress = Progress::begin(&format!("starting {}", plain_line(&args.name)));
    let found = client.call("agent/doctor", &params).await;
    progress.end();
    let report: Whole<AgentExamined> = found?;
    Ok(print_report(&args.name, &[], report, args.json))
}
