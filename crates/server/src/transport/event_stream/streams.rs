//! Routes each message to one of an HTTP connection's streams, and stores it until the reader has received it.
//!
//! In: messages that the editor posts, messages for the editor, and readers. Out: numbered events, to one reader per
//! stream. Owns: recent events, so that a reader can resume after it lost its connection. Never: reads a clock, or starts a
//! task.

use std::collections::{BTreeMap, VecDeque};

use acpd_model::RequestId;
use acpd_proto::surface::acp::thread_and_lane;
use acpd_proto::wire::Message;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Session streams of an HTTP connection of an editor, in addition to the connection's own stream.
const EDITOR_STREAMS: usize = 64;
/// Bytes of messages that an HTTP connection of an editor keeps for readers that are absent or reconnect. Messages that a
/// connected reader has not received yet are kept in addition, up to [`OUTBOX_BYTES`](acpd_model::limits::OUTBOX_BYTES) and one message.
const EDITOR_STREAM_BYTES: usize = 4 << 20;

/// The stream of a session, or of the connection as a whole.
pub type StreamKey = Option<String>;

/// All streams of a connection.
#[derive(Debug, Default)]
pub struct Streams {
    by_key: BTreeMap<StreamKey, Stream>,
    /// The editor's requests without a response, by their ids.
    awaited: BTreeMap<String, PendingRequest>,
    /// The bytes of all stored events.
    bytes: usize,
    /// The bytes that readers have received.
    taken: u64,
    readers: u64,
    closed: bool,
}

#[derive(Debug)]
struct Stream {
    kept: VecDeque<Event>,
    /// The number of the first stored event, or of the next event if none is stored.
    first: u64,
    /// The number of the event that a reader receives next.
    next: u64,
    reader: Option<u64>,
    /// The bytes of the events that the reader has not received.
    unread: usize,
    /// Whether the stream ever had a reader.
    opened: bool,
    /// Whether an event was dropped before any reader received it.
    lost: bool,
    /// Whether its messages go to the connection's stream: the editor loaded the session without a stream for it.
    elsewhere: bool,
}

#[derive(Debug)]
struct Event {
    text: Bytes,
    /// The events of another stream, up to a number, that the editor must receive first.
    behind: Option<(StreamKey, u64)>,
}

#[derive(Debug)]
struct PendingRequest {
    method: String,
    session: Option<String>,
    /// Whether the request named its session in its header.
    headed: bool,
}

/// An error of a stream operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamError {
    /// The stream has a reader.
    Taken,
    /// Events that the reader has not received are not stored any more.
    Gone,
    /// The event number was never used.
    Unknown,
    /// The connection has too many streams.
    TooMany,
    /// The header and the params name different sessions.
    Mismatch,
}

/// The result of reading a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// An event and its number.
    Event(u64, Bytes),
    /// No event is available yet.
    Nothing,
    /// An event is available, but it must follow an event that another reader has just received. The reader retries after
    /// that was sent.
    Soon,
    /// The stream has ended.
    End,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct MessageIds {
    session_id: Option<String>,
    request_id: Option<RequestId>,
}

fn names(params: Option<&RawValue>) -> MessageIds {
    params
        .and_then(|params| serde_json::from_str(params.get()).ok())
        .unwrap_or_default()
}

/// Returns the name of a session's stream. What a subagent does is on the stream of its thread: editors open none for it.
fn stream_of(session: String) -> String {
    match thread_and_lane(&session) {
        (thread, Some(_)) => thread.to_owned(),
        (_, None) => session,
    }
}

impl Streams {
    /// Records a message that the editor posts, with the session in its header.
    pub fn posted(&mut self, message: &Message<'_>, header: Option<&str>) -> Result<(), StreamError> {
        let (Message::Request { method, params, .. } | Message::Notification { method, params }) = message
        else {
            return Ok(());
        };
        let session = names(*params).session_id.map(stream_of);
        let named = header.map(|header| stream_of(header.to_owned()));
        if let (Some(named), Some(session)) = (&named, &session)
            && named != session
        {
            return Err(StreamError::Mismatch);
        }
        let session = session.or(named);
        let Message::Request { id, .. } = message else {
            return Ok(());
        };
        if let Some(session) = &session
            && ["session/load", "session/resume"].contains(&&**method)
            && let Some(stream) = self.stream(Some(session.clone()))
        {
            stream.elsewhere = header.is_none() && !stream.opened;
        }
        let awaited = PendingRequest {
            method: method.to_string(),
            session,
            headed: header.is_some(),
        };
        self.awaited.insert(id.get().to_owned(), awaited);
        Ok(())
    }

