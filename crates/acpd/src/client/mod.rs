//! A client of the app protocol.

pub mod connect;
pub mod link;
pub mod local;
pub mod pairing;
pub mod patience;
pub mod reach;
pub mod refusal;
pub mod response;
pub mod stdio;
pub mod ticket;
mod tunnel;
pub mod whole;

use std::collections::VecDeque;

use acpd_client::Transport;
use acpd_model::json;
use anyhow::{Context as _, bail};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use self::patience::Patience;
use self::reach::{Reached, open_socket, reach, reach_within};
use self::refusal::refusal;
use crate::exit::Exit;
use crate::incoming::Incoming;
use crate::settings::Settings;
use crate::terminal::plain::plain_line;
use crate::terminal::print;

/// Why no prompt is sent in place of an earlier one to a daemon that would only add it.
pub const REPLACES_NO_TURNS: &str =
    "the daemon is older than this program and cannot replace a prompt: run \"acpd restart\" where it runs";

/// An initialized connection to the daemon, for commands that do not use [`connect`] yet.
pub struct Client {
    socket: WebSocketStream<Box<dyn Transport>>,
    next_id: u64,
    /// Whether the daemon sends a prompt in place of an earlier one. An older daemon would add it to the conversation.
    replaces_turns: bool,
    /// Maximum size of a message to the daemon, in bytes; unlimited until the daemon has announced it.
    message_bytes: usize,
    /// Messages that arrived while a response was awaited.
    early: VecDeque<Received>,
}

/// A message from the daemon.
pub enum Received {
    /// A notification or a request.
    Message(Incoming),
    /// The response to a request that was sent by [`Client::start`].
    Response {
        /// The request's id.
        id: Value,
        /// Its result.
        result: anyhow::Result<Value>,
    },
}

impl Client {
    /// Connects, and starts a daemon if none runs. `approvals`: whether the daemon sends permission requests.
    pub async fn connect(settings: &Settings, approvals: bool) -> anyhow::Result<Self> {
        Self::open(reach(settings).await?, approvals).await
    }

    /// Connects to a running daemon without words on standard error; returns `None` if this user's daemon does not run.
    pub async fn reconnect(settings: &Settings, approvals: bool) -> anyhow::Result<Option<Self>> {
        match reach_within(settings, Patience::silent()).await? {
            Some(reached) => Ok(Some(Self::open(reached, approvals).await?)),
            None => Ok(None),
        }
    }

    async fn open(reached: Reached, approvals: bool) -> anyhow::Result<Self> {
        let name = reached.name.clone();
        let (socket, mut patience) = open_socket(reached, "/ws").await?;
        let mut client = Self {
            socket,
            next_id: 0,
            replaces_turns: false,
            message_bytes: usize::MAX,
            early: VecDeque::new(),
        };
        let hello = json!({
            "clientInfo": { "name": "acpd-cli", "version": env!("CARGO_PKG_VERSION") },
            "capabilities": { "streaming": true, "tools": true, "approvals": approvals },
        });
        let initializing = client.request("initialize", hello);
        let mut initialized = patience.wait(&name, "did not answer", initializing).await??;
        let server = initialized["serverInfo"].take();
        client.replaces_turns = initialized["capabilities"]["replacesTurns"] == true;
        let limits = &initialized["limits"];
        let limit = limits["messageBytes"].as_u64();
        client.message_bytes = limit
            .and_then(|limit| limit.try_into().ok())
            .unwrap_or(usize::MAX);
        client
            .send(&json!({ "jsonrpc": "2.0", "method": "initialized" }))
            .await?;
        if print::is_verbose() {
            let version = plain_line(server["version"].as_str().unwrap_or("?"));
            print::err(&format!("acpd: connected to {name}, version {version}\n"));
        }
        Ok(client)
    }

    /// Returns whether the daemon sends a prompt in place of an earlier one. If not, such a prompt must not be sent: see
    /// [`REPLACES_NO_TURNS`].
    pub fn replaces_turns(&self) -> bool {
        self.replaces_turns
    }

    /// Returns the maximum size of a message to the daemon, in bytes.
    pub fn message_bytes(&self) -> usize {
        self.message_bytes
    }

    /// Returns the messages that arrived while a response was awaited, which [`next`](Self::next) has yet to return.
    pub fn kept(&self) -> impl Iterator<Item = &Incoming> {
        self.early.iter().filter_map(|received| match received {
            Received::Message(incoming) => Some(incoming),
            Received::Response { .. } => None,
        })
    }

    /// Sends a request and waits for its response. Keeps other messages for [`next`](Self::next).
    pub async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.start(method, params).await?;
        loop {
            match self.receive().await? {
                Received::Response { id: answered, result } if answered == id => return result,
                other => self.early.push_back(other),
            }
        }
    }

    /// Sends a request and returns its id. [`next`](Self::next) returns the response.
    pub async fn start(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = json!(self.next_id);
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await?;
        Ok(id)
    }

    /// Responds to a request of the daemon.
    pub async fn respond(&mut self, id: &Value, result: &Value) -> anyhow::Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
            .await
    }

    /// Returns the next message. Cancel-safe.
    pub async fn next(&mut self) -> anyhow::Result<Received> {
        match self.early.pop_front() {
            Some(early) => Ok(early),
            None => self.receive().await,
        }
    }

    async fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        let text = message.to_string();
        if text.len() > self.message_bytes {
            bail!(
                "the message has {} bytes, and the daemon accepts {}: shorten the prompt, let the agent read a file, or \
                 raise limits.client_message_bytes in the daemon's configuration",
                text.len(),
                self.message_bytes
            );
        }
        let sent = self.socket.send(Message::text(text)).await;
        sent.map_err(|_| lost())
    }

    async fn receive(&mut self) -> anyhow::Result<Received> {
        loop {
            let frame = self.socket.next().await;
            let text = match frame {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Close(reason))) => {
                    let reason = reason
                        .map(|frame| format!(": {}", frame.reason))
                        .unwrap_or_default();
                    return Err(Exit::Unreachable.error(format!("the daemon closed the connection{reason}")));
                }
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => return Err(lost()),
            };
            let mut message: Value =
                json::read(&text).context("the daemon sent something that is not JSON")?;
            let id = message.get("id").cloned();
            if let Some(method) = message["method"].as_str().map(str::to_owned) {
                let params = message["params"].take();
                return Ok(Received::Message(Incoming {
                    method,
                    params,
                    text: text.to_string(),
                    id,
                }));
            }
            let result = match message.get_mut("error") {
                Some(error) => Err(refusal(&error.take())),
                None => Ok(message["result"].take()),
            };
            return Ok(Received::Response {
                id: id.unwrap_or(Value::Null),
                result,
            });
        }
    }
}

fn lost() -> anyhow::Error {
    Exit::Unreachable.error("the connection to the daemon is lost; \"acpd status\" shows whether it runs")
}
