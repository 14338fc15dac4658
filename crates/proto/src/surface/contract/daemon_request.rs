//! Requests to the daemon, each with what its surface does with the answer.
//!
//! In: a request, and a function that takes its answer. Out: a [`Step`] of what the client asked for. Owns: nothing. Never: leaves it
//! to the function to find out which reply it has.

use std::fmt;

use acpd_model::Failure;

use super::exchange::{OpenRequest, Then};
use crate::surface::reply::{Call, Reply};
use crate::surface::request::Request;

/// A request to the daemon whose answer is an `A`. The macro [`request!`] makes it.
#[derive(Debug)]
pub(in crate::surface) struct DaemonRequest<A> {
    request: Request,
    take: fn(Reply) -> Result<A, Failure>,
}

impl<A> DaemonRequest<A> {
    /// Creates a request of the kind `C`.
    pub fn of<C: Call<Reply = A>>(request: Request) -> Self {
        let take = C::take;
        Self { request, take }
    }
}

/// Makes a [`DaemonRequest`]. The request is named once, so that its answer has the type of its row.
macro_rules! request {
    ($name:ident $($members:tt)*) => {
        $crate::surface::contract::DaemonRequest::of::<$crate::surface::request::calls::$name>(
            $crate::surface::request::Request::$name $($members)*,
        )
    };
}

pub(in crate::surface) use request;

/// What a connection does with the reply to a step, for the request of its client.
type StepThen<P> = Box<dyn FnOnce(&mut P, OpenRequest, Result<Reply, Failure>) + Send>;

/// One request to the daemon for a request of the client. What is done with its reply responds to the client, or takes the next step.
#[must_use = "without it, the client's request has no response"]
pub(in crate::surface) struct Step<P> {
    pub request: Request,
    pub then: StepThen<P>,
}

impl<P> fmt::Debug for Step<P> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = out.debug_struct("Step");
        out.field("request", &self.request).finish_non_exhaustive()
    }
}

/// A connection that takes steps for its client.
pub(in crate::surface) trait Steps: Sized + 'static {
    /// Responds to a request with an error, as the protocol writes it.
    fn refuse(&mut self, request: OpenRequest, failure: &Failure);

    /// Makes a step that does this with the answer. A failure is the response to the client.
    fn then<A: 'static>(
        request: DaemonRequest<A>,
        with: impl FnOnce(&mut Self, OpenRequest, A) + Send + 'static,
    ) -> Step<Self> {
        Self::finally(request, |peer, open, answer| match answer {
            Ok(answer) => with(peer, open, answer),
            Err(failure) => peer.refuse(open, &failure),
        })
    }

    /// Makes a step that does this with the answer or the failure.
    fn finally<A: 'static>(
        DaemonRequest { request, take }: DaemonRequest<A>,
        with: impl FnOnce(&mut Self, OpenRequest, Result<A, Failure>) + Send + 'static,
    ) -> Step<Self> {
        Step {
            request,
            then: Box::new(move |peer, open, reply| with(peer, open, reply.and_then(take))),
        }
    }

    /// Does this with the answer or the failure, although no request of the client waits for it. Returns the request, and what is done
    /// with its reply.
    fn alone<A: 'static>(
        DaemonRequest { request, take }: DaemonRequest<A>,
        with: impl FnOnce(&mut Self, Result<A, Failure>) + Send + 'static,
    ) -> (Request, Then<Self>) {
        (
            request,
            Box::new(move |peer, reply| with(peer, reply.and_then(take))),
        )
    }
}
