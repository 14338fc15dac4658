//! Pages of older turns, which arrive while the thread changes.
//!
//! A page describes the thread at one event. What changed on it since then was not held when it changed, so such
//! notifications are kept until the page is there.

use std::fmt::{self, Write as _};

use acpd_client::protocol::{Notification, Thread};

use crate::attach::conversation::Conversation;

/// Maximum size of the kept notifications, in bytes. Beyond it, the page is requested again.
const MISSED_BYTES: usize = 1 << 20;

/// The page of older turns that is on its way.
#[derive(Debug, Default)]
pub struct OlderPage {
    /// The cursor of the request.
    cursor: Option<String>,
    page: Option<Box<Thread>>,
    missed: Vec<Notification>,
    missed_bytes: usize,
}

impl OlderPage {
    /// Returns whether a page is on its way.
    pub fn is_awaited(&self) -> bool {
        self.cursor.is_some()
    }

    /// Takes note of the request for a page.
    pub fn request(&mut self, cursor: &str) {
        *self = Self {
            cursor: Some(cursor.to_owned()),
            ..Self::default()
        };
    }

    /// Forgets the page.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Keeps a notification about an item that is not held.
    pub fn miss(&mut self, notification: &Notification) {
        if self.cursor.is_none() {
            return;
        }
        self.missed_bytes += size(notification);
        if self.missed_bytes > MISSED_BYTES {
            self.missed.clear();
            return;
        }
        self.missed.push(notification.clone());
    }

    /// Receives the page at a cursor, unless another one is awaited by now.
    pub fn receive(&mut self, cursor: &str, thread: Box<Thread>) {
        if self.cursor.as_deref() == Some(cursor) {
            self.page = Some(thread);
        }
    }

    /// Adds the page to the conversation, once `seq` has reached it. Returns whether it was added.
    pub fn merge(&mut self, conversation: &mut Conversation, seq: u64) -> bool {
        let page_seq = self.page.as_ref().map(|page| page.latest_seq);
        let Some(page_seq) = page_seq.filter(|page_seq| *page_seq <= seq) else {
            return false;
        };
        let Self {
            cursor,
            page,
            missed,
            missed_bytes,
        } = std::mem::take(self);
        // Meanwhile, the oldest page may have been dropped.
        let fits = cursor.as_deref() == conversation.older() && missed_bytes <= MISSED_BYTES;
        let Some(page) = page.filter(|_| fits) else {
            return false;
        };
        conversation.prepend(&page);
        for notification in missed {
            // What is only shown live is on no page.
            if notification.seq().is_none_or(|seq| seq > page_seq) {
                conversation.fold(&notification);
            }
        }
        true
    }
}

/// Returns the size of a notification, in bytes: its form for debugging is about as long as its JSON.
fn size(notification: &Notification) -> usize {
    struct Counter(usize);
    impl fmt::Write for Counter {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 = self.0.saturating_add(text.len());
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // The counter never fails, and neither do derived implementations.
    let _ = write!(counter, "{notification:?}");
    counter.0
}
