//! Where a daemon is, and how a byte stream to it is opened.
//!
//! In: a path, a URL or a function. Out: an open connection. Never: sends anything but the handshake of TLS.

use std::fmt;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio_tungstenite::WebSocketStream;
use url::Url;

use crate::error::{ConnectError, Error};

/// A byte stream to a daemon.
pub trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// A connection that a program has opened itself.
pub struct Connection(pub(crate) Opened);

/// How far a connection is open.
pub(crate) enum Opened {
    Stream(Box<dyn Transport>),
    WebSocket(Box<WebSocketStream<Box<dyn Transport>>>),
}

impl Connection {
    /// Takes a byte stream. The client sends the handshake of WebSocket over it.
    pub fn stream(stream: impl Transport + 'static) -> Self {
        Self(Opened::Stream(Box::new(stream)))
    }

    /// Takes a WebSocket whose handshake is done. Its limits for messages are those that the program has set: a daemon's event can
    /// have 32 MiB and more.
    pub fn websocket(socket: WebSocketStream<Box<dyn Transport>>) -> Self {
        Self(Opened::WebSocket(Box::new(socket)))
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Opened::Stream(_) => "Connection::stream",
            Opened::WebSocket(_) => "Connection::websocket",
        })
    }
}

/// The future that a connector returns.
type Connecting = Pin<Box<dyn Future<Output = Result<Connection, ConnectError>> + Send>>;

/// A function that opens connections.
pub(crate) type Connector = Arc<dyn Fn() -> Connecting + Send + Sync>;

/// Where a daemon is.
#[derive(Clone)]
pub(crate) enum Address {
    /// At a local socket.
    #[cfg(unix)]
    Socket(PathBuf),
    /// At a port.
    Port {
        is_secure: bool,
        host: String,
        port: u16,
        path: String,
    },
    /// Where a function of the program leads.
    Custom(Connector),
}

/// Settings of TLS connections.
#[cfg(feature = "tls")]
pub(crate) type Tls = Option<Arc<rustls::ClientConfig>>;
/// Without the feature `tls`, there are none.
#[cfg(not(feature = "tls"))]
pub(crate) type Tls = ();

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl Address {
    /// Reads a URL with the scheme `http`, `https`, `ws` or `wss`.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |why: &str| {
            Error::Address(format!(
                "invalid address {text:?}: {why}; write it like https://box.example or http://127.0.0.1:4127"
            ))
        };
        let url = Url::parse(text).map_err(|error| invalid(&error.to_string()))?;
        let is_secure = match url.scheme() {
            "http" | "ws" => false,
            "https" | "wss" => true,
            other => return Err(invalid(&format!("the scheme {other:?} is unknown"))),
        };
        if is_secure && cfg!(not(feature = "tls")) {
            return Err(invalid("https needs the feature \"tls\" of acpd-client"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid(
                "it contains a user or a password; pass an access token as Options::token",
            ));
        }
        let host = match url.host() {
            // The name has two addresses, and another user may listen on the other one, which would receive the token.
            Some(url::Host::Domain(name)) if name.eq_ignore_ascii_case("localhost") => "127.0.0.1".to_owned(),
            Some(url::Host::Domain(name)) => name.to_owned(),
            Some(url::Host::Ipv4(address)) => address.to_string(),
            Some(url::Host::Ipv6(address)) => address.to_string(),
            None => return Err(invalid("it has no host")),
        };
        let port = url.port().unwrap_or(if is_secure { 443 } else { 80 });
        let path = match url.path() {
            "" | "/" => "/ws".to_owned(),
            path => path.to_owned(),
        };
        Ok(Self::Port {
            is_secure,
            host,
            port,
            path,
        })
    }

    /// Returns the address in sentences for users.
    pub(crate) fn name(&self) -> String {
        match self {
            #[cfg(unix)]
            Self::Socket(path) => path.display().to_string(),
            Self::Port { host, port, .. } => authority(host, *port),
            Self::Custom(_) => "the connection of this program".to_owned(),
        }
    }

    /// Returns the URL of the WebSocket, with the host that the daemon should see. TLS is below it.
    pub(crate) fn socket_url(&self) -> String {
        match self {
            Self::Port { host, port, path, .. } => format!("ws://{}{path}", authority(host, *port)),
            _ => "ws://localhost/ws".to_owned(),
        }
    }

    /// Opens a connection.
    pub(crate) async fn open(&self, tls: &Tls) -> Result<Opened, Error> {
        match self {
            #[cfg(unix)]
            Self::Socket(path) => {
                let stream = UnixStream::connect(path).await;
                let stream = stream
                    .map_err(|error| self.unreachable(&error, "start the daemon with \"acpd serve\""))?;
                Ok(Opened::Stream(Box::new(stream)))
            }
            Self::Port {
                is_secure,
                host,
                port,
                ..
            } => {
                let advice = "is the daemon running, and is the address right?";
                let stream = TcpStream::connect((host.as_str(), *port)).await;
                let stream = stream.map_err(|error| self.unreachable(&error, advice))?;
                stream
                    .set_nodelay(true)
                    .map_err(|error| self.unreachable(&error, advice))?;
                Ok(Opened::Stream(if *is_secure {
                    secure(host, stream, tls).await?
                } else {
                    Box::new(stream)
                }))
            }
            Self::Custom(connector) => {
                let opened = connector().await;
                opened.map(|connection| connection.0).map_err(Error::Connect)
            }
        }
    }

    fn unreachable(&self, error: &io::Error, advice: &str) -> Error {
        Error::Disconnected(format!("{} cannot be reached: {error}; {advice}", self.name()))
    }
}

