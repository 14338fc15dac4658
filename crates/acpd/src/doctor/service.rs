//! The service: whether its unit is as acpd wrote it, starts this program, and stays after the user logs out.
//!
//! In: the unit or job, and answers of its manager. Out: findings. Never: changes a unit.

use std::path::{Path, PathBuf};

use super::report::{Finding, Group};
use super::subject::Subject;
use crate::cli::Manager;
use crate::client::local::lifetime;
use crate::daemon::manager::Scope;
use crate::service::launchd::{self, JobState};
use crate::service::unit;

/// What is known about the service.
#[derive(Debug, Clone)]
enum Facts {
    None,
    Installed(Box<Installed>),
    /// A job of launchd.
    Job {
        path: PathBuf,
        state: JobState,
    },
}

#[derive(Debug, Clone)]
struct Installed {
    scope: Scope,
    path: PathBuf,
    /// Whether acpd wrote the unit, and it was not changed.
    is_unchanged: bool,
    /// The program that the unit starts.
    program: Option<String>,
    program_exists: bool,
    /// What systemd says; `None` where it does not manage services of this user.
    state: Option<State>,
    /// Whether the user's services run without a login.
    lingers: bool,
    /// Whether a daemon runs.
    has_daemon: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct State {
    enabled: String,
    active: String,
    kill_mode: String,
}

/// Checks the service of this user, and that of the system.
pub fn check(subject: &Subject) -> Vec<Finding> {
    let has_daemon = subject.daemon_pid().is_some();
    let facts: Vec<Facts> = match Manager::here() {
        Manager::Systemd => [Scope::User, Scope::System]
            .into_iter()
            .filter_map(|scope| of_unit(scope, has_daemon))
            .collect(),
        Manager::Launchd => of_job().into_iter().collect(),
    };
    let mut found: Vec<Finding> = match &facts[..] {
        [] => findings(&Facts::None),
        facts => facts.iter().flat_map(findings).collect(),
    };
    let ends = subject.daemon_pid().and_then(lifetime::of_process);
    found.extend(ends.map(|ends| Finding::warning(Group::Service, ends.reason()).fix(ends.advice())));
    found
}

fn of_job() -> Option<Facts> {
    let path = launchd::file().ok().filter(|path| path.exists())?;
    Some(Facts::Job {
        path,
        state: launchd::state().ok()?,
    })
}

fn of_unit(scope: Scope, has_daemon: bool) -> Option<Facts> {
    let path = scope.unit().ok()?;
    let text = std::fs::read_to_string(&path).ok()?;
    let program = unit::program(&text);
    Some(Facts::Installed(Box::new(Installed {
        scope,
        path,
        is_unchanged: unit::is_unchanged(&text),
        program_exists: program
            .as_ref()
            .is_some_and(|program| Path::new(program).exists()),
        program,
        state: state(scope),
        lingers: scope == Scope::System || lingers(),
        has_daemon: scope == Scope::User && has_daemon,
    })))
}

fn state(scope: Scope) -> Option<State> {
    let names = "UnitFileState,ActiveState,KillMode";
    let output = scope
        .systemctl(&["show", "acpd.service", "--property", names])
        .ok()?;
    if !output.status.success() {
        return None;
    }
    Some(read_state(&String::from_utf8_lossy(&output.stdout)))
}

fn read_state(text: &str) -> State {
    let value = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.unwrap_or_default().to_owned()
    };
    State {
        enabled: value("UnitFileState"),
        active: value("ActiveState"),
        kill_mode: value("KillMode"),
    }
}

/// Returns whether systemd keeps the services of this user without a login. It marks such users by a file.
fn lingers() -> bool {
    let name = std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
    name.is_ok_and(|name| !name.contains('/') && Path::new("/var/lib/systemd/linger").join(name).exists())
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let group = Group::Service;
    let installed = match facts {
        Facts::Installed(installed) => installed,
        Facts::Job { path, state } => return vec![of_state(path, state)],
        Facts::None => {
            return vec![
                Finding::ok(
                    group,
                    "none is installed; commands start the daemon, which ends with the computer",
                )
                .fix("acpd service install starts it at login"),
            ];
        }
    };
    let path = installed.path.display();
    let (systemctl, journalctl) = match installed.scope {
        Scope::User => ("systemctl --user", "journalctl --user"),
        Scope::System => ("sudo systemctl", "sudo journalctl"),
    };
    let mut found = Vec::new();
    if !installed.program_exists {
        let program = installed.program.as_deref().unwrap_or("no program");
        found.push(
            Finding::problem(group, format!("{path} starts {program}, which does not exist"))
                .fix("acpd service install, with --force if you changed the unit"),
        );
    } else if installed.is_unchanged {
        found.push(Finding::ok(group, format!("{path} is as acpd wrote it")));
    } else {
        found.push(Finding::ok(
            group,
            format!("{path} was changed, or not written by acpd; acpd service install leaves it as it is"),
        ));
    }
    let Some(state) = &installed.state else {
        found.push(
            Finding::warning(
                group,
                "systemd does not manage this service here, so the unit has no effect",
            )
            .fix("run acpd serve by another service manager, or acpd service uninstall"),
        );
        return found;
    };
    if state.enabled != "enabled" {
        found.push(
            Finding::warning(group, "it does not start by itself: the unit is not enabled")
                .fix(format!("{systemctl} enable acpd")),
        );
    }
    match (&*state.active, installed.has_daemon) {
        ("active", _) => found.push(Finding::ok(group, "it is active")),
        ("failed", _) => {
            found.push(Finding::problem(group, "it failed").fix(format!("{journalctl} -u acpd shows why")))
        }
        (_, true) => found.push(
            Finding::warning(group, "it is not active, and a daemon runs outside of it")
                .fix(format!("acpd stop, then {systemctl} start acpd")),
        ),
        (_, false) => {
            found.push(Finding::warning(group, "it is not active").fix(format!("{systemctl} start acpd")))
        }
    }
    if !matches!(&*state.kill_mode, "mixed" | "") {
        found.push(
            Finding::warning(
                group,
                format!(
                    "its KillMode is {}: agents are not ended in order, or stay",
                    state.kill_mode
                ),
            )
            .fix("set KillMode=mixed in the unit"),
        );
    }
    if !installed.lingers {
        found.push(
            Finding::ok(group, "it ends when you log out").fix("loginctl enable-linger keeps it running"),
        );
    }
    found
}

