//! `acpd stop` and `acpd restart`.

use std::time::Duration;

use acpd_model::limits::SHUTDOWN_SECS;
use anyhow::Context;
use rustix::process::Pid;
use serde_json::json;

use crate::cli::StopArgs;
use crate::client::local;
use crate::client::local::daemon_file::DaemonFile;
use crate::client::local::elsewhere;
use crate::client::local::process::Process;
use crate::daemon::busy;
use crate::daemon::manager::Service;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::print;
use crate::terminal::progress::Progress;

/// Time that a stopping daemon has, beyond its own limit.
const PATIENCE: Duration = Duration::from_secs(SHUTDOWN_SECS + 10);

/// Stops this user's daemon.
pub async fn stop(settings: &Settings, args: &StopArgs) -> anyhow::Result<Exit> {
    let pid = match agreed(settings, args).await? {
        Agreed::Refused => return Ok(Exit::Failure),
        Agreed::Ended(pid) => return Err(ended(pid)),
        Agreed::None => {
            if args.json {
                print::json(&json!({ "pid": null }).to_string());
            } else {
                print::hint("no daemon is running");
            }
            return Ok(Exit::Success);
        }
        Agreed::Running(running) => {
            let pid = running.pid;
            let stopped = format!("stopped {}", running.name());
            let back = running.service.as_ref().map(Service::comes_back);
            running.stop().await?;
            if !args.json {
                print::out(&format!("{stopped} (process {pid})\n"));
                if let Some(back) = back {
                    print::hint(&back);
                }
            }
            pid
        }
    };
    if args.json {
        print::json(&json!({ "pid": pid }).to_string());
    }
    Ok(Exit::Success)
}

/// Stops this user's daemon and starts it again: by its service manager, else in the background, with the options of its start.
pub async fn restart(settings: &Settings, args: &StopArgs) -> anyhow::Result<Exit> {
    let before = DaemonFile::read(&settings.daemon.data_dir).ok();
    let mut is_back = false;
    match agreed(settings, args).await? {
        Agreed::Refused => return Ok(Exit::Failure),
        Agreed::Ended(pid) => {
            // The user wants a daemon: one that has taken its place is as good as new, but may have other options.
            if local::try_connect(settings).await?.is_some() {
                return Err(ended(pid));
            }
            print::hint(&format!("the daemon (process {pid}) had ended already"));
        }
        Agreed::None => print::hint("no daemon was running"),
        Agreed::Running(running) if running.service.is_some() => {
            running.restart().await?;
            local::appeared(settings).await?;
            is_back = true;
        }
        Agreed::Running(running) => {
            running.stop().await?;
            if before.as_ref().is_some_and(|before| before.log_file.is_none()) {
                print::hint(
                    "the daemon ran in a terminal or by another program; now it runs in the background",
                );
            }
        }
    }
    if !is_back {
        let options = before.map(|notice| notice.options).unwrap_or_default();
        local::launch(settings, &options).await?;
    }
    let notice = DaemonFile::read(&settings.daemon.data_dir)?;
    let (address, pid) = (notice.address(), notice.pid);
    if args.json {
        print::json(&json!({ "pid": pid, "address": address }).to_string());
    } else {
        print::out(&format!("the daemon runs at {address} (process {pid})\n"));
    }
    Ok(Exit::Success)
}

/// What a command that stops the daemon has found, and what the user wants.
enum Agreed {
    /// No daemon runs.
    None,
    /// The daemon with this process id has ended before it was stopped.
    Ended(i32),
    /// The user has decided against it.
    Refused,
    /// The daemon may be stopped.
    Running(Running),
}

/// A daemon that runs, and that may be stopped.
struct Running {
    pid: i32,
    process: Process,
    /// The service whose main process it is.
    service: Option<Service>,
}

impl Running {
    /// Returns what it is called.
    fn name(&self) -> String {
        match &self.service {
            Some(service) => service.to_string(),
            None => "the daemon".to_owned(),
        }
    }

    /// Stops the daemon, and waits for its end.
    async fn stop(self) -> anyhow::Result<()> {
        let progress = Progress::begin("stopping the daemon");
        self.end(progress, |service, process| match service {
            Some(service) => service.stop(process),
            None => Ok(process.terminate()?),
        })
        .await
    }

    /// Has its service manager restart the daemon, and waits for the end of this process.
    async fn restart(self) -> anyhow::Result<()> {
        let progress = Progress::begin("restarting the daemon");
        self.end(progress, |service, process| match service {
            Some(service) => service.restart(process, PATIENCE),
            None => Ok(process.terminate()?),
        })
        .await
    }

    async fn end(
        self,
        mut progress: Progress,
        act: fn(Option<&Service>, &Process) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let Self {
            pid,
            process,
            service,
        } = self;
        // Service managers answer when they are done.
        let ended = tokio::task::spawn_blocking(move || {
            if let Err(error) = act(service.as_ref(), &process) {
                return Err(match &service {
                    Some(service) if process.wait(Duration::ZERO).unwrap_or(false) => error.context(format!(
                        "{service} is stopped and does not start; the log of its service manager may show why"
                    )),
                    Some(service) => error.context(format!(
                        "{service} keeps running: its service manager has to stop it"
                    )),
                    None => error,
                });
            }
            anyhow::Ok(process.wait(PATIENCE)?)
        })
        .await?;
        progress.end();
        if !ended? {
            return Err(Exit::Failure.error(format!(
                "the daemon (process {pid}) did not stop within {} s; \"acpd logs\" may show why",
                PATIENCE.as_secs()
            )));
        }
        Ok(())
    }
}

fn ended(pid: i32) -> anyhow::Error {
    Exit::Failure.error(format!(
        "the daemon (process {pid}) has ended already; \"acpd status\" shows whether another one runs"
    ))
}

/// Finds the daemon, and asks whether its work may be interrupted.
async fn agreed(settings: &Settings, args: &StopArgs) -> anyhow::Result<Agreed> {
    let Some(stream) = local::try_connect(settings).await? else {
        return match elsewhere::find(&settings.daemon.data_dir) {
            // A process id of another host means nothing here.
            Some(elsewhere) => Err(elsewhere.error()),
            None => Ok(Agreed::None),
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
        print::hint("the daemon keeps running");
        return Ok(Agreed::Refused);
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
        return Ok(Agreed::Ended(pid.as_raw_nonzero().get()));
    }
    may_stop?;
    // A daemon that a command has started in the background has no manager.
    let is_managed =
        DaemonFile::read(&settings.daemon.data_dir).is_ok_and(|notice| notice.log_file.is_none());
    let service = is_managed.then(|| Service::of(pid)).flatten();
    Ok(Agreed::Running(Running {
        pid: pid.as_raw_nonzero().get(),
        process,
        service,
    }))
}
