//! Connections to a daemon: this user's own over its socket, or a remote one over the network.
//!
//! acpd sends no secret to an arbitrary local port: the socket belongs to this user, and the kernel reports its peer. A
//! remote daemon proves its identity by TLS before it receives the token.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use acpd_client::Transport;
use acpd_http_client::tunnel_to;
use anyhow::Context;
use hyper::Request;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::HeaderValue;
use hyper_util::rt::TokioIo;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::client::patience::Patience;
use crate::client::{local, response, tunnel};
use crate::exit::Exit;
use crate::remote::Remote;
use crate::remote::pin::{Fingerprint, Pinned};
use crate::settings::Settings;

/// An open connection to a daemon, before any request.
pub struct Reached {
    /// The byte stream.
    pub wire: Box<dyn Transport>,
    /// The value of the `Host` header.
    pub host: String,
    /// The daemon's name in messages to the user.
    pub name: String,
    /// The value of the `Authorization` header, if the daemon requires one.
    pub authorization: Option<HeaderValue>,
    /// The time that is left for the daemon's first answer.
    pub patience: Patience,
}

/// Connects; starts this user's daemon if it does not run.
pub async fn reach(settings: &Settings) -> anyhow::Result<Reached> {
    if settings.remote.is_none() {
        let stream = local::connect(settings).await?;
        return at_socket(settings, stream, Patience::begin());
    }
    match reach_running(settings).await? {
        Some(reached) => Ok(reached),
        None => Err(Exit::Unreachable.error("no daemon is running")),
    }
}

/// Connects; returns `None` if this user's daemon does not run.
pub async fn reach_running(settings: &Settings) -> anyhow::Result<Option<Reached>> {
    reach_within(settings, Patience::begin()).await
}

/// Connects within a time that the caller has begun; returns `None` if this user's daemon does not run.
pub async fn reach_within(settings: &Settings, mut patience: Patience) -> anyhow::Result<Option<Reached>> {
    let Some(remote) = &settings.remote else {
        let stream = local::try_connect(settings).await?;
        return stream
            .map(|stream| at_socket(settings, stream, patience))
            .transpose();
    };
    let authorization = settings.token.as_deref().map(bearer).transpose()?;
    let address = remote.address();
    let name = format!("the daemon at {address}");
    if authorization.is_none() {
        if let Ok(None) = tunnel_to(&remote.host) {
            // A token helps only where something listens. Nothing is sent.
            let dialled = dial(&remote.host, remote.port);
            let dialled = patience
                .wait(&name, "did not accept a connection", dialled)
                .await?;
            drop(dialled.map_err(|error| unreachable(&address, &error.to_string()))?);
        }
        return Err(Exit::Usage.error(format!(
            "the daemon at {address} requires an access token: set ACPD_TOKEN to one that \"acpd token create\" \
             made on its host"
        )));
    }
    let connecting = connect(remote, &address);
    let wire = patience
        .wait(&name, "did not accept a connection", connecting)
        .await??;
    Ok(Some(Reached {
        wire,
        host: address,
        name,
        authorization,
        patience,
    }))
}

fn at_socket(settings: &Settings, stream: UnixStream, patience: Patience) -> anyhow::Result<Reached> {
    Ok(Reached {
        wire: Box::new(stream),
        host: "localhost".to_owned(),
        name: format!("the daemon of {}", settings.daemon.data_dir.display()),
        // A token of a flag or of the environment also applies at the socket: it may have a different role.
        authorization: settings.token.as_deref().map(bearer).transpose()?,
        patience,
    })
}

async fn connect(remote: &Remote, address: &str) -> anyhow::Result<Box<dyn Transport>> {
    let wire = connect_plain(remote, address).await?;
    if !remote.secure {
        return Ok(wire);
    }
    let shaken = shake(&remote.host, wire, remote.pin).await?;
    shaken.map_err(|error| not_trusted(&error, address, remote.pin.is_some()))
}

/// Connects to the daemon's port, through the proxy of the environment if it names one for this host.
async fn connect_plain(remote: &Remote, address: &str) -> anyhow::Result<Box<dyn Transport>> {
    let through = tunnel_to(&remote.host).map_err(|reason| Exit::Usage.error(reason))?;
    let Some(through) = through else {
        return dial(&remote.host, remote.port)
            .await
            .map_err(|error| unreachable(address, &error.to_string()));
    };
    let proxy = format!("{}:{} ({})", through.host, through.port, through.variable);
    let refused = |why: &dyn std::fmt::Display| {
        Exit::Unreachable.error(format!(
            "{address} cannot be reached through the proxy {proxy}: {why}; to connect without it, add {} to NO_PROXY",
            remote.host
        ))
    };
    let dialled = dial(&through.host, through.port).await;
    let mut wire = dialled.map_err(|error| refused(&error))?;
    if through.is_secure {
        let shaken = shake(&through.host, wire, None).await?;
        wire = shaken.map_err(|error| refused(&error))?;
    }
    tunnel::open(wire, &through, address)
        .await
        .map_err(|reason| refused(&reason))
}

/// Connects to a port. An IPv6 address is in brackets.
async fn dial(host: &str, port: u16) -> std::io::Result<Box<dyn Transport>> {
    let host = match host.trim_matches(['[', ']']) {
        // The name has two addresses, and another user may listen on the other one, which would receive the token.
        name if name.eq_ignore_ascii_case("localhost") => "127.0.0.1",
        host => host,
    };
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    Ok(Box::new(stream))
}

