//! `/acp`: editors over HTTP, by WebSocket or by the draft "Streamable HTTP & WebSocket Transport". In the draft, editors
//! post messages, and read responses from event streams: one of the connection, and one of each session.
//!
//! In: authenticated requests. Out: transports for the connection setup. Owns: the connections, and for each the events
//! that its readers may still need. Never: ends a session because a connection is lost.

#![allow(
    clippy::unnecessary_box_returns,
    reason = "a refusal is large, and results also have small variants"
)]

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use acpd_model::{ErrorCode, Failure};
use acpd_proto::wire::{Found, Message, read_unclean_message};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use futures_util::stream;
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};

use crate::auth::identity::{ConnectionPermit, Identity};
use crate::auth::owner_token::random;
use crate::http::{ServerState, refuse};
use crate::net::counted::Traffic;
use crate::transport::event_stream::connection::{Connection, StreamReader};
use crate::transport::event_stream::streams::StreamError;
use crate::transport::websocket::{Binary, Socket, sized};

/// Longest session id in the header of a request, in bytes.
const SESSION_ID_BYTES: usize = 256;

/// The header with the id of a connection.
pub const CONNECTION_ID: HeaderName = HeaderName::from_static("acp-connection-id");

/// The header with the id of a session.
const SESSION_ID: HeaderName = HeaderName::from_static("acp-session-id");

/// The header with the id of the last event that a reader has received.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// Returns the routes below `/acp`.
pub fn router() -> Router<ServerState> {
    Router::new().route("/acp", get(listen).post(post).delete(end))
}

/// The response to a request, or an error response.
type HttpResult = Result<Response, Box<Response>>;

fn no(status: StatusCode, code: &str, message: &str) -> Box<Response> {
    Box::new(refuse(status, code, message))
}

/// Returns the response to a body that is not a valid JSON-RPC message. `id` is the id of the request as it is written.
fn no_message(id: &str, failure: &Failure) -> Box<Response> {
    let error = json!({ "code": failure.code.rpc(), "message": failure.message });
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
    Box::new((StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, JSON)], body).into_response())
}

