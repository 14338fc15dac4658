//! One connection over HTTP: what many requests have in common, and the editor actor's end of it.
//!
//! Requests come side by side, so this is the one place where tasks share something under a lock: the streams, held
//! for as long as it takes to look something up, never across a wait.

use std::collections::HashMap;
use std::io::Result;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use acpd_model::Limits;
use acpd_model::limits::{EDITOR_CONNECTIONS, EDITOR_IDLE_SECS, EDITOR_ORDER_MILLIS, EDITOR_POSTS};
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::auth::owner_token::Hash;
use crate::auth::store::Identity;
use crate::transport::Transport;
use crate::transport::event_stream::streams::{ReadOutcome, StreamKey, Streams};

/// The connections that there are, by their ids. An id may be all that an editor shows, so it is kept as a secret is.
#[derive(Debug, Clone, Default)]
pub struct Connections(Arc<Mutex<HashMap<Hash, Arc<Connection>>>>);

/// One of them.
#[derive(Debug)]
pub struct Connection {
    /// What its id hashes to.
    id: Hash,
    /// Whose it is.
    opener: Identity,
    inbox: mpsc::Sender<String>,
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Debug)]
struct State {
    streams: Streams,
    /// Who waits for the answer to `initialize`.
    hello: Option<oneshot::Sender<Bytes>>,
    /// When somebody last did something.
    used: Instant,
}

/// The lock of whatever a task that failed left as it was.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connections {
    /// A new one of that `id`, the editor actor's end of it, and the answer to its `initialize`; `None` if there are
    /// too many.
    pub fn open(
        &self,
        id: &str,
        opener: Identity,
        limits: &Limits,
    ) -> Option<(Arc<Connection>, HttpTransport, oneshot::Receiver<Bytes>)> {
        let mut all = lock(&self.0);
        if all.len() >= EDITOR_CONNECTIONS {
            return None;
        }
        let (inbox, messages) = mpsc::channel(EDITOR_POSTS);
        let (hello, said) = oneshot::channel();
        let connection = Arc::new(Connection {
            id: Hash::of(id),
            opener,
            inbox,
            state: Mutex::new(State {
                streams: Streams::default(),
                hello: Some(hello),
                used: Instant::now(),
            }),
            changed: watch::channel(()).0,
        });
        all.insert(connection.id, Arc::clone(&connection));
        let exchange = HttpTransport {
            connections: self.clone(),
            changed: connection.changed.subscribe(),
            connection: Arc::clone(&connection),
            messages,
            patience: Duration::from_secs(limits.write_secs),
        };
        Some((connection, exchange, said))
    }

    /// The connection of that id, if it is this principal's.
    pub fn find(&self, id: &str, principal: &str) -> Option<Arc<Connection>> {
        let found = lock(&self.0).get(&Hash::of(id)).cloned();
        found.filter(|connection| *connection.opener.principal == *principal)
    }

    /// Who has opened the connection of that id, if it was by a ticket.
    pub fn opened_by_ticket(&self, id: &str) -> Option<Identity> {
        let all = lock(&self.0);
        let opener = &all.get(&Hash::of(id))?.opener;
        opener.by_ticket.then(|| opener.clone())
    }

    /// Forgets a connection, which is not found any more.
    pub fn remove(&self, connection: &Connection) {
        lock(&self.0).remove(&connection.id);
    }
}

impl Connection {
    /// Does something with its streams. Whoever waits for them looks again.
    pub fn with<R>(&self, act: impl FnOnce(&mut Streams) -> R) -> R {
        let done = {
            let mut state = lock(&self.state);
            state.used = Instant::now();
            act(&mut state.streams)
        };
        self.changed.send_replace(());
        done
    }

    /// Hands a message of the editor on; `false` if the connection has ended.
    pub async fn post(&self, text: String) -> bool {
        self.inbox.send(text).await.is_ok()
    }

    /// Ends it.
    pub fn end(&self) {
        self.with(Streams::close);
    }

    /// When it ends if nobody does anything; never while somebody reads.
    fn idle_end(&self) -> Option<Instant> {
        let state = lock(&self.state);
        let idle = Duration::from_secs(EDITOR_IDLE_SECS);
        (!state.streams.has_readers()).then(|| state.used + idle)
    }
}

