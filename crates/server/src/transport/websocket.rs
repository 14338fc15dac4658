//! Editors over WebSocket: one message a frame.

use std::io::{Error, ErrorKind, Result};
use std::time::Duration;

use acpd_model::Limits;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tokio::time::{Instant, sleep_until};

use crate::transport::heartbeat::{Due, Heartbeat};
use crate::transport::{Transport, in_time};

/// A WebSocket that carries an editor's messages.
pub struct Socket {
    stream: WebSocket,
    heartbeat: Heartbeat,
    patience: Duration,
}

impl Socket {
    /// With the bounds of `limits`: how often an editor is asked whether it is there, and how long a write may take.
    pub fn new(stream: WebSocket, limits: &Limits) -> Self {
        let secs = Duration::from_secs;
        Self {
            stream,
            heartbeat: Heartbeat::new(secs(limits.ping_secs), secs(limits.pong_secs), Instant::now()),
            patience: secs(limits.write_secs),
        }
    }

    async fn feed(&mut self, message: Message) -> Result<()> {
        let fed = self.stream.feed(message);
        in_time(self.patience, async { fed.await.map_err(Error::other) }).await
    }

    async fn turn_away(&mut self, code: u16, reason: &'static str) {
        let reason = Utf8Bytes::from_static(reason);
        // One that has gone already needs no reason.
        let _ = self.feed(Message::Close(Some(CloseFrame { code, reason }))).await;
        let _ = self.flush().await;
    }
}

impl Transport for Socket {
    async fn next(&mut self) -> Result<Option<String>> {
        loop {
            let message = tokio::select! {
                message = self.stream.next() => message,
                () = sleep_until(self.heartbeat.deadline()) => {
                    match self.heartbeat.due(Instant::now()) {
                        Due::Nothing => {}
                        Due::Ping => {
                            self.feed(Message::Ping(Bytes::new())).await?;
                            self.flush().await?;
                        }
                        Due::Gone => {
                            self.turn_away(close_code::POLICY, "no answer to a ping").await;
                            return Err(Error::new(ErrorKind::TimedOut, "no answer to a ping"));
                        }
                    }
                    continue;
                }
            };
            self.heartbeat.heard();
            match message {
                Some(Ok(Message::Text(text))) => return Ok(Some(text.to_string())),
                // An old client sends lines, as bytes.
                Some(Ok(Message::Binary(bytes))) => {
                    return Ok(Some(String::from_utf8_lossy(bytes.trim_ascii_end()).into_owned()));
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_))) | None => return Ok(None),
                Some(Err(error)) => {
                    if error.to_string().to_lowercase().contains("too long") {
                        self.turn_away(close_code::SIZE, "message too long").await;
                    }
                    return Err(Error::other(error));
                }
            }
        }
    }

    async fn send(&mut self, text: Bytes) -> Result<()> {
        let text = Utf8Bytes::try_from(text).map_err(Error::other)?;
        self.feed(Message::Text(text)).await
    }

    async fn flush(&mut self) -> Result<()> {
        let flushed = self.stream.flush();
        in_time(self.patience, async { flushed.await.map_err(Error::other) }).await
    }

    async fn close(&mut self) {
        self.turn_away(close_code::AWAY, "the daemon is stopping").await;
    }
}
