//! The routes, and the role that each of them requires.

use std::convert::Infallible;

use acpd_log::free_bytes;
use acpd_model::Role;
use acpd_model::limits::READY_FREE_BYTES;
use acpd_proto::surface::contract::Surface;
use acpd_proto::surface::{app, codex};
use acpd_runtime::service::Defaults;
use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use tower_service::Service;

use crate::auth::identity::Identity;
use crate::connection::channel::Channel;
use crate::connection::driver::{Access, Connection};
use crate::http::acp_stream;
use crate::http::attachment::attach;
use crate::http::authenticate::Needs;
use crate::http::blob::blob;
use crate::http::export::export;
use crate::http::host_check::{self, HostError, is_forwarded_or_foreign};
use crate::http::{ServerState, authenticate, devices, login, pair, push, refuse, refuse_page};
use crate::net::counted::Traffic;
use crate::net::peer_address::PeerAddress;
use crate::transport::recorded::recorded;
use crate::transport::websocket::{Binary, Socket, sized};

/// Returns all routes. Each group of routes requires a role; the app protocol checks each of its methods itself.
pub fn router(server: ServerState) -> Router {
    let needs =
        |needs: Needs| middleware::from_fn_with_state((server.clone(), needs), authenticate::authenticate);
    // These limit a client to the thread that was shared with it.
    let shared = Router::new()
        .route("/ws", get(websocket))
        .route("/api/threads/{thread}/export", get(export))
        .route("/api/blobs/{id}", get(blob))
        .route("/api/session", get(login::who).delete(login::end))
        .merge(acp_stream::router())
        .route_layer(needs(Needs::SharedThread));
    let observer = Router::new()
        .route("/metrics", get(crate::http::metrics::expose))
        .route("/api/tickets", post(login::ticket))
        .route("/api/tickets/used", post(login::used))
        .route("/api/devices", get(devices::list).put(devices::rename))
        .route("/api/devices", delete(devices::remove))
        .route("/api/push", get(push::read).put(push::subscribe))
        .route("/api/push", delete(push::unsubscribe))
        .route("/api/push/test", post(push::test))
        .route_layer(needs(Needs::Role(Role::Observer)))
        .merge(shared);
    let approver = Router::new()
        .route("/api/pairings", post(pair::create).delete(pair::end))
        .route("/api/pairings/wait", post(pair::wait))
        .route_layer(needs(Needs::Role(Role::Approver)));
    let operator = Router::new()
        .route("/api/threads/{thread}/attachments/{name}", put(attach))
        .route_layer(needs(Needs::Attach(Role::Operator)));
    let owner = Router::new()
        .route("/api/tokens/reload", post(reload))
        .route_layer(needs(Needs::Role(Role::Owner)));
    // This route reads the credential itself.
    let observer = observer.merge(Router::new().route("/api/session", post(login::begin)));
    let routes = health()
        .merge(observer)
        .merge(approver)
        .merge(operator)
        .merge(codex(&server, page))
        .merge(owner)
        .fallback(page);
    checked(routes, server)
}

/// Returns the routes of the listener for Codex clients alone.
pub fn codex_router(server: ServerState) -> Router {
    let routes = health().merge(codex(&server, only_codex)).fallback(only_codex);
    checked(routes, server)
}

/// Returns the routes for health checks, which need no token.
fn health() -> Router<ServerState> {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
}

/// Returns the paths at which Codex opens its WebSocket: `/` over the network, and `/rpc` at a socket. Other requests there
/// go to `otherwise`.
fn codex<F>(server: &ServerState, otherwise: fn(Request) -> F) -> Router<ServerState>
where
    F: Future<Output = Response> + Send + 'static,
{
    let needs = (server.clone(), Needs::SharedThread);
    let sockets = Router::new()
        .route("/", get(codex_socket))
        .route("/rpc", get(codex_socket))
        .route_layer(middleware::from_fn_with_state(needs, authenticate::authenticate))
        .with_state(server.clone());
    let either = async move |request: Request| {
        if upgrades(&request) {
            sockets.clone().call(request).await.into_response()
        } else {
            otherwise(request).await
        }
    };
    Router::new()
        .route("/", get(either.clone()))
        .route("/rpc", get(either))
}

/// Adds the checks and headers of all routes.
fn checked(routes: Router<ServerState>, server: ServerState) -> Router {
    routes
        .layer(middleware::from_fn_with_state(server.clone(), check_host))
        .layer(middleware::from_fn_with_state(
            server.clone(),
            crate::http::metrics::count_refusals,
        ))
        .layer(middleware::map_response(harden))
        .with_state(server)
}

