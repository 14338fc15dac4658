//! HTTP over one connection. The version is 2 if ALPN selected it, or if the client starts with its preface in clear text;
//! otherwise it is 1.1.
//!
//! In: a connection. Out: requests for the routes, with their [`PeerAddress`]. Owns: the connection's timeouts and limits.
//! Never: interprets a request.
//!
//! WebSockets need HTTP/1.1. The daemon does not offer the WebSocket extension of HTTP/2, so browsers open a separate
//! connection.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use acpd_model::limits::{HEAD_SECS, LAST_WORDS_SECS};
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderValue, Request, Response, header};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;

use crate::net::counted::{Counted, Traffic};
use crate::net::peer_address::PeerAddress;
use crate::net::unauthenticated::AuthProgress;

/// Bytes of a connection that may wait to be parsed as HTTP. A longer head is refused.
const HTTP_BUFFER_BYTES: usize = 16 << 10;
/// Open requests of one HTTP/2 connection, event streams included.
const HTTP2_STREAMS: u32 = 128;
/// Bytes of the body of one request that an HTTP/2 client may send before the daemon reads them.
const HTTP2_STREAM_BYTES: u32 = 256 << 10;
/// The same as [`HTTP2_STREAM_BYTES`], for all requests of one connection.
const HTTP2_CONNECTION_BYTES: u32 = 1 << 20;
/// Bytes of one response that may wait to be sent to an HTTP/2 client.
const HTTP2_SEND_BYTES: usize = 64 << 10;
/// Seconds of silence on an HTTP/2 connection until the daemon pings the client.
const HTTP2_PING_SECS: u64 = 30;
/// Seconds that an HTTP/2 client has to answer a ping.
const HTTP2_PONG_SECS: u64 = 10;
/// Seconds until an HTTP/2 connection without requests and open streams is closed.
const HTTP2_IDLE_SECS: u64 = 60;
/// The first bytes of an HTTP/2 client.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The handler for the requests of one connection.
#[derive(Clone)]
pub struct HttpService {
    peer_address: PeerAddress,
    /// The authentication progress of a connection that needs a credential.
    progress: Option<Arc<AuthProgress>>,
    /// The transferred bytes of the connection. HTTP/1.1 counts them.
    traffic: Traffic,
    router: Router,
    /// The number of received requests.
    asked: Arc<AtomicUsize>,
}

impl HttpService {
    pub fn new(peer_address: PeerAddress, router: Router) -> Self {
        Self {
            peer_address,
            progress: None,
            traffic: Traffic::default(),
            router,
            asked: Arc::default(),
        }
    }

    /// Sets the authentication progress of the connection.
    pub fn of(self, progress: Arc<AuthProgress>) -> Self {
        let progress = Some(progress);
        Self { progress, ..self }
    }
}

impl hyper::service::Service<Request<Incoming>> for HttpService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        self.asked.fetch_add(1, Ordering::Relaxed);
        request.extensions_mut().insert(self.peer_address);
        request.extensions_mut().insert(self.traffic.clone());
        if let Some(progress) = &self.progress {
            request.extensions_mut().insert(Arc::clone(progress));
        }
        let (mut router, open) = (self.router.clone(), Arc::clone(&self.asked));
        if request.version() == axum::http::Version::HTTP_2 {
            as_before(&mut request);
        }
        Box::pin(async move {
            let answer = router.call(request.map(Body::new)).await?;
            Ok(answer.map(|body| Body::new(TrackedBody { body, _open: open })))
        })
    }
}

/// Adds the `Host` header to an HTTP/2 request, which has the host in `:authority`.
fn as_before(request: &mut Request<Incoming>) {
    let authority = request.uri().authority();
    let host = authority.and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    let headers = request.headers_mut();
    if let Some(host) = host {
        headers.entry(header::HOST).or_insert(host);
    }
}

