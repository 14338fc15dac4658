//! What a program chooses about its client.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::address::{Address, Connection, Tls};
use crate::backoff::Backoff;
use crate::error::{ConnectError, Error};
use crate::inbox::Room;
use crate::protocol::ClientInfo;

/// The daemon's address, and the client's name and limits.
///
/// ```no_run
/// # fn main() -> Result<(), acpd_client::Error> {
/// use acpd_client::Options;
///
/// // This user's own daemon on this host.
/// let own = Options::own("my-program")?;
/// // A daemon elsewhere.
/// let remote = Options::url("my-program", "https://box.example")?.token("…");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Options {
    pub(crate) address: Address,
    pub(crate) token: Option<String>,
    pub(crate) info: ClientInfo,
    pub(crate) subscribers: bool,
    pub(crate) approvals: bool,
    pub(crate) texts: bool,
    pub(crate) reconnects: bool,
    pub(crate) backoff: Backoff,
    pub(crate) connect_timeout: Duration,
    pub(crate) silence: Option<Duration>,
    pub(crate) max_message_bytes: usize,
    pub(crate) room: Room,
    pub(crate) tls: Tls,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token is a secret.
        f.debug_struct("Options")
            .field("address", &self.address)
            .field("name", &self.info.name)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// Connects to this user's own daemon on this host, at `acpd.sock` in its data directory: `ACPD_DATA_DIR`, or
    /// `~/.local/state/acpd`. It needs no token. The log records `name` with every decision of this client.
    #[cfg(unix)]
    pub fn own(name: &str) -> Result<Self, Error> {
        Ok(Self::new(name, Address::Socket(crate::address::own_socket()?)))
    }

    /// Connects to a daemon at a local socket.
    #[cfg(unix)]
    pub fn socket(name: &str, path: impl Into<PathBuf>) -> Self {
        Self::new(name, Address::Socket(path.into()))
    }

    /// Connects to a daemon at a URL, such as `http://127.0.0.1:4127` or `https://box.example`. It needs a
    /// [`token`](Self::token).
    pub fn url(name: &str, url: &str) -> Result<Self, Error> {
        Ok(Self::new(name, Address::parse(url)?))
    }

    /// Connects over connections that the program opens itself, for example through SSH. `connect` is called for each attempt.
    ///
    /// ```
    /// use acpd_client::{Connection, Options};
    /// use tokio::net::TcpStream;
    ///
    /// // "ssh -L 4127:127.0.0.1:4127 box" runs beside it.
    /// let options = Options::connector("my-program", || async {
    ///     Ok(Connection::stream(TcpStream::connect("127.0.0.1:4127").await?))
    /// });
    /// ```
    pub fn connector<F, O>(name: &str, connect: F) -> Self
    where
        F: Fn() -> O + Send + Sync + 'static,
        O: Future<Output = Result<Connection, ConnectError>> + Send + 'static,
    {
        Self::new(name, Address::Custom(Arc::new(move || Box::pin(connect()))))
    }

    fn new(name: &str, address: Address) -> Self {
        Self {
            address,
            token: None,
            info: ClientInfo {
                name: name.to_owned(),
                title: None,
                version: None,
            },
            subscribers: false,
            approvals: false,
            texts: false,
            reconnects: true,
            backoff: Backoff::default(),
            connect_timeout: Duration::from_secs(10),
            silence: None,
            max_message_bytes: 256 << 20,
            room: Room {
                items: 16_384,
                bytes: 8 << 20,
            },
            tls: Tls::default(),
        }
    }

    /// Sets the access token, as `acpd token create` makes it. It is sent with each connection.
    #[must_use]
    pub fn token(mut self, token: &str) -> Self {
        self.token = Some(token.trim().to_owned());
        self
    }

    /// Sets the version of the program.
    #[must_use]
    pub fn version(mut self, version: &str) -> Self {
        self.info.version = Some(version.to_owned());
        self
    }

    /// Subscribes to `thread/subscribers/changed` for followed threads.
    #[must_use]
    pub fn subscribers(mut self, on: bool) -> Self {
        self.subscribers = on;
        self
    }

    /// Receives open questions as requests of the daemon instead of notifications. The program reads and answers both in the same
    /// way, with [`Client::item_approve`](crate::Client::item_approve) and [`Client::item_answer`](crate::Client::item_answer); but the
    /// daemon reports this client to others as one that answers questions.
    #[must_use]
    pub fn approvals(mut self, on: bool) -> Self {
        self.approvals = on;
        self
    }

    /// Keeps the text of each notification, in [`Received::text`](crate::Received::text).
    #[must_use]
    pub fn texts(mut self, on: bool) -> Self {
        self.texts = on;
        self
    }

    /// Sets whether the client connects again if its connection breaks. Without it, the client closes for the same reason. Default:
    /// it does.
    #[must_use]
    pub fn reconnect(mut self, on: bool) -> Self {
        self.reconnects = on;
        self
    }

    /// Sets the delays between connection attempts. Default: 250 ms to 30 s.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Sets the timeout of a connection attempt, with its handshake. Default: 10 s.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the silence after which a connection counts as broken. A living daemon sends pings. Default: as long as the daemon
    /// says that its pings take.
    #[must_use]
    pub fn silence(mut self, silence: Duration) -> Self {
        self.silence = Some(silence);
        self
    }

    /// Sets the maximum size of a message of the daemon. Default: 256 MiB, because a tool call can have 32 MiB, and one
    /// response can contain several.
    #[must_use]
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.max_message_bytes = bytes;
        self
    }

    /// Sets the size of the buffer for each reader. Default: 16,384 events and 8 MiB of their JSON.
    #[must_use]
    pub fn buffer(mut self, events: usize, bytes: usize) -> Self {
        self.room = Room {
            items: events.max(1),
            bytes,
        };
        self
    }

    /// Replaces the settings of TLS, for example to trust a certificate that the daemon made itself.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, config: Arc<rustls::ClientConfig>) -> Self {
        self.tls = Some(config);
        self
    }
}
