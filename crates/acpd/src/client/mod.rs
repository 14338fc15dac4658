//! A client of the app protocol.

pub mod pin;
pub mod reach;
pub mod response;
pub mod ticket;

use std::collections::VecDeque;

use anyhow::{Context, bail};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use self::reach::{Reached, Wire, reach};
use self::response::not_opened;
use crate::settings::Settings;

/// An initialized connection to the daemon.
pub struct Client {
    socket: WebSocketStream<Box<dyn Wire>>,
    next_id: u64,
    /// Notifications and requests that arrived while a response was awaited.
    early: VecDeque<Incoming>,
}

/// A notification or request from the daemon.
pub struct Incoming {
    /// The method of the notification or request.
    pub method: String,
    /// The unparsed params.
    pub params: Value,
    /// The whole message, as received.
    pub text: String,
    /// The id of a request; `None` for a notification.
    pub id: Option<Value>,
}

enum Received {
    Message(Incoming),
    Answer { id: Value, result: Result<Value, Value> },
}

impl Client {
    /// Connects, and starts a daemon if none runs. `approvals`: whether the daemon sends permission requests.
    pub async fn connect(settings: &Settings, approvals: bool) -> anyhow::Result<Self> {
        let Reached {
            wire,
            host,
            name,
            authorization,
        } = reach(settings).await?;
        let mut request = format!("ws://{host}/ws").into_client_request()?;
        if let Some(authorization) = authorization {
            request.headers_mut().insert("authorization", authorization);
        }
        let config = WebSocketConfig::default()
            .max_message_size(None)
            .max_frame_size(None);
        let opened = tokio_tungstenite::client_async_with_config(request, wire, Some(config)).await;
        let (socket, _) = opened.map_err(|error| not_opened(error, &name))?;
        let mut client = Self {
            socket,
            next_id: 0,
            early: VecDeque::new(),
        };
        let hello = json!({
            "clientInfo": { "name": "acpd-cli", "version": env!("CARGO_PKG_VERSION") },
            "capabilities": { "streaming": true, "tools": true, "approvals": approvals },
        });
        client.request("initialize", hello).await?;
        client
            .send(&json!({ "jsonrpc": "2.0", "method": "initialized" }))
            .await?;
        Ok(client)
    }

    /// Sends a request and waits for its response. Keeps other messages for [`next`](Self::next).
    pub async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.start(method, params).await?;
        loop {
            match self.receive().await? {
                Received::Answer { id: answered, result } if answered == id => {
                    return result.map_err(|error| anyhow::anyhow!(describe(&error)));
                }
                Received::Answer { .. } => {}
                Received::Message(incoming) => self.early.push_back(incoming),
            }
        }
    }

    /// Sends a request and discards its response.
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

    /// Returns the next notification or request. Cancel-safe.
    pub async fn next(&mut self) -> anyhow::Result<Incoming> {
        if let Some(early) = self.early.pop_front() {
            return Ok(early);
        }
        loop {
            if let Received::Message(incoming) = self.receive().await? {
                return Ok(incoming);
            }
        }
    }

    async fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        self.socket
            .send(Message::text(message.to_string()))
            .await
            .context("the connection to the daemon is lost")
    }

    async fn receive(&mut self) -> anyhow::Result<Received> {
        loop {
            let text = match self.socket.next().await {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Close(reason))) => {
                    let reason = reason
                        .map(|frame| format!(": {}", frame.reason))
                        .unwrap_or_default();
                    bail!("the daemon closed the connection{reason}");
                }
                Some(Ok(_)) => continue,
                Some(Err(error)) => bail!("the connection to the daemon is lost: {error}"),
                None => bail!("the connection to the daemon is lost"),
            };
            let mut message: Value =
                serde_json::from_str(&text).context("the daemon sent something that is not JSON")?;
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
                Some(error) => Err(error.take()),
                None => Ok(message["result"].take()),
            };
            return Ok(Received::Answer {
                id: id.unwrap_or(Value::Null),
                result,
            });
        }
    }
}

/// Formats a JSON-RPC error for the user.
pub fn describe(error: &Value) -> String {
    let message = error["message"]
        .as_str()
        .unwrap_or("the daemon refused without a reason");
    match error["data"]["detail"].as_str() {
        Some(detail) => format!("{message}\n{detail}"),
        None => message.to_owned(),
    }
}
