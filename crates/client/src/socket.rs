//! One WebSocket to the daemon, and its handshake.
//!
//! In: messages to send. Out: messages of the daemon, or why the connection ended. Never: knows threads, or reconnects.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::time::{Instant, timeout_at};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};

use crate::address::{Opened, Transport};
use crate::error::Error;
use crate::heard::{Heard, Progress};
use crate::message::{Incoming, request, result};
use crate::options::Options;
use crate::protocol::{ClientCapabilities, InitializeParams, Initialized, LimitsInForce, PROTOCOL_VERSION};

/// Id of the request that opens a connection. Later requests have other ids.
const FIRST_ID: u64 = 0;

/// Silence after which a connection counts as broken before the daemon has announced its pings.
const FIRST_SILENCE: Duration = Duration::from_secs(40);

/// The longest silence that makes sense. A daemon may announce any number.
const LONGEST_SILENCE: Duration = Duration::from_hours(24);

/// An open connection.
pub(crate) struct Socket {
    frames: WebSocketStream<Box<dyn Transport>>,
    /// The progress below messages: a large one takes longer than the silence over a slow link.
    progress: Arc<Progress>,
    silence: Duration,
    max_message_bytes: usize,
    /// When the connection counts as broken, if the daemon sends no byte until then.
    dead_at: Instant,
}

impl Socket {
    /// Connects and greets the daemon, within the timeout for both.
    pub(crate) async fn open(options: &Options) -> Result<(Self, Initialized), Error> {
        let timeout = options.connect_timeout;
        let opening = async {
            let mut socket = Self::connect(options).await?;
            let server = socket.greet(options).await?;
            if options.silence.is_none() {
                socket.silence = announced(&server.limits);
                socket.dead_at = Instant::now() + socket.silence;
            }
            Ok((socket, server))
        };
        let opened = tokio::time::timeout(timeout, opening).await;
        opened.unwrap_or_else(|_| {
            let name = options.address.name();
            Err(Error::Disconnected(format!(
                "{name} did not answer within {timeout:?}"
            )))
        })
    }

    async fn connect(options: &Options) -> Result<Self, Error> {
        let name = options.address.name();
        let stream = match options.address.open(&options.tls).await? {
            Opened::Stream(stream) => stream,
            Opened::WebSocket(socket) => return Ok(Self::new(*socket, options)),
        };
        let invalid =
            |why: &dyn std::fmt::Display| Error::Address(format!("no request can be sent to {name}: {why}"));
        let mut request = options
            .address
            .socket_url()
            .into_client_request()
            .map_err(|error| invalid(&error))?;
        if let Some(token) = &options.token {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
                .map_err(|_| invalid(&"the access token has characters that no token has"))?;
            value.set_sensitive(true);
            request.headers_mut().insert("authorization", value);
        }
        let config = WebSocketConfig::default()
            .max_message_size(Some(options.max_message_bytes))
            .max_frame_size(Some(options.max_message_bytes));
        let opened = tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await;
        let (socket, _) = opened.map_err(|error| not_opened(&name, &error))?;
        Ok(Self::new(socket, options))
    }

    fn new(mut frames: WebSocketStream<Box<dyn Transport>>, options: &Options) -> Self {
        let silence = options.silence.unwrap_or(FIRST_SILENCE);
        let progress = Heard::insert(frames.get_mut());
        Self {
            frames,
            progress,
            silence,
            max_message_bytes: options.max_message_bytes,
            dead_at: Instant::now() + silence,
        }
    }

