//! A bounded buffer between a connection and one reader.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::error::Error;

/// The size of a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) items: usize,
    pub(crate) bytes: usize,
}

/// The buffer.
#[derive(Debug)]
pub(crate) struct Inbox<T> {
    room: Room,
    inner: Mutex<Inner<T>>,
}

#[derive(Debug)]
struct Inner<T> {
    items: VecDeque<(T, usize)>,
    bytes: usize,
    /// Whether an item was refused. Later ones are refused too, until the reader has made room.
    is_blocked: bool,
    /// Set once there will be no further item.
    end: Option<End>,
    waker: Option<Waker>,
}

/// The end of a buffer, with the error if it was not on purpose.
#[derive(Clone, Debug)]
pub(crate) struct End(pub(crate) Option<Error>);

/// What a reader finds.
#[derive(Debug)]
pub(crate) enum Taken<T> {
    /// The next item.
    Item(T),
    /// All items before the first refused one are read.
    Blocked,
    /// There will be no further item.
    End(Option<Error>),
}

impl<T> Inbox<T> {
    pub(crate) fn new(room: Room) -> Self {
        Self {
            room,
            inner: Mutex::new(Inner {
                items: VecDeque::new(),
                bytes: 0,
                is_blocked: false,
                end: None,
                waker: None,
            }),
        }
    }

    /// Adds an item of so many bytes. Returns `false` if there is no room, or if an earlier item was refused.
    pub(crate) fn push(&self, item: T, bytes: usize) -> bool {
        let mut inner = self.lock();
        let has_room = inner.items.len() < self.room.items
            // One item of any size fits into an empty buffer.
            && (inner.items.is_empty() || inner.bytes.saturating_add(bytes) <= self.room.bytes);
        if inner.is_blocked || !has_room {
            inner.is_blocked = true;
            wake(inner);
            return false;
        }
        inner.items.push_back((item, bytes));
        inner.bytes = inner.bytes.saturating_add(bytes);
        wake(inner);
        true
    }

    /// Refuses items until the reader has read those before.
    pub(crate) fn block(&self) {
        let mut inner = self.lock();
        inner.is_blocked = true;
        wake(inner);
    }

    /// Adds no further item. The reader still receives those that are there.
    pub(crate) fn end(&self, error: Option<Error>) {
        let mut inner = self.lock();
        inner.end.get_or_insert(End(error));
        wake(inner);
    }

    /// Takes the next item.
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Taken<T>> {
        let mut inner = self.lock();
        if let Some((item, bytes)) = inner.items.pop_front() {
            inner.bytes = inner.bytes.saturating_sub(bytes);
            return Poll::Ready(Taken::Item(item));
        }
        if let Some(end) = &mut inner.end {
            return Poll::Ready(Taken::End(end.0.take()));
        }
        if inner.is_blocked {
            inner.is_blocked = false;
            return Poll::Ready(Taken::Blocked);
        }
        inner.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// Accepts items again if the buffer was full and half of it is free; returns whether that is so.
    pub(crate) fn unblock(&self) -> bool {
        let mut inner = self.lock();
        let is_half_free = inner.items.len() <= self.room.items / 2 && inner.bytes <= self.room.bytes / 2;
        let is_unblocked = inner.is_blocked && is_half_free;
        inner.is_blocked &= !is_unblocked;
        is_unblocked
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        // No code that can panic runs while it is locked.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes the reader, without the lock.
fn wake<T>(mut inner: MutexGuard<'_, Inner<T>>) {
    let waker = inner.waker.take();
    drop(inner);
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken<T>(inbox: &Inbox<T>) -> Option<Taken<T>> {
        match inbox.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(taken) => Some(taken),
            Poll::Pending => None,
        }
    }

    #[test]
    fn items_and_bytes_are_bounded_and_one_item_of_any_size_fits() {
        let inbox = Inbox::new(Room { items: 3, bytes: 10 });
        assert!(inbox.push('a', 1000), "an empty buffer takes any item");
        assert!(!inbox.push('b', 1), "the bytes are used up");
        assert!(matches!(taken(&inbox), Some(Taken::Item('a'))));
        assert!(!inbox.push('c', 1), "nothing passes the refused item");
        assert!(matches!(taken(&inbox), Some(Taken::Blocked)));
        assert!(taken(&inbox).is_none());
        for (item, fits) in [('d', true), ('e', true), ('f', true), ('g', false)] {
            assert_eq!(inbox.push(item, 0), fits, "{item}");
        }
        assert!(!inbox.unblock(), "it is still full");
        taken(&inbox);
        taken(&inbox);
        assert!(inbox.unblock());
        inbox.end(None);
        assert!(matches!(taken(&inbox), Some(Taken::Item('f'))));
        assert!(matches!(taken(&inbox), Some(Taken::End(None))));
    }
}
