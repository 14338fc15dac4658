//! The pipe's connection to the daemon: a WebSocket at `/acp`, over the local socket or the network.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::answer::not_opened;
use crate::reach::{Reached, Wire};

/// How long a daemon may say nothing, not even ask whether somebody is there, until it counts as gone.
const SILENCE: Duration = Duration::from_mins(3);

/// One connection.
pub struct Link {
    socket: WebSocketStream<Box<dyn Wire>>,
}

impl Link {
    /// Opens one to a daemon that was reached.
    pub async fn open(reached: Reached) -> anyhow::Result<Self> {
        let Reached {
            wire,
            host,
            name,
            authorization,
        } = reached;
        let mut request = format!("ws://{host}/acp").into_client_request()?;
        if let Some(authorization) = authorization {
            request.headers_mut().insert("authorization", authorization);
        }
        let config = WebSocketConfig::default()
            .max_message_size(None)
            .max_frame_size(None);
        let opened = tokio_tungstenite::client_async_with_config(request, wire, Some(config)).await;
        let (socket, _) = opened.map_err(|error| not_opened(error, &name))?;
        Ok(Self { socket })
    }

    /// The next message; `None` if the connection is lost. A call that is given up loses nothing.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            match tokio::time::timeout(SILENCE, self.socket.next()).await {
                Ok(Some(Ok(Message::Text(text)))) => return Some(text.to_string()),
                Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) | Err(_) => return None,
                Ok(Some(Ok(_))) => {}
            }
        }
    }

    /// Sends one message; `false` if the connection is lost.
    pub async fn send(&mut self, text: String) -> bool {
        self.socket.send(Message::text(text)).await.is_ok()
    }

    /// Says that nothing more comes.
    pub async fn close(&mut self) {
        // A daemon that has gone knows.
        let _ = self.socket.close(None).await;
    }
}
