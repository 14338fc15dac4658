//! The threads that one connection follows.
//!
//! In: requests to follow a thread. Out: the news of all these threads. Owns: the subscriptions, which are polled by the
//! connection's own task. Never: buffers news.

use std::collections::BTreeMap;

use acpd_model::ThreadId;
use acpd_model::collections::free_if_empty;
use acpd_proto::surface::contract::Lane;
use acpd_runtime::feed::presence::Presence;
use acpd_runtime::service::Service;
use acpd_runtime::thread::subscription::{FollowRequest, News, Subscription};
use acpd_runtime::unsent::Recipient;
use futures_util::StreamExt;
use futures_util::stream::{AbortHandle, Abortable, BoxStream, SelectAll, abortable};
use tokio_util::sync::DropGuard;

/// News of one subscription.
#[derive(Debug)]
pub struct Fed {
    /// The thread.
    pub thread: ThreadId,
    /// The number of the subscription.
    pub number: u64,
    /// The news.
    pub news: News,
}

/// The threads that a connection follows.
#[derive(Default)]
pub struct Followed {
    open: BTreeMap<ThreadId, Following>,
    /// Subscriptions that start after the response to their request.
    held: BTreeMap<u64, Held>,
    feeds: SelectAll<Abortable<BoxStream<'static, Fed>>>,
    /// The number of the latest subscription.
    last: u64,
}

/// A subscription that starts after the response to its request.
#[derive(Debug)]
pub enum Held {
    /// The subscription.
    Follow(Box<HeldFollow>),
    /// Its thread was closed in the meantime.
    Closed(ThreadId),
}

/// A subscription that has not started.
#[derive(Debug)]
pub struct HeldFollow {
    /// The request for it.
    pub request: FollowRequest,
    /// The connection's entry among the subscribers, if it is one already.
    pub presence: Option<Presence>,
}

impl Held {
    /// Creates a subscription that has not started.
    pub fn new(request: FollowRequest, presence: Option<Presence>) -> Self {
        Self::Follow(Box::new(HeldFollow { request, presence }))
    }

    fn is_of(&self, thread: ThreadId) -> bool {
        matches!(self, Self::Follow(follow) if follow.request.thread == thread)
    }
}

/// One subscription.
struct Following {
    number: u64,
    ends: AbortHandle,
    /// The thread counts on the client until this is dropped.
    _attached: Option<DropGuard>,
}

impl Drop for Following {
    fn drop(&mut self) {
        self.ends.abort();
    }
}

impl Followed {
    /// Starts a subscription, which replaces an earlier one of the same thread.
    pub fn follow(
        &mut self,
        service: &Service,
        lane: Lane,
        follow: FollowRequest,
        presence: Presence,
        recipient: Recipient,
    ) {
        let thread = follow.thread;
        self.last += 1;
        let number = self.last;
        let (subscription, attached) = Subscription::new(
            &service.context,
            service.directory.clone(),
            lane,
            follow,
            presence,
            recipient,
        );
        let news = subscription
            .into_stream()
            .map(move |news| Fed { thread, number, news });
        let (feed, ends) = abortable(news.boxed());
        self.feeds.push(feed);
        let following = Following {
            number,
            ends,
            _attached: attached,
        };
        self.open.insert(thread, following);
    }

    /// Keeps a request to follow a thread until the response to `call`.
    pub fn hold(&mut self, call: u64, request: FollowRequest, presence: Option<Presence>) {
        self.held.insert(call, Held::new(request, presence));
    }

    /// Returns the subscription that waited for the response to `call`.
    pub fn take_held(&mut self, call: u64) -> Option<Held> {
        let held = self.held.remove(&call);
        free_if_empty(&mut self.held);
        held
    }

    /// Stops following a thread.
    pub fn close(&mut self, thread: ThreadId) {
        self.open.remove(&thread);
        for held in self.held.values_mut().filter(|held| held.is_of(thread)) {
            *held = Held::Closed(thread);
        }
    }

    /// Returns whether the connection follows a thread, or is about to.
    pub fn contains(&self, thread: ThreadId) -> bool {
        self.open.contains_key(&thread) || self.held.values().any(|held| held.is_of(thread))
    }

    /// Returns whether the connection has a subscription of a thread that has started.
    pub fn has_started(&self, thread: ThreadId) -> bool {
        self.open.contains_key(&thread)
    }

    /// Returns whether this is the thread's current subscription.
    pub fn is_current(&self, thread: ThreadId, number: u64) -> bool {
        self.open
            .get(&thread)
            .is_some_and(|following| following.number == number)
    }

    /// Returns the newest thread that the connection follows.
    pub fn newest(&self) -> Option<ThreadId> {
        self.open.keys().next_back().copied()
    }

    /// Waits for news; returns `None` at once if the connection follows no thread. Cancel safe.
    pub async fn next(&mut self) -> Option<Fed> {
        self.feeds.next().await
    }
}
