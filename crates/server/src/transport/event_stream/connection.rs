//! One connection over HTTP: the state that its requests share, and the transport for the editor actor.
//!
//! Requests arrive concurrently, so this is the only place where tasks share state under a lock. The lock is held for short
//! lookups, never across an await.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use acpd_proto::wire::Message;
use bytes::Bytes;
use futures_util::task::AtomicWaker;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use crate::auth::identity::Identity;
use crate::auth::owner_token::Hash;
use crate::transport::End;
use crate::transport::event_stream::streams::{ReadOutcome, StreamError, StreamKey, Streams};
use crate::transport::{Broken, Stalled, Transport};

/// Connections of editors over HTTP at the same time.
const EDITOR_CONNECTIONS: usize = 128;
/// Seconds until an HTTP connection of an editor ends that has no reader and receives no message.
const EDITOR_IDLE_SECS: u64 = 600;
/// Messages posted to an HTTP connection of an editor that may wait to be processed.
const EDITOR_POSTS: usize = 16;
/// Requests of an HTTP connection that are remembered, so that none is done twice.
const EDITOR_POSTS_KNOWN: usize = 64;
/// Delay between the last message of a session's stream and the response to `session/load`, in milliseconds. The
/// response uses another connection, and editors treat messages after the response as new.
const EDITOR_ORDER_MILLIS: u64 = 30;

/// All HTTP connections by id. Stored as hashes, because the id can be the only credential of an editor.
#[derive(Debug, Clone, Default)]
pub struct Connections(Arc<Mutex<HashMap<Hash, Arc<Connection>>>>);

/// One HTTP connection.
#[derive(Debug)]
pub struct Connection {
    /// The hash of the id.
    id: Hash,
    /// The identity that opened the connection.
    opener: Identity,
    inbox: mpsc::Sender<String>,
    state: Mutex<State>,
    /// Wakes readers.
    changed: watch::Sender<()>,
    /// Wakes the task of the connection.
    transport: AtomicWaker,
}

#[derive(Debug)]
struct State {
    streams: Streams,
    /// The request that waits for the response to `initialize`.
    hello: Option<oneshot::Sender<Bytes>>,
    /// The time of the latest request.
    used: Instant,
    /// The latest requests of the editor, with their ids.
    posted: VecDeque<Hash>,
}

impl State {
    /// Records a message that the editor posts, and the hash of a request. Returns `false` for a request that is known.
    fn accept(
        &mut self,
        message: &Message<'_>,
        session: Option<&str>,
        request: Option<Hash>,
    ) -> Result<bool, StreamError> {
        self.used = Instant::now();
        if request.is_some_and(|request| self.posted.contains(&request)) {
            return Ok(false);
        }
        self.streams.posted(message, session)?;
        if let Some(request) = request {
            if self.posted.len() >= EDITOR_POSTS_KNOWN {
                self.posted.pop_front();
            }
            self.posted.push_back(request);
        }
        Ok(true)
    }
}

/// Locks a mutex, even if a task panicked while it held the lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connections {
    /// Opens a connection with this `id`. Returns it, the transport for the editor actor, and the response to its
    /// `initialize`. Returns `None` at the limit of connections.
    pub fn open(
        &self,
        id: &str,
        opener: Identity,
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
                posted: VecDeque::new(),
            }),
            changed: watch::channel(()).0,
            transport: AtomicWaker::new(),
        });
        all.insert(connection.id, Arc::clone(&connection));
        let exchange = HttpTransport {
            connections: self.clone(),
            connection: Arc::clone(&connection),
            messages,
            idle: Box::pin(sleep_until(Instant::now())),
            queued: 0,
        };
        Some((connection, exchange, said))
    }

    /// Returns the connection with this id, if it belongs to this principal.
    pub fn find(&self, id: &str, principal: &str) -> Option<Arc<Connection>> {
        let found = lock(&self.0).get(&Hash::of(id)).cloned();
        found.filter(|connection| *connection.opener.principal == *principal)
    }

    /// Returns the identity that opened the connection with this id, if it used a ticket.
    pub fn opened_by_ticket(&self, id: &str) -> Option<Identity> {
        let all = lock(&self.0);
        let opener = &all.get(&Hash::of(id))?.opener;
        opener.by_ticket.then(|| opener.clone())
    }

    /// Removes a connection from the list.
    pub fn remove(&self, connection: &Connection) {
        lock(&self.0).remove(&connection.id);
    }
}

