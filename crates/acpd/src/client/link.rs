//! A pipe's connection to the daemon: a WebSocket, over the local socket or the network, that passes messages unread.

use std::time::Duration;

use acpd_client::Transport;
use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::client::reach::{Reached, open_socket};

/// Silence after which the daemon counts as lost. A live daemon sends at least a WebSocket ping.
const SILENCE: Duration = Duration::from_mins(3);

/// One WebSocket connection to the daemon.
pub struct Link {
    socket: WebSocketStream<Box<dyn Transport>>,
    /// The reason with which the daemon closed the connection.
    reason: Option<String>,
}

impl Link {
    /// Opens a connection at a path of a reached daemon.
    pub async fn open(reached: Reached, path: &str) -> anyhow::Result<Self> {
        let (socket, _) = open_socket(reached, path).await?;
        Ok(Self { socket, reason: None })
    }

    /// Returns the next message; `None` if the connection is lost. Cancel-safe: no message is lost.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            match tokio::time::timeout(SILENCE, self.socket.next()).await {
                Ok(Some(Ok(Message::Text(text)))) => return Some(text.to_string()),
                Ok(Some(Ok(Message::Close(frame)))) => {
                    let reason = frame.map(|frame| frame.reason.to_string());
                    self.reason = reason.filter(|reason| !reason.is_empty());
                    return None;
                }
                Ok(Some(Err(_)) | None) | Err(_) => return None,
                Ok(Some(Ok(_))) => {}
            }
        }
    }

    /// Returns the reason with which the daemon closed the connection, if it gave one.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Sends one message; returns `false` if the connection is lost.
    pub async fn send(&mut self, text: String) -> bool {
        self.socket.send(Message::text(text)).await.is_ok()
    }

    /// Sends a close frame.
    pub async fn close(&mut self) {
        // If the daemon is gone, there is no one to notify.
        let _ = self.socket.close(None).await;
    }
}
