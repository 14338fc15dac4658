//! Requests to the daemon, each with what is done with its reply.
//!
//! In: a request, and a function that takes its answer. Out: a [`Step`] of what the client asked for. Owns: nothing. Never: leaves it
//! to the function to know whose reply it has.

use std::fmt;

use acpd_model::Failure;

use super::peer::Peer;
use crate::surface::contract::OpenRequest;
use crate::surface::reply::{Call, Reply};
use crate::surface::request::Request;

/// A request to the daemon whose answer is an `A`. [`request!`] makes it.
#[derive(Debug)]
pub(super) struct DaemonRequest<A> {
    request: Request,
    take: fn(Reply) -> Result<A, Failure>,
}

/// Makes a [`DaemonRequest`]. The request is named once, so that its answer has the type of its row.
macro_rules! request {
    ($name:ident $($members:tt)*) => {
        $crate::surface::codex::daemon_request::DaemonRequest::of::<$crate::surface::request::calls::$name>(
            $crate::surface::request::Request::$name $($members)*,
        )
    };
}

pub(super) use request;

/// What is done with the reply to a request.
pub(super) type Then = Box<dyn FnOnce(&mut Peer, OpenRequest, Result<Reply, Failure>) + Send>;

/// One request to the daemon for a request of the client. What is done with its reply responds to the client, or takes the next step.
#[must_use = "without it, the client's request has no response"]
pub(super) struct Step {
    pub request: Request,
    pub then: Then,
}

impl fmt::Debug for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Step").field(&self.request).finish()
    }
}

impl<A: 'static> DaemonRequest<A> {
    /// Creates a request of the kind `C`.
    pub fn of<C: Call<Reply = A>>(request: Request) -> Self {
        let take = C::take;
        Self { request, take }
    }

    /// Does this with the answer. A failure is the response to the client.
    pub fn then(self, with: impl FnOnce(&mut Peer, OpenRequest, A) + Send + 'static) -> Step {
        self.finally(|peer, open, answer| match answer {
            Ok(answer) => with(peer, open, answer),
            Err(failure) => peer.refuse(open, &failure),
        })
    }

    /// Does this with the answer or the failure.
    pub fn finally(
        self,
        with: impl FnOnce(&mut Peer, OpenRequest, Result<A, Failure>) + Send + 'static,
    ) -> Step {
        let (request, answered) = self.split();
        Step {
            request,
            then: Box::new(|peer, open, reply| with(peer, open, answered(reply))),
        }
    }

    /// Returns the request, and what takes the answer out of its reply.
    pub fn split(
        self,
    ) -> (
        Request,
        impl FnOnce(Result<Reply, Failure>) -> Result<A, Failure> + Send,
    ) {
        let Self { request, take } = self;
        (request, move |reply: Result<Reply, Failure>| reply.and_then(take))
    }
}
