//! `acpd upgrade`: replaces the running daemon by the program that is installed now.
//!
//! In: the daemon's process, and the program that would start next. Out: a daemon of that program. Never: stops a daemon for a program
//! that does not run, or that is the same.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::Pid;
use serde_json::json;
use tokio::time::timeout;

use super::control::{process_of, replaced, service_of};
use crate::cli::StopArgs;
use crate::client::connect::connect_running;
use crate::client::local;
use crate::exit::Exit;
use crate::own_program::own_program;
use crate::settings::Settings;
use crate::terminal::plain::{plain_line, visible_line};
use crate::terminal::print;

const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Time for a program to print its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// The daemon that runs.
struct Running {
    pid: Pid,
    version: String,
}

/// The program that would start next.
struct Program {
    path: PathBuf,
    version: String,
}

/// Replaces the daemon, unless it runs that program already.
pub async fn upgrade(settings: &Settings, args: &StopArgs) -> anyhow::Result<Exit> {
    let Some(running) = running(settings).await? else {
        if args.json {
            print::json(&json!({ "pid": null, "upgraded": false }).to_string());
        } else {
            print::hint(&format!(
                "no daemon is running; the next one that this command starts is acpd {OWN_VERSION}"
            ));
        }
        return Ok(Exit::Success);
    };
    let pid = running.pid.as_raw_nonzero().get();
    let program = next_program(settings, running.pid).await?;
    if let Some(program) = &program {
        if is_program_of(running.pid, program, &running.version) {
            return Ok(report_same(args, pid, program));
        }
        print::hint(&format!(
            "acpd {} (process {pid}) is to be replaced by acpd {} ({})",
            running.version,
            program.version,
            shown(&program.path)
        ));
    }
    let notice = match replaced(settings, args).await {
        Ok(Some(notice)) => notice,
        Ok(None) => return Ok(Exit::Failure),
        Err(error) => return Err(explained(settings, error, &running.version).await),
    };
    let version = version(settings).await?;
    let version = version.context("the daemon has ended just after its start; \"acpd logs\" may show why")?;
    if let Some(program) = &program
        && program.version != version
    {
        print::hint(&format!(
            "{} is acpd {}, and the daemon is acpd {version}: another program was started",
            shown(&program.path),
            program.version
        ));
    }
    let (address, pid) = (notice.address(), notice.pid);
    if args.json {
        let done = json!({
            "pid": pid, "address": address, "from": running.version, "to": version, "upgraded": true,
        });
        print::json(&done.to_string());
    } else {
        print::out(&format!(
            "acpd {version} runs at {address} (process {pid}), instead of acpd {}\n",
            running.version
        ));
    }
    Ok(Exit::Success)
}

fn shown(path: &Path) -> String {
    visible_line(&path.display().to_string())
}

fn report_same(args: &StopArgs, pid: i32, program: &Program) -> Exit {
    let Program { path, version } = program;
    if args.json {
        print::json(&json!({ "pid": pid, "version": version, "upgraded": false }).to_string());
    } else {
        print::out(&format!(
            "the daemon (process {pid}) runs acpd {version} of {} already\n",
            shown(path)
        ));
    }
    Exit::Success
}

/// Returns the daemon that runs.
async fn running(settings: &Settings) -> anyhow::Result<Option<Running>> {
    let Some(stream) = local::try_connect(settings).await? else {
        return Ok(None);
    };
    let pid = process_of(&stream)?;
    drop(stream);
    let version = version(settings).await?;
    Ok(version.map(|version| Running { pid, version }))
}

/// Returns the version of the daemon that runs.
async fn version(settings: &Settings) -> anyhow::Result<Option<String>> {
    let Some(client) = connect_running(settings, false).await? else {
        return Ok(None);
    };
    Ok(Some(plain_line(&client.ready().await?.server_info.version)))
}

/// Returns the program that starts next: that of the service, or this one. `None` if the service manager does not name it.
async fn next_program(settings: &Settings, daemon: Pid) -> anyhow::Result<Option<Program>> {
    let path = match service_of(settings, daemon) {
        Some(service) => service.program(),
        None => Some(own_program()?),
    };
    let Some(path) = path else {
        return Ok(None);
    };
    let version = version_of(&path).await.with_context(|| {
        format!(
            "the daemon was not stopped, because {} does not work",
            shown(&path)
        )
    })?;
    Ok(Some(Program { path, version }))
}

/// Returns the version of a program, which must be an acpd.
async fn version_of(program: &Path) -> anyhow::Result<String> {
    if is_same_file(program, Path::new("/proc/self/exe")) {
        return Ok(OWN_VERSION.to_owned());
    }
    let asked = tokio::process::Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let answer = timeout(PATIENCE, asked).await;
    let answer = answer
        .with_context(|| format!("it does not print its version within {} s", PATIENCE.as_secs()))??;
    let said = String::from_utf8_lossy(&answer.stdout);
    let version = said.trim().strip_prefix("acpd ").unwrap_or_default();
    ensure!(
        answer.status.success() && !version.is_empty(),
        "it does not print the version of an acpd ({})",
        answer.status
    );
    Ok(plain_line(version))
}

/// Returns whether the daemon runs this program, and not another build of it.
fn is_program_of(daemon: Pid, program: &Program, version: &str) -> bool {
    let running = PathBuf::from(format!("/proc/{}/exe", daemon.as_raw_nonzero()));
    // Where the system does not show what a process runs, its version says it.
    let is_known = running.metadata().is_ok();
    program.version == version && (!is_known || is_same_file(&program.path, &running))
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
    id(one).is_some_and(|one| Some(one) == id(other))
}

/// Adds what to do if the earlier daemon was stopped, and the next one does not run.
async fn explained(settings: &Settings, error: anyhow::Error, earlier: &str) -> anyhow::Error {
    match local::try_connect(settings).await {
        Ok(None) => error.context(format!(
            "acpd {earlier} was stopped, and the next daemon does not run; the earlier program starts the daemon again, unless the log was \
             upgraded (docs/upgrade.md)"
        )),
        Ok(Some(_)) | Err(_) => error,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    }

    #[tokio::test]
    async fn only_a_program_that_prints_its_version_replaces_the_daemon() {
        let folder = tempfile::tempdir().unwrap();
        let version = async |text: &str| {
            let path = script(folder.path(), "acpd", text);
            version_of(&path).await.map_err(|error| format!("{error:#}"))
        };
        assert_eq!(version("echo acpd 9.1.0").await.as_deref(), Ok("9.1.0"));
        for wrong in [
            "exit 0",
            "echo acpd",
            "echo other 1.0.0",
            "echo acpd 9.1.0; exit 127",
        ] {
            let refused = version(wrong).await.unwrap_err();
            assert!(
                refused.contains("does not print the version"),
                "{wrong}: {refused}"
            );
        }
        assert!(version_of(&folder.path().join("missing")).await.is_err());
        let own = std::env::current_exe().unwrap();
        assert_eq!(version_of(&own).await.unwrap(), OWN_VERSION);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn another_build_of_the_same_version_is_another_program() {
        let folder = tempfile::tempdir().unwrap();
        let own = rustix::process::getpid();
        let program = |path: PathBuf| Program {
            path,
            version: "1.0.0".to_owned(),
        };
        let same = program(std::env::current_exe().unwrap());
        assert!(is_program_of(own, &same, "1.0.0"));
        assert!(!is_program_of(own, &same, "0.9.0"));
        let other = program(script(folder.path(), "acpd", ""));
        assert!(!is_program_of(own, &other, "1.0.0"));
    }
}