    /// Queues a message for the editor. Returns it if it is the response to `initialize`, which belongs to the pending
    /// request.
    pub fn sent(&mut self, text: Bytes) -> Option<Bytes> {
        let read = std::str::from_utf8(&text)
            .ok()
            .and_then(|text| Message::parse(text).ok());
        let (key, behind) = match read {
            Some(Message::Request { params, .. } | Message::Notification { params, .. }) => {
                let MessageIds {
                    session_id,
                    request_id,
                } = names(params);
                let session = session_id.map(stream_of);
                let session = session.or(request_id.map(|request| request.thread.to_string()));
                (self.route(session), None)
            }
            Some(Message::Response { id, result }) => match self.awaited.remove(id.get()) {
                Some(awaited) if awaited.method == "initialize" => return Some(text),
                // An unknown session may have no stream, so no reader would receive the error there.
                Some(awaited) if result.is_err() && !self.was_read(&awaited.session) => (None, None),
                Some(awaited) => self.route_answer(awaited),
                None => (None, None),
            },
            None => (None, None),
        };
        self.push(key, text, behind);
        None
    }

    /// Returns the stream for the messages of a session.
    fn route(&mut self, session: Option<String>) -> StreamKey {
        let session = session?;
        let stream = self.stream(Some(session.clone()))?;
        (!stream.elsewhere).then_some(session)
    }

    fn route_answer(&mut self, awaited: PendingRequest) -> (StreamKey, Option<(StreamKey, u64)>) {
        let PendingRequest {
            method,
            session,
            headed,
        } = awaited;
        let Some(session) = session else {
            return (None, None);
        };
        let key = self.route(Some(session.clone()));
        let opened = self.was_read(&key);
        let on_session = match method.as_str() {
            "session/load" | "session/fork" => false,
            "session/prompt" => true,
            _ => opened || headed,
        };
        if key.is_none() || on_session {
            return (key, None);
        }
        // Earlier messages of the session come first, although they use another stream.
        let last = self.by_key.get(&key).map_or(0, Stream::last);
        (None, Some((key, last)))
    }

    fn was_read(&self, key: &StreamKey) -> bool {
        self.by_key.get(key).is_some_and(|stream| stream.opened)
    }

    fn stream(&mut self, key: StreamKey) -> Option<&mut Stream> {
        if !self.by_key.contains_key(&key) && self.by_key.len() > EDITOR_STREAMS {
            return None;
        }
        Some(self.by_key.entry(key).or_default())
    }

    fn push(&mut self, key: StreamKey, text: Bytes, behind: Option<(StreamKey, u64)>) {
        self.bytes += text.len();
        let stream = self.by_key.entry(key).or_default();
        stream.unread += text.len();
        stream.kept.push_back(Event { text, behind });
        self.trim();
    }

    /// Drops the oldest events while the limit is exceeded. Events that a reader has received go first, then events of
    /// streams without a reader. Events that a connected reader has yet to receive stay.
    fn trim(&mut self) {
        while self.bytes > EDITOR_STREAM_BYTES {
            let is_had = |stream: &&mut Stream| stream.first < stream.next && !stream.kept.is_empty();
            let is_unread = |stream: &&mut Stream| stream.reader.is_none() && !stream.kept.is_empty();
            let longest = |stream: &&mut Stream| stream.kept.len();
            let had = self.by_key.values_mut().filter(is_had).max_by_key(longest);
            let stream = match had {
                Some(stream) => stream,
                None => match self.by_key.values_mut().filter(is_unread).max_by_key(longest) {
                    Some(stream) => stream,
                    None => return,
                },
            };
            let dropped = stream.kept.pop_front().map_or(0, |event| event.text.len());
            self.bytes -= dropped;
            stream.first += 1;
            if stream.first > stream.next {
                stream.next = stream.first;
                stream.unread -= dropped;
                stream.lost = true;
            }
        }
    }

