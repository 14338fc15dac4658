//! What the kernel can enforce for agents.
//!
//! In: the kernel, and the configuration. Out: findings. Never: confines this process.

use acpd_host::{Grants, Kernel, Network, Sandbox};
use acpd_runtime::agent::sandbox::Mode;

use super::report::{Finding, Group};
use super::subject::Subject;

/// What is known about sandboxes here.
#[derive(Debug, Clone)]
struct Facts {
    /// The version of Landlock; 0 means none.
    landlock: u32,
    /// Restrictions that this version lacks.
    gaps: Vec<&'static str>,
    /// Why a sandbox cannot be made although there is Landlock.
    broken: Option<String>,
    /// Agents that are configured to run in a sandbox.
    require: Vec<String>,
    /// Agents that are configured to run without one.
    off: Vec<String>,
    /// Whether system calls can be filtered; `None` where that cannot be known.
    seccomp: Option<bool>,
    /// Whether programs of users can make user namespaces; `None` where that cannot be known.
    user_namespaces: Option<bool>,
}

/// Checks the sandbox.
pub fn check(subject: &Subject) -> Vec<Finding> {
    let kernel = Kernel::here();
    let daemon = &subject.settings.daemon;
    let with_mode = |wanted: fn(Mode) -> bool| {
        let agents = daemon.agents.iter().filter(move |(_, agent)| {
            let mode = agent.sandbox.mode.or(daemon.sandbox.mode);
            mode.is_some_and(wanted)
        });
        agents.map(|(name, _)| name.clone()).collect()
    };
    let made = Sandbox::new(&Grants::default());
    findings(&Facts {
        landlock: kernel.version(),
        gaps: kernel.gaps(&Network::Off),
        broken: made
            .err()
            .filter(|_| kernel.has_sandboxes())
            .map(|error| error.to_string()),
        require: with_mode(|mode| mode != Mode::Off),
        off: with_mode(|mode| mode == Mode::Off),
        seccomp: seccomp(),
        user_namespaces: user_namespaces(),
    })
}

#[cfg(target_os = "linux")]
fn seccomp() -> Option<bool> {
    // Without this directory, nothing can be said; without the file in it, the kernel has no filters.
    let kernel = std::path::Path::new("/proc/sys/kernel");
    let actions = std::fs::read_to_string(kernel.join("seccomp/actions_avail"));
    let has_errno = |actions: &str| actions.split_whitespace().any(|action| action == "errno");
    kernel
        .is_dir()
        .then(|| actions.is_ok_and(|actions| has_errno(&actions)))
}

#[cfg(target_os = "linux")]
fn user_namespaces() -> Option<bool> {
    let number = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/{name}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let most = number("user/max_user_namespaces")?;
    let is_restricted = number("kernel/unprivileged_userns_clone") == Some(0)
        || number("kernel/apparmor_restrict_unprivileged_userns") == Some(1);
    Some(most > 0 && !is_restricted)
}

#[cfg(not(target_os = "linux"))]
fn seccomp() -> Option<bool> {
    None
}

#[cfg(not(target_os = "linux"))]
fn user_namespaces() -> Option<bool> {
    None
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let group = Group::Sandbox;
    let mut found = Vec::new();
    let advice = "use Linux 5.13 or later with landlock among the security modules (lsm= of the kernel's command line)";
    if let Some(reason) = &facts.broken {
        found.push(
            Finding::problem(group, format!("the kernel has Landlock, but {reason}: agents do not start"))
                .fix("set sandbox = \"off\" in the configuration, or find out what restricts acpd itself, such as a container"),
        );
    } else if facts.landlock == 0 && !facts.require.is_empty() {
        let names = facts.require.join(", ");
        found.push(
            Finding::problem(
                group,
                format!("there is no Landlock, and the configuration requires a sandbox for {names}: they do not start"),
            )
            .fix(format!("{advice}, or remove sandbox from the configuration")),
        );
    } else if facts.landlock == 0 {
        found.push(
            Finding::warning(
                group,
                "there is no Landlock: agents and their commands run without a sandbox",
            )
            .fix(advice),
        );
    } else if facts.gaps.is_empty() {
        found.push(Finding::ok(
            group,
            format!("Landlock (version {}) confines agents completely", facts.landlock),
        ));
    } else {
        found.push(Finding::ok(
            group,
            format!(
                "Landlock (version {}) confines agents; a newer kernel closes these gaps: {}",
                facts.landlock,
                facts.gaps.join("; ")
            ),
        ));
    }
    if !facts.off.is_empty() {
        let names = facts.off.join(", ");
        found.push(
            Finding::warning(
                group,
                format!("the configuration switches the sandbox off for {names}"),
            )
            .fix("remove sandbox = \"off\" if the agent works without it"),
        );
    }
    if facts.seccomp == Some(false) {
        found.push(
            Finding::warning(
                group,
                "system calls cannot be filtered (seccomp): an agent can make its processes outlive it",
            )
            .fix("use a kernel with CONFIG_SECCOMP_FILTER"),
        );
    }
    if facts.user_namespaces == Some(false) {
        found.push(Finding::ok(
            group,
            "user namespaces are restricted: acpd needs none, but sandboxes that agents bring along do (bubblewrap)",
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::Level;
    use crate::doctor::report::assert_found;

    fn facts() -> Facts {
        Facts {
            landlock: 7,
            gaps: Vec::new(),
            broken: None,
            require: Vec::new(),
            off: Vec::new(),
            seccomp: Some(true),
            user_namespaces: Some(true),
        }
    }

    #[test]
    fn each_state_has_its_finding() {
        let one = || vec!["gemini".to_owned()];
        for (facts, level, part) in [
            (facts(), Level::Ok, "confines agents completely"),
            (
                Facts {
                    gaps: vec!["x"],
                    ..facts()
                },
                Level::Ok,
                "these gaps: x",
            ),
            (
                Facts {
                    landlock: 0,
                    ..facts()
                },
                Level::Warning,
                "without a sandbox",
            ),
            (
                Facts {
                    landlock: 0,
                    require: one(),
                    ..facts()
                },
                Level::Problem,
                "for gemini: they do not start",
            ),
            (
                Facts {
                    require: one(),
                    ..facts()
                },
                Level::Ok,
                "completely",
            ),
            (
                Facts {
                    broken: Some("it failed".to_owned()),
                    ..facts()
                },
                Level::Problem,
                "but it failed",
            ),
            (
                Facts {
                    off: one(),
                    ..facts()
                },
                Level::Warning,
                "off for gemini",
            ),
            (
                Facts {
                    seccomp: Some(false),
                    ..facts()
                },
                Level::Warning,
                "seccomp",
            ),
            (
                Facts {
                    user_namespaces: Some(false),
                    ..facts()
                },
                Level::Ok,
                "user namespaces",
            ),
        ] {
            let found = findings(&facts);
            assert_found(&found, level, part);
        }
    }
}