    async fn greet(&mut self, options: &Options) -> Result<Initialized, Error> {
        let params = InitializeParams {
            capabilities: Some(ClientCapabilities {
                approvals: options.approvals,
                subscribers: options.subscribers,
                ..ClientCapabilities::default()
            }),
            client_info: options.info.clone(),
        };
        self.send(request(FIRST_ID, "initialize", &params)?).await?;
        loop {
            let text = self.next().await?;
            let message = Incoming::read(&text)?;
            if message.request_id() != Some(FIRST_ID) || message.method.is_some() {
                continue;
            }
            if let Some(error) = message.refusal() {
                return Err(error);
            }
            let found = message.result.ok_or_else(|| {
                Error::Malformed("the response to initialize has neither result nor error".to_owned())
            })?;
            // The version decides whether the rest can be read.
            let version: Version = result("initialize", found)?;
            if version.protocol_version != PROTOCOL_VERSION {
                return Err(Error::ProtocolVersion {
                    daemon: version.protocol_version,
                });
            }
            let server = result("initialize", found)?;
            self.send(r#"{"jsonrpc":"2.0","method":"initialized"}"#.to_owned())
                .await?;
            return Ok(server);
        }
    }

    /// Returns the next message. Cancel-safe: no message is lost.
    pub(crate) async fn next(&mut self) -> Result<String, Error> {
        loop {
            let Ok(received) = timeout_at(self.dead_at, self.frames.next()).await else {
                let until = self.progress.read_at() + self.silence;
                if until > Instant::now() {
                    self.dead_at = until;
                    continue;
                }
                return Err(Error::Silent {
                    silence: self.silence,
                });
            };
            self.dead_at = Instant::now() + self.silence;
            match received {
                Some(Ok(Message::Text(text))) => return Ok(text.to_string()),
                Some(Ok(Message::Close(frame))) => {
                    let reason = frame.map(|frame| frame.reason.to_string()).unwrap_or_default();
                    return Err(Error::ClosedByDaemon { reason });
                }
                // tungstenite answers pings.
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(self.lost(&error)),
                None => return Err(Error::Disconnected("the connection ended".to_owned())),
            }
        }
    }

    /// Sends a message.
    pub(crate) async fn send(&mut self, text: String) -> Result<(), Error> {
        let sent = {
            let mut until = Instant::now() + self.silence;
            let mut sending = self.frames.send(Message::text(text));
            loop {
                if let Ok(sent) = timeout_at(until, &mut sending).await {
                    break Some(sent);
                }
                until = self.progress.written_at() + self.silence;
                if until <= Instant::now() {
                    break None;
                }
                // A daemon that reads is not silent.
                self.dead_at = self.dead_at.max(until);
            }
        };
        match sent {
            Some(sent) => sent.map_err(|error| self.lost(&error)),
            None => {
                let silence = self.silence;
                Err(Error::Disconnected(format!(
                    "the daemon read nothing for {silence:?}"
                )))
            }
        }
    }

    /// Closes the connection. A daemon that does not answer is not waited for.
    pub(crate) async fn close(mut self) {
        // The connection ends in any case.
        let _ = tokio::time::timeout(Duration::from_secs(1), self.frames.close(None)).await;
    }

    fn lost(&self, error: &tungstenite::Error) -> Error {
        match error {
            tungstenite::Error::Capacity(_) => Error::MessageTooLarge {
                limit: self.max_message_bytes,
            },
            other => Error::Disconnected(format!("the connection broke: {other}")),
        }
    }
}

/// Returns the silence after which a daemon with these limits must have sent a ping.
fn announced(limits: &LimitsInForce) -> Duration {
    let secs = limits.ping_secs.saturating_add(limits.pong_secs);
    match secs {
        0 => LONGEST_SILENCE,
        secs => Duration::from_secs(secs).min(LONGEST_SILENCE),
    }
}

/// The part of the response that every version has.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    protocol_version: u64,
}

fn not_opened(name: &str, error: &tungstenite::Error) -> Error {
    match error {
        tungstenite::Error::Http(response) => match response.status() {
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => Error::Unauthenticated(format!(
                "{name} does not accept this client ({}): check the access token",
                status.as_u16()
            )),
            status => Error::Disconnected(format!(
                "{name} refused the connection with status {}",
                status.as_u16()
            )),
        },
        other => Error::Disconnected(format!("{name} does not answer as a daemon: {other}")),
    }
}
