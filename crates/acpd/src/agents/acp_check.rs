//! `acpd acp-check`.

use std::time::Duration;

use acpd_acp_check::{Command, Options, Version, run};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::AcpCheckArgs;
use crate::exit::Exit;
use crate::terminal::plain::plain;
use crate::terminal::print;

/// Checks an agent, and prints the report.
pub async fn check(args: AcpCheckArgs) -> anyhow::Result<Exit> {
    let versions = match args.protocol {
        Some(1) => vec![Version::One],
        Some(_) => vec![Version::Two],
        None => Version::ALL.to_vec(),
    };
    let options = Options {
        versions,
        prompt: args.prompt,
        long_prompt: args.long_prompt,
        sign_in: args.sign_in,
        allow: args.allow,
        limit: Duration::from_secs(args.timeout),
        turn_limit: Duration::from_secs(args.turn_timeout),
    };
    let mut start = Command {
        words: args.command.clone(),
    };
    // Each ends the agent and removes its directory, as Ctrl-C does.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let report = tokio::select! {
        report = Box::pin(run(&mut start, args.command, &options)) => report?,
        _ = terminate.recv() => return Ok(Exit::Interrupted),
        _ = hang_up.recv() => return Ok(Exit::Interrupted),
    };
    if args.json {
        print::json(&report.json().to_string());
    } else if args.markdown {
        print::out(&plain(&report.markdown()));
    } else {
        print::out(&plain(&report.table()));
    }
    Ok(if report.violations() == 0 {
        Exit::Success
    } else {
        Exit::Failure
    })
}
