//! HTTP: the routes, the permissions that they require, and the listeners.
//!
//! In: connections from the network and the local sockets. Out: requests with an
//! [`Identity`](crate::auth::identity::Identity), and upgraded sockets. Owns: the routes. Never: acts on a thread.

mod acp_stream;
mod attachment;
mod authenticate;
mod blob;
pub mod credentials;
mod devices;
mod export;
pub mod host_check;
pub mod listen;
mod login;
mod metrics;
mod pair;
mod push;
mod routes;
mod same_user;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::handle::AuthHandle;
use crate::connection::acp::setup::ConnectionSetup;
use crate::http::host_check::AllowedHosts;
use crate::notify::push::Push;
use acpd_runtime::room::Room;
use acpd_runtime::service::Service;

/// The state that all connections share.
#[derive(Debug, Clone)]
pub struct ServerState {
    /// Executes requests.
    pub service: Service,
    /// Sets up editors' connections.
    pub setup: ConnectionSetup,
    /// Authenticates clients.
    pub auth: AuthHandle,
    /// Notifies browsers.
    pub push: Arc<Push>,
    /// The host names under which clients reach the daemon.
    pub allowed_hosts: Arc<AllowedHosts>,
    /// The address on which the daemon listens.
    pub address: SocketAddr,
    /// The directory of the log.
    pub data_dir: Arc<Path>,
    /// Cancelled when the daemon stops.
    pub stop: CancellationToken,
    /// The tasks of open connections.
    pub peers: TaskTracker,
    /// For large parts of blobs that are being sent.
    pub blob_parts: Room,
}

/// Returns an error response.
pub fn refuse(status: StatusCode, code: &str, message: &str) -> Response {
    (
        status,
        Json(json!({ "error": { "code": code, "message": message } })),
    )
        .into_response()
}

/// Returns an error response that a user can read in a browser.
fn refuse_page(status: StatusCode, message: &str) -> Response {
    let message = message
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>acpd</title></head>\
         <body><h1>acpd refused this request</h1><p>{message}</p></body></html>\n"
    );
    (status, Html(page)).into_response()
}

/// Returns the response to a request without a valid credential.
fn unauthenticated(message: &str) -> Response {
    let mut refused = refuse(StatusCode::UNAUTHORIZED, "unauthenticated", message);
    refused.headers_mut().insert(
        header::WWW_AUTHENTICATE,
        header::HeaderValue::from_static("Bearer"),
    );
    refused
}

/// Returns the response to a client that exceeds a rate limit.
fn slow_down(secs: u64, message: &str) -> Response {
    let mut refused = refuse(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message);
    refused
        .headers_mut()
        .insert(header::RETRY_AFTER, secs.max(1).into());
    refused
}

/// Returns the response to requests that arrive while the daemon stops.
pub fn stopping() -> Response {
    refuse(
        StatusCode::SERVICE_UNAVAILABLE,
        "overloaded",
        "the daemon is stopping",
    )
}
