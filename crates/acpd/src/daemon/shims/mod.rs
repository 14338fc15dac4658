//! `acpd shims`: lists the shims of a data directory, and ends them, whether a daemon runs or not.
//!
//! In: the sockets of shims, and the daemon's list of agents. Out: a table, or the end of shims. Never: attaches to a shim, or starts a
//! daemon.

#[cfg(target_os = "linux")]
mod end;
#[cfg(target_os = "linux")]
mod found;
#[cfg(target_os = "linux")]
mod list;

use std::collections::HashSet;

use acpd_client::Client;

use crate::cli::ShimsArgs;
use crate::exit::Exit;
use crate::settings::Settings;

/// Runs an `acpd shims` command.
#[cfg(target_os = "linux")]
pub async fn shims(settings: &Settings, args: &ShimsArgs) -> anyhow::Result<Exit> {
    use crate::cli::ShimsCommand;
    match &args.command {
        None => list::list(settings, args.json).await,
        Some(ShimsCommand::End(args)) => end::end(settings, args).await,
    }
}

/// Returns the threads whose agents a shim holds for the daemon of this client.
#[cfg(target_os = "linux")]
pub async fn held_threads(settings: &Settings, client: &Client) -> anyhow::Result<HashSet<String>> {
    list::held_threads(settings, client).await
}

/// Ends shims that a daemon has left when it was stopped.
#[cfg(target_os = "linux")]
pub async fn end_left(settings: &Settings) -> anyhow::Result<()> {
    end::end_left(settings).await
}

/// Says how many shims wait for a daemon, if there are any. Where they cannot be counted, `acpd shims` says why.
#[cfg(target_os = "linux")]
pub fn mention(settings: &Settings) {
    use crate::terminal::print;
    let names = found::names(&found::directory(&settings.daemon.data_dir));
    match names.map_or(0, |names| names.len()) {
        0 => {}
        1 => print::hint("1 shim waits for a daemon: \"acpd shims end --all\" ends it with its agent"),
        many => print::hint(&format!(
            "{many} shims wait for a daemon: \"acpd shims end --all\" ends them with their agents"
        )),
    }
}

#[cfg(not(target_os = "linux"))]
pub use self::none::{end_left, held_threads, mention, shims};

/// A system without shims.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unused_async, reason = "the same functions await on Linux")]
mod none {
    use super::{Client, Exit, HashSet, Settings, ShimsArgs};

    pub async fn shims(_settings: &Settings, _args: &ShimsArgs) -> anyhow::Result<Exit> {
        Err(Exit::Failure
            .error("acpd has shims on Linux only: elsewhere, agents and terminals end with their daemon"))
    }

    pub async fn held_threads(_settings: &Settings, _client: &Client) -> anyhow::Result<HashSet<String>> {
        Ok(HashSet::new())
    }

    pub async fn end_left(_settings: &Settings) -> anyhow::Result<()> {
        Ok(())
    }

    pub fn mention(_settings: &Settings) {}
}
