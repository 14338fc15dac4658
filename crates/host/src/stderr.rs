//! The end of what an agent has printed on stderr.
//!
//! In: bytes, from the reader of a pipe or from what a shim keeps. Out: text. Owns: the last bytes. Never: waits for the agent.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use acpd_model::limits::STDERR_TAIL_BYTES;

use crate::tail::Tail;

/// The end of what an agent has printed on stderr, while it runs.
#[derive(Debug, Clone)]
pub struct StderrTail {
    tail: Arc<Mutex<Tail>>,
    /// Without it, what was printed is in the tail already.
    source: Option<Weak<dyn StderrSource>>,
}

/// Where another process keeps an agent's stderr.
pub(crate) trait StderrSource: fmt::Debug + Send + Sync {
    /// Adds to the tail what was printed behind it.
    fn extend(&self, tail: &mut Tail);
}

impl Default for StderrTail {
    fn default() -> Self {
        Self {
            tail: Arc::new(Mutex::new(Tail::new(STDERR_TAIL_BYTES))),
            source: None,
        }
    }
}

impl StderrTail {
    /// Returns the tail of what this source keeps. What was not read when the source is dropped is lost.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(source: Weak<dyn StderrSource>) -> Self {
        Self {
            source: Some(source),
            ..Self::default()
        }
    }

    /// Adds what was printed.
    pub(crate) fn push(&self, bytes: &[u8]) {
        self.tail().push(bytes);
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        // The tail is consistent between any two calls.
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = self.source.as_ref().and_then(Weak::upgrade) {
            source.extend(&mut tail);
        }
        tail
    }

    /// Returns the number of bytes printed so far.
    pub fn written(&self) -> u64 {
        self.tail().written()
    }

    /// Returns the text from this position on, and its end; `None` if there is none.
    pub fn since(&self, from: u64) -> Option<(String, u64)> {
        self.tail().since(from, STDERR_TAIL_BYTES, false)
    }

    /// Returns the last lines of a process that has ended.
    pub(crate) fn text(&self) -> String {
        self.tail().text(true).0.trim_end().to_owned()
    }
}
