//! The dependencies for starting any agent process.

use std::sync::Arc;

use acpd_model::Limits;

use crate::clock::Clock;
use crate::host::Host;
use crate::metrics::Metrics;

/// Starts agent processes.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// Runs the processes.
    pub host: Arc<dyn Host>,
    /// Limits for each process.
    pub limits: Arc<Limits>,
    /// Provides the wall time and the monotonic time.
    pub clock: Clock,
    /// Counts the running processes.
    pub metrics: Arc<Metrics>,
}

#[cfg(any(test, feature = "testing"))]
impl Launcher {
    /// Creates a launcher for processes on the local host.
    pub fn local(limits: Limits, metrics: Arc<Metrics>) -> Self {
        Self {
            host: Arc::new(crate::host::local::LocalHost),
            limits: Arc::new(limits),
            clock: Clock::start(),
            metrics,
        }
    }
}