/// Describes a job of launchd.
fn of_state(path: &Path, state: &JobState) -> Finding {
    let group = Group::Service;
    let path = path.display();
    match state {
        JobState::Loaded(state) if state == "running" => Finding::ok(group, format!("{path} runs")),
        JobState::Loaded(state) => {
            Finding::warning(group, format!("{path} is loaded, and its state is {state}"))
                .fix("look at ~/Library/Logs/acpd.log")
        }
        JobState::NotLoaded => {
            Finding::warning(group, format!("{path} is not loaded")).fix("acpd service install")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::Level;
    use crate::doctor::report::assert_found;

    fn installed() -> Installed {
        Installed {
            scope: Scope::User,
            path: "/u/acpd.service".into(),
            is_unchanged: true,
            program: Some("/bin/acpd".to_owned()),
            program_exists: true,
            state: Some(State {
                enabled: "enabled".to_owned(),
                active: "active".to_owned(),
                kill_mode: "mixed".to_owned(),
            }),
            lingers: true,
            has_daemon: true,
        }
    }

    fn with_state(change: impl FnOnce(&mut State)) -> Installed {
        let mut installed = installed();
        change(installed.state.as_mut().unwrap());
        installed
    }

    #[test]
    fn each_state_has_its_finding() {
        assert_eq!(findings(&Facts::None)[0].level, Level::Ok);
        for (facts, level, part) in [
            (installed(), Level::Ok, "as acpd wrote it"),
            (
                Installed {
                    is_unchanged: false,
                    ..installed()
                },
                Level::Ok,
                "was changed",
            ),
            (
                Installed {
                    lingers: false,
                    ..installed()
                },
                Level::Ok,
                "when you log out",
            ),
            (
                Installed {
                    program_exists: false,
                    ..installed()
                },
                Level::Problem,
                "/bin/acpd, which does not exist",
            ),
            (
                Installed {
                    state: None,
                    ..installed()
                },
                Level::Warning,
                "has no effect",
            ),
            (
                with_state(|state| state.enabled = "disabled".to_owned()),
                Level::Warning,
                "not enabled",
            ),
            (
                with_state(|state| state.active = "failed".to_owned()),
                Level::Problem,
                "it failed",
            ),
            (
                with_state(|state| state.active = "inactive".to_owned()),
                Level::Warning,
                "outside of it",
            ),
            (
                Installed {
                    has_daemon: false,
                    ..with_state(|state| state.active = "inactive".to_owned())
                },
                Level::Warning,
                "it is not active",
            ),
            (
                with_state(|state| state.kill_mode = "process".to_owned()),
                Level::Warning,
                "KillMode is process",
            ),
        ] {
            let found = findings(&Facts::Installed(Box::new(facts)));
            assert_found(&found, level, part);
        }
    }

    #[test]
    fn each_state_of_a_job_has_its_finding() {
        for (state, level) in [
            (JobState::Loaded("running".to_owned()), Level::Ok),
            (JobState::Loaded("spawn scheduled".to_owned()), Level::Warning),
            (JobState::NotLoaded, Level::Warning),
        ] {
            let path = "/a.plist".into();
            let found = findings(&Facts::Job { path, state });
            assert_eq!((found.len(), found[0].level), (1, level), "{found:?}");
            assert!(level == Level::Ok || found[0].fix.is_some());
        }
    }

    #[test]
    fn the_answer_of_systemctl_is_read() {
        let text = "KillMode=mixed\nActiveState=active\nUnitFileState=enabled\n";
        assert_eq!(Some(read_state(text)), installed().state);
        assert_eq!(read_state(""), State::default());
    }
}
