//! The door: where connections come in, and whom they speak for.
//!
//! In: connections of the network and of the local socket, and what they show. Out: requests that carry a
//! [`Identity`], and sockets that go on as peers. Owns: tokens, tickets, sessions, certificates, the routes. Never:
//! acts on a thread, keeps a secret as text (hashes only, the owner's token apart), or says one in a log or an error.

mod authenticate;
mod handle;
mod host_check;
mod http_version;
mod listen;
mod login;
mod owner_token;
mod peer;
mod peer_address;
mod routes;
mod sessions;
mod store;
mod throttle;
pub mod tls;
pub mod tokens;
mod unauthenticated;
pub mod unix_socket;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use handle::AuthHandle;
pub use host_check::{AllowedHosts, BadHost};
pub use listen::{serve, serve_editors, serve_socket};
pub use owner_token::{Hash, Token, TokenError, random};
pub use sessions::Sessions;
pub use store::{AuthStore, EditorIdentity, Holder, Identity};

use crate::acp::ConnectionSetup;
use crate::service::Service;

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
