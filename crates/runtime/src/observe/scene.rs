//! The thread that is observed.

use std::sync::Arc;

use acpd_model::ThreadId;

use super::span::Traces;
use crate::metrics::Metrics;

/// The thread that is observed.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// The name of its agent.
    pub agent: &'a str,
    /// Receives durations.
    pub metrics: &'a Metrics,
    /// Receives spans, if traces are on.
    pub traces: Option<&'a Arc<dyn Traces>>,
}
