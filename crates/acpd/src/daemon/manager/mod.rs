//! The service manager that runs a daemon: systemd, or launchd.
//!
//! In: a daemon's process id, and the programs `systemctl` and `launchctl`. Out: calls of them by their arguments. Owns:
//! nothing. Never: changes what a manager has not said that it runs.

pub mod launchd;
mod systemd;

use std::fmt;
use std::time::Duration;

use rustix::process::Pid;

pub use self::systemd::{Scope, UNIT};
use crate::client::local::process::Process;

/// What a service manager runs a daemon as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Service {
    /// A unit of systemd.
    Unit(Scope, String),
    /// The job of launchd.
    Job,
}

impl Service {
    /// Returns the service whose main process this is. Without a service manager, or where it does not answer, there is none.
    pub fn of(pid: Pid) -> Option<Self> {
        if cfg!(target_os = "macos") {
            return launchd::runs(pid).then_some(Self::Job);
        }
        let (scope, unit) = systemd::unit_of(pid)?;
        Some(Self::Unit(scope, unit))
    }

    /// Stops the service, whose daemon is this process.
    pub fn stop(&self, process: &Process) -> anyhow::Result<()> {
        match self {
            // Without its manager, a unit that always restarts would come back.
            Self::Unit(scope, unit) => scope.run(&["stop", unit]),
            // A job that ends well stays ended; `bootout` would unload it until the next login.
            Self::Job => Ok(process.terminate()?),
        }
    }

    /// Restarts the service, whose daemon is this process. A job has this time to end.
    pub fn restart(&self, process: &Process, patience: Duration) -> anyhow::Result<()> {
        match self {
            // One job of the manager: this command may end on the way, as a part of the service does.
            Self::Unit(scope, unit) => scope.run(&["restart", unit]),
            // `kickstart -k` would kill it.
            Self::Job => {
                process.terminate()?;
                process.wait(patience)?;
                launchd::run(&["kickstart", &launchd::target()])
            }
        }
    }

    /// Returns a sentence that says when a stopped service starts again.
    pub fn comes_back(&self) -> String {
        match self {
            Self::Unit(scope, unit) => {
                let (when, option) = (scope.when(), scope.option());
                format!("it starts again {when}, or with \"systemctl {option}start {unit}\"")
            }
            Self::Job => format!(
                "it starts again at the next login, or with \"launchctl kickstart {}\"",
                launchd::target()
            ),
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit(Scope::User, unit) => write!(f, "the service {unit} of this user"),
            Self::Unit(Scope::System, unit) => write!(f, "the service {unit} of the system"),
            Self::Job => write!(f, "the service {}", launchd::LABEL),
        }
    }
}
