//! The handle of a client.
//!
//! In: requests and subscriptions of the program. Out: the same for the task that holds the connection. Never: waits for
//! anything but that task.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, oneshot, watch};

use crate::control::{Control, Ends, Request, State};
use crate::error::Error;
use crate::feed::{Feeds, Notifications};
use crate::inbox::Inbox;
use crate::message::{raw, result};
use crate::options::Options;
use crate::protocol::Initialized;
use crate::stream::Follow;
use crate::subscription::Subscription;

/// Requests that wait for the task of the connection.
const REQUESTS: usize = 64;

/// A client of the daemon. It survives any number of reconnects, and its clones share one connection.
///
/// The client has a method for each method of the app protocol, such as [`thread_start`](Self::thread_start). It sends a
/// request at most once, and paces requests by the daemon's limits. Without a connection, or if it breaks before the
/// response, the request fails with an error whose code is `disconnected`. Then only the caller knows whether a retry is safe. It is for
/// `turn_start` with the same `client_turn_id`, and for requests that only read.
///
/// The connection lasts until [`close`](Self::close), or until all clones and subscriptions are dropped. A task of the Tokio runtime
/// holds it. A request whose response has arrived needs neither: a program may end then.
#[derive(Clone)]
pub struct Client {
    requests: mpsc::Sender<Request>,
    control: mpsc::UnboundedSender<Control>,
    state: watch::Receiver<State>,
    feeds: Feeds,
    options: Arc<Options>,
    next_key: Arc<AtomicU64>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("options", &self.options)
            .field("state", &*self.state.borrow())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Connects. Fails if the first attempt does; later the client reconnects by itself.
    pub async fn connect(options: Options) -> Result<Self, Error> {
        let client = Self::start(options);
        let mut state = client.state.clone();
        let found = state.wait_for(|state| !matches!(state, State::Connecting)).await;
        let error = match found.as_deref() {
            Ok(State::Waiting { error, .. } | State::Closed(error)) => Some(error.clone()),
            Ok(_) => None,
            Err(_) => Some(Error::Closed),
        };
        drop(found);
        match error {
            Some(error) => Err(error),
            None => Ok(client),
        }
    }

    /// Returns a client that connects, however long the daemon is absent. Needs a Tokio runtime.
    pub fn start(options: Options) -> Self {
        let options = Arc::new(options);
        let (requests, requests_rx) = mpsc::channel(REQUESTS);
        let (control, control_rx) = mpsc::unbounded_channel();
        let (state_tx, state) = watch::channel(State::Connecting);
        let feeds = Feeds::default();
        let ends = Ends {
            requests: requests_rx,
            control: control_rx,
            state: state_tx,
            feeds: feeds.clone(),
        };
        tokio::spawn(crate::driver::run(Arc::clone(&options), ends));
        Self {
            requests,
            control,
            state,
            feeds,
            options,
            next_key: Arc::new(AtomicU64::new(0)),
        }
    }

    /// Waits for a connection. Fails once the client is closed for good.
    pub async fn ready(&self) -> Result<Arc<Initialized>, Error> {
        let mut state = self.state.clone();
        let found = state
            .wait_for(|state| matches!(state, State::Open(_) | State::Closed(_)))
            .await;
        match found.as_deref() {
            Ok(State::Open(server)) => Ok(Arc::clone(server)),
            Ok(State::Closed(error)) => Err(error.clone()),
            _ => Err(Error::Closed),
        }
    }

    /// Returns the state of the connection, and its changes.
    pub fn state(&self) -> watch::Receiver<State> {
        self.state.clone()
    }

    /// Sends a request of any method, for methods that this version of the crate does not have.
    pub async fn call<P, R>(&self, method: &str, params: &P) -> Result<R, Error>
    where
        P: Serialize + Sync + ?Sized,
        R: DeserializeOwned,
    {
        let (done, outcome) = oneshot::channel();
        let request = Request {
            method: method.to_owned(),
            params: raw(method, params)?,
            done,
        };
        self.requests.send(request).await.map_err(|_| self.ended())?;
        let answer = outcome.await.map_err(|_| self.ended())??;
        result(method, &answer)
    }

    /// Subscribes to a thread: every event after [`Follow::after`], once and in order, whatever happens to the connection.
    /// Waits for the daemon's first response, also over several connections; [`state`](Self::state) tells whether there is one. Fails
    /// if the daemon refuses the first request, also with an error that [may pass](Error::is_retryable). A client has one subscription
    /// for each thread.
    pub async fn follow(&self, thread_id: &str, follow: Follow) -> Result<Subscription, Error> {
        let key = self.next_key.fetch_add(1, Ordering::Relaxed);
        let (first, outcome) = oneshot::channel();
        let inbox = Arc::new(Inbox::new(self.options.room));
        let cursor = follow.after;
        let control = Control::Follow {
            key,
            thread_id: thread_id.to_owned(),
            follow,
            inbox: Arc::clone(&inbox),
            first,
        };
        self.control.send(control).map_err(|_| self.ended())?;
        // From now on, dropping it ends it: the caller may stop waiting.
        let pending = Subscription::pending(key, thread_id, cursor, inbox, self.control.clone());
        let resumed = outcome.await.map_err(|_| self.ended())??;
        Ok(pending.begun(resumed))
    }

    /// Returns the notifications that belong to no subscription of this client: changes of the thread list after
    /// [`thread_list_watch`](Self::thread_list_watch), and events of threads that it has started but does not follow.
    pub fn notifications(&self) -> Notifications {
        self.feeds.add(self.options.room)
    }

    /// Closes the client and its clones. Pending requests fail with [`Error::Closed`], and subscriptions end.
    pub fn close(&self) {
        // Without the task, it is closed already.
        let _ = self.control.send(Control::Close);
    }

    fn ended(&self) -> Error {
        match &*self.state.borrow() {
            State::Closed(error) => error.clone(),
            _ => Error::Closed,
        }
    }
}
