//! `/acp`: editors over HTTP, by WebSocket.

use std::borrow::Cow;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Extension, State};
use axum::http::{HeaderName, HeaderValue, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::websocket::Socket;
use crate::door::{Door, Pass};

/// Names a connection.
pub const CONNECTION_ID: HeaderName = HeaderName::from_static("acp-connection-id");

/// The routes.
pub fn router() -> Router<Door> {
    Router::new().route("/acp", get(upgrade))
}

async fn upgrade(
    State(door): State<Door>,
    Extension(pass): Extension<Pass>,
    uri: Uri,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    match upgrade {
        Ok(upgrade) => websocket(door, &pass, &uri, upgrade),
        Err(rejection) => rejection.into_response(),
    }
}

fn websocket(door: Door, pass: &Pass, uri: &Uri, upgrade: WebSocketUpgrade) -> Response {
    let bytes = door.calls.around.limits.client_message_bytes;
    let (visitor, agent) = (pass.visitor(), agent(uri));
    let mut response = upgrade
        .read_buffer_size(4096)
        .write_buffer_size(32 << 10)
        // One message at a time waits there, however large it is.
        .max_write_buffer_size(usize::MAX)
        .max_message_size(bytes)
        .max_frame_size(bytes)
        .on_upgrade(move |socket| async move {
            let socket = Socket::new(socket, &door.calls.around.limits);
            let lobby = door.lobby;
            let served = async move { lobby.serve(socket, visitor, agent).await };
            let _ = door.peers.spawn(served).await;
        });
    if let Ok(id) = HeaderValue::from_str(&uuid::Uuid::now_v7().to_string()) {
        response.headers_mut().insert(CONNECTION_ID, id);
    }
    response
}

/// The agent that an address names.
fn agent(uri: &Uri) -> Option<String> {
    let mut pairs = uri.query()?.split('&');
    let name = pairs.find_map(|pair| pair.strip_prefix("agent="))?;
    Some(unescaped(name).into_owned()).filter(|name| !name.is_empty())
}

/// A value of a query, without its escapes; what is no escape stays as it is.
fn unescaped(value: &str) -> Cow<'_, str> {
    if !value.contains(['%', '+']) {
        return value.into();
    }
    let bytes = value.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escape = value.get(at + 1..at + 3).filter(|_| byte == b'%');
        let escaped = escape.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(escaped.unwrap_or(if byte == b'+' { b' ' } else { byte }));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_an_agent() {
        for (uri, name) in [
            ("/acp", None),
            ("/acp?agent=", None),
            ("/acp?other=1&agent=claude-code", Some("claude-code")),
            ("/acp?agent=my%20agent%2B", Some("my agent+")),
            ("/acp?agent=a+b%zz%", Some("a b%zz%")),
        ] {
            assert_eq!(agent(&uri.parse().unwrap()).as_deref(), name, "{uri}");
        }
    }
}
