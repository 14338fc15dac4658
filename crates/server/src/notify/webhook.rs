//! Webhooks: a signed POST of JSON.

use std::time::{SystemTime, UNIX_EPOCH};

use acpd_proto::notify::DeliveryError;

use super::config::TargetConfig;
use super::message::Notification;
use super::{http, secret, sign};

/// Sends a notification. Blocks.
pub(super) fn send(target: &TargetConfig, notification: &Notification) -> Result<(), DeliveryError> {
    let key =
        secret::read(target.secret.as_ref(), target.secret_file.as_deref()).map_err(DeliveryError::retry)?;
    let key = match key {
        Some(text) => {
            let key = secret::webhook_key(&text);
            Some(key.map_err(|problem| DeliveryError::retry(format!("its secret {problem}")))?)
        }
        None => None,
    };
    // The time of the attempt: a receiver refuses old messages, which protects it from repeated ones.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    let mut headers = vec![
        ("content-type", "application/json".to_owned()),
        ("webhook-id", notification.id.clone()),
        ("webhook-timestamp", seconds.to_string()),
    ];
    if let Some(key) = key {
        let signature = sign::sign(&key, &notification.id, seconds, &notification.json);
        headers.push(("webhook-signature", signature));
    }
    Ok(http::post(
        target.url.as_deref().unwrap_or_default(),
        &headers,
        &notification.json,
    )?)
}