    /// Returns the bytes that connected readers have not received.
    pub fn backlog(&self) -> usize {
        let read = self.by_key.values().filter(|stream| stream.reader.is_some());
        read.map(|stream| stream.unread).sum()
    }

    /// Returns the bytes that readers have received.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Disconnects the readers that have not received all events.
    pub fn drop_readers(&mut self) {
        for stream in self.by_key.values_mut() {
            if stream.next <= stream.last() {
                stream.reader = None;
            }
        }
        self.trim();
    }

    /// Connects a reader, and returns its number. `after` is the last event that it received, if any.
    pub fn open(&mut self, key: StreamKey, after: Option<u64>) -> Result<u64, StreamError> {
        self.readers += 1;
        let reader = self.readers;
        let stream = self.stream(key).ok_or(StreamError::TooMany)?;
        // A reader that resumes after an event has lost its connection, whether or not the daemon has noticed.
        if after.is_none() && stream.reader.is_some() {
            return Err(StreamError::Taken);
        }
        if after.is_some_and(|after| after > stream.last()) {
            return Err(StreamError::Unknown);
        }
        let next = after.map_or(stream.next, |after| after + 1);
        let lost = std::mem::take(&mut stream.lost);
        if next < stream.first || after.is_none() && lost {
            // The error is reported once. If the editor then loads the session without a number, the reader receives the
            // stored events.
            stream.go_to(stream.first);
            return Err(StreamError::Gone);
        }
        stream.go_to(next);
        (stream.reader, stream.opened, stream.elsewhere) = (Some(reader), true, false);
        Ok(reader)
    }

    /// Returns the next event for the reader of a stream. `settled` means that the events of other readers were sent.
    pub fn take(&mut self, key: &StreamKey, reader: u64, settled: bool) -> ReadOutcome {
        let Some(stream) = self
            .by_key
            .get(key)
            .filter(|stream| stream.reader == Some(reader))
        else {
            return ReadOutcome::End;
        };
        let at = usize::try_from(stream.next - stream.first).unwrap_or(usize::MAX);
        let Some(event) = stream.kept.get(at) else {
            return if self.closed {
                ReadOutcome::End
            } else {
                ReadOutcome::Nothing
            };
        };
        if let Some((other, until)) = &event.behind {
            let other = self.by_key.get(other);
            if let Some(other) = other.filter(|other| other.reader.is_some()) {
                if other.next <= *until {
                    return ReadOutcome::Nothing;
                }
                if !settled {
                    return ReadOutcome::Soon;
                }
            }
        }
        let text = event.text.clone();
        let number = stream.next;
        if let Some(stream) = self.by_key.get_mut(key) {
            stream.next += 1;
            stream.unread -= text.len();
        }
        self.taken += text.len() as u64;
        self.trim();
        ReadOutcome::Event(number, text)
    }

    /// Disconnects a reader.
    pub fn left(&mut self, key: &StreamKey, reader: u64) {
        if let Some(stream) = self
            .by_key
            .get_mut(key)
            .filter(|stream| stream.reader == Some(reader))
        {
            stream.reader = None;
        }
        self.trim();
    }

    /// Returns whether any stream has a reader.
    pub fn has_readers(&self) -> bool {
        self.by_key.values().any(|stream| stream.reader.is_some())
    }

    /// Closes all streams.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Returns whether the streams are closed.
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}

impl Default for Stream {
    fn default() -> Self {
        Self {
            kept: VecDeque::new(),
            first: 1,
            next: 1,
            reader: None,
            unread: 0,
            opened: false,
            lost: false,
            elsewhere: false,
        }
    }
}

impl Stream {
    /// Returns the number of the last event.
    fn last(&self) -> u64 {
        self.first + self.kept.len() as u64 - 1
    }

    /// Continues with event `next`, which is stored or follows the last one.
    fn go_to(&mut self, next: u64) {
        let had = usize::try_from(next - self.first).unwrap_or(usize::MAX);
        self.next = next;
        self.unread = self.kept.iter().skip(had).map(|event| event.text.len()).sum();
    }
}

#[cfg(test)]
mod tests;
