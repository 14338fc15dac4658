//! `acpd doctor`: checks everything that acpd depends on.
//!
//! In: the settings, and facts about this host. Out: findings, each with a fix. Owns: the limit on the time of
//! each check. Never: changes a file, starts a daemon, or connects to the network unless the user asked for it.

mod addresses;
mod agents;
mod certificate;
mod clock;
mod configuration;
mod daemon;
mod data;
mod editors;
mod network;
mod report;
mod sandbox;
mod secrets;
mod service;
mod ssh_agent;
mod subject;
mod system;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use self::report::{Finding, Group, Level, Report};
use self::subject::Subject;
use crate::cli::DoctorArgs;
use crate::exit::{Exit, sentence};
use crate::runtime::light;
use crate::settings::Settings;
use crate::terminal::print;
use crate::terminal::progress::Progress;

/// Time for a check.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs all checks side by side and prints their findings. `unreadable` is why the configuration cannot be read.
pub async fn doctor(
    settings: Settings,
    unreadable: Option<String>,
    args: &DoctorArgs,
) -> anyhow::Result<Exit> {
    let start_secs = settings.daemon.limits.agent_start_secs;
    let subject = Arc::new(Subject { settings, unreadable });
    let mut progress = Progress::begin("checking");
    let (starts, connects) = (args.agents, args.network);
    let while_starting = if starts {
        PATIENCE + Duration::from_secs(start_secs)
    } else {
        PATIENCE
    };
    let checks = [
        run_plain(&subject, Group::Configuration, configuration::check),
        run_plain(&subject, Group::Data, data::check),
        run_plain(&subject, Group::Secrets, secrets::check),
        run(&subject, Group::Daemon, PATIENCE, |subject| async move {
            daemon::check(&subject).await
        }),
        run_plain(&subject, Group::Addresses, addresses::check),
        run_plain(&subject, Group::Certificate, certificate::check),
        run(
            &subject,
            Group::Agents,
            while_starting,
            move |subject| async move { agents::check(&subject, starts).await },
        ),
        run_plain(&subject, Group::Sandbox, sandbox::check),
        run_plain(&subject, Group::System, system::check),
        run_plain(&subject, Group::System, ssh_agent::check),
        run_plain(&subject, Group::Clock, clock::check),
        run_plain(&subject, Group::Service, service::check),
        run_plain(&subject, Group::Editors, editors::check),
        run(&subject, Group::Network, PATIENCE, move |subject| async move {
            network::check(&subject, connects)
        }),
    ];
    let mut findings = Vec::new();
    for check in checks {
        findings.extend(check.finish().await);
    }
    progress.end();
    let report = Report::new(findings);
    if args.json {
        print::json(&report.json());
    } else {
        print::out(&report.text(print::is_quiet(), print::has_colors(&std::io::stdout())));
    }
    Ok(match report.count(Level::Problem) {
        0 => Exit::Success,
        _ => Exit::Failure,
    })
}

/// A check that runs.
struct Check {
    group: Group,
    patience: Duration,
    deadline: Instant,
    found: oneshot::Receiver<Vec<Finding>>,
}

/// Starts a check on a thread of its own: a file system or a program that hangs keeps nothing else from going on, nor
/// the process from ending.
fn run<F: Future<Output = Vec<Finding>>>(
    subject: &Arc<Subject>,
    group: Group,
    patience: Duration,
    check: impl FnOnce(Arc<Subject>) -> F + Send + 'static,
) -> Check {
    let (done, found) = oneshot::channel();
    let subject = Arc::clone(subject);
    std::thread::spawn(move || {
        let findings = match light() {
            Ok(runtime) => runtime.block_on(check(subject)),
            Err(error) => vec![could_not(group, &sentence(&error))],
        };
        // The check came too late for its report.
        let _ = done.send(findings);
    });
    Check {
        group,
        patience,
        deadline: Instant::now() + patience,
        found,
    }
}

/// Starts a check that awaits nothing.
fn run_plain(subject: &Arc<Subject>, group: Group, check: fn(&Subject) -> Vec<Finding>) -> Check {
    run(
        subject,
        group,
        PATIENCE,
        move |subject| async move { check(&subject) },
    )
}

impl Check {
    async fn finish(self) -> Vec<Finding> {
        match timeout_at(self.deadline, self.found).await {
            Ok(Ok(findings)) => findings,
            Ok(Err(_)) => vec![could_not(self.group, "it failed")],
            Err(_) => vec![could_not(
                self.group,
                &format!("it did not end within {} s", self.patience.as_secs()),
            )],
        }
    }
}

fn could_not(group: Group, reason: &str) -> Finding {
    Finding::warning(group, format!("this could not be checked: {reason}"))
        .fix("look for a file system or program that hangs, then run acpd doctor again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Common;

    #[tokio::test]
    async fn a_check_that_hangs_or_fails_is_a_finding() {
        let settings = Settings::load(&Common::default()).unwrap();
        let subject = Arc::new(Subject {
            settings,
            unreadable: None,
        });
        let (_open, wait) = oneshot::channel::<()>();
        // Its time is over at once.
        let hangs = run(&subject, Group::Data, Duration::ZERO, |_| async {
            wait.await.ok();
            Vec::new()
        });
        let found = hangs.finish().await;
        assert!(
            found[0].message.ends_with("it did not end within 0 s"),
            "{found:?}"
        );
        let (dead, found) = oneshot::channel();
        drop(dead);
        let failed = Check {
            group: Group::Data,
            patience: PATIENCE,
            deadline: Instant::now() + PATIENCE,
            found,
        };
        assert_eq!(failed.finish().await[0].level, Level::Warning);
    }
}
