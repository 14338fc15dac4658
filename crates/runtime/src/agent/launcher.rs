//! What the start of any agent process needs.

use std::sync::Arc;

use acpd_model::Limits;

use crate::clock::Clock;
use crate::host::Host;
use crate::metrics::Metrics;

/// Starts agents' processes.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// Where they run.
    pub host: Arc<dyn Host>,
    /// Bounds of a process.
    pub limits: Arc<Limits>,
    /// The time.
    pub clock: Clock,
    /// Counts processes.
    pub metrics: Arc<Metrics>,
}

#[cfg(any(test, feature = "testing"))]
impl Launcher {
    /// Starts processes on this host.
    pub fn local(limits: Limits, metrics: Arc<Metrics>) -> Self {
        Self {
            host: Arc::new(crate::host::local::LocalHost),
            limits: Arc::new(limits),
            clock: Clock::start(),
            metrics,
        }
    }
}
