//! HTTP: the routes, who may take which, and the listeners.
//!
//! In: connections of the network and of the local socket. Out: requests that carry an [`Identity`](crate::auth::store::Identity), and
//! sockets that become connections. Owns: the routes. Never: acts on a thread.

mod acp_stream;
mod authenticate;
mod export;
pub mod host_check;
pub mod listen;
mod login;
mod metrics;
mod routes;
mod same_user;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::handle::AuthHandle;
use crate::connection::acp::setup::ConnectionSetup;
use crate::http::host_check::AllowedHosts;
use acpd_runtime::service::Service;

/// What every connection needs.
#[derive(Debug, Clone)]
pub struct ServerState {
    /// What requests do.
    pub service: Service,
    /// Where editors come in.
    pub setup: ConnectionSetup,
    /// Who may come in.
    pub auth: AuthHandle,
    /// Under which names the daemon is called.
    pub allowed_hosts: Arc<AllowedHosts>,
    /// Where the daemon listens.
    pub address: SocketAddr,
    /// Tells everyone to go.
    pub stop: CancellationToken,
    /// Connections that are still there.
    pub peers: TaskTracker,
}

/// An error as HTTP tells it.
pub fn refuse(status: StatusCode, code: &str, message: &str) -> Response {
    (
        status,
        Json(json!({ "error": { "code": code, "message": message } })),
    )
        .into_response()
}

/// Nobody in particular: what is missing.
fn unauthenticated(message: &str) -> Response {
    let mut refused = refuse(StatusCode::UNAUTHORIZED, "unauthenticated", message);
    refused.headers_mut().insert(
        header::WWW_AUTHENTICATE,
        header::HeaderValue::from_static("Bearer"),
    );
    refused
}

/// Too much, too often.
fn slow_down(secs: u64, message: &str) -> Response {
    let mut refused = refuse(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message);
    refused
        .headers_mut()
        .insert(header::RETRY_AFTER, secs.max(1).into());
    refused
}

/// The answer to requests that come while the daemon stops.
pub fn stopping() -> Response {
    refuse(
        StatusCode::SERVICE_UNAVAILABLE,
        "overloaded",
        "the daemon is stopping",
    )
}
