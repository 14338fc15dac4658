//! `acpd agents` with a remote daemon, which does the work.

use serde_json::{Value, json};

use super::report::{print_report, source};
use crate::cli::{AgentsDoctorArgs, AgentsInstallArgs, AgentsListArgs};
use crate::client::Client;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::plain::{plain, plain_line};
use crate::terminal::print;
use crate::terminal::progress::Progress;
use crate::terminal::table::table;

/// Lists the agents that the daemon knows.
pub async fn list(settings: &Settings, args: &AgentsListArgs) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, false).await?;
    let listed = client.request("agent/list", json!({})).await?;
    let agents = listed["data"].as_array().map_or(&[][..], Vec::as_slice);
    if args.json {
        for agent in agents {
            print::json(&agent.to_string());
        }
        return Ok(Exit::Success);
    }
    let rows: Vec<_> = agents.iter().map(row).collect();
    table(["NAME", "SOURCE", "VERSION", "RUNS"], &rows);
    Ok(Exit::Success)
}

fn row(agent: &Value) -> [String; 4] {
    let text = |key: &str| plain_line(agent[key].as_str().unwrap_or("-"));
    let runs = match agent["reason"].as_str() {
        Some(reason) => format!("not yet: {}", plain_line(reason)),
        None => text("runs"),
    };
    let source = source(&text("source"), agent["isDefault"] == true);
    [text("id"), source, text("version"), runs]
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
    let mut client = Client::connect(settings, false).await?;
    let mut progress = Progress::begin(&format!("installing {}", plain_line(&args.name)));
    let installed = client
        .request("agent/install", json!({ "agentType": args.name }))
        .await;
    progress.end();
    let agent = installed?["agent"].take();
    if args.json {
        print::json(&agent.to_string());
    } else {
        let version = plain(agent["version"].as_str().unwrap_or_default());
        let done = format!("installed {} {version}", plain(&args.name));
        print::out(&format!("{}\n", done.trim_end()));
    }
    Ok(Exit::Success)
}

/// Starts an agent on the daemon's host and prints its capabilities.
pub async fn doctor(settings: &Settings, args: &AgentsDoctorArgs) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, false).await?;
    let mut progress = Progress::begin(&format!("starting {}", plain_line(&args.name)));
    let found = client
        .request("agent/doctor", json!({ "agentType": args.name }))
        .await;
    progress.end();
    let mut report = found?;
    report["ok"] = json!(report["error"].is_null());
    Ok(print_report(&args.name, report, args.json))
}
