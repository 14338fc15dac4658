//! This user's daemon: its discovery, and its start in the background.
//!
//! | File | Subject |
//! |---|---|
//! | `daemon_file` | where the daemon listens, as it publishes it |
//! | `elsewhere` | daemons of other hosts that use the same directory |
//! | `lifetime` | what ends a daemon in the background |
//! | `preflight` | what hinders the start of a daemon |
//! | `process` | the daemon's process |
//! | `ssh_agent` | the SSH agent of the login, for the daemon |

pub mod daemon_file;
pub mod elsewhere;
pub mod lifetime;
pub mod preflight;
pub mod process;
pub mod ssh_agent;

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use acpd_files::private_file;
use acpd_server::net::{listener, unix_socket};
use anyhow::Context;
use tokio::net::UnixStream;

use self::daemon_file::{DaemonFile, LOG_FILE};
use self::preflight::{data_dir_error, explained, preflight_of_data, unwritable};
use crate::exit::Exit;
use crate::own_program::own_program;
use crate::settings::{Settings, home};
use crate::terminal::print;
use crate::terminal::progress::Progress;

/// Returns the browser URL of the daemon that runs on the data directory.
pub fn url(data_dir: &Path) -> anyhow::Result<String> {
    DaemonFile::read(data_dir).map(|notice| notice.address())
}

/// Time for a daemon in the background to start.
const PATIENCE: Duration = Duration::from_secs(15);

/// Connects to the daemon of the data directory; starts one if none runs.
pub async fn connect(settings: &Settings) -> anyhow::Result<UnixStream> {
    if let Some(stream) = try_connect(settings).await? {
        return Ok(stream);
    }
    refuse_hindered(settings)?;
    print::hint(&format!(
        "no daemon is running; starting one in the background (log: {}; \"acpd stop\" ends it)",
        log_path(settings).display()
    ));
    launch(settings, &[]).await
}

