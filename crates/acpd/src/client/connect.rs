//! The typed client of commands.
//!
//! In: the settings of a command. Out: a client whose connection is open, or why there is none. Never: starts a daemon when a
//! connection is lost, which a user may have stopped on purpose.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use acpd_client::{Backoff, Client, ConnectError, Connection, Options};
use acpd_model::limits::REACH_SECS;

use crate::client::patience::Patience;
use crate::client::reach::{Reached, open_socket, reach, reach_within};
use crate::exit::{CommandError, Exit};
use crate::settings::Settings;
use crate::terminal::plain::plain_line;
use crate::terminal::print;

/// Delays between the attempts of a client that reconnects.
const BACKOFF: Backoff = Backoff {
    first: Duration::from_millis(200),
    max: Duration::from_secs(10),
};

/// Time for one attempt to reconnect. Its steps have [`Patience`], which names the one that takes too long.
const ATTEMPT: Duration = Duration::from_secs(2 * REACH_SECS);

/// Connects, and starts a daemon if none runs. The client closes when its connection ends. `approvals`: whether others learn that this
/// client answers questions.
pub async fn connect(settings: &Settings, approvals: bool) -> anyhow::Result<Client> {
    open(
        reach(settings).await?,
        |options| options.approvals(approvals),
        None,
    )
    .await
}

/// Connects to a running daemon without words on standard error, as [`connect`] does. Returns `None` if this user's daemon does not run.
pub async fn connect_running(settings: &Settings, approvals: bool) -> anyhow::Result<Option<Client>> {
    match reach_within(settings, Patience::silent()).await? {
        Some(reached) => {
            let client = open(reached, |options| options.approvals(approvals), None);
            Ok(Some(client.await?))
        }
        None => Ok(None),
    }
}

/// Connects as [`connect`] does, with further options. With [`Options::reconnect`], the client connects to the daemon again when its
/// connection is lost, however often; it does not start one.
#[allow(dead_code, reason = "for commands that outlive a connection")]
pub async fn connect_with(
    settings: &Settings,
    options: impl FnOnce(Options) -> Options,
) -> anyhow::Result<Client> {
    open(reach(settings).await?, options, Some(settings.clone())).await
}

async fn open(
    reached: Reached,
    options: impl FnOnce(Options) -> Options,
    again: Option<Settings>,
) -> anyhow::Result<Client> {
    let name = reached.name.clone();
    let (socket, mut patience) = open_socket(reached, "/ws").await?;
    let first = Mutex::new(Some(Connection::websocket(socket)));
    let connector = Options::connector("acpd-cli", move || {
        let first = first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let again = again.clone();
        async move {
            match (first, again) {
                (Some(connection), _) => Ok(connection),
                (None, Some(settings)) => reopen(&settings).await,
                (None, None) => Err(ConnectError::permanent("the connection to the daemon has ended")),
            }
        }
    });
    let connector = connector
        .version(env!("CARGO_PKG_VERSION"))
        .reconnect(false)
        .backoff(BACKOFF)
        .connect_timeout(ATTEMPT)
        .max_message_bytes(usize::MAX);
    let connecting = Client::connect(options(connector));
    let client = patience.wait(&name, "did not answer", connecting).await??;
    if print::is_verbose() {
        let version = plain_line(&client.ready().await?.server_info.version);
        print::err(&format!("acpd: connected to {name}, version {version}\n"));
    }
    Ok(client)
}

/// Opens another connection to a daemon that runs.
async fn reopen(settings: &Settings) -> Result<Connection, ConnectError> {
    let opened = async {
        let reached = reach_within(settings, Patience::silent()).await?;
        let reached = reached.ok_or_else(|| Exit::Unreachable.error("the daemon is not running"))?;
        let (socket, _) = open_socket(reached, "/ws").await?;
        anyhow::Ok(Connection::websocket(socket))
    };
    opened.await.map_err(|error| match Exit::of(&error) {
        // The token, or its role, does not change by waiting.
        Exit::Forbidden => ConnectError::permanent(CommandError(error)),
        _ => ConnectError::retryable(CommandError(error)),
    })
}
