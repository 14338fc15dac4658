//! `acpd agents running`.

use acpd_client::protocol::{AgentRunningParams, RunningAgent};

use crate::cli::AgentsRunningArgs;
use crate::client::connect::connect;
use crate::client::whole::{Page, Whole};
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
    let client = connect(settings, false).await?;
    let params = AgentRunningParams::default();
    let found: Page<Whole<RunningAgent>> = client.call("agent/running", &params).await?;
    let processes = found.data;
    if args.json {
        for process in &processes {
            print::json(&process.json.to_string());
        }
    } else if processes.is_empty() {
        print::hint("no agent runs");
    } else {
        let rows: Vec<_> = processes.iter().map(|process| row(process)).collect();
        table(["AGENT", "PID", "STATE", "MEMORY", "STARTED", "THREAD"], &rows);
    }
    Ok(Exit::Success)
}

fn row(process: &RunningAgent) -> [String; 6] {
    let threads: Vec<_> = process
        .threads
        .iter()
        .map(|id| short_id(&plain_line(id)).to_owned())
        .collect();
    [
        plain_line(&process.agent_type),
        process.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string()),
        plain_line(&process.state),
        mebibytes(process.memory_bytes),
        ago(process.started_at),
        if threads.is_empty() {
            "-".to_owned()
        } else {
            threads.join(", ")
        },
    ]
}
