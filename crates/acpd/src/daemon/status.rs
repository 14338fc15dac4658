//! `acpd status`.

use acpd_client::protocol::{ListThreads, ListedStatus, NoParams, ThreadStatus};
use acpd_model::limits::{LOW_FREE_BYTES, READY_FREE_BYTES};
use serde_json::{Value, json};

use crate::cli::StatusArgs;
use crate::client::connect::connect;
use crate::client::local;
use crate::client::local::daemon_file::DaemonFile;
use crate::client::local::elsewhere;
use crate::client::whole::Page;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::plain::{plain_line, visible_line};
use crate::terminal::print;
use crate::terminal::time::span;
use crate::threads::list::count;

/// Shows whether the daemon runs, where, and what it runs. Never starts one.
pub async fn status(settings: &Settings, args: &StatusArgs) -> anyhow::Result<Exit> {
    let is_far = settings.remote.is_some();
    if !is_far && local::try_connect(settings).await?.is_none() {
        if let Some(elsewhere) = elsewhere::find(&settings.daemon.data_dir) {
            return Err(elsewhere.error());
        }
        return Ok(not_running(settings, args));
    }
    let client = connect(settings, false).await?;
    let agents: Page<Value> = client.call("agent/running", &NoParams::default()).await?;
    let active = ListThreads {
        status: Some(ListedStatus::Active),
        limit: Some(100),
        ..ListThreads::default()
    };
    let active = client.thread_list(&active).await?.data;
    let waiting = active
        .iter()
        .filter(|thread| thread.status == ThreadStatus::Waiting);
    let mut status = json!({
        "running": true,
        "version": client.ready().await?.server_info.version,
        "agents": agents.data,
        "activeThreads": active.len(),
        "waitingThreads": waiting.count(),
    });
    // Only the owner may list them.
    let targets: Result<Page<Value>, _> = client.call("notification/list", &NoParams::default()).await;
    if let Ok(targets) = targets {
        status["notificationTargets"] = json!(targets.data);
    }
    if let Ok((count, more)) = count(&client, &ListThreads::default()).await {
        status["totalThreads"] = json!(count);
        status["moreThreads"] = json!(more);
    }
    if !is_far {
        let notice = DaemonFile::read(&settings.daemon.data_dir)?;
        status["pid"] = json!(notice.pid);
        status["address"] = json!(notice.address());
        status["startedAt"] = json!(notice.started_at);
        status["dataDir"] = json!(settings.daemon.data_dir);
        status["logFile"] = json!(notice.log_file);
        status["configFile"] = json!(settings.config_file);
        status["freeBytes"] = json!(acpd_log::free_bytes(&settings.daemon.data_dir).ok());
    }
    if args.json {
        print::json(&status.to_string());
    } else {
        print::out(&in_lines(&status));
    }
    Ok(Exit::Success)
}

/// Describes in a line whether the daemon runs, and what to do next.
pub async fn state(settings: &Settings) -> anyhow::Result<String> {
    if let Some(remote) = &settings.remote {
        return Ok(format!("Commands use the daemon at {}.", remote.url()));
    }
    if local::try_connect(settings).await?.is_none() {
        return Ok(
            "No daemon is running. The first command that needs one starts it in the background.".to_owned(),
        );
    }
    let address = local::url(&settings.daemon.data_dir)?;
    Ok(format!(
        "The daemon runs at {}. \"acpd open\" opens the web UI.",
        plain_line(&address)
    ))
}

fn not_running(settings: &Settings, args: &StatusArgs) -> Exit {
    let data_dir = &settings.daemon.data_dir;
    if args.json {
        print::json(&json!({ "running": false, "dataDir": data_dir }).to_string());
    } else {
        print::out(&format!(
            "not running\ndata directory: {}\n",
            visible_line(&data_dir.display().to_string())
        ));
        print::hint("\"acpd serve\" starts the daemon; commands that need one start it in the background");
    }
    Exit::Unreachable
}

fn in_lines(status: &Value) -> String {
    let text = |key: &str| status[key].as_str().map(plain_line);
    let number = |key: &str| status[key].as_u64().unwrap_or_default();
    let mut lines = vec![format!("running: acpd {}", text("version").unwrap_or_default())];
    if let Some(pid) = status["pid"].as_u64() {
        lines.push(format!("process: {pid}"));
    }
    if let Some(started_at) = status["startedAt"].as_i64() {
        let now = jiff::Timestamp::now().as_millisecond();
        lines.push(format!(
            "uptime: {}",
            span(now.saturating_sub(started_at).max(0) / 1000)
        ));
    }
    for (name, key) in [
        ("address", "address"),
        ("data directory", "dataDir"),
        ("configuration", "configFile"),
        ("log file", "logFile"),
    ] {
        if let Some(value) = text(key) {
            lines.push(format!("{name}: {value}"));
        }
    }
    if let Some(free) = status["freeBytes"].as_u64() {
        lines.push(format!("free disk space: {} MiB{}", free >> 20, warning(free)));
    }
    let at_least = if status["moreThreads"] == true {
        "more than "
    } else {
        ""
    };
    let total = status["totalThreads"].as_u64();
    let total = total.map(|total| format!("{at_least}{total} in total, "));
    lines.push(format!(
        "threads: {}{} active, {} waiting for an answer",
        total.unwrap_or_default(),
        number("activeThreads"),
        number("waitingThreads")
    ));
    let agents = status["agents"].as_array().map_or(&[][..], Vec::as_slice);
    let named: Vec<String> = agents
        .iter()
        .map(|agent| {
            let text = |key: &str| plain_line(agent[key].as_str().unwrap_or("-"));
            format!("{} ({})", text("agentType"), text("state"))
        })
        .collect();
    let named = if named.is_empty() {
        "none".to_owned()
    } else {
        named.join(", ")
    };
    lines.push(format!("agents that run: {named}"));
    let targets = status["notificationTargets"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    if !targets.is_empty() {
        lines.push(notifications(targets));
    }
    lines.join("\n") + "\n"
}

/// Describes the targets of notifications, and which of them fail.
fn notifications(targets: &[Value]) -> String {
    let waiting: u64 = targets
        .iter()
        .filter_map(|target| target["waiting"].as_u64())
        .sum();
    let failing: Vec<String> = targets
        .iter()
        .filter_map(|target| {
            let error = plain_line(target["error"].as_str()?);
            Some(format!("{}: {error}", plain_line(target["name"].as_str()?)))
        })
        .collect();
    let failing = if failing.is_empty() {
        String::new()
    } else {
        format!("; failing: {}", failing.join("; "))
    };
    let plural = if targets.len() == 1 { "" } else { "s" };
    format!(
        "notifications: {} target{plural}, {waiting} waiting{failing}",
        targets.len()
    )
}

/// Returns what too little free space means.
fn warning(free_bytes: u64) -> &'static str {
    if free_bytes < READY_FREE_BYTES {
        " (the disk is full: turns fail until there is room)"
    } else if free_bytes < LOW_FREE_BYTES {
        " (the disk is nearly full)"
    } else {
        ""
    }
}
