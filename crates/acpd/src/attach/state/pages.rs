//! Pages of older turns, which arrive while the thread changes.
//!
//! A page describes the thread at one event. What changed on it since then was not held when it changed, so such
//! notifications are kept until the page is there.

use serde_json::Value;

use crate::attach::conversation::Conversation;

/// Maximum size of the kept notifications, in bytes of text. Beyond it, the page is requested again.
const MISSED_BYTES: usize = 1 << 20;

/// The page of older turns that is on its way.
#[derive(Debug, Default)]
pub struct OlderPage {
    /// The cursor of the request.
    cursor: Option<String>,
    page: Option<Value>,
    missed: Vec<Missed>,
    missed_bytes: usize,
}

#[derive(Debug)]
struct Missed {
    seq: u64,
    method: String,
    params: Value,
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
    pub fn miss(&mut self, method: &str, params: &Value, bytes: usize) {
        if self.cursor.is_none() {
            return;
        }
        self.missed_bytes += bytes;
        if self.missed_bytes > MISSED_BYTES {
            self.missed.clear();
            return;
        }
        self.missed.push(Missed {
            seq: params["seq"].as_u64().unwrap_or(u64::MAX),
            method: method.to_owned(),
            params: params.clone(),
        });
    }

    /// Receives the page at a cursor, unless another one is awaited by now.
    pub fn receive(&mut self, cursor: &str, thread: Value) {
        if self.cursor.as_deref() == Some(cursor) {
            self.page = Some(thread);
        }
    }

    /// Adds the page to the conversation, once `seq` has reached it. Returns whether it was added.
    pub fn merge(&mut self, conversation: &mut Conversation, seq: u64) -> bool {
        let page_seq = self
            .page
            .as_ref()
            .map(|page| page["latestSeq"].as_u64().unwrap_or_default());
        if page_seq.is_none_or(|page_seq| page_seq > seq) {
            return false;
        }
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
        for Missed { seq, method, params } in missed {
            if page_seq.is_some_and(|page_seq| seq > page_seq) {
                conversation.fold(&method, &params);
            }
        }
        true
    }
}
