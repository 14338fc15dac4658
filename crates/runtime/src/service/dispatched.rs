//! What becomes of a request: what has run already, and its reply.

use std::fmt;

use acpd_model::{Failure, ThreadId};
use acpd_proto::surface::reply::{Call, Reply};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::room::Charge;
use crate::thread::subscription::FollowRequest;
use crate::unsent::UnsentCharge;

/// The part of a client's request that has run already, and a future for the rest. `R` is the type of its reply.
pub struct Dispatched<R = Reply> {
    /// The thread that the client follows from now on.
    pub follow: Option<FollowRequest>,
    /// Whether the client receives events of that thread only after the answer, and none at all if the request fails.
    pub answer_first: bool,
    /// Whether the client is notified of changes to the thread list from now on; `None` leaves that as it is.
    pub watch: Option<Watch>,
    /// The rest of the request. It returns the answer.
    pub answer: BoxFuture<'static, Result<Response<R>, Failure>>,
}

/// Which changes of the thread list a client is notified of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// Changes of all threads, or of one.
    On {
        /// The only thread.
        only: Option<ThreadId>,
    },
    /// No changes.
    Off,
}

/// The result of a successful request.
#[derive(Debug)]
pub struct Response<R = Reply> {
    /// The result to send to the client.
    pub reply: R,
    /// The thread that the client follows from now on, if it was not known earlier.
    pub follow: Option<FollowRequest>,
    /// The room for a large reply, which is held until the client has received it. Boxed, because each request in flight
    /// reserves space for it.
    pub charge: Option<Box<UnsentCharge>>,
}

impl<R> From<R> for Response<R> {
    fn from(reply: R) -> Self {
        Self {
            reply,
            follow: None,
            charge: None,
        }
    }
}

impl<R> Response<R> {
    /// Creates the response to a request that follows no thread, with the room that it takes.
    pub(super) fn charged(reply: R, charge: Option<Charge>) -> Self {
        Self {
            charge: charge.map(|charge| Box::new(UnsentCharge::new(charge))),
            ..Self::from(reply)
        }
    }

    /// Returns the response to the request `C`.
    pub(super) fn reply_to<C: Call<Reply = R>>(self) -> Response {
        Response {
            reply: C::reply(self.reply),
            follow: self.follow,
            charge: self.charge,
        }
    }
}

impl<R> fmt::Debug for Dispatched<R> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Dispatched").finish_non_exhaustive()
    }
}

impl<R: Send + 'static> Dispatched<R> {
    pub(super) fn answer(answer: impl Future<Output = Result<R, Failure>> + Send + 'static) -> Self {
        Self::respond(async move { answer.await.map(Response::from) })
    }

    pub(super) fn respond(
        answer: impl Future<Output = Result<Response<R>, Failure>> + Send + 'static,
    ) -> Self {
        Self {
            follow: None,
            answer_first: false,
            watch: None,
            answer: answer.boxed(),
        }
    }

    pub(super) fn now(reply: Result<R, Failure>) -> Self {
        Self::answer(std::future::ready(reply))
    }

    pub(super) fn respond_now(response: Result<Response<R>, Failure>) -> Self {
        Self::respond(std::future::ready(response))
    }

    /// Returns this as the reply to the request `C`.
    pub(super) fn reply_to<C: Call<Reply = R>>(self) -> Dispatched {
        let answer = self.answer;
        Dispatched {
            follow: self.follow,
            answer_first: self.answer_first,
            watch: self.watch,
            answer: async move { answer.await.map(Response::reply_to::<C>) }.boxed(),
        }
    }
}

impl Dispatched {
    /// Returns the answer with the room that was taken for it.
    pub(super) async fn charged(self, charge: Charge) -> Result<Response, Failure> {
        let response = self.answer.await?;
        Ok(Response::charged(response.reply, Some(charge)))
    }
}

/// Returns what becomes of the request `C`, which is answered already.
pub(super) fn now<C: Call>(reply: Result<C::Reply, Failure>) -> Dispatched {
    Dispatched::now(reply.map(C::reply))
}
