//! `acpd codex app-server`: a pipe between a client that starts Codex's app server and the daemon.
//!
//! A line is a message of the WebSocket, in both directions. When one side ends, so does the other.

use crate::client::link::Link;
use crate::client::reach::reach;
use crate::client::stdio::{self, Stdout};
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::plain::plain_line;

/// The path of the protocol of Codex's app server.
pub(super) const PATH: &str = "/";

/// Passes messages until the client or the daemon ends.
pub async fn pipe(settings: &Settings) -> anyhow::Result<Exit> {
    let reached = reach(settings).await?;
    let name = reached.name.clone();
    let mut daemon = Link::open(reached, PATH).await?;
    let mut lines = stdio::lines(settings.daemon.limits.editor_message_bytes());
    let stdout = Stdout::start();
    loop {
        let is_there = tokio::select! {
            line = lines.recv() => match line {
                Some(line) => daemon.send(line).await,
                None => break,
            },
            text = daemon.next() => match text {
                Some(text) => {
                    if !stdout.write(text).await {
                        // The client has closed its end.
                        break;
                    }
                    true
                }
                None => false,
            },
        };
        if !is_there {
            // What the daemon sent before, the client can still read.
            stdout.finish();
            let reason = daemon.reason().map(plain_line);
            let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            return Err(Exit::Unreachable.error(format!(
                "{name} closed the connection{reason}; \"acpd status\" shows whether it runs"
            )));
        }
    }
    daemon.close().await;
    Ok(Exit::Success)
}
