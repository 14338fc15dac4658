//! The limits of the configuration, which a reload replaces.

use std::sync::Arc;

use acpd_model::Limits;
use tokio::sync::watch;

/// The current limits. A connection, thread or process keeps the limits that it started with, but for the rate of an
/// agent's bytes.
#[derive(Debug, Clone)]
pub struct LiveLimits(Arc<watch::Receiver<Arc<Limits>>>);

impl LiveLimits {
    /// Creates limits that the sender of `limits` replaces.
    pub fn new(limits: watch::Receiver<Arc<Limits>>) -> Self {
        Self(Arc::new(limits))
    }

    /// Creates limits that never change.
    pub fn fixed(limits: Limits) -> Self {
        Self::new(watch::channel(Arc::new(limits)).1)
    }

    /// Returns the limits of this moment.
    pub fn now(&self) -> Arc<Limits> {
        Arc::clone(&self.0.borrow())
    }
}
