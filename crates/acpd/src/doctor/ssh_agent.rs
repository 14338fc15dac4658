//! The SSH agent that agents of a daemon in the background reach.
//!
//! In: the link in the data directory. Out: findings. Never: sends anything to an SSH agent.

use std::path::PathBuf;

use super::report::{Finding, Group};
use super::subject::Subject;
use crate::client::local::ssh_agent::{VARIABLE, is_live, link};

/// What is known about the link.
#[derive(Debug, Clone)]
struct Facts {
    /// Where the link leads.
    target: PathBuf,
    is_live: bool,
}

/// Checks the link; without one, no login had an SSH agent. Other daemons than one in the background have the socket of their login.
pub fn check(subject: &Subject) -> Vec<Finding> {
    let log_file = subject.notice().and_then(|notice| notice.log_file);
    if log_file.is_none() {
        return Vec::new();
    }
    let link = link(&subject.settings.daemon.data_dir);
    let target = std::fs::read_link(&link).ok();
    let facts = target.map(|target| Facts {
        target,
        is_live: is_live(&link),
    });
    facts.iter().map(finding).collect()
}

fn finding(facts: &Facts) -> Finding {
    let (group, target) = (Group::System, facts.target.display());
    if facts.is_live {
        return Finding::ok(group, format!("agents reach the SSH agent at {target}"));
    }
    Finding::warning(
        group,
        format!("no SSH agent listens at {target}, where the daemon's agents look for one: git over SSH asks for keys and fails"),
    )
    .fix(format!(
        "run any acpd command in a login with an SSH agent ({VARIABLE}); agents that run use it at once"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::Level;
    use crate::doctor::report::assert_found;

    #[test]
    fn a_dead_socket_is_a_warning() {
        for (is_live, level, part) in [
            (true, Level::Ok, "reach the SSH agent at /run/agent"),
            (false, Level::Warning, "no SSH agent listens at /run/agent"),
        ] {
            let found = finding(&Facts {
                target: "/run/agent".into(),
                is_live,
            });
            assert_found(&[found], level, part);
        }
    }
}
