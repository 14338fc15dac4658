//! `acpd agents running`.

use serde_json::{Value, json};

use crate::cli::AgentsRunningArgs;
use crate::client::Client;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::amounts::mebibytes;
use crate::terminal::items::short_id;
use crate::terminal::plain::plain_line;
use crate::terminal::print;
use crate::terminal::table::table;
use crate::terminal::time::ago;

/// Lists the running agent processes.
pub async fn running(settings: &Settings, args: &AgentsRunningArgs) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, false).await?;
    let found = client.request("agent/running", json!({})).await?;
    let processes = found["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    if args.json {
        for process in processes {
            print::json(&process.to_string());
        }
    } else if processes.is_empty() {
        print::hint("no agent runs");
    } else {
        let rows: Vec<_> = processes.iter().map(row).collect();
        table(["AGENT", "PID", "STATE", "MEMORY", "STARTED", "THREAD"], &rows);
    }
    Ok(Exit::Success)
}

fn row(process: &Value) -> [String; 6] {
    let text = |value: &Value| plain_line(value.as_str().unwrap_or("-"));
    let threads: Vec<_> = process["threads"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|id| short_id(&text(id)).to_owned())
        .collect();
    [
        text(&process["agentType"]),
        process["pid"]
            .as_u64()
            .map_or_else(|| "-".to_owned(), |pid| pid.to_string()),
        text(&process["state"]),
        mebibytes(process["memoryBytes"].as_u64().unwrap_or_default()),
        ago(&process["startedAt"]),
        if threads.is_empty() {
            "-".to_owned()
        } else {
            threads.join(", ")
        },
    ]
}
