//! HTTP: the accept loop, who may come in, and the routes.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use acpd_model::Role;
use acpd_model::limits::HEAD_SECS;
use acpd_proto::surface::app::Peer;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::Token;
use crate::calls::Calls;
use crate::export::{blob, export};
use crate::peer::PeerActor;

/// What every connection needs.
#[derive(Debug, Clone)]
pub struct Door {
    /// What requests do.
    pub calls: Calls,
    /// What a client must show.
    pub token: Arc<Token>,
    /// Where the daemon listens.
    pub address: SocketAddr,
    /// Tells everyone to go.
    pub stop: CancellationToken,
    /// Connections that are still there.
    pub peers: TaskTracker,
}

/// Accepts connections until told to stop.
pub async fn serve(listener: TcpListener, door: Door) {
    let limit = Arc::new(Semaphore::new(door.calls.around.limits.connections));
    let router = router(door.clone());
    loop {
        let Ok(permit) = Arc::clone(&limit).acquire_owned().await else {
            return;
        };
        let accepted = tokio::select! {
            () = door.stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, most likely: the next ones may succeed.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Without it a lone frame waits for the one before it to be acknowledged.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        let stop = door.stop.clone();
        door.peers.spawn(async move {
            let _permit = permit;
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(Duration::from_secs(HEAD_SECS))
                .max_buf_size(16 << 10)
                .serve_connection(TokioIo::new(stream), service)
                .with_upgrades();
            tokio::select! {
                () = stop.cancelled() => {}
                // A client that breaks off or talks nonsense is no news.
                _ = connection => {}
            }
        });
    }
}

fn router(door: Door) -> Router {
    Router::new()
        .route("/ws", get(websocket))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(crate::metrics::expose))
        .route("/api/threads/{thread}/export", get(export))
        .route("/api/blobs/{id}", get(blob))
        .fallback(|| async { refuse(StatusCode::NOT_FOUND, "not_found", "there is nothing here") })
        .layer(middleware::from_fn_with_state(door.clone(), same_origin))
        .layer(middleware::from_fn_with_state(
            door.clone(),
            crate::metrics::count_refusals,
        ))
        .with_state(door)
}

async fn ready(State(door): State<Door>) -> Result<&'static str, (StatusCode, &'static str)> {
    if door.stop.is_cancelled() {
        Err((StatusCode::SERVICE_UNAVAILABLE, "stopping\n"))
    } else {
        Ok("ready\n")
    }
}

/// A page of another origin, or one that made its name point here, is turned away before anything else.
async fn same_origin(State(door): State<Door>, request: Request, next: Next) -> Result<Response, Infallible> {
    let headers = request.headers();
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    if !is_ours(host, door.address) {
        return Ok(refuse(
            StatusCode::FORBIDDEN,
            "forbidden",
            "this name is not the daemon's",
        ));
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or_default();
        if origin.strip_prefix("http://") != Some(host) {
            return Ok(refuse(
                StatusCode::FORBIDDEN,
                "forbidden",
                "requests from other origins are refused",
            ));
        }
    }
    Ok(next.run(request).await)
}

fn is_ours(host: &str, address: SocketAddr) -> bool {
    let port = address.port();
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()];
    host == address.to_string()
        || names
            .iter()
            .any(|name| host == format!("{name}:{port}") || (port == 80 && host == name))
}

/// Whether whoever sends these headers may come in; else what it is told.
pub fn authenticate(door: &Door, headers: &HeaderMap) -> Result<(), Box<Response>> {
    let shown = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "));
    if !shown.is_some_and(|shown| door.token.matches(shown.trim())) {
        let mut refused = refuse(
            StatusCode::UNAUTHORIZED,
            "unauthenticated",
            "show the access token as Authorization: Bearer",
        );
        refused.headers_mut().insert(
            header::WWW_AUTHENTICATE,
            header::HeaderValue::from_static("Bearer"),
        );
        return Err(Box::new(refused));
    }
    Ok(())
}

async fn websocket(State(door): State<Door>, headers: HeaderMap, upgrade: WebSocketUpgrade) -> Response {
    if let Err(refused) = authenticate(&door, &headers) {
        return *refused;
    }
    let limits = (*door.calls.around.limits).clone();
    let peers = door.peers.clone();
    upgrade
        .read_buffer_size(4096)
        .write_buffer_size(32 << 10)
        // One message at a time waits there, however large its event is: a client that could not be sent an
        // event would never get past it.
        .max_write_buffer_size(usize::MAX)
        .max_message_size(limits.client_message_bytes)
        .max_frame_size(limits.client_message_bytes)
        .on_upgrade(move |socket| async move {
            let peer = Peer::new("owner".to_owned(), Role::Owner, limits);
            let _ = peers
                .spawn(PeerActor::new(socket, peer, door.calls, door.stop).run())
                .await;
        })
}

/// An error as HTTP tells it.
pub fn refuse(status: StatusCode, code: &str, message: &str) -> Response {
    (
        status,
        Json(json!({ "error": { "code": code, "message": message } })),
    )
        .into_response()
}
