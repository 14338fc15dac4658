//! Errors of the log, as clients receive them.

use acpd_log::LogError;
use acpd_model::{ErrorCode, Failure};

/// Converts a log error to the error that the client receives.
pub fn log_failure(error: &LogError) -> Failure {
    match error {
        LogError::NoSuchThread(thread) => Failure::not_found(format!("thread {thread}")),
        LogError::Storage(_) | LogError::Unavailable(_) => {
            Failure::new(ErrorCode::Storage, error.to_string())
        }
        other => Failure::new(ErrorCode::Internal, other.to_string()),
    }
}
