//! The task that holds the connection: connects, waits, and connects again, until the client is closed or a retry is
//! pointless.
//!
//! In: requests and subscriptions of the program, and messages of the daemon. Out: responses, and events in the buffers of
//! their readers. Owns: the connection, and what waits for a response. Never: sends a request twice, except those that subscribe.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use crate::control::{Control, Ends, Request, State};
use crate::error::Error;
use crate::message::{Incoming, request, result};
use crate::options::Options;
use crate::pace::Pace;
use crate::protocol::{Initialized, NoParams, Notification, ThreadResumed, ThreadUnsubscribeParams};
use crate::received::Received;
use crate::socket::Socket;
use crate::stream::{Stream, Wanted};

/// After a connection that lasted this long, the next attempt follows soon.
const STABLE: Duration = Duration::from_secs(5);

/// Requests that wait for the daemon's rate. Further ones wait in the channel, and then in their callers.
const QUEUED: usize = 256;

const WATCH: &str = "thread/list/watch";
const UNWATCH: &str = "thread/list/unwatch";

/// The client was closed on purpose.
struct Closed;

/// Runs a client to its end.
pub(crate) async fn run(options: Arc<Options>, ends: Ends) {
    let mut driver = Driver {
        options,
        ends,
        streams: HashMap::new(),
        watches_list: false,
        is_first: true,
    };
    let end = driver.connections().await.ok();
    for stream in driver.streams.values_mut() {
        stream.end(end.clone());
    }
    driver.ends.feeds.end(end.as_ref());
    let end = end.unwrap_or(Error::Closed);
    driver.ends.state.send_replace(State::Closed(end.clone()));
    // Callers that are waiting learn why.
    driver.ends.requests.close();
    while let Ok(request) = driver.ends.requests.try_recv() {
        answer(request.done, Err(end.clone()));
    }
    driver.ends.control.close();
    while let Ok(control) = driver.ends.control.try_recv() {
        if let Control::Follow { first, .. } = control {
            answer(first, Err(end.clone()));
        }
    }
}

/// What happens with the response to a request.
enum Purpose {
    Call(oneshot::Sender<Result<Box<RawValue>, Error>>),
    Resume {
        key: u64,
        thread_id: String,
    },
    /// The response changes nothing.
    Quiet,
}

/// A request on its way.
struct Outgoing {
    id: u64,
    method: String,
    text: String,
    purpose: Purpose,
}

/// A request without a response.
struct Waiting {
    method: String,
    purpose: Purpose,
}

/// One connection.
struct Open {
    limit: u64,
    pace: Pace,
    next_id: u64,
    queue: VecDeque<Outgoing>,
    waiting: HashMap<u64, Waiting>,
}

struct Driver {
    options: Arc<Options>,
    ends: Ends,
    streams: HashMap<String, Stream>,
    /// Whether the program watches the thread list, which ends with each connection.
    watches_list: bool,
    is_first: bool,
}

impl Driver {
    /// Returns why a retry is pointless.
    async fn connections(&mut self) -> Result<Error, Closed> {
        let mut attempts = 0;
        loop {
            self.ends.state.send_replace(State::Connecting);
            let options = Arc::clone(&self.options);
            let opened = self
                .meanwhile(async move { Socket::open(&options).await })
                .await?;
            let error = match opened {
                Ok((socket, server)) => {
                    let opened_at = Instant::now();
                    let error = self.serve(socket, server).await?;
                    if opened_at.elapsed() >= STABLE {
                        attempts = 0;
                    }
                    error
                }
                Err(error) => error,
            };
            if !error.is_retryable() || !self.options.reconnects {
                return Ok(error);
            }
            let retry_in = self.options.backoff.delay(attempts);
            attempts = attempts.saturating_add(1);
            self.ends.state.send_replace(State::Waiting { retry_in, error });
            self.meanwhile(tokio::time::sleep(retry_in)).await?;
        }
    }

    /// Waits without a connection.
    async fn meanwhile<T>(&mut self, step: impl Future<Output = T>) -> Result<T, Closed> {
        let mut step = std::pin::pin!(step);
        loop {
            tokio::select! {
                done = &mut step => return Ok(done),
                control = self.ends.control.recv() => {
                    self.control(control, None)?;
                }
                Some(request) = self.ends.requests.recv() => {
                    answer(request.done, Err(Error::Disconnected("there is no connection".to_owned())));
                }
            }
        }
    }