/// Returns the message in a body that is not one, or what can be read of it and the response.
fn mend(body: &str) -> Result<String, (Found, Box<Response>)> {
    match read_unclean_message(body) {
        Ok(mended) if mended.texts.len() == 1 => Ok(mended.texts.concat()),
        Ok(_) => {
            let failure = Failure::new(ErrorCode::InvalidRequest, "post one message at a time");
            Err((Found::Other, no_message("null", &failure)))
        }
        Err(unreadable) => {
            let answer = no_message(unreadable.request_id(), &unreadable.failure());
            Err((unreadable.found, answer))
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Returns whether an `Accept` header contains one of these media types.
fn accepts(headers: &HeaderMap, wanted: &[&str]) -> bool {
    let lines = headers.get_all(header::ACCEPT).iter();
    let kinds = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','));
    let mut kinds = kinds.map(|kind| kind.split(';').next().unwrap_or_default().trim());
    kinds.any(|kind| wanted.iter().any(|wanted| kind.eq_ignore_ascii_case(wanted)))
}

/// Returns the connection that a request names, if it belongs to the same principal.
fn find(
    server: &ServerState,
    identity: &Identity,
    headers: &HeaderMap,
) -> Result<Arc<Connection>, Box<Response>> {
    let id = text(headers, &CONNECTION_ID).ok_or_else(|| {
        no(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            "missing header: Acp-Connection-Id",
        )
    })?;
    let found = server.setup.connections.find(id, &identity.principal);
    found.ok_or_else(connection_gone)
}

fn connection_gone() -> Box<Response> {
    let message = "unknown connection: send initialize and load the open sessions again";
    no(StatusCode::NOT_FOUND, "not_found", message)
}

/// Returns the session in the headers of a request.
fn session(headers: &HeaderMap) -> Result<Option<String>, Box<Response>> {
    let Some(value) = headers.get(SESSION_ID) else {
        return Ok(None);
    };
    let session = value
        .to_str()
        .ok()
        .filter(|id| !id.is_empty() && id.len() <= SESSION_ID_BYTES);
    let session = session.ok_or_else(|| {
        no(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            "invalid Acp-Session-Id: it is not a session id",
        )
    })?;
    Ok(Some(session.to_owned()))
}

impl StreamError {
    fn answer(self) -> Box<Response> {
        match self {
            Self::Taken => no(
                StatusCode::CONFLICT,
                "conflict",
                "this stream already has a reader",
            ),
            Self::Gone => no(
                StatusCode::CONFLICT,
                "conflict",
                "the missed events have expired: load the session again",
            ),
            Self::Unknown => no(
                StatusCode::BAD_REQUEST,
                "invalid_params",
                "Last-Event-ID is beyond the last event",
            ),
            Self::TooMany => no(
                StatusCode::SERVICE_UNAVAILABLE,
                "overloaded",
                "this connection has too many sessions: use another one",
            ),
            Self::Mismatch => no(
                StatusCode::BAD_REQUEST,
                "invalid_request",
                "Acp-Session-Id and params.sessionId differ",
            ),
        }
    }
}

async fn post(
    State(server): State<ServerState>,
    Extension(identity): Extension<Identity>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let posted = posted(server, identity, &uri, &headers, body).await;
    posted.unwrap_or_else(|refused| *refused)
}

async fn posted(
    server: ServerState,
    identity: Identity,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> HttpResult {
    let kind = text(headers, &header::CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case(JSON) {
        return Err(no(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "invalid_request",
            "post application/json",
        ));
    }
    if headers.contains_key(header::ACCEPT) && !accepts(headers, &[JSON, EVENTS, "application/*", "*/*"]) {
        let message = "the answer is application/json or text/event-stream";
        return Err(no(StatusCode::NOT_ACCEPTABLE, "invalid_request", message));
    }
    let body = read(&server, body).await?;
    let mended;
    let (message, body) = match Message::parse(&body) {
        Ok(message) => (message, &body),
        Err(_) => {
            mended = match mend(&body) {
                Ok(mended) => mended,
                Err((found, answer)) => {
                    // What waits for this answer must not wait for another one.
                    if matches!(found, Found::Answer { .. })
                        && !find(&server, &identity, headers)?.post(body).await
                    {
                        return Err(connection_gone());
                    }
                    return Err(answer);
                }
            };
            let message =
                Message::parse(&mended).map_err(|malformed| no_message("null", &malformed.into()))?;
            (message, &mended)
        }
    };
    if let Message::Request { method, .. } = &message
        && **method == *"initialize"
    {
        if headers.contains_key(CONNECTION_ID) {
            let message = "Already initialized";
            return Err(no(StatusCode::BAD_REQUEST, "invalid_request", message));
        }
        return begin(server, &identity, uri, &message, body.clone()).await;
    }
    let connection = find(&server, &identity, headers)?;
    let session = session(headers)?;
    let accepted = connection
        .accept(&message, session.as_deref(), body.clone())
        .await;
    if !accepted.map_err(StreamError::answer)? {
        return Err(connection_gone());
    }
    Ok(StatusCode::ACCEPTED.into_response())
}

async fn read(server: &ServerState, body: Body) -> Result<String, Box<Response>> {
    let limits = server.service.context.limits.now();
    let (most, patience) = (
        limits.editor_message_bytes(),
        Duration::from_secs(limits.write_secs),
    );
    match tokio::time::timeout(patience, to_bytes(body, most)).await {
        Ok(Ok(bytes)) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Ok(Err(_)) => {
            let message = format!("the message has more than {most} bytes, or broke off");
            Err(no(StatusCode::PAYLOAD_TOO_LARGE, "invalid_request", &message))
        }
        Err(_) => Err(no(
            StatusCode::REQUEST_TIMEOUT,
            "invalid_request",
            "timed out reading the request body",
        )),
    }
}

/// Ends a new connection unless its `initialize` succeeds.
struct InitializeGuard(Option<Arc<Connection>>);

impl Drop for InitializeGuard {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            connection.end();
        }
    }
}

async fn begin(
    server: ServerState,
    identity: &Identity,
    uri: &Uri,
    message: &Message<'_>,
    body: String,
) -> HttpResult {
    let id = random().map_err(|_| {
        let message = "the system has no random numbers";
        no(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    })?;
    let permit = take_permit(identity)?;
    let opened = server.setup.connections.open(&id, identity.clone());
    let (connection, exchange, said) = opened.ok_or_else(|| {
        let message = "too many editor connections: close some or retry later";
        no(StatusCode::SERVICE_UNAVAILABLE, "overloaded", message)
    })?;
    let mut beginning = InitializeGuard(Some(Arc::clone(&connection)));
    let (setup, identity, agent) = (server.setup, identity.editor_identity(), agent(uri));
    server.peers.spawn(async move {
        setup.serve(exchange, identity, agent).await;
        drop(permit);
    });
    connection
        .with(|streams| streams.posted(message, None))
        .map_err(StreamError::answer)?;
    if !connection.post(body).await {
        return Err(connection_gone());
    }
    let text = said.await.map_err(|_| Box::new(crate::http::stopping()))?;
    let answered = std::str::from_utf8(&text)
        .ok()
        .and_then(|text| Message::parse(text).ok());
    let is_welcome = matches!(answered, Some(Message::Response { result: Ok(_), .. }));
    let mut response = ([(header::CONTENT_TYPE, JSON)], text).into_response();
    if is_welcome {
        if let Ok(mut id) = HeaderValue::from_str(&id) {
            id.set_sensitive(true);
            response.headers_mut().insert(CONNECTION_ID, id);
        }
        beginning.0 = None;
    }
    Ok(response)
}

async fn end(
    State(server): State<ServerState>,
    Extension(identity): Extension<Identity>,
    headers: HeaderMap,
) -> Response {
    match find(&server, &identity, &headers) {
        Ok(connection) => {
            server.setup.connections.remove(&connection);
            connection.end();
            StatusCode::ACCEPTED.into_response()
        }
        Err(refused) => *refused,
    }
}

async fn listen(
    State(server): State<ServerState>,
    Extension(identity): Extension<Identity>,
    Extension(traffic): Extension<Traffic>,
    uri: Uri,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    if headers.contains_key(header::UPGRADE) {
        let permit = match take_permit(&identity) {
            Ok(permit) => permit,
            Err(refused) => return *refused,
        };
        return match upgrade {
            Ok(upgrade) => websocket(server, &identity, permit, traffic, &uri, upgrade),
            Err(rejection) => rejection.into_response(),
        };
    }
    events(&server, &identity, &headers).unwrap_or_else(|refused| *refused)
}

/// Returns the response that streams events.
fn events(server: &ServerState, identity: &Identity, headers: &HeaderMap) -> HttpResult {
    if !accepts(headers, &[EVENTS, "text/*", "*/*"]) {
        let message = "this is read as text/event-stream";
        return Err(no(StatusCode::NOT_ACCEPTABLE, "invalid_request", message));
    }
    let connection = find(server, identity, headers)?;
    let key = session(headers)?;
    let after = match headers.get(LAST_EVENT_ID) {
        None => None,
        Some(value) => {
            let number = value.to_str().ok().and_then(|value| value.parse().ok());
            Some(number.ok_or_else(|| StreamError::Unknown.answer())?)
        }
    };
    let reader = connection
        .with(|streams| streams.open(key.clone(), after))
        .map_err(StreamError::answer)?;
    let reader = StreamReader::new(connection, key, reader);
    // A write detects a reader that has disconnected.
    let mut sign_of_life = interval(Duration::from_secs(server.service.context.limits.now().ping_secs));
    sign_of_life.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let written = stream::unfold(
        (reader, sign_of_life),
        |(mut reader, mut sign_of_life)| async move {
            let chunk = tokio::select! {
                biased;
                event = reader.next() => event.map(|(number, text)| {
                    let mut chunk = format!("id: {number}\ndata: ").into_bytes();
                    chunk.extend_from_slice(&text);
                    chunk.extend_from_slice(b"\n\n");
                    Bytes::from(chunk)
                })?,
                _ = sign_of_life.tick() => Bytes::from_static(b":\n\n"),
            };
            Some((Ok::<_, std::convert::Infallible>(chunk), (reader, sign_of_life)))
        },
    );
    let unbuffered = (HeaderName::from_static("x-accel-buffering"), "no");
    let kind = (header::CONTENT_TYPE, EVENTS);
    Ok(([kind, unbuffered], Body::from_stream(written)).into_response())
}

fn websocket(
    server: ServerState,
    identity: &Identity,
    permit: ConnectionPermit,
    traffic: Traffic,
    uri: &Uri,
    upgrade: WebSocketUpgrade,
) -> Response {
    let bytes = server.service.context.limits.now().editor_message_bytes();
    let (identity, agent) = (identity.editor_identity(), agent(uri));
    let mut response = sized(upgrade, bytes).on_upgrade(move |socket| async move {
        let socket = Socket::new(socket, traffic, Binary::Text);
        let setup = server.setup;
        // Boxed because the future is large: it contains a process that waits for a session.
        let served = async move {
            Box::pin(setup.serve(socket, identity, agent)).await;
            drop(permit);
        };
        server.peers.spawn(served);
    });
    if let Ok(id) = HeaderValue::from_str(&uuid::Uuid::now_v7().to_string()) {
        response.headers_mut().insert(CONNECTION_ID, id);
    }
    response
}

fn take_permit(identity: &Identity) -> Result<ConnectionPermit, Box<Response>> {
    identity
        .take_permit()
        .map_err(|full| no(StatusCode::SERVICE_UNAVAILABLE, "overloaded", &full.to_string()))
}

/// Returns the agent in the query of an address.
fn agent(uri: &Uri) -> Option<String> {
    let mut pairs = uri.query()?.split('&');
    let name = pairs.find_map(|pair| pair.strip_prefix("agent="))?;
    Some(unescaped(name).into_owned()).filter(|name| !name.is_empty())
}

/// Decodes a value of a query. Invalid escapes stay as they are.
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
