//! Accepts connections from the network, with or without TLS, and from the local sockets.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use acpd_model::limits::HEAD_SECS;
use axum::Router;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::auth::store::Source;
use crate::http::{ServerState, routes};
use crate::net::http_version;
use crate::net::http_version::HttpService;
use crate::net::listener::NetworkListener;
use crate::net::peer_address::PeerAddress;
use crate::net::tls::Certified;
use crate::net::unauthenticated::{AuthProgress, UnauthenticatedConnections};
use crate::net::unix_socket;
use crate::transport::lines::Lines;

/// Seconds until a connection without a valid credential is closed, whether it is in use or not.
const NEWCOMER_SECS: u64 = 30;
/// The pause after a connection for which there is no descriptor.
const PAUSE: Duration = Duration::from_millis(50);
/// How much of the request of such a connection is read.
const REFUSED_BYTES: u64 = 4096;

/// The limit of connections of one listener. Each listener has its own, so that network clients cannot use up the owner's
/// connections.
struct Room {
    limit: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Room {
    fn new(server: &ServerState) -> Self {
        Self {
            limit: Arc::new(Semaphore::new(server.service.context.limits.now().connections)),
            stop: server.stop.clone(),
        }
    }

    /// Returns the next connection, or `None` when the daemon stops.
    async fn next<L: Listener>(&self, listener: &L) -> Option<(L::Accepted, OwnedSemaphorePermit)> {
        let permit = Arc::clone(&self.limit).acquire_owned().await.ok()?;
        let accepted = next(listener, &self.stop).await?;
        Some((accepted, permit))
    }
}

/// Returns the next connection, or `None` when the daemon stops.
async fn next<L: Listener>(listener: &L, stop: &CancellationToken) -> Option<L::Accepted> {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return None,
            accepted = poll_fn(|context| listener.poll_accept(context)) => accepted,
        };
        match accepted {
            Ok(accepted) => return Some(accepted),
            Err(error) => {
                // The process probably has no file descriptors left. A later attempt may succeed.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// A source of connections.
trait Listener {
    /// A connection and the address of the client.
    type Accepted;

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<std::io::Result<Self::Accepted>>;
}

impl Listener for NetworkListener {
    type Accepted = (TcpStream, SocketAddr);

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<std::io::Result<Self::Accepted>> {
        self.poll_accept(context)
    }
}

impl Listener for UnixListener {
    type Accepted = (UnixStream, tokio::net::unix::SocketAddr);

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<std::io::Result<Self::Accepted>> {
        self.poll_accept(context)
    }
}

/// Accepts network connections until the daemon stops.
pub async fn serve(listener: NetworkListener, server: ServerState, tls: Option<watch::Receiver<Certified>>) {
    serve_network(listener, routes::router(server.clone()), server, tls).await;
}

/// Accepts network connections of Codex clients until the daemon stops.
pub async fn serve_codex(
    listener: NetworkListener,
    server: ServerState,
    tls: Option<watch::Receiver<Certified>>,
) {
    serve_network(listener, routes::codex_router(server.clone()), server, tls).await;
}

/// Accepts network connections. Each uses the certificate of the moment at which it was accepted.
async fn serve_network(
    listener: NetworkListener,
    router: Router,
    server: ServerState,
    tls: Option<watch::Receiver<Certified>>,
) {
    // Unauthenticated connections do not count against the limit. They have their own, at which the oldest is evicted.
    let mut unauthenticated = UnauthenticatedConnections::new(Room::new(&server).limit);
    while let Some((stream, from)) = next(&listener, &server.stop).await {
        if let Err(error) = acpd_host::check_descriptors() {
            // Clients try again at once.
            let (pause, reason) = (tokio::time::sleep(PAUSE), error.to_string());
            let refused = refuse(stream, &reason, tls.is_some());
            let _ = tokio::time::timeout(PAUSE, refused).await;
            pause.await;
            continue;
        }
        // Without it, a single frame waits until the client acknowledges the previous frame.
        let _ = stream.set_nodelay(true);
        let Ok(local) = stream.local_addr() else {
            continue;
        };
        let peer_address = PeerAddress::Network {
            local,
            peer: from,
            secure: tls.is_some(),
        };
        let progress = unauthenticated.add(Source::of(from.ip()));
        let service = HttpService::new(peer_address, router.clone()).of(Arc::clone(&progress));
        let stop = server.stop.clone();
        let acceptor = tls
            .as_ref()
            .map(|tls| TlsAcceptor::from(Arc::clone(&tls.borrow().config)));
        let served = serve_connection(stream, acceptor, service, stop);
        server.peers.spawn(serve_until_over(served, progress));
    }
}

/// Serves a connection that must authenticate in time.
async fn serve_until_over(served: impl Future<Output = ()>, progress: Arc<AuthProgress>) {
    tokio::select! {
        () = served => {}
        () = progress.over(Duration::from_secs(NEWCOMER_SECS)) => {}
    }
}

/// Refuses a network connection. A client with TLS sees only the end of the connection.
async fn refuse(mut stream: TcpStream, reason: &str, is_secure: bool) {
    tracing::warn!(%reason, "a connection was refused");
    if is_secure {
        return;
    }
    let body = json!({ "error": { "code": "overloaded", "message": reason } }).to_string();
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: \
         close\r\nRetry-After: 1\r\n\r\n{body}",
        body.len()
    );
    // A failure means that the client has disconnected.
    if stream.write_all(answer.as_bytes()).await.is_err() || stream.shutdown().await.is_err() {
        return;
    }
    // A request that is not read would reset the connection before the client has read the answer.
    let mut request = stream.take(REFUSED_BYTES);
    let _ = tokio::io::copy(&mut request, &mut tokio::io::sink()).await;
}

/// Serves HTTP on a network connection, with or without TLS.
async fn serve_connection(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    service: HttpService,
    stop: CancellationToken,
) {
    let Some(acceptor) = acceptor else {
        return http_version::either(stream, service, stop).await;
    };
    let shaken = tokio::select! {
        () = stop.cancelled() => return,
        shaken = tokio::time::timeout(Duration::from_secs(HEAD_SECS), acceptor.accept(stream)) => shaken,
    };
    // A client without TLS, or one that rejects the certificate, is not worth a log message.
    let Ok(Ok(stream)) = shaken else { return };
    // ALPN has determined the HTTP version.
    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
        http_version::http2(stream, service, stop).await;
    } else {
        http_version::http1(stream, service, stop).await;
    }
}

/// Accepts connections at the local socket until the daemon stops.
pub async fn serve_socket(listener: UnixListener, server: ServerState) {
    let room = Room::new(&server);
    // Agents need a token here. With or without one, they must not use up the owner's connections, nor those without one the others'.
    let mut unauthenticated = UnauthenticatedConnections::new(Room::new(&server).limit);
    let router = routes::router(server.clone());
    while let Some(((stream, _), permit)) = room.next(&listener).await {
        let peer = unix_socket::peer(&stream);
        let service = HttpService::new(PeerAddress::Socket { peer }, router.clone());
        let stop = server.stop.clone();
        if peer == unix_socket::Peer::User {
            server.peers.spawn(async move {
                let _permit = permit;
                http_version::either(stream, service, stop).await;
            });
        } else {
            let progress = unauthenticated.add(Source::Socket);
            let service = service.of(Arc::clone(&progress));
            let served = http_version::either(stream, service, stop);
            server.peers.spawn(serve_until_over(served, progress));
        }
    }
}

/// Accepts editors at their socket until the daemon stops.
pub async fn serve_editors(listener: UnixListener, server: ServerState) {
    let room = Room::new(&server);
    while let Some(((mut stream, _), permit)) = room.next(&listener).await {
        match unix_socket::peer(&stream) {
            unix_socket::Peer::User => {}
            unix_socket::Peer::Agent => {
                let error = json!({ "code": -32000, "message": unix_socket::NOT_FOR_AGENTS });
                let refused = format!("{}\n", json!({ "jsonrpc": "2.0", "id": null, "error": error }));
                // The line fits into the buffer of the new socket. A failure means that the client has disconnected.
                let _ = stream.write_all(refused.as_bytes()).await;
                continue;
            }
            unix_socket::Peer::Stranger => continue,
        }
        let server = server.clone();
        server.peers.clone().spawn(async move {
            let _permit = permit;
            let Some(identity) = server.auth.ask(|store, _| store.owner()).await else {
                return;
            };
            let (reader, writer) = stream.into_split();
            let transport = Lines::new(reader, writer, &server.service.context.limits.now());
            server
                .setup
                .serve(transport, identity.editor_identity(), None)
                .await;
        });
    }
}
