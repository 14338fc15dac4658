//! The reader's side of a subscription.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::Stream;
use tokio::sync::mpsc;

use crate::control::Control;
use crate::error::Error;
use crate::inbox::{Inbox, Taken};
use crate::protocol::{Notification, ThreadResumed};
use crate::received::Received;

/// The events of a thread, once and in order. Created by [`Client::follow`](crate::Client::follow).
///
/// It ends after `thread/deleted`, after an error that no retry can fix, and when the client is closed. Dropping it
/// unsubscribes; the agent keeps running.
///
/// Events that the reader has not taken are in a bounded buffer. If it is full, the client unsubscribes, and reads the rest
/// from the daemon's log once there is room. What is only shown live, such as the diff of a running turn, is dropped then.
#[derive(Debug)]
#[must_use = "dropping a subscription ends it"]
pub struct Subscription {
    key: u64,
    thread_id: String,
    cursor: Option<u64>,
    inbox: Arc<Inbox<Received>>,
    control: mpsc::UnboundedSender<Control>,
    resumed: Option<Box<ThreadResumed>>,
    is_over: bool,
}

impl Subscription {
    /// Returns a subscription that waits for its first response.
    pub(crate) fn pending(
        key: u64,
        thread_id: &str,
        cursor: Option<u64>,
        inbox: Arc<Inbox<Received>>,
        control: mpsc::UnboundedSender<Control>,
    ) -> Self {
        Self {
            key,
            thread_id: thread_id.to_owned(),
            cursor,
            inbox,
            control,
            resumed: None,
            is_over: false,
        }
    }

    pub(crate) fn begun(mut self, resumed: ThreadResumed) -> Self {
        self.cursor.get_or_insert(resumed.latest_seq);
        self.resumed = Some(Box::new(resumed));
        self
    }

    /// Returns the id of the thread.
    pub fn thread_id(&self) -> &str {
        &self.thread_id
    }

    /// Returns the daemon's first response: the thread, and without [`Follow::after`](crate::Follow::after) its latest turns.
    pub fn resumed(&self) -> Option<&ThreadResumed> {
        self.resumed.as_deref()
    }

    /// Takes the first response out of the subscription. It can have megabytes of turns.
    pub fn take_resumed(&mut self) -> Option<ThreadResumed> {
        self.resumed.take().map(|resumed| *resumed)
    }

    /// Returns the number of the last event that was read. A later [`Follow::after`](crate::Follow::after) continues there.
    pub fn cursor(&self) -> u64 {
        self.cursor.unwrap_or_default()
    }

    /// Returns the next event; `None` at the end. Cancel-safe: no event is lost.
    pub async fn next(&mut self) -> Option<Result<Notification, Error>> {
        let next = self.next_received().await?;
        Some(next.map(|received| received.notification))
    }

    /// Returns the next event as [`next`](Self::next) does, with its text.
    pub async fn next_received(&mut self) -> Option<Result<Received, Error>> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Received, Error>>> {
        loop {
            if self.is_over {
                return Poll::Ready(None);
            }
            match ready!(self.inbox.poll(context)) {
                Taken::Item(notification) => {
                    // A repeated question has an earlier number.
                    self.cursor = self.cursor.max(notification.seq());
                    if self.inbox.unblock() {
                        self.unpause();
                    }
                    return Poll::Ready(Some(Ok(notification)));
                }
                Taken::Blocked => self.unpause(),
                Taken::End(error) => {
                    self.is_over = true;
                    return Poll::Ready(error.map(Err));
                }
            }
        }
    }

    fn unpause(&self) {
        // Without the task, the buffer ends.
        let _ = self.control.send(Control::Unpaused {
            key: self.key,
            thread_id: self.thread_id.clone(),
        });
    }
}

impl Stream for Subscription {
    type Item = Result<Notification, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(self.poll(context));
        Poll::Ready(next.map(|next| next.map(|received| received.notification)))
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        // Without the task, there is no subscription.
        let _ = self.control.send(Control::Left {
            key: self.key,
            thread_id: std::mem::take(&mut self.thread_id),
        });
    }
}
