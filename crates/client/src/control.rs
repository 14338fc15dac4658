//! What the handles of a client and the task that holds its connection tell each other.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot, watch};

use crate::error::Error;
use crate::feed::Feeds;
use crate::inbox::Inbox;
use crate::protocol::Initialized;
use crate::received::Received;
use crate::stream::{First, Follow};

/// The state of a client's connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum State {
    /// The client is connecting.
    Connecting,
    /// There is a connection. The response to `initialize` has the daemon's version and limits, and this client's role.
    Open(Arc<Initialized>),
    /// The last connection or attempt has ended.
    Waiting {
        /// The delay before the next attempt.
        retry_in: Duration,
        /// Why it has ended.
        error: Error,
    },
    /// There will be no further connection. The reason is [`Error::Closed`] if the client was closed on purpose.
    Closed(Error),
}

/// A request of the program.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) params: Box<RawValue>,
    pub(crate) done: oneshot::Sender<Result<Box<RawValue>, Error>>,
}

/// What a program wants of the task, apart from requests.
pub(crate) enum Control {
    Follow {
        key: u64,
        thread_id: String,
        follow: Follow,
        inbox: Arc<Inbox<Received>>,
        first: First,
    },
    /// A full buffer has room again.
    Unpaused {
        key: u64,
        thread_id: String,
    },
    /// A subscription was dropped.
    Left {
        key: u64,
        thread_id: String,
    },
    Close,
}

/// What the task of the connection has of the client.
pub(crate) struct Ends {
    pub(crate) requests: mpsc::Receiver<Request>,
    pub(crate) control: mpsc::UnboundedReceiver<Control>,
    pub(crate) state: watch::Sender<State>,
    pub(crate) feeds: Feeds,
}
