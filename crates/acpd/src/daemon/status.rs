//! `acpd status`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use acpd_client::Client;
use acpd_client::protocol::{
    AgentRunningParams, ListThreads, ListedStatus, NotificationListParams, NotificationTarget, RunningAgent,
    ThreadStatus,
};
use acpd_model::limits::{LOW_FREE_BYTES, READY_FREE_BYTES};
use serde::Serialize;
use serde_json::json;

use crate::cli::StatusArgs;
use crate::client::connect::connect;
use crate::client::local;
use crate::client::local::daemon_file::DaemonFile;
use crate::client::local::elsewhere;
use crate::client::whole::{Page, Whole};
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::plain::{plain_line, visible_line};
use crate::terminal::print;
use crate::terminal::time::span;
use crate::threads::list::count;

/// Time to count the threads. Without their number, the rest is still of use.
const COUNTING: Duration = Duration::from_secs(2);

/// What the daemon does, as `--json` prints it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    running: bool,
    version: String,
    agents: Vec<Whole<RunningAgent>>,
    active_threads: usize,
    waiting_threads: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    notification_targets: Option<Vec<Whole<NotificationTarget>>>,
    #[serde(flatten)]
    threads: Option<Threads>,
    #[serde(flatten)]
    here: Option<Here>,
}

/// How many threads the daemon has.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Threads {
    total_threads: usize,
    /// Whether there are more than were counted.
    more_threads: bool,
}

/// What only this host knows of its own daemon.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Here {
    pid: u32,
    address: String,
    started_at: i64,
    data_dir: PathBuf,
    log_file: Option<PathBuf>,
    config_file: Option<PathBuf>,
    free_bytes: Option<u64>,
}

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
    let mut status = look(&client).await?;
    if !is_far {
        status.here = Some(Here::look(settings)?);
    }
    if args.json {
        print::json(&serde_json::to_value(&status)?.to_string());
    } else {
        print::out(&in_lines(&status));
    }
    Ok(Exit::Success)
}

async fn look(client: &Client) -> anyhow::Result<Status> {
    let params = AgentRunningParams::default();
    let agents: Page<Whole<RunningAgent>> = client.call("agent/running", &params).await?;
    let active = ListThreads {
        status: Some(ListedStatus::Active),
        limit: Some(100),
        ..ListThreads::default()
    };
    let active = client.thread_list(&active).await?.data;
    let waiting = active
        .iter()
        .filter(|thread| thread.status == ThreadStatus::Waiting);
    // Only the owner may list them.
    let params = NotificationListParams::default();
    let targets: Result<Page<Whole<NotificationTarget>>, _> = client.call("notification/list", &params).await;
    let all = ListThreads::default();
    let counted = in_time(count(client, &all)).await;
    Ok(Status {
        running: true,
        version: client.ready().await?.server_info.version.clone(),
        agents: agents.data,
        active_threads: active.len(),
        waiting_threads: waiting.count(),
        notification_targets: targets.ok().map(|targets| targets.data),
        threads: counted.map(|(total_threads, more_threads)| Threads {
            total_threads,
            more_threads,
        }),
        here: None,
    })
}

/// Returns what a future returns; `None` if it fails, or takes longer than a user of `acpd status` should wait. A daemon with a low
/// limit of requests answers the pages of many threads within minutes.
async fn in_time<T>(counting: impl Future<Output = anyhow::Result<T>>) -> Option<T> {
    tokio::time::timeout(COUNTING, counting).await.ok()?.ok()
}

impl Here {
    fn look(settings: &Settings) -> anyhow::Result<Self> {
        let data_dir = &settings.daemon.data_dir;
        let notice = DaemonFile::read(data_dir)?;
        Ok(Self {
            pid: notice.pid,
            address: notice.address(),
            started_at: notice.started_at,
            data_dir: data_dir.clone(),
            log_file: notice.log_file,
            config_file: settings.config_file.clone(),
            free_bytes: acpd_log::free_bytes(data_dir).ok(),
        })
    }

