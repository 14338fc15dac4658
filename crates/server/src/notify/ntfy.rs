//! Topics of an ntfy server (<https://docs.ntfy.sh/publish/>).

use acpd_proto::notify::DeliveryError;
use serde::Serialize;

use super::config::TargetConfig;
use super::message::Notification;
use super::{http, secret};

/// A message, published as JSON, since headers can only hold ASCII.
#[derive(Serialize)]
struct Publish<'a> {
    topic: &'a str,
    title: &'a str,
    message: &'a str,
    click: &'a str,
    priority: u8,
    tags: [&'static str; 1],
}

/// Publishes a notification. Blocks.
pub(super) fn send(target: &TargetConfig, notification: &Notification) -> Result<(), DeliveryError> {
    let url = target.url.as_deref().unwrap_or_default().trim_end_matches('/');
    let Some((server, topic)) = url.rsplit_once('/') else {
        return Err(DeliveryError::last("the URL has no topic"));
    };
    let message = Publish {
        topic,
        title: &notification.title,
        message: &notification.text,
        click: &notification.link,
        priority: if notification.is_urgent { 4 } else { 3 },
        tags: [match notification.kind {
            "done" => "white_check_mark",
            "failed" => "x",
            "waiting" => "raised_hand",
            _ => "bell",
        }],
    };
    let body = serde_json::to_vec(&message).map_err(|error| DeliveryError::last(error.to_string()))?;
    let mut headers = vec![("content-type", "application/json".to_owned())];
    let token =
        secret::read(target.token.as_ref(), target.token_file.as_deref()).map_err(DeliveryError::retry)?;
    if let Some(token) = token {
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(DeliveryError::retry(
                "its token contains characters that no token has",
            ));
        }
        headers.push(("authorization", format!("Bearer {token}")));
    }
    Ok(http::post(server, &headers, &body)?)
}
