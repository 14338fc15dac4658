//! acpd as a job of launchd, for the user who installs it.
//!
//! In: the settings, and the program `launchctl`. Out: a property list, and calls of `launchctl` by its arguments. Owns:
//! the job `acpd` of this user. Never: replaces or removes a file that a user has changed.

use std::path::PathBuf;

use anyhow::{Context, bail};
use serde_json::json;

use super::files::{describe, may_change, read, report_removed, write};
use super::plist;
use crate::cli::{ServiceChangeArgs, ServiceInstallArgs, ServiceStatusArgs};
use crate::client::local;
use crate::daemon::manager::launchd::{domain, launchctl, run, target};
use crate::exit::Exit;
use crate::own_program::own_program;
use crate::settings::Settings;
use crate::terminal::plain::{plain_line, visible_line};
use crate::terminal::print;

/// The state of the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobState {
    /// The job is not loaded.
    NotLoaded,
    /// The job is loaded, with what launchd says about it: `running`.
    Loaded(String),
}

/// Returns the path of the job's file.
pub fn file() -> anyhow::Result<PathBuf> {
    Ok(home()?.join("Library/LaunchAgents/acpd.plist"))
}

fn home() -> anyhow::Result<PathBuf> {
    crate::settings::home()
}

/// Returns the state of the job.
pub fn state() -> anyhow::Result<JobState> {
    let output = launchctl(&["print", &target()])?;
    if !output.status.success() {
        return Ok(JobState::NotLoaded);
    }
    Ok(JobState::Loaded(state_of(&String::from_utf8_lossy(
        &output.stdout,
    ))))
}

/// Returns the state that `launchctl print` shows.
fn state_of(text: &str) -> String {
    let state = text.lines().find_map(|line| line.trim().strip_prefix("state = "));
    state.unwrap_or("loaded").to_owned()
}

fn refuse_system(is_system: bool) -> anyhow::Result<()> {
    if is_system {
        return Err(Exit::Usage.error(
            "--system is for systemd: on macOS, acpd is a job of your user, because agents need its files and keys",
        ));
    }
    Ok(())
}

/// Installs and starts the job.
pub async fn install(settings: &Settings, args: &ServiceInstallArgs) -> anyhow::Result<Exit> {
    refuse_system(args.system)?;
    let before = state()?;
    let path = file()?;
    let existing = read(&path)?;
    if let Some(existing) = &existing {
        may_change(&path, plist::is_unchanged(existing), args.force)?;
    }
    if before == JobState::NotLoaded && local::try_connect(settings).await?.is_some() {
        bail!(
            "a daemon is running outside of the service: stop it first, with \"{}\"",
            settings.own_command("stop")
        );
    }
    let logs = home()?.join("Library/Logs");
    let text = plist::text(&plist::Job {
        program: &own_program().context("the path of acpd is unknown")?,
        options: settings.options_of_serve(),
        path: std::env::var("PATH").ok().as_deref(),
        log: &logs.join("acpd.log"),
    })?;
    let is_same = existing.as_deref() == Some(&*text);
    if !is_same {
        std::fs::create_dir_all(&logs).with_context(|| format!("{} cannot be made", logs.display()))?;
        write(&path, &text)?;
    }
    let needs_restart = before != JobState::NotLoaded && !is_same;
    if before == JobState::NotLoaded {
        let file = path.to_string_lossy();
        // A job that was disabled stays so, even if it is loaded.
        run(&["enable", &target()])?;
        run(&["bootstrap", &domain(), &file]).with_context(|| {
            format!(
                "the service does not start; {} may show why",
                logs.join("acpd.log").display()
            )
        })?;
    }
    if args.json {
        print::json(&json!({ "unit": path, "restartNeeded": needs_restart }).to_string());
        return Ok(Exit::Success);
    }
    let shown = visible_line(&path.display().to_string());
    print::out(&format!("acpd runs as a service of this user ({shown})\n"));
    if needs_restart {
        print::hint(
            "the service ran already: \"acpd service uninstall\" and \"acpd service install\" make it use the new file",
        );
    }
    print::hint("it ends when you log out; \"acpd service uninstall\" removes it");
    Ok(Exit::Success)
}

/// Stops and removes the job.
pub fn uninstall(args: &ServiceChangeArgs) -> anyhow::Result<Exit> {
    refuse_system(args.system)?;
    let path = file()?;
    let Some(existing) = read(&path)? else {
        return Err(Exit::NotFound.error(format!(
            "no service is installed: {} does not exist",
            path.display()
        )));
    };
    may_change(&path, plist::is_unchanged(&existing), args.force)?;
    if state()? != JobState::NotLoaded {
        run(&["bootout", &target()])?;
    }
    std::fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
    report_removed(&path, args.json);
    Ok(Exit::Success)
}

/// Shows the state of the job.
pub fn status(args: &ServiceStatusArgs) -> anyhow::Result<Exit> {
    refuse_system(args.system)?;
    let path = file()?;
    let text = read(&path)?;
    let state = state()?;
    let is_active = state == JobState::Loaded("running".to_owned());
    let is_changed = text.as_deref().is_some_and(|text| !plist::is_unchanged(text));
    if args.json {
        let found = json!({
            "unit": text.is_some().then_some(&path), "changed": is_changed, "enabled": state != JobState::NotLoaded,
            "active": is_active,
        });
        print::json(&found.to_string());
    } else {
        let unit = describe(&path, text.is_some(), is_changed);
        let state = match state {
            JobState::NotLoaded => "not loaded".to_owned(),
            JobState::Loaded(state) => plain_line(&state),
        };
        print::out(&format!("unit: {unit}\nstate: {state}\n"));
    }
    Ok(if is_active { Exit::Success } else { Exit::Failure })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_job_is_read() {
        let text = "gui/501/acpd = {\n\tactive count = 1\n\tpath = /x\n\n\tstate = running\n\tpid = 7\n}\n";
        assert_eq!(state_of(text), "running");
        assert_eq!(state_of("\tstate = spawn scheduled\n"), "spawn scheduled");
        assert_eq!(state_of(""), "loaded");
    }
}
