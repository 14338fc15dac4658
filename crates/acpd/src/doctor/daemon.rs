//! The running daemon: whether it answers, its version, its health, and whether it finds the same agents.
//!
//! In: the daemon's socket. Out: findings. Never: starts or stops a daemon.

use acpd_client::protocol::Agent;
use acpd_runtime::agent::registry::Agents;
use hyper::Request;

use super::report::{Finding, Group};
use super::subject::Subject;
use crate::client::connect::connect;
use crate::client::local;
use crate::client::local::daemon_file::DaemonFile;
use crate::client::reach::{self, reach_running};
use crate::client::response;
use crate::exit::sentence;
use crate::settings::Settings;

const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

/// What is known about the daemon.
#[derive(Debug, Clone)]
enum Facts {
    NotRunning {
        /// Whether a killed daemon left its notice.
        notice: bool,
    },
    /// It runs, or something else does, and it cannot be used.
    Unusable(String),
    Running(Box<Running>),
}

#[derive(Debug, Clone)]
struct Running {
    version: String,
    pid: Option<u32>,
    url: String,
    /// Why it is not ready.
    unready: Option<String>,
    /// Whether its program was replaced or removed since it started.
    is_replaced: bool,
    /// Whether the configured address differs from that of the daemon.
    moved_to: Option<String>,
    /// Agents that can be started from here, and not by the daemon.
    missing_agents: Vec<String>,
}

/// Checks the daemon.
pub async fn check(subject: &Subject) -> Vec<Finding> {
    let settings = &subject.settings;
    let facts = match facts(settings).await {
        Ok(facts) => facts,
        Err(error) => Facts::Unusable(sentence(&error)),
    };
    findings(&facts)
}

async fn facts(settings: &Settings) -> anyhow::Result<Facts> {
    let data_dir = &settings.daemon.data_dir;
    let notice = DaemonFile::read(data_dir).ok();
    if local::try_connect(settings).await?.is_none() {
        return Ok(Facts::NotRunning {
            notice: notice.is_some(),
        });
    }
    let unready = unready(settings).await?;
    let client = connect(settings, false).await?;
    let version = client.ready().await?.server_info.version.clone();
    // The token of the environment may not permit this request, which only means one finding less.
    let listed = client
        .agent_list()
        .await
        .map_or_else(|_| Vec::new(), |listed| listed.data);
    let pid = notice.as_ref().map(|notice| notice.pid);
    Ok(Facts::Running(Box::new(Running {
        version,
        url: notice.as_ref().map(DaemonFile::address).unwrap_or_default(),
        unready,
        is_replaced: pid.is_some_and(is_replaced),
        pid,
        moved_to: notice.and_then(|notice| moved_to(settings, &notice)),
        missing_agents: missing_agents(settings, &listed),
    })))
}

/// Returns why the daemon is not ready.
async fn unready(settings: &Settings) -> anyhow::Result<Option<String>> {
    let Some(reached) = reach_running(settings).await? else {
        return Ok(Some("it has just stopped".to_owned()));
    };
    let answer = reach::ask(reached, Request::get("/readyz").body(String::new())?).await?;
    if answer.status() == 200 {
        return Ok(None);
    }
    let status = answer.status();
    let body = response::text(answer.into_body()).await?;
    let reason = body.trim();
    Ok(Some(if reason.is_empty() {
        format!("its answer is {status}")
    } else {
        reason.to_owned()
    }))
}

/// Returns whether the file of a process's program is gone, as after an upgrade.
fn is_replaced(pid: u32) -> bool {
    let program = std::fs::read_link(format!("/proc/{pid}/exe"));
    program.is_ok_and(|program| program.to_string_lossy().ends_with(" (deleted)"))
}

/// Returns the configured address if a restart of the daemon would use another one than now.
fn moved_to(settings: &Settings, notice: &DaemonFile) -> Option<String> {
    let named = notice.options.iter().any(|option| option == "--listen");
    let wanted = settings.daemon.address();
    let differs = wanted.port() != 0 && wanted != notice.listens();
    (differs && !named && settings.named_listen.is_none() && settings.wrong.is_none())
        .then(|| wanted.to_string())
}

