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
    is_requested: bool,
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
        self.is_requested
    }

    /// Takes note of the request for a page.
    pub fn request(&mut self) {
        *self = Self {
            is_requested: true,
            ..Self::default()
        };
    }

    /// Forgets the page.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Keeps a notification about an item that is not held.
    pub fn miss(&mut self, method: &str, params: &Value, bytes: usize) {
        if !self.is_requested {
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

    /// Receives the page.
    pub fn receive(&mut self, thread: Value) {
        if self.is_requested {
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
            page,
            missed,
            missed_bytes,
            ..
        } = std::mem::take(self);
        let Some(page) = page.filter(|_| missed_bytes <= MISSED_BYTES) else {
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
