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

/// Connects, and starts a daemon if none runs. The client closes when its connection ends. `approvals`: whether the
/// daemon reports this client to others as one that answers questions.
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

#[cfg(test)]
mod tests {
    use acpd_client::protocol::ListThreads;
    use futures_util::{SinkExt, StreamExt};
    use serde_json::{Value, json};
    use tokio::io::DuplexStream;
    use tokio_tungstenite::WebSocketStream;
    use tokio_tungstenite::tungstenite::Message;
    use tokio_tungstenite::tungstenite::protocol::CloseFrame;
    use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

    use super::*;
    use crate::exit::sentence;

    /// Returns a connection, and the daemon's end of it.
    fn reached() -> (Reached, DuplexStream) {
        let (near, far) = tokio::io::duplex(64 << 10);
        let reached = Reached {
            wire: Box::new(near),
            host: "localhost".to_owned(),
            name: "the daemon of x".to_owned(),
            authorization: None,
            patience: Patience::silent(),
        };
        (reached, far)
    }

    async fn read(socket: &mut WebSocketStream<DuplexStream>) -> Value {
        loop {
            if let Message::Text(text) = socket.next().await.unwrap().unwrap() {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    /// Answers `initialize`, without members that an older daemon lacks.
    async fn greet(far: DuplexStream) -> (WebSocketStream<DuplexStream>, Value) {
        let mut socket = tokio_tungstenite::accept_async(far).await.unwrap();
        let hello = read(&mut socket).await;
        let limits = json!({
            "messageBytes": 1000, "requestsPerWindow": 100, "requestWindowSecs": 10, "queuedTurns": 1, "requestsInFlight": 64,
            "threadCommands": 1, "outboundQueue": 1, "liveBatches": 1, "connections": 1, "pingSecs": 20, "pongSecs": 10, "writeSecs": 10,
        });
        let welcome = json!({
            "protocolVersion": 1, "serverInfo": { "name": "acpd", "version": "9" }, "limits": limits,
            "capabilities": { "streaming": true }, "identity": { "principal": "owner", "role": "owner" },
        });
        let answer = json!({ "jsonrpc": "2.0", "id": hello["id"], "result": welcome });
        socket.send(Message::text(answer.to_string())).await.unwrap();
        assert_eq!(read(&mut socket).await["method"], "initialized");
        (socket, hello)
    }

    #[tokio::test(start_paused = true)]
    async fn a_daemon_that_closes_the_connection_ends_the_command() {
        let (reached, far) = reached();
        let script = async {
            let (mut socket, hello) = greet(far).await;
            assert_eq!(hello["params"]["clientInfo"]["name"], "acpd-cli");
            assert_eq!(hello["params"]["capabilities"]["approvals"], true);
            assert_eq!(read(&mut socket).await["method"], "thread/list");
            let frame = CloseFrame {
                code: CloseCode::Away,
                reason: "shutting down".into(),
            };
            socket.close(Some(frame)).await.unwrap();
            socket
        };
        let command = async {
            let client = open(reached, |options| options.approvals(true), None)
                .await
                .unwrap();
            assert!(!client.ready().await.unwrap().capabilities.replaces_turns);
            let large = ListThreads {
                search_term: Some("x".repeat(2000)),
                ..ListThreads::default()
            };
            let error = client.thread_list(&large).await.unwrap_err().into();
            assert_eq!(Exit::of(&error), Exit::Failure);
            let said = sentence(&error);
            assert!(said.ends_with("in the daemon's configuration"), "{said}");
            for _ in 0..2 {
                let error = client
                    .thread_list(&ListThreads::default())
                    .await
                    .unwrap_err()
                    .into();
                assert_eq!(Exit::of(&error), Exit::Unreachable);
                assert_eq!(
                    sentence(&error),
                    "the daemon closed the connection: shutting down"
                );
            }
        };
        tokio::join!(script, command);
    }

    #[tokio::test(start_paused = true)]
    async fn a_daemon_that_opens_the_websocket_and_does_not_answer_is_named() {
        let (reached, far) = reached();
        let script = async {
            let mut socket = tokio_tungstenite::accept_async(far).await.unwrap();
            assert_eq!(read(&mut socket).await["method"], "initialize");
            socket
        };
        let command = open(reached, |options| options, None);
        let (_mute, opened) = tokio::join!(script, command);
        let error = opened.unwrap_err();
        assert_eq!(Exit::of(&error), Exit::Unreachable);
        let said = sentence(&error);
        assert!(
            said.starts_with("the daemon of x did not answer within 30 s"),
            "{said}"
        );
    }
}