    fn lines(&self) -> Vec<String> {
        let now = jiff::Timestamp::now().as_millisecond();
        let uptime = now.saturating_sub(self.started_at).max(0) / 1000;
        let path = |path: &Path| plain_line(&path.to_string_lossy());
        let mut lines = vec![
            format!("process: {}", self.pid),
            format!("uptime: {}", span(uptime)),
            format!("address: {}", plain_line(&self.address)),
            format!("data directory: {}", path(&self.data_dir)),
        ];
        if let Some(file) = &self.config_file {
            lines.push(format!("configuration: {}", path(file)));
        }
        if let Some(file) = &self.log_file {
            lines.push(format!("log file: {}", path(file)));
        }
        if let Some(free) = self.free_bytes {
            lines.push(format!("free disk space: {} MiB{}", free >> 20, warning(free)));
        }
        lines
    }
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

fn in_lines(status: &Status) -> String {
    let mut lines = vec![format!("running: acpd {}", plain_line(&status.version))];
    lines.extend(status.here.iter().flat_map(Here::lines));
    let total = status.threads.as_ref().map(|threads| {
        let at_least = if threads.more_threads { "more than " } else { "" };
        format!("{at_least}{} in total, ", threads.total_threads)
    });
    lines.push(format!(
        "threads: {}{} active, {} waiting for an answer",
        total.unwrap_or_default(),
        status.active_threads,
        status.waiting_threads
    ));
    let named: Vec<String> = status
        .agents
        .iter()
        .map(|agent| format!("{} ({})", plain_line(&agent.agent_type), plain_line(&agent.state)))
        .collect();
    let named = if named.is_empty() {
        "none".to_owned()
    } else {
        named.join(", ")
    };
    lines.push(format!("agents that run: {named}"));
    let targets = status.notification_targets.as_deref().unwrap_or_default();
    if !targets.is_empty() {
        lines.push(notifications(targets));
    }
    lines.join("\n") + "\n"
}

/// Describes the targets of notifications, and which of them fail.
fn notifications(targets: &[Whole<NotificationTarget>]) -> String {
    let waiting = targets
        .iter()
        .fold(0_u64, |sum, target| sum.saturating_add(target.waiting));
    let failing: Vec<String> = targets
        .iter()
        .filter_map(|target| {
            let error = plain_line(target.error.as_deref()?);
            Some(format!("{}: {error}", plain_line(&target.name)))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        let agent = json!({
            "agentType": "demo", "pid": 7, "threads": [], "state": "busy", "memoryBytes": 1, "startedAt": 1, "newer": true,
        });
        let targets = json!([
            { "name": "phone", "type": "ntfy", "waiting": 2, "failures": 1, "error": "no \u{1b}route" },
            { "name": "hook", "type": "webhook", "waiting": u64::MAX, "failures": 0, "error": null },
        ]);
        Status {
            running: true,
            version: "1.2.3".to_owned(),
            agents: vec![serde_json::from_value(agent).unwrap()],
            active_threads: 2,
            waiting_threads: 1,
            notification_targets: Some(serde_json::from_value(targets).unwrap()),
            threads: Some(Threads {
                total_threads: 2000,
                more_threads: true,
            }),
            here: Some(Here {
                pid: 42,
                address: "http://127.0.0.1:1".to_owned(),
                started_at: i64::MAX,
                data_dir: "/data".into(),
                log_file: None,
                config_file: Some("/etc/acpd.toml".into()),
                free_bytes: None,
            }),
        }
    }

    #[test]
    fn unknown_values_have_no_line() {
        let all = "running: acpd 1.2.3\nprocess: 42\nuptime: 0 s\naddress: http://127.0.0.1:1\ndata directory: /data\nconfiguration: \
                   /etc/acpd.toml\nthreads: more than 2000 in total, 2 active, 1 waiting for an answer\nagents that run: demo \
                   (busy)\nnotifications: 2 targets, 18446744073709551615 waiting; failing: phone: no \u{fffd}route\n";
        assert_eq!(in_lines(&status()), all);
        let far = Status {
            agents: Vec::new(),
            notification_targets: None,
            threads: None,
            here: None,
            ..status()
        };
        assert_eq!(
            in_lines(&far),
            "running: acpd 1.2.3\nthreads: 2 active, 1 waiting for an answer\nagents that run: none\n"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn threads_that_take_long_to_count_are_left_out() {
        assert_eq!(in_time(async { Ok(7) }).await, Some(7));
        let refused = async { Err::<u8, _>(anyhow::anyhow!("not for you")) };
        assert_eq!(in_time(refused).await, None);
        let began = tokio::time::Instant::now();
        let endless = std::future::pending::<anyhow::Result<u8>>();
        assert_eq!(in_time(endless).await, None);
        assert_eq!(began.elapsed(), COUNTING);
    }

    #[test]
    fn json_has_what_the_daemon_sent_and_no_member_that_is_unknown() {
        let whole = serde_json::to_value(status()).unwrap();
        assert_eq!(whole["agents"][0]["newer"], true);
        assert_eq!(whole["notificationTargets"][1]["error"], serde_json::Value::Null);
        assert_eq!(
            (&whole["totalThreads"], &whole["moreThreads"], &whole["pid"]),
            (&json!(2000), &json!(true), &json!(42))
        );
        let far = Status {
            notification_targets: None,
            threads: None,
            here: None,
            ..status()
        };
        assert_eq!(
            serde_json::to_value(far).unwrap(),
            json!({
                "running": true, "version": "1.2.3", "agents": [whole["agents"][0]], "activeThreads": 2, "waitingThreads": 1,
            })
        );
    }
}
