//! Sends from a thread that may block.

use acpd_proto::notify::DeliveryError;

pub(super) async fn blocking<E: From<DeliveryError> + Send + 'static>(
    send: impl FnOnce() -> Result<(), E> + Send + 'static,
) -> Result<(), E> {
    let sent = tokio::task::spawn_blocking(send).await;
    sent.unwrap_or_else(|error| Err(DeliveryError::retry(error.to_string()).into()))
}