impl Connection {
    /// Runs `act` on the connection's streams, and wakes all tasks that wait for them.
    pub fn with<R>(&self, act: impl FnOnce(&mut Streams) -> R) -> R {
        let done = {
            let mut state = lock(&self.state);
            state.used = Instant::now();
            act(&mut state.streams)
        };
        self.notify();
        done
    }

    /// Wakes the readers and the task of the connection.
    fn notify(&self) {
        self.changed.send_replace(());
        self.transport.wake();
    }

    /// Passes a message of the editor on, with the session in its header. Drops a request that the editor has sent before with the
    /// same id: a client or a proxy that did not see the answer to its POST sends it again. Returns `false` if the connection has
    /// ended.
    pub async fn accept(
        &self,
        message: &Message<'_>,
        session: Option<&str>,
        text: String,
    ) -> Result<bool, StreamError> {
        let request = matches!(message, Message::Request { .. }).then(|| Hash::of(&text));
        // From here on nothing waits: a request is remembered only if it is passed on.
        let Ok(place) = self.inbox.reserve().await else {
            return Ok(false);
        };
        let accepted = lock(&self.state).accept(message, session, request);
        self.notify();
        if accepted? {
            place.send(text);
        }
        Ok(true)
    }

    /// Passes a message of the editor on. Returns `false` if the connection has ended.
    pub async fn post(&self, text: String) -> bool {
        self.inbox.send(text).await.is_ok()
    }

    /// Ends the connection.
    pub fn end(&self) {
        self.with(Streams::close);
    }

    /// Returns when the connection ends without further requests, or `None` while it has a reader.
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
    messages: mpsc::Receiver<String>,
    /// Ends when the connection has been unused for too long.
    idle: Pin<Box<Sleep>>,
    queued: u64,
}

impl Transport for HttpTransport {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<String>, Broken>> {
        self.connection.transport.register(cx.waker());
        if lock(&self.connection.state).streams.is_closed() {
            // Messages that were already accepted are still processed.
            self.messages.close();
        }
        if let Poll::Ready(message) = self.messages.poll_recv(cx) {
            return Poll::Ready(Ok(message));
        }
        let Some(end) = self.connection.idle_end() else {
            return Poll::Pending;
        };
        if self.idle.deadline() != end {
            self.idle.as_mut().reset(end);
        }
        ready!(self.idle.as_mut().poll(cx));
        Poll::Ready(Ok(None))
    }

    fn queue(&mut self, text: Bytes) -> u64 {
        let hello = {
            let mut state = lock(&self.connection.state);
            let hello = state.streams.sent(text);
            hello.and_then(|text| Some((state.hello.take()?, text)))
        };
        self.connection.changed.send_replace(());
        if let Some((waiting, text)) = hello {
            // The client may have cancelled its request.
            let _ = waiting.send(text);
        }
        self.queued += 1;
        self.queued
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        self.connection.transport.register(cx.waker());
        if self.backlog() == 0 {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }

    fn backlog(&self) -> usize {
        lock(&self.connection.state).streams.backlog()
    }

    /// Counts messages that wait for a reader, which may connect later or never.
    fn sent(&self) -> u64 {
        self.queued
    }

    fn taken(&self) -> u64 {
        lock(&self.connection.state).streams.taken()
    }

    fn stalled(&mut self) -> Stalled {
        lock(&self.connection.state).streams.drop_readers();
        self.connection.changed.send_replace(());
        Stalled::GoOn
    }

    fn close(&mut self, _why: End) {
        self.connection.end();
    }
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        self.connections.remove(&self.connection);
        self.connection.end();
    }
}

/// A reader of one stream.
pub struct StreamReader {
    connection: Arc<Connection>,
    key: StreamKey,
    number: u64,
    changed: watch::Receiver<()>,
}

