//! `acpd stop` and `acpd restart`.

use std::time::Duration;

use acpd_model::limits::SHUTDOWN_SECS;
use anyhow::Context;
use rustix::process::Pid;
use serde_json::json;

use crate::cli::StopArgs;
use crate::daemon::background::{self, Notice};
use crate::daemon::manager::Service;
use crate::daemon::process::Process;
use crate::daemon::{busy, elsewhere};
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::print;
use crate::terminal::progress::Progress;

/// Time that a stopping daemon has, beyond its own limit.
const PATIENCE: Duration = Duration::from_secs(SHUTDOWN_SECS + 10);

/// Stops this user's daemon.
pub async fn stop(settings: &Settings, args: &StopArgs) -> anyhow::Result<Exit> {
    match stopped(settings, args).await? {
        Stopped::Refused => return Ok(Exit::Failure),
        Stopped::Ended(pid) => return Err(ended(pid)),
        Stopped::Process(pid, _) if args.json => print::json(&json!({ "pid": pid }).to_string()),
        Stopped::Process(pid, None) => print::out(&format!("stopped the daemon (process {pid})\n")),
        Stopped::Process(pid, Some(service)) => {
            print::out(&format!("stopped {service} (process {pid})\n"));
            print::hint("its service manager starts it again; \"acpd service uninstall\" removes it");
        }
        Stopped::None if args.json => print::json(&json!({ "pid": null }).to_string()),
        Stopped::None => print::hint("no daemon is running"),
    }
    Ok(Exit::Success)
}

/// Stops this user's daemon and starts it again: by its service manager, else in the background, with the options of its start.
pub async fn restart(settings: &Settings, args: &StopArgs) -> anyhow::Result<Exit> {
    let before = Notice::read(&settings.daemon.data_dir).ok();
    let mut service = None;
    match (stopped(settings, args).await?, &before) {
        (Stopped::Refused, _) => return Ok(Exit::Failure),
        (Stopped::Process(_, Some(found)), _) => service = Some(found),
        (Stopped::Ended(pid), _) => {
            // The user wants a daemon: one that has taken its place is as good as new, but may have other options.
            if background::try_connect(settings).await?.is_some() {
                return Err(ended(pid));
            }
            print::hint(&format!("the daemon (process {pid}) had ended already"));
        }
        (Stopped::None, _) => print::hint("no daemon was running"),
        (Stopped::Process(_, None), Some(before)) if before.log_file.is_none() => {
            print::hint("the daemon ran in a terminal or by another program; now it runs in the background")
        }
        (Stopped::Process(_, None), _) => {}
    }
    match service {
        Some(service) => {
            service
                .start()
                .with_context(|| format!("{service} is stopped and does not start"))?;
            background::appeared(settings).await?;
        }
        None => {
            let options = before.map(|notice| notice.options).unwrap_or_default();
            background::launch(settings, &options).await?;
        }
    }
    let notice = Notice::read(&settings.daemon.data_dir)?;
    let (address, pid) = (notice.address(), notice.pid);
    if args.json {
        print::json(&json!({ "pid": pid, "address": address }).to_string());
    } else {
        print::out(&format!("the daemon runs at {address} (process {pid})\n"));
    }
    Ok(Exit::Success)
}

/// The outcome of a stop.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stopped {
    /// No daemon ran.
    None,
    /// The daemon with this process id has ended, which a service manager ran as this service.
    Process(i32, Option<Service>),
    /// The daemon with this process id has ended before it was stopped.
    Ended(i32),
    /// The user has decided against it.
    Refused,
}

fn ended(pid: i32) -> anyhow::Error {
    Exit::Failure.error(format!(
        "the daemon (process {pid}) has ended already; \"acpd status\" shows whether another one runs"
    ))
}

/// Stops the daemon, if the user agrees to interrupt its work, and waits for its end.
async fn stopped(settings: &Settings, args: &StopArgs) -> anyhow::Result<Stopped> {
    let Some(stream) = background::try_connect(settings).await? else {
        return match elsewhere::find(&settings.daemon.data_dir) {
            // A process id of another host means nothing here.
            Some(elsewhere) => Err(elsewhere.error()),
            None => Ok(Stopped::None),
        };
    };
    // The operating system names the process at the other end of the socket: a file could name another one.
    let pid = stream.peer_cred()?.pid().and_then(Pid::from_raw);
    let pid = pid.context("the system does not name the daemon's process")?;
    // Opened before anything is waited for: a daemon that takes its place meanwhile is not stopped.
    let process = Process::open(pid)?;
    drop(stream);
    let may_stop = busy::may_stop(settings, args).await;
    if let Ok(false) = may_stop {
        print::hint("the daemon goes on");
        return Ok(Stopped::Refused);
    }
    // A daemon that ends closes its connections first, which fails what waits for it to become idle.
    let patience = match &may_stop {
        Err(error) if Exit::of(error) != Exit::Usage => PATIENCE,
        _ => Duration::ZERO,
    };
    let (process, has_ended) = tokio::task::spawn_blocking(move || {
        let has_ended = process.wait(patience);
        (process, has_ended)
    })
    .await?;
    if has_ended? {
        return Ok(Stopped::Ended(pid.as_raw_nonzero().get()));
    }
    may_stop?;
    // A daemon that a command has started in the background has no manager.
    let is_managed = Notice::read(&settings.daemon.data_dir).is_ok_and(|notice| notice.log_file.is_none());
    let service = is_managed.then(|| Service::of(pid)).flatten();
    let mut progress = Progress::begin("stopping the daemon");
    match &service {
        Some(service) => service
            .stop(&process)
            .with_context(|| format!("{service} goes on: its service manager has to stop it"))?,
        None => process.terminate()?,
    }
    let ended = tokio::task::spawn_blocking(move || process.wait(PATIENCE)).await?;
    progress.end();
    if !ended? {
        return Err(Exit::Failure.error(format!(
            "the daemon (process {}) did not stop within {} s; \"acpd logs\" may show why",
            pid.as_raw_nonzero(),
            PATIENCE.as_secs()
        )));
    }
    Ok(Stopped::Process(pid.as_raw_nonzero().get(), service))
}
