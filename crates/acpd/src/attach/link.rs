//! The connection to the daemon.
//!
//! In: requests and subscriptions of the state. Out: replies, events of the threads that are followed, and the state of the
//! connection. Owns: the subscriptions, and the requests without a reply. Never: reconnects, or remembers a cursor: the client
//! does both.

use std::future::poll_fn;
use std::task::Poll;

use acpd_client::protocol::{Notification, ThreadResumed, ThreadUnsubscribeParams};
use acpd_client::{Client, Error, Follow, Notifications, State, Subscription, Update};
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::watch;
use tokio::time::Instant;

use super::state::PAGE_TURNS;
use super::state::exchange::{Abilities, Failure, FailureKind, Reply, Request};
use crate::exit::sentence;

/// Maximum number of requests without a reply. A user does not type more than this ahead of the daemon.
const IN_FLIGHT: usize = 64;

/// What happened.
pub enum News {
    /// There is a new connection, and what its daemon permits.
    Connected(Abilities),
    /// There is no connection, and why. The client tries again.
    Lost(String),
    Notification(Box<Notification>),
    Reply {
        token: u64,
        reply: Result<Reply, Failure>,
    },
    /// A subscription has ended, and why.
    Unfollowed {
        thread: String,
        failure: Failure,
    },
    /// There will be no further connection, and why.
    Ended(anyhow::Error),
}

/// A subscription without its first response.
struct Opening {
    token: u64,
    thread: String,
    subscription: BoxFuture<'static, Result<Subscription, Error>>,
}

/// The connection.
pub struct Link {
    client: Client,
    state: watch::Receiver<State>,
    /// Notifications that belong to no subscription.
    notifications: Notifications,
    requests: FuturesUnordered<BoxFuture<'static, Option<News>>>,
    opening: Vec<Opening>,
    followed: Vec<Subscription>,
}

impl Link {
    /// Follows a first thread. Returns what the daemon permits, and the newest page of the thread.
    pub async fn open(client: Client, thread: &str) -> Result<(Self, Abilities, ThreadResumed), Error> {
        let mut state = client.state();
        let is_open = |state: &State| matches!(state, State::Open(_) | State::Closed(_));
        let abilities = match &*state.wait_for(is_open).await.map_err(|_| Error::Closed)? {
            State::Open(server) => Abilities::of(server),
            State::Closed(error) => return Err(error.clone()),
            _ => return Err(Error::Closed),
        };
        let notifications = client.notifications();
        let mut subscription = tokio::select! {
            // The client would wait for the next connection, and the user has no picture yet that says so.
            biased;
            followed = client.follow(thread, newest_page()) => followed?,
            error = lost(&mut state) => return Err(error),
        };
        let resumed = subscription.take_resumed().ok_or(Error::Closed)?;
        let link = Self {
            client,
            state,
            notifications,
            requests: FuturesUnordered::new(),
            opening: Vec::new(),
            followed: vec![subscription],
        };
        Ok((link, abilities, resumed))
    }

    /// Sends a request. Fails if too many have no reply.
    pub fn request(&mut self, token: u64, request: Request) -> Result<(), Failure> {
        self.check_room()?;
        let client = self.client.clone();
        let sent = async move {
            let reply = send(&client, &request).await.map_err(failure);
            Some(News::Reply { token, reply })
        };
        self.requests.push(sent.boxed());
        Ok(())
    }

    /// Subscribes to a thread, in place of an earlier subscription. Fails if too many requests have no reply.
    pub fn follow(&mut self, token: u64, thread: String) -> Result<(), Failure> {
        self.check_room()?;
        self.drop_subscription(&thread);
        let (client, id) = (self.client.clone(), thread.clone());
        let subscription = async move { client.follow(&id, newest_page()).await };
        self.opening.push(Opening {
            token,
            thread,
            subscription: subscription.boxed(),
        });
        Ok(())
    }

    /// Ends the subscription to a thread.
    pub fn unfollow(&mut self, thread: String) {
        if self.drop_subscription(&thread) {
            return;
        }
        // The daemon subscribes a client to the threads that it starts.
        let client = self.client.clone();
        let params = ThreadUnsubscribeParams { thread_id: thread };
        let unsubscribed = async move {
            // Events of threads that are not followed are ignored either way.
            let _ = client.thread_unsubscribe(&params).await;
            None
        };
        self.requests.push(unsubscribed.boxed());
    }

    fn check_room(&self) -> Result<(), Failure> {
        if self.requests.len() + self.opening.len() < IN_FLIGHT {
            return Ok(());
        }
        Err(Failure::other("the daemon takes no more requests; try again"))
    }

    /// Drops the subscription to a thread, which ends it. Returns whether there was one.
    fn drop_subscription(&mut self, thread: &str) -> bool {
        let before = self.opening.len() + self.followed.len();
        self.opening.retain(|opening| opening.thread != thread);
        self.followed
            .retain(|subscription| subscription.thread_id() != thread);
        self.opening.len() + self.followed.len() < before
    }

