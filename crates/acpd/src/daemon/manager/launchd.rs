//! Calls of launchctl.

use std::io::ErrorKind;
use std::process::{Command, Output};

use anyhow::{Context, bail, ensure};
use rustix::process::Pid;

use crate::terminal::plain::plain_line;

/// The name of acpd's job.
pub const LABEL: &str = "acpd";

/// Returns the domain of this user's jobs.
pub fn domain() -> String {
    format!("gui/{}", rustix::process::getuid().as_raw())
}

/// Returns the name by which launchctl knows the job.
pub fn target() -> String {
    format!("{}/{LABEL}", domain())
}

/// Runs launchctl.
pub fn launchctl(args: &[&str]) -> anyhow::Result<Output> {
    match Command::new("launchctl").args(args).output() {
        Ok(output) => Ok(output),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("this system has no launchd (launchctl was not found), so no service was changed")
        }
        Err(error) => Err(error).context("launchctl cannot be run"),
    }
}

/// Runs launchctl, which must succeed.
pub fn run(args: &[&str]) -> anyhow::Result<()> {
    let output = launchctl(args)?;
    ensure!(
        output.status.success(),
        "launchctl {} failed: {}",
        args.join(" "),
        plain_line(String::from_utf8_lossy(&output.stderr).trim())
    );
    Ok(())
}

/// Returns whether the job has this process.
pub fn runs(pid: Pid) -> bool {
    launchctl(&["print", &target()]).is_ok_and(|output| {
        output.status.success() && pid_of(&String::from_utf8_lossy(&output.stdout)) == Some(pid)
    })
}

/// Returns the process that `launchctl print` shows.
fn pid_of(text: &str) -> Option<Pid> {
    let pid = text.lines().find_map(|line| line.trim().strip_prefix("pid = "))?;
    Pid::from_raw(pid.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_of_a_job_is_read() {
        let text = "gui/501/acpd = {\n\tactive count = 1\n\tstate = running\n\n\tpid = 7\n}\n";
        assert_eq!(pid_of(text), Pid::from_raw(7));
        assert_eq!(pid_of("\tstate = not running\n"), None);
        assert_eq!(pid_of("pid = many\n"), None);
    }
}