/// A response body that keeps the connection busy until it was sent.
struct TrackedBody {
    body: Body,
    _open: Arc<AtomicUsize>,
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Serves the HTTP version with which the client starts.
pub async fn either(
    mut stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    service: HttpService,
    stop: CancellationToken,
) {
    let begun = tokio::select! {
        () = stop.cancelled() => return,
        begun = tokio::time::timeout(Duration::from_secs(HEAD_SECS), begin(&mut stream)) => begun,
    };
    // A client that sends nothing or disconnects is not worth a log message.
    let Ok(Ok(begun)) = begun else { return };
    let is_http2 = begun == PREFACE;
    let stream = PrefixedStream {
        read: begun,
        at: 0,
        stream,
    };
    if is_http2 {
        http2(stream, service, stop).await;
    } else {
        http1(stream, service, stop).await;
    }
}

/// Reads until the version is clear: either all of [`PREFACE`], or the first bytes that differ from it.
async fn begin(stream: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Vec<u8>> {
    let mut begun = Vec::with_capacity(PREFACE.len());
    while begun.len() < PREFACE.len() && PREFACE.starts_with(&begun) {
        let missing = (PREFACE.len() - begun.len()) as u64;
        if (&mut *stream).take(missing).read_buf(&mut begun).await? == 0 {
            break;
        }
    }
    Ok(begun)
}

/// Serves HTTP/1.1 and WebSockets, and counts the bytes.
pub async fn http1(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    service: HttpService,
    stop: CancellationToken,
) {
    let stream = Counted::new(stream, service.traffic.clone());
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(HEAD_SECS))
        .max_buf_size(HTTP_BUFFER_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    tokio::select! {
        // A client that disconnects or sends invalid HTTP is not worth a log message.
        _ = &mut connection => return,
        () = stop.cancelled() => {}
    }
    // The readers of event streams still receive the final events.
    connection.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(Duration::from_secs(LAST_WORDS_SECS), connection).await;
}

/// Serves HTTP/2.
pub async fn http2(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    service: HttpService,
    stop: CancellationToken,
) {
    let asked = Arc::clone(&service.asked);
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(HTTP2_PING_SECS))
        .keep_alive_timeout(Duration::from_secs(HTTP2_PONG_SECS))
        .max_concurrent_streams(HTTP2_STREAMS)
        .max_header_list_size(u32::try_from(HTTP_BUFFER_BYTES).unwrap_or(u32::MAX))
        .initial_stream_window_size(HTTP2_STREAM_BYTES)
        .initial_connection_window_size(HTTP2_CONNECTION_BYTES)
        .max_send_buf_size(HTTP2_SEND_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let patience = tokio::select! {
        _ = &mut connection => return,
        // Requests that have just arrived still receive their responses.
        () = idle(&asked) => Duration::from_secs(HEAD_SECS),
        () = stop.cancelled() => Duration::from_secs(LAST_WORDS_SECS),
    };
    connection.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(patience, connection).await;
}

/// Waits until no request has arrived for a while, and no response is being sent.
async fn idle(asked: &Arc<AtomicUsize>) {
    let unused = Arc::strong_count(asked);
    let mut before = 0;
    loop {
        tokio::time::sleep(Duration::from_secs(HTTP2_IDLE_SECS)).await;
        let now = asked.load(Ordering::Relaxed);
        if now == before && Arc::strong_count(asked) <= unused {
            return;
        }
        before = now;
    }
}

/// A stream whose first bytes were already read.
struct PrefixedStream<S> {
    read: Vec<u8>,
    /// How many of these bytes were returned again.
    at: usize,
    stream: S,
}

impl<S: AsyncRead + Unpin> AsyncRead for PrefixedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let rest = &self.read[self.at..];
        if rest.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let taken = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..taken]);
        self.at += taken;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PrefixedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_more_is_read_than_it_takes_to_know() {
        let whole = [&PREFACE[..], b"more"].concat();
        for (first, then, begun) in [
            (&whole[..], &b""[..], &PREFACE[..]),
            (&whole[..3], &whole[3..], PREFACE),
            (b"G", b"ET / HTTP/1.1", b"G"),
            (b"P", b"OST / HTTP/1.1", b"POST / HTTP/1.1"),
            (b"PRI", b"", b"PRI"),
            (b"", b"", b""),
        ] {
            let mut stream = first.chain(then);
            assert_eq!(begin(&mut stream).await.unwrap(), begun);
            let mut stream = PrefixedStream {
                read: begun.to_vec(),
                at: 0,
                stream,
            };
            let mut all = Vec::new();
            stream.read_to_end(&mut all).await.unwrap();
            assert_eq!(all, [first, then].concat());
        }
    }
}
