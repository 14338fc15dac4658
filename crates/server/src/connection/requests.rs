//! The requests of one connection. Those about one thread begin in their order; those about different threads run side by
//! side, so that a thread that takes long to load delays no other.
//!
//! In: requests. Out: the next request that may begin, and the results of those that have begun. Owns: the order. Never:
//! waits.

use std::collections::{BTreeMap, VecDeque};

use acpd_model::collections::free_if_empty;
use acpd_model::limits::UNREAD_ANSWERS;
use acpd_model::{Failure, ThreadId};
use acpd_proto::surface::request::{Order, Request};
use acpd_runtime::service::{Dispatched, Response};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;

/// Bytes of an editor's requests that may wait until a prompt before them begins, which needs an editor that reads. An editor that
/// exceeds it, or sends more than [`UNREAD_ANSWERS`] of them, is disconnected.
const EDITOR_HELD_BYTES: usize = 64 << 20;

/// The service's response to a request.
pub type ServiceResult = Result<Response, Failure>;

/// A request that has not begun.
#[derive(Debug)]
pub struct Queued {
    /// Identifies the reply.
    pub call: u64,
    /// The request.
    pub request: Box<Request>,
    /// The number of the message that must have been sent before the request begins; 0 if there is none.
    pub after: u64,
    /// The size of the client's message, in bytes.
    pub bytes: usize,
}

/// A step of a request.
#[derive(Debug)]
pub enum RequestStep {
    /// The part that has an order is over. The next request of the same order may begin.
    Begun {
        /// The thread whose order the request has.
        order: Option<ThreadId>,
        /// Identifies the reply.
        call: u64,
        /// The rest of the request.
        dispatched: Dispatched,
    },
    /// The request is over.
    Answered {
        /// Identifies the reply.
        call: u64,
        /// The response.
        answer: ServiceResult,
    },
    /// A thread has received a client's answer.
    Delivered,
}

/// Requests in one order.
#[derive(Debug, Default)]
struct Line {
    /// Whether a request is being begun.
    is_beginning: bool,
    waiting: VecDeque<Queued>,
}

/// All requests of a connection.
#[derive(Debug, Default)]
pub struct Requests {
    /// Requests by thread, or without one. A line exists while one of its requests waits or is being begun.
    lines: BTreeMap<Option<ThreadId>, Line>,
    /// Requests without an order.
    free: VecDeque<Queued>,
    running: FuturesUnordered<BoxFuture<'static, RequestStep>>,
    /// The number and size in bytes of all requests that have not begun.
    waiting: usize,
    waiting_bytes: usize,
}

impl Requests {
    /// Adds a request.
    pub fn push(&mut self, queued: Queued) {
        self.waiting += 1;
        self.waiting_bytes += queued.bytes;
        if queued.request.order() == Order::Free {
            return self.free.push_back(queued);
        }
        let waiting = &mut self.lines.entry(queued.request.ordered_by()).or_default().waiting;
        // Such a request concerns earlier work, and does not wait for prompts whose names were not sent.
        let overtakes = matches!(
            *queued.request,
            Request::Interrupt { .. } | Request::Answer { .. }
        );
        let first_held = waiting.iter().position(|waiting| waiting.after > 0);
        match first_held.filter(|_| overtakes) {
            Some(at) => waiting.insert(at, queued),
            None => waiting.push_back(queued),
        }
    }

    /// Returns the next request that may begin. `has_sent` says whether a message was sent.
    pub fn next_ready(&mut self, mut has_sent: impl FnMut(u64) -> bool) -> Option<Queued> {
        if self.waiting == 0 {
            return None;
        }
        let ready = self.free.pop_front().or_else(|| {
            self.lines.values_mut().find_map(|line| {
                let first = line.waiting.front().filter(|_| !line.is_beginning)?;
                if first.after > 0 && !has_sent(first.after) {
                    return None;
                }
                line.is_beginning = true;
                line.waiting.pop_front()
            })
        })?;
        self.waiting -= 1;
        self.waiting_bytes -= ready.bytes;
        Some(ready)
    }

    /// Records that the ordered part of a request is over.
    pub fn begun(&mut self, order: Option<ThreadId>) {
        let Some(line) = self.lines.get_mut(&order) else {
            return;
        };
        line.is_beginning = false;
        if line.waiting.is_empty() {
            self.lines.remove(&order);
        }
        free_if_empty(&mut self.lines);
    }

    /// Returns whether a request with an order is being begun.
    pub fn are_beginning(&self) -> bool {
        self.lines.values().any(|line| line.is_beginning)
    }

    /// Runs a future of a request.
    pub fn run(&mut self, future: BoxFuture<'static, RequestStep>) {
        self.running.push(future);
    }

    /// Waits for the next step; returns `None` at once if nothing runs. Cancel safe.
    pub async fn next(&mut self) -> Option<RequestStep> {
        self.running.next().await
    }

    /// Returns whether the client has sent more requests than the daemon keeps for it.
    pub fn are_too_many(&self) -> bool {
        self.waiting > UNREAD_ANSWERS || self.waiting_bytes > EDITOR_HELD_BYTES
    }
}
