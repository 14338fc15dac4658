//! The limits of one connection's requests, and the outcomes of the requests for the metrics. They are the same for every
//! protocol.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use acpd_model::{ErrorCode, Failure, Limits, ThreadId};

use crate::time::Instant;

/// Represents every unknown method, and messages that are not requests.
pub const UNKNOWN_METHOD: &str = "unknown";

/// Represents a response to one of the daemon's own requests.
pub const ANSWER: &str = "answer";

/// Creates the id of a new thread.
pub type NewThread = Arc<dyn Fn() -> ThreadId + Send + Sync>;

/// A request in progress. It must be answered once, and then [ended](Gate::end).
#[derive(Debug)]
#[must_use = "a request in progress must be answered and ended"]
pub(super) struct Token {
    method: &'static str,
    since: Option<Instant>,
    /// The client's id of the request, if it has one on this connection.
    id: Option<Box<str>>,
}

impl Token {
    /// Returns the name of the method.
    pub(super) fn method(&self) -> &'static str {
        self.method
    }
}

/// The outcome of a client's request, without its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handled {
    /// The method, or [`UNKNOWN_METHOD`], or [`ANSWER`].
    pub method: &'static str,
    /// The error, if the request failed.
    pub error: Option<ErrorCode>,
    /// When the request arrived, if it was in progress for a time.
    pub since: Option<Instant>,
}

/// Admits the requests of one connection, and counts their outcomes.
pub struct Gate {
    limits: Arc<Limits>,
    new_thread: NewThread,
    /// When the requests of the current window arrived.
    recent: VecDeque<Instant>,
    in_progress: usize,
    /// The client's ids of requests in progress.
    ids: BTreeSet<Box<str>>,
    handled: Vec<Handled>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Gate")
            .field("in_progress", &self.in_progress)
            .finish_non_exhaustive()
    }
}

impl Gate {
    /// Creates the gate of a connection that has made no request yet.
    pub fn new(limits: Arc<Limits>, new_thread: NewThread) -> Self {
        Self {
            limits,
            new_thread,
            recent: VecDeque::new(),
            in_progress: 0,
            ids: BTreeSet::new(),
            handled: Vec::new(),
        }
    }

    /// Returns the limits of the daemon.
    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns an id for a new thread.
    pub(super) fn thread_id(&self) -> ThreadId {
        (self.new_thread)()
    }

    /// Counts a request that arrived, and fails if the connection sends too many in a short time.
    pub(super) fn admit(&mut self, now: Instant) -> Result<(), Failure> {
        let Limits {
            requests_per_window: most,
            request_window_secs: secs,
            ..
        } = *self.limits;
        let window = Duration::from_secs(secs);
        while self.recent.front().is_some_and(|at| *at + window <= now) {
            self.recent.pop_front();
        }
        if self.recent.len() >= most as usize {
            let message = format!("more than {most} requests in {secs} s on this connection");
            return Err(Failure::new(ErrorCode::RateLimited, message));
        }
        self.recent.push_back(now);
        Ok(())
    }

    /// Starts a request with the client's id, and fails if too many are in progress, or one with this id: its answer could not be
    /// distinguished from the other one.
    pub(super) fn begin(&mut self, method: &'static str, id: Option<&str>) -> Result<Token, Failure> {
        if let Some(id) = id.filter(|id| self.ids.contains(*id)) {
            let message = format!(
                "a request with the id {id} is in progress on this connection: use another id for each"
            );
            return Err(Failure::new(ErrorCode::InvalidRequest, message));
        }
        let most = self.limits.requests_in_flight;
        if self.in_progress >= most {
            let message = format!("too many requests in flight on this connection (limit {most})");
            return Err(Failure::new(ErrorCode::Overloaded, message));
        }
        // It was admitted just before.
        let since = self.recent.back().copied();
        let id = id.map(Box::from);
        self.ids.extend(id.clone());
        Ok(Token {
            since,
            id,
            ..self.adopt(method)
        })
    }

    /// Starts a request that an earlier connection of the client has sent.
    pub(super) fn adopt(&mut self, method: &'static str) -> Token {
        self.in_progress += 1;
        Token {
            method,
            since: None,
            id: None,
        }
    }

    /// Ends a request that was answered.
    pub(super) fn end(&mut self, Token { method, since, id }: Token, error: Option<ErrorCode>) {
        if let Some(id) = id {
            self.ids.remove(&id);
        }
        self.in_progress = self.in_progress.saturating_sub(1);
        self.handled.push(Handled { method, error, since });
    }

    /// Counts a request that was answered without a token.
    pub(super) fn count(&mut self, method: &'static str, error: Option<ErrorCode>) {
        self.handled.push(Handled {
            method,
            error,
            since: None,
        });
    }

    /// Returns the outcomes since the last call.
    pub fn take_handled(&mut self) -> Vec<Handled> {
        std::mem::take(&mut self.handled)
    }

    /// Returns the number of requests in progress.
    pub fn in_progress(&self) -> usize {
        self.in_progress
    }
}
