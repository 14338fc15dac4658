//! Notifications that belong to no subscription, for any number of readers.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, ready};

use futures_util::Stream;

use crate::error::Error;
use crate::inbox::{End, Inbox, Room, Taken};
use crate::received::Received;

/// What a reader of notifications receives.
#[derive(Clone, Debug)]
pub enum Update {
    /// The next notification.
    Notification(Arc<Received>),
    /// Notifications may be missing here: the connection is a new one, or the reader was slow. A program that shows the
    /// thread list requests it again. A watch of the list continues.
    Gap,
}

/// The notifications of a connection. Created by [`Client::notifications`](crate::Client::notifications).
///
/// It ends when the client is closed, with an error unless that was on purpose.
#[derive(Debug)]
#[must_use = "dropping it drops the notifications"]
pub struct Notifications {
    inbox: Arc<Inbox<Arc<Received>>>,
    is_over: bool,
}

impl Notifications {
    /// Returns the next update; `None` at the end. Cancel-safe: no update is lost.
    pub async fn next(&mut self) -> Option<Result<Update, Error>> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Update, Error>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        Poll::Ready(match ready!(self.inbox.poll(context)) {
            Taken::Item(notification) => Some(Ok(Update::Notification(notification))),
            Taken::Blocked => Some(Ok(Update::Gap)),
            Taken::End(error) => {
                self.is_over = true;
                error.map(Err)
            }
        })
    }
}

impl Stream for Notifications {
    type Item = Result<Update, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll(context)
    }
}

/// All readers of notifications.
#[derive(Clone, Debug, Default)]
pub(crate) struct Feeds(Arc<Mutex<Readers>>);

#[derive(Debug, Default)]
struct Readers {
    inboxes: Vec<Weak<Inbox<Arc<Received>>>>,
    /// How it ended, if it has.
    end: Option<End>,
}

impl Feeds {
    /// Adds a reader.
    pub(crate) fn add(&self, room: Room) -> Notifications {
        let inbox = Arc::new(Inbox::new(room));
        self.with(|readers| match &readers.end {
            Some(End(error)) => inbox.end(error.clone()),
            None => readers.inboxes.push(Arc::downgrade(&inbox)),
        });
        Notifications {
            inbox,
            is_over: false,
        }
    }

    /// Passes on a notification of so many bytes.
    pub(crate) fn push(&self, notification: Received, bytes: usize) {
        let notification = Arc::new(notification);
        self.each(|inbox| {
            // A reader without room finds a gap.
            inbox.push(Arc::clone(&notification), bytes);
        });
    }

    /// Notes that notifications may be missing.
    pub(crate) fn gap(&self) {
        self.each(Inbox::block);
    }

    /// Ends all readers.
    pub(crate) fn end(&self, error: Option<&Error>) {
        self.each(|inbox| inbox.end(error.cloned()));
        self.with(|readers| readers.end = Some(End(error.cloned())));
    }

    fn each(&self, run: impl Fn(&Inbox<Arc<Received>>)) {
        self.with(|readers| {
            readers.inboxes.retain(|inbox| {
                let inbox = inbox.upgrade();
                inbox.as_deref().map(&run).is_some()
            });
        });
    }

    fn with<R>(&self, run: impl FnOnce(&mut Readers) -> R) -> R {
        // Wakers are the only foreign code that runs while it is locked, and they take no lock of this crate.
        run(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