/// Returns whether a request asks for a WebSocket.
fn upgrades(request: &Request) -> bool {
    let upgrade = request.headers().get(header::UPGRADE);
    upgrade.is_some_and(|protocol| protocol.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Serves the web UI. It contains no secrets, so it needs no authentication; the page asks for a token itself.
async fn page(request: Request) -> Response {
    acpd_web::serve(request)
        .await
        .unwrap_or_else(|| refuse(StatusCode::NOT_FOUND, "not_found", "there is nothing here"))
}

/// Refuses what the listener for Codex clients does not serve.
async fn only_codex(_: Request) -> Response {
    let message =
        "this address serves Codex clients only: connect a WebSocket to /, or use the daemon's main address";
    refuse(StatusCode::NOT_FOUND, "not_found", message)
}

/// Answers whether the daemon can work: it is not stopping, and its log can be written.
async fn ready(State(server): State<ServerState>) -> Result<&'static str, (StatusCode, String)> {
    let unready = |why: String| Err((StatusCode::SERVICE_UNAVAILABLE, why + "\n"));
    if server.stop.is_cancelled() {
        return unready("stopping".to_owned());
    }
    if let Some(error) = server.service.context.log_faults.unwritable() {
        return unready(error.to_string());
    }
    match free_bytes(&server.data_dir) {
        Ok(free) if free < READY_FREE_BYTES => unready(format!(
            "the disk of the data directory is full: {free} bytes are free"
        )),
        // A file system that does not tell its free space may work.
        _ => Ok("ready\n"),
    }
}

/// Reloads the tokens after the CLI has changed them. Connections of revoked tokens end before the response is sent.
async fn reload(State(server): State<ServerState>) -> Response {
    match server.auth.reload().await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => refuse(StatusCode::CONFLICT, "conflict", &error.to_string()),
    }
}

/// Rejects requests from pages of other origins, and from pages that point their own host name at the daemon. On the local
/// socket, it also rejects requests that a proxy has forwarded.
async fn check_host(
    State(server): State<ServerState>,
    request: Request,
    next: Next,
) -> Result<Response, Infallible> {
    let checked = match request.extensions().get() {
        Some(PeerAddress::Network { local, secure, .. }) => {
            server
                .allowed_hosts
                .check(request.uri(), request.headers(), *local, *secure)
        }
        Some(PeerAddress::Socket { .. }) if !is_forwarded_or_foreign(request.headers()) => Ok(()),
        _ => Err(HostError::PassedOn),
    };
    let opens_page = host_check::opens_page(request.method(), request.headers());
    Ok(match checked {
        Ok(()) => next.run(request).await,
        Err(foreign) if opens_page => refuse_page(StatusCode::FORBIDDEN, &foreign.to_string()),
        Err(foreign) => refuse(StatusCode::FORBIDDEN, "forbidden", &foreign.to_string()),
    })
}

/// Adds the default security headers: no content sniffing, no caching, no framing. A route can set other values.
async fn harden(mut response: Response) -> Response {
    const SAID: [(HeaderName, &str); 6] = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in SAID {
        response
            .headers_mut()
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

async fn websocket(
    State(server): State<ServerState>,
    Extension(identity): Extension<Identity>,
    Extension(traffic): Extension<Traffic>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let gate = server.service.context.gate();
    let peer = app::Peer::new(identity.principal.to_string(), identity.permissions(), gate);
    let bytes = server.service.context.limits.now().client_message_bytes;
    connect(server, identity, traffic, upgrade, bytes, peer)
}

async fn codex_socket(
    State(server): State<ServerState>,
    Extension(identity): Extension<Identity>,
    Extension(traffic): Extension<Traffic>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let gate = server.service.context.gate();
    let host = match &identity.share {
        // A shared thread includes nothing of the host.
        Some(_) => codex::Host {
            home: "/".to_owned(),
            default_agent: None,
        },
        None => codex::Host {
            home: std::env::home_dir()
                .unwrap_or_else(|| "/".into())
                .to_string_lossy()
                .into_owned(),
            default_agent: server.service.context.agents.default_agent(),
        },
    };
    let peer = codex::Peer::new(identity.principal.to_string(), identity.permissions(), host, gate);
    // A prompt contains its images.
    let bytes = server.service.context.limits.now().editor_message_bytes();
    connect(server, identity, traffic, upgrade, bytes, peer)
}

/// Starts a connection on a WebSocket, whose client sends messages of up to `bytes`.
fn connect<S: Surface>(
    server: ServerState,
    identity: Identity,
    traffic: Traffic,
    upgrade: WebSocketUpgrade,
    bytes: usize,
    peer: S,
) -> Response {
    let permit = match identity.take_permit() {
        Ok(permit) => permit,
        Err(full) => return refuse(StatusCode::SERVICE_UNAVAILABLE, "overloaded", &full.to_string()),
    };
    let limits = server.service.context.limits.now();
    let peers = server.peers.clone();
    sized(upgrade, bytes)
        .protocols([authenticate::PROTOCOL])
        .on_upgrade(move |socket| async move {
            let socket = Box::new(Socket::new(socket, traffic, Binary::Refused));
            let wire = server.service.context.sinks.wire.as_ref();
            let channel = Channel::new(recorded(socket, wire, peer.lane().word()), &limits);
            let access = Access {
                permissions: identity.permissions(),
                user: identity.user.clone(),
                connection: server.service.context.ids.connection().into(),
                defaults: Defaults::none(),
                standby: None,
                stop: server.stop,
                ends: identity.ends,
            };
            // A task of its own, which the daemon waits for when it stops. This one ends, and frees its memory.
            let connection = Connection::new(channel, peer, server.service, access);
            peers.spawn(async move {
                connection.run(None).await;
                drop(permit);
            });
        })
        .into_response()
}