fn authority(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// Returns the socket of this user's own daemon on this host, as acpd places it without configuration.
#[cfg(unix)]
pub(crate) fn own_socket() -> Result<PathBuf, Error> {
    let from = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let data = from("ACPD_DATA_DIR")
        .or_else(|| Some(from("XDG_STATE_HOME")?.join("acpd")))
        .or_else(|| Some(std::env::home_dir()?.join(".local/state/acpd")));
    let data = data.ok_or_else(|| {
        Error::Address("the data directory of acpd is unknown: set HOME or ACPD_DATA_DIR".to_owned())
    })?;
    Ok(data.join("acpd.sock"))
}

#[cfg(feature = "tls")]
async fn secure(host: &str, stream: TcpStream, tls: &Tls) -> Result<Box<dyn Transport>, Error> {
    use rustls::pki_types::ServerName;

    let name = ServerName::try_from(host.to_owned()).map_err(|_| {
        Error::Address(format!(
            "{host:?} cannot be in a certificate: write the host's name or IP address"
        ))
    })?;
    let config = match tls {
        Some(config) => Arc::clone(config),
        None => Arc::new(of_system()?),
    };
    let secured = tokio_rustls::TlsConnector::from(config)
        .connect(name, stream)
        .await;
    match secured {
        Ok(stream) => Ok(Box::new(stream)),
        Err(error)
            if error
                .get_ref()
                .and_then(|error| error.downcast_ref::<rustls::Error>())
                .is_some() =>
        {
            Err(Error::Unauthenticated(format!(
                "{host} cannot be trusted, so no token was sent: {error}; for a certificate of its own, set Options::tls"
            )))
        }
        Err(error) => Err(Error::Disconnected(format!(
            "{host} ended the handshake of TLS: {error}"
        ))),
    }
}

/// Returns settings that trust what the system trusts.
#[cfg(feature = "tls")]
fn of_system() -> Result<rustls::ClientConfig, Error> {
    use rustls_platform_verifier::BuilderVerifierExt;

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let failed = |error: &dyn fmt::Display| {
        Error::Address(format!(
            "the system's certificates cannot be read: {error}; set Options::tls"
        ))
    };
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?;
    let builder = builder.with_platform_verifier().map_err(|error| failed(&error))?;
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(not(feature = "tls"))]
#[allow(clippy::unused_async, reason = "with the feature, it waits")]
async fn secure(_host: &str, _stream: TcpStream, (): &Tls) -> Result<Box<dyn Transport>, Error> {
    Err(Error::Address(
        "https needs the feature \"tls\" of acpd-client".to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_one_form() {
        for (text, url) in [
            ("http://127.0.0.1:4127", "ws://127.0.0.1:4127/ws"),
            ("ws://localhost:1/", "ws://127.0.0.1:1/ws"),
            ("https://box.example", "ws://box.example:443/ws"),
            (
                "https://box.example:8443/acpd/ws",
                "ws://box.example:8443/acpd/ws",
            ),
            ("http://[::1]:4127", "ws://[::1]:4127/ws"),
        ] {
            let address = Address::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(address.socket_url(), url, "{text}");
        }
        for text in [
            "",
            "box.example",
            "ftp://box.example",
            "http://ann:secret@box.example",
        ] {
            let error = Address::parse(text).expect_err(text);
            assert_eq!(error.code(), "invalid_address", "{text}");
        }
    }
}