    /// Uses a connection; returns why it ended.
    async fn serve(&mut self, socket: Socket, server: Initialized) -> Result<Error, Closed> {
        let mut open = Open {
            limit: server.limits.message_bytes,
            pace: Pace::new(&server.limits),
            next_id: 1,
            queue: VecDeque::new(),
            waiting: HashMap::new(),
        };
        // `initialize` counts.
        open.pace.sent(Instant::now());
        if self.watches_list {
            // The list that the program requests after the gap is then never older than the watch.
            open.quiet(WATCH, &NoParams {});
        }
        if !std::mem::take(&mut self.is_first) {
            self.ends.feeds.gap();
        }
        for stream in self.streams.values_mut() {
            stream.opened();
        }
        self.ends.state.send_replace(State::Open(Arc::new(server)));
        let ended = self.exchange(socket, &mut open).await;
        for stream in self.streams.values_mut() {
            stream.lost();
        }
        let lost = match &ended {
            // The daemon may have executed the requests, so only the caller can decide about a retry.
            Ok(error @ (Error::Disconnected(_) | Error::ClosedByDaemon { .. } | Error::Silent { .. })) => {
                error.clone()
            }
            Ok(error) => Error::Disconnected(error.to_string()),
            Err(Closed) => Error::Closed,
        };
        let queued = open.queue.into_iter().map(|outgoing| outgoing.purpose);
        for purpose in open
            .waiting
            .into_values()
            .map(|waiting| waiting.purpose)
            .chain(queued)
        {
            if let Purpose::Call(done) = purpose {
                answer(done, Err(lost.clone()));
            }
        }
        ended
    }

    async fn exchange(&mut self, mut socket: Socket, open: &mut Open) -> Result<Error, Closed> {
        loop {
            let now = Instant::now();
            self.request_events(open, now);
            if let Err(error) = open.flush(&mut socket, now).await {
                return Ok(error);
            }
            let due = self.streams.values().filter_map(Stream::due).min();
            let wake = due.into_iter().chain(open.opens_at()).min();
            tokio::select! {
                message = socket.next() => {
                    let handled = message.and_then(|text| self.message(open, text));
                    if let Err(error) = handled {
                        return Ok(error);
                    }
                }
                control = self.ends.control.recv() => {
                    if let Err(closed) = self.control(control, Some(open)) {
                        socket.close().await;
                        return Err(closed);
                    }
                }
                Some(request) = self.ends.requests.recv(), if open.queue.len() < QUEUED => {
                    open.accept(request);
                }
                () = sleep_until(wake.unwrap_or(now)), if wake.is_some() => {}
            }
        }
    }

    /// Queues what the subscriptions need.
    fn request_events(&mut self, open: &mut Open, now: Instant) {
        for stream in self.streams.values_mut() {
            while let Some(wanted) = stream.wanted(now) {
                match wanted {
                    Wanted::Resume(params) => {
                        let purpose = Purpose::Resume {
                            key: stream.key,
                            thread_id: stream.thread_id.clone(),
                        };
                        open.enqueue("thread/resume", &params, purpose);
                    }
                    Wanted::Unsubscribe => open.unsubscribe(&stream.thread_id),
                }
            }
        }
    }

    /// Carries out what the program wants of the task.
    fn control(&mut self, control: Option<Control>, open: Option<&mut Open>) -> Result<(), Closed> {
        match control {
            // All handles are gone.
            None | Some(Control::Close) => return Err(Closed),
            Some(Control::Follow {
                key,
                thread_id,
                follow,
                inbox,
                first,
            }) => {
                if self.streams.contains_key(&thread_id) {
                    answer(first, Err(Error::AlreadyFollowed(thread_id)));
                } else {
                    let backoff = self.options.backoff;
                    let stream = Stream::new(key, thread_id.clone(), follow, backoff, inbox, first);
                    self.streams.insert(thread_id, stream);
                }
            }
            Some(Control::Unpaused { key, thread_id }) => {
                if let Some(stream) = self.stream(key, &thread_id) {
                    stream.unpaused();
                }
            }
            Some(Control::Left { key, thread_id }) => {
                if self.stream(key, &thread_id).is_some() {
                    self.streams.remove(&thread_id);
                    // Otherwise the daemon would send events without a reader.
                    if let Some(open) = open {
                        open.unsubscribe(&thread_id);
                    }
                }
            }
        }
        Ok(())
    }

    fn stream(&mut self, key: u64, thread_id: &str) -> Option<&mut Stream> {
        self.streams.get_mut(thread_id).filter(|stream| stream.key == key)
    }