/// Returns the agents on this shell's `PATH` that the daemon does not find on its own.
fn missing_agents(settings: &Settings, listed: &[Agent]) -> Vec<String> {
    let daemon = &settings.daemon;
    let here = Agents::fixed(daemon.agent_book(), &daemon.data_dir).list();
    let is_missing = |id: &str| {
        let agent = listed.iter().find(|agent| agent.id == id);
        agent.is_some_and(|agent| !agent.installed)
    };
    let runs = here
        .into_iter()
        .filter(|agent| agent.installed && is_missing(&agent.id));
    runs.map(|agent| agent.id).collect()
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let group = Group::Daemon;
    match facts {
        Facts::NotRunning { notice: false } => vec![Finding::ok(
            group,
            "it is not running; commands that need it start it in the background",
        )],
        Facts::NotRunning { notice: true } => vec![Finding::ok(
            group,
            "it is not running, and the last one did not stop regularly; the next one repairs what that left",
        )],
        Facts::Unusable(reason) => vec![
            Finding::problem(group, format!("it cannot be used: {reason}"))
                .fix("look at acpd logs, then restart it with acpd restart"),
        ],
        Facts::Running(running) => of_running(running),
    }
}

fn of_running(running: &Running) -> Vec<Finding> {
    let group = Group::Daemon;
    let Running { version, url, .. } = running;
    let process = running
        .pid
        .map_or_else(String::new, |pid| format!(" (process {pid})"));
    let mut found = vec![match &running.unready {
        None => Finding::ok(
            group,
            format!("acpd {version} runs at {url}{process}, and is ready"),
        ),
        Some(reason) => Finding::problem(
            group,
            format!("acpd {version} runs at {url}{process}, and is not ready: {reason}"),
        )
        .fix("see acpd logs"),
    }];
    let restart = "acpd restart --when-idle, which waits until no turn runs";
    if version != OWN_VERSION {
        found.push(
            Finding::warning(
                group,
                format!("this command is acpd {OWN_VERSION}, and the daemon is acpd {version}"),
            )
            .fix(restart),
        );
    } else if running.is_replaced {
        found.push(
            Finding::warning(
                group,
                "the daemon's program was replaced since the daemon started",
            )
            .fix(restart),
        );
    }
    if let Some(address) = &running.moved_to {
        found.push(
            Finding::warning(
                group,
                format!("the configuration has the address {address}, which the daemon does not use yet"),
            )
            .fix(restart),
        );
    }
    if !running.missing_agents.is_empty() {
        let names = running.missing_agents.join(", ");
        found.push(
            Finding::warning(
                group,
                format!("the daemon does not find agents that this shell finds ({names}): it has another PATH"),
            )
            .fix("acpd restart from this shell; for a service, acpd service install and a restart of the service"),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::doctor::report::Level;
    use crate::doctor::report::assert_found;

    fn running() -> Running {
        Running {
            version: OWN_VERSION.to_owned(),
            pid: Some(7),
            url: "http://127.0.0.1:1".to_owned(),
            unready: None,
            is_replaced: false,
            moved_to: None,
            missing_agents: Vec::new(),
        }
    }

    #[test]
    fn each_state_has_its_finding() {
        let one = |running: Running| Facts::Running(Box::new(running));
        for (facts, level, part) in [
            (
                Facts::NotRunning { notice: false },
                Level::Ok,
                "start it in the background",
            ),
            (
                Facts::NotRunning { notice: true },
                Level::Ok,
                "did not stop regularly",
            ),
            (
                Facts::Unusable("no".to_owned()),
                Level::Problem,
                "cannot be used: no",
            ),
            (
                one(running()),
                Level::Ok,
                "runs at http://127.0.0.1:1 (process 7), and is ready",
            ),
            (
                one(Running {
                    unready: Some("full".to_owned()),
                    ..running()
                }),
                Level::Problem,
                "not ready: full",
            ),
            (
                one(Running {
                    version: "0.0.1".to_owned(),
                    ..running()
                }),
                Level::Warning,
                "the daemon is acpd 0.0.1",
            ),
            (
                one(Running {
                    is_replaced: true,
                    ..running()
                }),
                Level::Warning,
                "was replaced",
            ),
            (
                one(Running {
                    moved_to: Some("127.0.0.1:2".to_owned()),
                    ..running()
                }),
                Level::Warning,
                "127.0.0.1:2",
            ),
            (
                one(Running {
                    missing_agents: vec!["x".to_owned()],
                    ..running()
                }),
                Level::Warning,
                "(x)",
            ),
        ] {
            let found = findings(&facts);
            assert_found(&found, level, part);
        }
    }

    #[test]
    fn only_agents_that_the_daemon_lists_as_missing_are_named() {
        let agent = |id: &str, installed: bool| {
            let agent = json!({
                "id": id, "title": id, "source": "builtin", "installed": installed, "isDefault": false, "isSetUp": true,
            });
            serde_json::from_value::<Agent>(agent).unwrap()
        };
        let listed = [agent("demo", true), agent("x", false)];
        let common = crate::options::Common::default();
        let mut settings = Settings::load(&common).unwrap();
        settings.daemon.agents.clear();
        assert_eq!(missing_agents(&settings, &listed), [""; 0]);
        assert_eq!(missing_agents(&settings, &[agent("demo", false)]), ["demo"]);
    }
}
