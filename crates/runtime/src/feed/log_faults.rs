//! Threads whose log fails.
//!
//! In: failures, and their ends, from the threads' tasks. Out: the same to everything that shows a thread. Owns: the failures.
//! Never: stores one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acpd_model::{Summary, ThreadId, ThreadStatus};

/// The threads whose log cannot be written, or of which events cannot be read; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct LogFaults {
    failed: Arc<Mutex<BTreeMap<ThreadId, Fault>>>,
}

#[derive(Debug)]
struct Fault {
    error: Arc<str>,
    /// Whether events cannot be read. The log of other threads works then.
    is_damage: bool,
}

impl LogFaults {
    /// Records that a thread's log fails, and why.
    pub fn set(&self, thread: ThreadId, error: &Arc<str>, is_damage: bool) {
        let error = Arc::clone(error);
        self.failed().insert(thread, Fault { error, is_damage });
    }

    /// Records that a thread's log works, or that the thread is deleted.
    pub fn clear(&self, thread: ThreadId) {
        self.failed().remove(&thread);
    }

    /// Returns why the log cannot be written, if it cannot.
    pub fn unwritable(&self) -> Option<Arc<str>> {
        let failed = self.failed();
        let fault = failed.values().find(|fault| !fault.is_damage)?;
        Some(Arc::clone(&fault.error))
    }

    /// Shows the failure in the thread's summary, if there is one.
    pub fn show(&self, thread: ThreadId, summary: &mut Summary) {
        let error = self.failed().get(&thread).map(|fault| Arc::clone(&fault.error));
        if let Some(error) = error {
            show(&error, summary);
        }
    }

    fn failed(&self) -> MutexGuard<'_, BTreeMap<ThreadId, Fault>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shows a failure in a summary. A thread that is about to be deleted stays so.
pub fn show(error: &str, summary: &mut Summary) {
    if summary.status != ThreadStatus::Deleting {
        summary.status = ThreadStatus::Failed;
    }
    summary.error = Some(error.to_owned());
}