/// Sets up TLS with the host at the other end. An IPv6 address is in brackets.
async fn shake(
    host: &str,
    wire: Box<dyn Transport>,
    pin: Option<Fingerprint>,
) -> anyhow::Result<std::io::Result<Box<dyn Transport>>> {
    let host = host.trim_matches(['[', ']']);
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| Exit::Usage.error(format!("invalid host name {host:?}: no certificate can have it")))?;
    let shaken = TlsConnector::from(Arc::new(tls(pin)?)).connect(name, wire).await;
    Ok(shaken.map(|stream| Box::new(stream) as Box<dyn Transport>))
}

fn unreachable(address: &str, why: &str) -> anyhow::Error {
    Exit::Unreachable.error(format!(
        "{address} cannot be reached: {why}; check the address, and that \"acpd status\" on that host shows a daemon"
    ))
}

/// Describes a failed handshake, after which the daemon has received nothing.
fn not_trusted(error: &std::io::Error, address: &str, is_pinned: bool) -> anyhow::Error {
    let reason = error
        .get_ref()
        .and_then(|error| error.downcast_ref::<rustls::Error>());
    if let Some(rustls::Error::InvalidMessage(_)) = reason {
        return Exit::Unreachable.error(format!(
            "{address} does not speak TLS: set up [server.tls] on its host, or use http:// through an SSH tunnel"
        ));
    }
    let advice = if is_pinned {
        "; \"acpd serve\" prints the fingerprint when it starts"
    } else {
        "; if it made its certificate itself, set --tls-fingerprint to what \"acpd serve\" prints there"
    };
    let reason = match reason {
        Some(rustls::Error::General(reason)) => reason.clone(),
        Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            "no known authority issued its certificate".to_owned()
        }
        _ => error.to_string(),
    };
    anyhow::anyhow!("{address} cannot be trusted, so no token was sent: {reason}{advice}")
}

fn tls(pin: Option<Fingerprint>) -> anyhow::Result<ClientConfig> {
    let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let builder = match pin {
        Some(pin) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Pinned::new(pin, provider))),
        None => {
            let verifier = rustls_platform_verifier::Verifier::new(provider)
                .context("the system's certificates cannot be read")?;
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier))
        }
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn bearer(token: &str) -> anyhow::Result<HeaderValue> {
    let token = acpd_server::auth::owner_token::Token::given(token)
        .map_err(|error| Exit::Usage.error(error.to_string()))?;
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.secret()))
        .context("the token has odd characters")?;
    value.set_sensitive(true);
    Ok(value)
}

/// Opens a WebSocket at a path of a reached daemon. Its messages have any size. Returns the time that is left as well.
pub async fn open_socket(
    reached: Reached,
    path: &str,
) -> anyhow::Result<(WebSocketStream<Box<dyn Transport>>, Patience)> {
    let Reached {
        wire,
        host,
        name,
        authorization,
        mut patience,
    } = reached;
    let mut request = format!("ws://{host}{path}").into_client_request()?;
    if let Some(authorization) = authorization {
        request.headers_mut().insert("authorization", authorization);
    }
    let config = WebSocketConfig::default()
        .max_message_size(None)
        .max_frame_size(None);
    let opening = tokio_tungstenite::client_async_with_config(request, wire, Some(config));
    let opened = patience
        .wait(&name, "did not open the WebSocket", opening)
        .await?;
    let (socket, _) = opened.map_err(|error| response::not_opened(error, &name))?;
    Ok((socket, patience))
}

/// Sends one request, with `Host` and `Authorization` added. The connection lasts until the response is read.
pub async fn ask(
    reached: Reached,
    request: Request<String>,
) -> anyhow::Result<hyper::Response<hyper::body::Incoming>> {
    let name = reached.name.clone();
    let (answer, mut patience) = send(reached, request).await?;
    patience.wait(&name, "did not answer", answer).await?
}

/// Sends a request whose body takes as long as it does: the daemon ends what is too slow.
pub async fn ask_slowly(
    reached: Reached,
    request: Request<Content>,
) -> anyhow::Result<hyper::Response<hyper::body::Incoming>> {
    let (answer, _) = send(reached, request).await?;
    answer.await
}

/// The body of a request, in one piece.
pub struct Content(Option<Bytes>);

impl From<Bytes> for Content {
    fn from(bytes: Bytes) -> Self {
        Self(Some(bytes))
    }
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

/// Sends a request. Returns what waits for the response, and the time that is left.
async fn send<B>(
    reached: Reached,
    mut request: Request<B>,
) -> anyhow::Result<(
    impl Future<Output = anyhow::Result<hyper::Response<hyper::body::Incoming>>>,
    Patience,
)>
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let Reached {
        wire,
        host,
        name,
        authorization,
        patience,
    } = reached;
    let headers = request.headers_mut();
    headers.insert(hyper::header::HOST, HeaderValue::from_str(&host)?);
    if let Some(authorization) = authorization {
        headers.insert(hyper::header::AUTHORIZATION, authorization);
    }
    let lost =
        move || Exit::Unreachable.error(format!("{name} does not answer as a daemon{}", response::NO_HTTP));
    let (mut daemon, connection) = hyper::client::conn::http1::handshake(TokioIo::new(wire))
        .await
        .map_err(|_| lost())?;
    // The reader of the response sees how the connection ends.
    tokio::spawn(connection);
    let answer = async move { daemon.send_request(request).await.map_err(|_| lost()) };
    Ok((answer, patience))
}