impl StreamReader {
    /// Creates the reader with this `number`.
    pub fn new(connection: Arc<Connection>, key: StreamKey, number: u64) -> Self {
        let changed = connection.changed.subscribe();
        Self {
            connection,
            key,
            number,
            changed,
        }
    }

    /// Returns the next event and its number, or `None` if the stream has ended.
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
                    // Another task may wait for room, or for this event to be sent first.
                    self.connection.notify();
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
    use acpd_model::Limits;
    use acpd_model::limits::OUTBOX_BYTES;
    use acpd_proto::time::Now;

    use tokio::time::timeout;

    use super::*;
    use crate::auth::owner_token::Token;
    use crate::auth::sessions::Sessions;
    use crate::auth::shares::Shares;
    use crate::auth::store::AuthStore;
    use crate::connection::channel::{Channel, ChannelEvent};

    fn open() -> (Arc<Connection>, HttpTransport) {
        let all = Connections::default();
        let token = Token::given("a-token-of-some-length").unwrap();
        let now = Now {
            mono: Duration::ZERO,
            wall: 0,
        };
        let opener = AuthStore::new(&token, Vec::new(), Shares::default(), Sessions::default(), now).owner();
        let (connection, exchange, _hello) = all.open("id", opener).unwrap();
        (connection, exchange)
    }

    #[tokio::test]
    async fn messages_accepted_before_the_end_are_handled() {
        let (connection, mut exchange) = open();
        assert!(connection.post("one".into()).await && connection.post("two".into()).await);
        connection.end();
        for expected in [Some("one"), Some("two"), None] {
            let received = std::future::poll_fn(|cx| exchange.poll_receive(cx)).await;
            assert_eq!(received.unwrap().as_deref(), expected);
        }
    }

    #[tokio::test]
    async fn a_request_is_known_once_it_was_accepted() {
        let (connection, mut exchange) = open();
        let request = r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"a"}}"#;
        let message = Message::parse(request).unwrap();
        let refused = connection.accept(&message, Some("b"), request.into()).await;
        assert!(matches!(refused, Err(StreamError::Mismatch)));
        for _ in 0..2 {
            let accepted = connection.accept(&message, Some("a"), request.into()).await;
            assert!(matches!(accepted, Ok(true)));
        }
        connection.end();
        for expected in [Some(request), None] {
            let received = std::future::poll_fn(|cx| exchange.poll_receive(cx)).await;
            assert_eq!(received.unwrap().as_deref(), expected);
        }
    }

    #[tokio::test]
    async fn a_reader_that_takes_nothing_holds_no_post_up_and_makes_room_for_another() {
        let (connection, exchange) = open();
        let limits = Limits {
            write_secs: 1,
            ..Limits::default()
        };
        let mut channel = Channel::new(Box::new(exchange), &limits);
        let stuck = connection.with(|streams| streams.open(None, None)).unwrap();
        let mut stuck = StreamReader::new(Arc::clone(&connection), None, stuck);
        let mut messages = 0;
        while channel.has_room() {
            channel.queue(Bytes::from(format!("\"{}\"", "x".repeat(OUTBOX_BYTES / 8))));
            messages += 1;
        }
        assert!(connection.post("stop".into()).await);
        let soon = Duration::from_secs(20);
        let mut happened = Vec::new();
        for _ in 0..2 {
            happened.push(timeout(soon, channel.next()).await.expect("something happens"));
        }
        // The posted message arrives first. Then the reader counts as disconnected.
        let posted = ChannelEvent::Received("stop".to_owned());
        assert_eq!(happened, [Ok(posted), Ok(ChannelEvent::Written)]);
        assert_eq!(stuck.next().await, None);
        let other = connection.with(|streams| streams.open(None, Some(0))).unwrap();
        let mut other = StreamReader::new(Arc::clone(&connection), None, other);
        for number in 1..=messages {
            let event = timeout(soon, other.next()).await.expect("it is there");
            assert_eq!(event.map(|(number, _)| number), Some(number));
        }
    }
}
