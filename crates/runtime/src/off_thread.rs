//! Work that waits for the disk, on threads that may wait.

use acpd_model::{ErrorCode, Failure};

/// Does the work on a thread for such work. A panic in it fails the request alone.
pub async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Failure::new(ErrorCode::Internal, "the work on the disk failed")))
}