    fn message(&mut self, open: &mut Open, text: String) -> Result<(), Error> {
        let message = Incoming::read(&text).map_err(|error| Error::Disconnected(error.to_string()))?;
        if let Some(method) = &message.method {
            let params = message.params.unwrap_or(RawValue::NULL);
            let notification = Notification::read(method, params);
            let bytes = text.len();
            let text = self.options.texts.then(|| text.into_boxed_str());
            self.notification(Received { notification, text }, bytes);
            return Ok(());
        }
        let waiting = message.request_id().and_then(|id| open.waiting.remove(&id));
        let Some(Waiting { method, purpose }) = waiting else {
            // An error without an id: the daemon could not read a message, and its caller has no response yet.
            return match message.refusal() {
                Some(error) => Err(Error::Disconnected(format!(
                    "the daemon could not read a message: {error}"
                ))),
                None => Ok(()),
            };
        };
        let outcome: Result<&RawValue, Error> = match message.refusal() {
            Some(error) => Err(error),
            None => Ok(message.result.unwrap_or(RawValue::NULL)),
        };
        match purpose {
            Purpose::Call(done) => {
                if outcome.is_ok() && (method == WATCH || method == UNWATCH) {
                    self.watches_list = method == WATCH;
                }
                answer(done, outcome.map(ToOwned::to_owned));
            }
            Purpose::Resume { key, thread_id } => {
                let outcome = outcome.and_then(|text| result::<ThreadResumed>(&method, text));
                let now = Instant::now();
                let has_ended = match (self.stream(key, &thread_id), outcome) {
                    (None, _) => false,
                    (Some(stream), Ok(resumed)) => {
                        stream.resumed(resumed);
                        false
                    }
                    (Some(stream), Err(error)) => stream.refused(error, now),
                };
                if has_ended {
                    self.streams.remove(&thread_id);
                }
            }
            Purpose::Quiet => {}
        }
        Ok(())
    }

    fn notification(&mut self, notification: Received, bytes: usize) {
        // These are news about a thread, and not part of it.
        let is_of_connection = matches!(
            *notification,
            Notification::ThreadListChanged(_)
                | Notification::ThreadListSeen(_)
                | Notification::ThreadLogChanged(_)
                | Notification::ThreadSubscribersChanged(_)
        );
        let thread_id = notification.thread_id().filter(|_| !is_of_connection);
        let Some(stream) = thread_id.and_then(|id| self.streams.get_mut(id)) else {
            self.ends.feeds.push(notification, bytes);
            return;
        };
        if stream.take(notification, bytes, Instant::now()) {
            let thread_id = std::mem::take(&mut stream.thread_id);
            self.streams.remove(&thread_id);
        }
    }
}

impl Open {
    /// Queues a request of the program, if the daemon accepts its size.
    fn accept(&mut self, call: Request) {
        let Request { method, params, done } = call;
        let id = self.next_id();
        let text = match request(id, &method, &params) {
            Ok(text) => text,
            Err(error) => return answer(done, Err(error)),
        };
        let bytes = text.len();
        if u64::try_from(bytes).is_ok_and(|bytes| bytes <= self.limit) {
            let purpose = Purpose::Call(done);
            self.queue.push_back(Outgoing {
                id,
                method,
                text,
                purpose,
            });
        } else {
            let limit = self.limit;
            answer(done, Err(Error::RequestTooLarge { method, bytes, limit }));
        }
    }

    fn next_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    fn quiet<P: serde::Serialize>(&mut self, method: &str, params: &P) {
        self.enqueue(method, params, Purpose::Quiet);
    }

    fn unsubscribe(&mut self, thread_id: &str) {
        let thread_id = thread_id.to_owned();
        self.quiet("thread/unsubscribe", &ThreadUnsubscribeParams { thread_id });
    }

    /// Queues a request of the client itself.
    fn enqueue<P: serde::Serialize>(&mut self, method: &str, params: &P, purpose: Purpose) {
        let id = self.next_id();
        // Params of this crate are objects of texts and numbers, which can be written.
        if let Ok(text) = request(id, method, params) {
            self.queue.push_back(Outgoing {
                id,
                method: method.to_owned(),
                text,
                purpose,
            });
        }
    }

    /// Sends as many requests as the daemon's limits admit.
    async fn flush(&mut self, socket: &mut Socket, now: Instant) -> Result<(), Error> {
        while !self.queue.is_empty() && self.pace.admits(now, self.waiting.len()) {
            let Some(outgoing) = self.queue.pop_front() else {
                return Ok(());
            };
            let Outgoing {
                id,
                method,
                text,
                purpose,
            } = outgoing;
            if matches!(&purpose, Purpose::Call(done) if done.is_closed()) {
                // Its caller does not wait any more, and the daemon has not seen it.
                continue;
            }
            self.waiting.insert(id, Waiting { method, purpose });
            self.pace.sent(now);
            socket.send(text).await?;
        }
        Ok(())
    }

    /// Returns when the next queued request may be sent.
    fn opens_at(&self) -> Option<Instant> {
        if self.queue.is_empty() {
            return None;
        }
        self.pace.opens_at()
    }
}

/// Completes a request. Its caller may not wait any more.
fn answer<T>(done: oneshot::Sender<T>, outcome: T) {
    drop(done.send(outcome));
}