/// Starts a daemon in the background with these options of `acpd serve`, and connects to it.
pub async fn launch(settings: &Settings, options: &[String]) -> anyhow::Result<UnixStream> {
    let said_before = std::fs::metadata(log_path(settings)).map_or(0, |log| log.len());
    let mut child = start(settings, options)?;
    let _progress = Progress::begin("starting the daemon");
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Some(stream) = try_connect(settings).await? {
            note_port(settings);
            if let Some(ends) = lifetime::of_process(child.id()) {
                print::hint(&format!("{}; {}", ends.reason(), ends.advice()));
            }
            return Ok(stream);
        }
        if let Some(status) = child.try_wait()?
            && !came_second(settings, said_before)
        {
            let tail = stderr_tail(settings, said_before);
            // The daemon itself says so only if its start met it.
            let hindrance = unwritable(&settings.daemon.data_dir).map(|hindrance| hindrance.to_string());
            let hindrance = hindrance.filter(|hindrance| !tail.contains(hindrance));
            let hindrance = hindrance.map_or_else(String::new, |hindrance| format!("\n{hindrance}"));
            return Err(
                Exit::Unreachable.error(format!("the daemon did not start ({status}); {tail}{hindrance}"))
            );
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err(Exit::Unreachable.error(format!(
        "the daemon did not answer within {} s; {}",
        PATIENCE.as_secs(),
        stderr_tail(settings, said_before)
    )))
}

/// Connects to the daemon that a service manager has just started.
pub async fn appeared(settings: &Settings) -> anyhow::Result<UnixStream> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Some(stream) = try_connect(settings).await? {
            return Ok(stream);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err(Exit::Unreachable.error(format!(
        "the daemon did not answer within {} s; the log of its service manager may show why",
        PATIENCE.as_secs()
    )))
}

/// Says that the daemon does not have the usual port, where nothing names an address.
fn note_port(settings: &Settings) {
    if !settings.any_port {
        return;
    }
    let usual = settings.daemon.address();
    // A command that needs the address says itself if it is unknown.
    let port =
        DaemonFile::read(&settings.daemon.data_dir).map_or(usual.port(), |notice| notice.listens().port());
    if port == usual.port() {
        return;
    }
    print::hint(&match listener::taken_by_another(usual) {
        Some(_) => format!("port {} is taken by another program; using {port}", usual.port()),
        None => format!("using port {port}, as at the last start"),
    });
}

/// Returns whether the new daemon exited because a concurrent command had started another one, which is still starting
/// up.
fn came_second(settings: &Settings, said_before: u64) -> bool {
    log_after(settings, said_before).contains("in use by another acpd")
}

/// Connects to the daemon of the data directory; returns `None` if none runs.
pub async fn try_connect(settings: &Settings) -> anyhow::Result<Option<UnixStream>> {
    let data_dir = &settings.daemon.data_dir;
    match unix_socket::connect(data_dir).await {
        Ok(stream) => {
            ssh_agent::follow_login(data_dir);
            Ok(Some(stream))
        }
        // The socket of a killed daemon refuses connections.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => Ok(None),
        Err(error) => Err(error).with_context(|| {
            let path = unix_socket::path(data_dir);
            format!("the daemon cannot be reached by {}", path.display())
        }),
    }
}

/// Creates the data directory for its owner alone, or checks that no other user can read it.
pub fn make_data_dir(data_dir: &Path) -> anyhow::Result<()> {
    private_file::directory(data_dir).map_err(|error| data_dir_error(data_dir, &error))
}

/// Refuses to start a daemon that would refuse to start, in the same words.
fn refuse_hindered(settings: &Settings) -> anyhow::Result<()> {
    match preflight_of_data(settings) {
        Some(hindrance) => Err(Exit::Unreachable.error(hindrance.to_string())),
        None => Ok(()),
    }
}

/// Leaves the session of the command that started this daemon in the background, so that neither the end of its terminal nor
/// Ctrl-C there concerns the daemon. Does nothing in a daemon that runs in a terminal or as a service.
pub fn leave_session() {
    if std::env::var_os(LOG_FILE).is_some()
        && let Err(error) = rustix::process::setsid()
    {
        // It leads a session already.
        tracing::debug!(%error, "the daemon stays in its session");
    }
}

/// Returns the file with the log of a daemon in the background.
pub fn log_path(settings: &Settings) -> PathBuf {
    settings.daemon.data_dir.join("daemon.log")
}

fn start(settings: &Settings, options: &[String]) -> anyhow::Result<Child> {
    let data_dir = &settings.daemon.data_dir;
    make_data_dir(data_dir)?;
    let log = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(log_path(settings))
        .with_context(|| format!("{} cannot be opened", log_path(settings).display()))
        .map_err(|error| Exit::Unreachable.error(explained(error, data_dir).to_string()))?;
    let mut command = std::process::Command::new(own_program()?);
    command.arg("serve").args(options).arg("--data-dir").arg(data_dir);
    command.env(LOG_FILE, log_path(settings));
    if !options.iter().any(|option| option == "--listen")
        && let Some(address) = settings.named_listen
    {
        command.arg("--listen").arg(address.to_string());
    }
    if let Some(config) = &settings.config_file {
        command.arg("--config").arg(config);
    }
    if let Some(token) = &settings.token {
        command.env("ACPD_TOKEN", token);
    }
    if let Ok(home) = home() {
        // Agents look for their settings there. An editor may have started this command without it.
        command.env("HOME", home);
    }
    ssh_agent::follow_login(data_dir);
    command.env(ssh_agent::VARIABLE, ssh_agent::link(data_dir));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .current_dir("/");
    command.spawn().context("the daemon cannot be started")
}

/// Returns what was written to the log after its first `before` bytes.
fn log_after(settings: &Settings, before: u64) -> String {
    let log = std::fs::read(log_path(settings)).unwrap_or_default();
    let new = log.get(usize::try_from(before).unwrap_or(0)..);
    String::from_utf8_lossy(new.unwrap_or_default()).into_owned()
}

fn stderr_tail(settings: &Settings, said_before: u64) -> String {
    let path = log_path(settings);
    let text = log_after(settings, said_before);
    let lines: Vec<_> = text.lines().rev().take(3).collect();
    if lines.is_empty() {
        return format!("{} says nothing", path.display());
    }
    let lines: Vec<_> = lines.into_iter().rev().collect();
    format!("{} ends with:\n{}", path.display(), lines.join("\n"))
}
