//! Programs of the daemon's host, which receive a notification as JSON on stdin.
//!
//! In: a program with its arguments, never a shell line. Out: whether it succeeded. Owns: the process and its descendants,
//! of which none is left. Never: runs in a workspace, or reads what the program writes.

use std::path::PathBuf;
use std::time::Duration;

use acpd_host::{AgentProcess, Environment, Program};
use acpd_proto::notify::DeliveryError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::config::TargetConfig;
use super::message::Notification;

/// Runs the program of a target.
pub(super) async fn run(target: &TargetConfig, notification: &Notification) -> Result<(), DeliveryError> {
    let mut env = Environment::here(&[], &target.env);
    for (name, value) in [
        ("ACPD_NOTIFICATION_ID", notification.id.as_str()),
        ("ACPD_NOTIFICATION_TYPE", notification.kind),
        ("ACPD_NOTIFICATION_TITLE", &notification.title),
        ("ACPD_NOTIFICATION_TEXT", &notification.text),
        ("ACPD_NOTIFICATION_URL", &notification.link),
        (
            "ACPD_THREAD_ID",
            notification.thread.as_deref().unwrap_or_default(),
        ),
    ] {
        env.insert(name.to_owned(), value.to_owned());
    }
    let program = Program {
        command: target.command.clone().unwrap_or_default(),
        args: target.args.clone(),
        env,
        cwd: PathBuf::from("/"),
        sandbox: None,
    };
    let mut process =
        AgentProcess::spawn(&program).map_err(|failure| DeliveryError::retry(failure.message))?;
    let input = [notification.json.as_slice(), b"\n"].concat();
    if let Some(mut stdin) = process.stdin.take() {
        // It fits into the pipe, so this does not wait. A program that reads nothing is none the worse for it.
        let _ = stdin.write_all(&input).await;
    }
    let begun = Instant::now();
    let limit = Duration::from_secs(target.timeout_secs);
    let (process, mut stdout) = process.into_stopping();
    let reading = AbortOnDropHandle::new(tokio::spawn(async move {
        let mut dropped = [0; 4096];
        while let Ok(1..) = stdout.read(&mut dropped).await {}
    }));
    let exit = process.stop(limit).await;
    drop(reading);
    let is_late = begun.elapsed() >= limit;
    if is_late {
        let seconds = target.timeout_secs;
        return Err(DeliveryError::retry(format!(
            "the program did not end within {seconds} seconds and was terminated"
        )));
    }
    if exit.code == Some(0) {
        return Ok(());
    }
    Err(DeliveryError::retry(exit.reason))
}