    /// Returns what happens next. Cancel-safe: no news is lost.
    pub async fn next(&mut self) -> News {
        loop {
            tokio::select! {
                // Requests that a lost connection has cut off fail, and earlier events arrive, before the state says that it is lost.
                biased;
                Some(replied) = self.requests.next() => {
                    if let Some(news) = replied {
                        return news;
                    }
                }
                (at, event) = next_event(&mut self.followed) => {
                    match event {
                        Some(Ok(event)) => return News::Notification(Box::new(event)),
                        Some(Err(error)) if FailureKind::of(&error) != FailureKind::Lost => {
                            let thread = self.followed.swap_remove(at).thread_id().to_owned();
                            let failure = failure(error);
                            return News::Unfollowed { thread, failure };
                        }
                        // The thread was deleted, or the client is closed, which its state says.
                        _ => drop(self.followed.swap_remove(at)),
                    }
                }
                changed = self.state.changed() => {
                    let state = self.state.borrow_and_update().clone();
                    match state {
                        State::Open(server) => return News::Connected(Abilities::of(&server)),
                        State::Waiting { error, .. } => return News::Lost(sentence(&error.into())),
                        State::Closed(error) => return News::Ended(error.into()),
                        // The task of the client is gone.
                        _ if changed.is_err() => return News::Ended(Error::Closed.into()),
                        _ => {}
                    }
                }
                (at, subscribed) = next_opened(&mut self.opening) => {
                    let Opening { token, .. } = self.opening.swap_remove(at);
                    let reply = subscribed.map_err(failure).and_then(|followed| self.opened(followed));
                    return News::Reply { token, reply };
                }
                Some(update) = self.notifications.next() => {
                    if let Ok(Update::Notification(received)) = update
                        && let Notification::ThreadLogChanged(changed) = &received.notification
                    {
                        let changed = Notification::ThreadLogChanged(changed.clone());
                        return News::Notification(Box::new(changed));
                    }
                }
            }
        }
    }

    /// Adds a subscription. Returns its first response.
    fn opened(&mut self, mut subscription: Subscription) -> Result<Reply, Failure> {
        let resumed = subscription.take_resumed();
        let resumed = resumed.ok_or_else(|| failure(Error::Closed))?;
        self.followed.push(subscription);
        Ok(Reply::Followed(Box::new(resumed)))
    }
}

/// Waits until there is no connection. Returns why.
async fn lost(state: &mut watch::Receiver<State>) -> Error {
    let is_lost = |state: &State| matches!(state, State::Waiting { .. } | State::Closed(_));
    match state.wait_for(is_lost).await.as_deref() {
        Ok(State::Waiting { error, .. } | State::Closed(error)) => error.clone(),
        // The task of the client is gone.
        _ => Error::Closed,
    }
}

/// Waits until a subscription has its first response.
async fn next_opened(opening: &mut [Opening]) -> (usize, Result<Subscription, Error>) {
    poll_fn(|context| {
        for (at, opening) in opening.iter_mut().enumerate() {
            if let Poll::Ready(subscribed) = opening.subscription.poll_unpin(context) {
                return Poll::Ready((at, subscribed));
            }
        }
        Poll::Pending
    })
    .await
}

/// Waits for the next event of any subscription, or for its end.
async fn next_event(followed: &mut [Subscription]) -> (usize, Option<Result<Notification, Error>>) {
    poll_fn(|context| {
        for (at, subscription) in followed.iter_mut().enumerate() {
            if let Poll::Ready(event) = subscription.poll_next_unpin(context) {
                return Poll::Ready((at, event));
            }
        }
        Poll::Pending
    })
    .await
}

/// Begins with the newest page, and with the open questions.
fn newest_page() -> Follow {
    Follow {
        limit: Some(PAGE_TURNS),
        start_agent: Some(false),
        repeat_questions: true,
        ..Follow::default()
    }
}

async fn send(client: &Client, request: &Request) -> Result<Reply, Error> {
    Ok(match request {
        Request::StartTurn(params) => Reply::Turn(Box::new(client.turn_start(params).await?.turn)),
        Request::Steer(params) => Reply::Steered(client.turn_steer(params).await?.delivery),
        Request::SteerQueued(params) => Reply::Steered(client.turn_queue_steer(params).await?.delivery),
        Request::ReadPage(params) => Reply::Thread(Box::new(client.thread_read(params).await?.thread)),
        Request::ListLanes(params) => Reply::Lanes(client.thread_lanes(params).await?),
        Request::ListThreads(params) => Reply::Threads(client.thread_list(params).await?.data),
        Request::StartThread(params) => Reply::Thread(Box::new(client.thread_start(params).await?.thread)),
        Request::Interrupt(params) => {
            client.turn_interrupt(params).await?;
            Reply::Done
        }
        Request::SetOption(params) => {
            client.thread_config_set(params).await?;
            Reply::Done
        }
        Request::Approve(params) => {
            client.item_approve(params).await?;
            Reply::Done
        }
        Request::Answer(params) => {
            client.item_answer(params).await?;
            Reply::Done
        }
    })
}

fn failure(error: Error) -> Failure {
    let kind = FailureKind::of(&error);
    Failure {
        message: sentence(&error.into()),
        kind,
    }
}

/// Waits until a time; forever if there is none.
pub async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
