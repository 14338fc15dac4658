//! The only module that generates ids.

#[cfg(any(test, feature = "testing"))]
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use acpd_model::ThreadId;
use uuid::Uuid;

/// The source of ids for threads and connections.
#[derive(Debug, Clone, Default)]
pub enum Ids {
    /// Ids from the clock and the system's random numbers.
    #[default]
    Random,
    /// Ids from a counter, so that two runs of a test produce the same ids.
    #[cfg(any(test, feature = "testing"))]
    Counted(Arc<AtomicU64>),
}

impl Ids {
    /// Returns an id for a new thread.
    pub fn thread(&self) -> ThreadId {
        ThreadId(self.uuid())
    }

    /// Returns an id for a new connection.
    pub fn connection(&self) -> String {
        self.uuid().to_string()
    }

    #[allow(clippy::disallowed_methods, reason = "the one place that makes ids")]
    fn uuid(&self) -> Uuid {
        match self {
            Self::Random => Uuid::now_v7(),
            #[cfg(any(test, feature = "testing"))]
            Self::Counted(last) => Uuid::from_u128(u128::from(last.fetch_add(1, Ordering::Relaxed) + 1)),
        }
    }
}
