//! Which of an HTTP connection's streams a message goes to, and what is kept of it until its reader has it.
//!
//! In: what the editor posts, what is sent to it, readers that come and go. Out: numbered events, one reader a stream.
//! Owns: the events of the last while, so that a reader that lost its connection goes on where it was. A machine: no
//! clock, no tasks.

use std::collections::{BTreeMap, VecDeque};

use acpd_model::RequestId;
use acpd_model::limits::{EDITOR_STREAM_BYTES, EDITOR_STREAMS};
use acpd_proto::wire::Message;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A stream: that of a session, or of the connection as a whole.
pub type StreamKey = Option<String>;

/// All streams of a connection.
#[derive(Debug, Default)]
pub struct Streams {
    by_key: BTreeMap<StreamKey, Stream>,
    /// The editor's requests that are not answered, by their ids.
    awaited: BTreeMap<String, PendingRequest>,
    /// Bytes of all events that are kept.
    bytes: usize,
    /// Bytes that were handed to readers so far.
    taken: u64,
    readers: u64,
    closed: bool,
}

#[derive(Debug)]
struct Stream {
    kept: VecDeque<Event>,
    /// The number of the first that is kept, or of the next one.
    first: u64,
    /// The number of the one that a reader gets next.
    next: u64,
    reader: Option<u64>,
    /// Bytes of the events from that on.
    unread: usize,
    /// Whether it ever had a reader.
    opened: bool,
    /// Whether something was dropped that no reader had.
    lost: bool,
    /// Whether its messages go to the connection's stream: the editor loaded the session without a stream for it.
    elsewhere: bool,
}

#[derive(Debug)]
struct Event {
    text: Bytes,
    /// What an editor is to have before: events of another stream, up to a number.
    behind: Option<(StreamKey, u64)>,
}

#[derive(Debug)]
struct PendingRequest {
    method: String,
    session: Option<String>,
    /// Whether the request named its session in its head.
    headed: bool,
}

/// Why something is not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamError {
    /// The stream has a reader.
    Taken,
    /// What the reader has not had is not kept any more.
    Gone,
    /// There never was an event of that number.
    Unknown,
    /// There are too many streams.
    TooMany,
    /// Head and params name two sessions.
    Mismatch,
}

/// What a reader gets.
#[derive(Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// An event, with its number.
    Event(u64, Bytes),
    /// Nothing yet.
    Nothing,
    /// One that comes behind what another stream's reader has just been handed: once that has left.
    Soon,
    /// Nothing any more.
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

impl Streams {
    /// The editor posts a message, with the session that its head names.
    pub fn posted(&mut self, message: &Message<'_>, header: Option<&str>) -> Result<(), StreamError> {
        let (Message::Request { method, params, .. } | Message::Notification { method, params }) = message
        else {
            return Ok(());
        };
        let session = names(*params).session_id;
        if let (Some(header), Some(session)) = (header, &session)
            && header != session
        {
            return Err(StreamError::Mismatch);
        }
        let session = session.or(header.map(str::to_owned));
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

    /// A message for the editor; given back if it is the answer to `initialize`, which goes to whoever posted that.
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
                let session = session_id.or(request_id.map(|request| request.thread.to_string()));
                (self.route(session), None)
            }
            Some(Message::Response { id, result }) => match self.awaited.remove(id.get()) {
                Some(awaited) if awaited.method == "initialize" => return Some(text),
                // There may be no such session, and then nobody reads its stream.
                Some(awaited) if result.is_err() && !self.was_read(&awaited.session) => (None, None),
                Some(awaited) => self.route_answer(awaited),
                None => (None, None),
            },
            None => (None, None),
        };
        self.push(key, text, behind);
        None
    }

    /// Where a session's messages go.
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
        // What was told of the session comes first, though by another stream.
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

    /// Drops the oldest events while there are too many: first of those that a reader has had, then of those that nobody
    /// reads. Those that a reader is about to get stay.
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

    /// Bytes that wait for readers that are there.
    pub fn backlog(&self) -> usize {
        let read = self.by_key.values().filter(|stream| stream.reader.is_some());
        read.map(|stream| stream.unread).sum()
    }

    /// Bytes that were handed to readers so far.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Readers that have not taken what is there count as gone.
    pub fn drop_readers(&mut self) {
        for stream in self.by_key.values_mut() {
            if stream.next <= stream.last() {
                stream.reader = None;
            }
        }
        self.trim();
    }

    /// A reader comes; `after` is the last event that it has had, if it has had one. Answers its number.
    pub fn open(&mut self, key: StreamKey, after: Option<u64>) -> Result<u64, StreamError> {
        self.readers += 1;
        let reader = self.readers;
        let stream = self.stream(key).ok_or(StreamError::TooMany)?;
        // One that goes on after an event has lost its connection, whether that was noticed here or not.
        if after.is_none() && stream.reader.is_some() {
            return Err(StreamError::Taken);
        }
        if after.is_some_and(|after| after > stream.last()) {
            return Err(StreamError::Unknown);
        }
        let next = after.map_or(stream.next, |after| after + 1);
        let lost = std::mem::take(&mut stream.lost);
        if next < stream.first || after.is_none() && lost {
            // Told once: who then comes without a number, to load the session, goes on with what is there.
            stream.go_to(stream.first);
            return Err(StreamError::Gone);
        }
        stream.go_to(next);
        (stream.reader, stream.opened, stream.elsewhere) = (Some(reader), true, false);
        Ok(reader)
    }

    /// What the reader of a stream gets next. `settled`: what other readers were handed has left.
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

    /// A reader has gone.
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

    /// Whether anybody reads.
    pub fn has_readers(&self) -> bool {
        self.by_key.values().any(|stream| stream.reader.is_some())
    }

    /// Nothing more is sent.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Whether nothing more is sent.
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
    /// The number of the last event.
    fn last(&self) -> u64 {
        self.first + self.kept.len() as u64 - 1
    }

    /// A reader goes on with event `next`, which is kept, or the one after the last.
    fn go_to(&mut self, next: u64) {
        let had = usize::try_from(next - self.first).unwrap_or(usize::MAX);
        self.next = next;
        self.unread = self.kept.iter().skip(had).map(|event| event.text.len()).sum();
    }
}

#[cfg(test)]
mod tests;