/// The editor actor's end of a connection.
pub struct HttpTransport {
    connections: Connections,
    connection: Arc<Connection>,
    changed: watch::Receiver<()>,
    messages: mpsc::Receiver<String>,
    /// How long readers may take nothing of what is there.
    patience: Duration,
}

impl Transport for HttpTransport {
    async fn next(&mut self) -> Result<Option<String>> {
        loop {
            if lock(&self.connection.state).streams.is_closed() {
                // What was accepted before is still done.
                self.messages.close();
                return Ok(self.messages.recv().await);
            }
            let end = self.connection.idle_end();
            let idle = async {
                match end {
                    Some(end) => sleep_until(end).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                message = self.messages.recv() => return Ok(message),
                _ = self.changed.changed() => {}
                () = idle => {
                    if self.connection.idle_end().is_some_and(|end| end <= Instant::now()) {
                        return Ok(None);
                    }
                }
            }
        }
    }

    async fn send(&mut self, text: Bytes) -> Result<()> {
        let hello = {
            let mut state = lock(&self.connection.state);
            let hello = state.streams.sent(text);
            hello.and_then(|text| Some((state.hello.take()?, text)))
        };
        self.connection.changed.send_replace(());
        if let Some((waiting, text)) = hello {
            // Whoever asked may have gone.
            let _ = waiting.send(text);
        }
        let Self {
            connection, changed, ..
        } = self;
        let room = async {
            loop {
                changed.mark_unchanged();
                if !lock(&connection.state).streams.is_full() {
                    return;
                }
                // The sender is ours.
                let _ = changed.changed().await;
            }
        };
        if timeout(self.patience, room).await.is_err() {
            lock(&self.connection.state).streams.drop_readers();
            self.connection.changed.send_replace(());
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    async fn close(&mut self) {
        self.connection.end();
    }
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        self.connections.remove(&self.connection);
        self.connection.end();
    }
}

/// One reader of one stream.
pub struct StreamReader {
    connection: Arc<Connection>,
    key: StreamKey,
    number: u64,
    changed: watch::Receiver<()>,
}

impl StreamReader {
    /// The reader `number` of a stream.
    pub fn new(connection: Arc<Connection>, key: StreamKey, number: u64) -> Self {
        let changed = connection.changed.subscribe();
        Self {
            connection,
            key,
            number,
            changed,
        }
    }

    /// The next event, with its number; `None` if no more come.
    pub async fn next(&mut self) -> Option<(u64, Bytes)> {
        let mut settled = false;
        loop {
            self.changed.mark_unchanged();
            let taken = {
                let mut state = lock(&self.connection.state);
                state.streams.take(&self.key, self.number, settled)
            };
            match taken {
                ReadOutcome::Soon => {
                    sleep(Duration::from_millis(EDITOR_ORDER_MILLIS)).await;
                    settled = true;
                }
                ReadOutcome::Event(number, text) => {
                    // Somebody may wait for room, or for this to have gone first.
                    self.connection.changed.send_replace(());
                    return Some((number, text));
                }
                ReadOutcome::Nothing => self.changed.changed().await.ok()?,
                ReadOutcome::End => return None,
            }
        }
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        let (key, number) = (&self.key, self.number);
        self.connection.with(|streams| streams.left(key, number));
    }
}

#[cfg(test)]
mod tests {
    use acpd_proto::time::Now;

    use super::*;
    use crate::auth::owner_token::Token;
    use crate::auth::sessions::Sessions;
    use crate::auth::store::AuthStore;

    #[tokio::test]
    async fn what_was_accepted_before_the_end_is_still_done() {
        let all = Connections::default();
        let token = Token::given("a-token-of-some-length").unwrap();
        let now = Now {
            mono: Duration::ZERO,
            wall: 0,
        };
        let opener = AuthStore::new(&token, Vec::new(), Sessions::default(), now).owner();
        let (connection, mut exchange, _hello) = all.open("id", opener, &Limits::default()).unwrap();
        assert!(connection.post("one".into()).await && connection.post("two".into()).await);
        connection.end();
        for expected in [Some("one"), Some("two"), None] {
            assert_eq!(exchange.next().await.unwrap().as_deref(), expected);
        }
    }
}
