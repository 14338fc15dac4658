//! A thread whose log fails.

use acpd_log::LogError;

use crate::context::Context;

/// A failure of a thread's log.
#[derive(Debug)]
pub struct Failed {
    pub error: LogError,
    pub context: Box<Context>,
}
