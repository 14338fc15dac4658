//! HTTP/2: without TLS if the client starts with it, with TLS if both ends negotiate it.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use hyper::body::{Body, Incoming};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Method, Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::support::{Daemon, PATIENCE};

/// One HTTP/2 connection.
struct Client {
    requests: SendRequest<String>,
    base: String,
    token: String,
}

/// An event stream.
struct Events {
    body: Incoming,
    text: String,
}

impl Client {
    async fn over(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        base: String,
        daemon: &Daemon,
    ) -> Self {
        let (requests, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .expect("the daemon speaks HTTP/2");
        tokio::spawn(connection);
        Self {
            requests,
            base,
            token: daemon.place.token(),
        }
    }

    async fn clear(daemon: &Daemon) -> Self {
        let address = daemon.address();
        let stream = TcpStream::connect(address).await.expect("the daemon listens");
        Self::over(stream, format!("http://{address}"), daemon).await
    }

    async fn ask(
        &mut self,
        method: Method,
        path: &str,
        more: &[(&str, &str)],
        body: &str,
    ) -> Response<Incoming> {
        let mut request = Request::builder()
            .version(Version::HTTP_2)
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("authorization", format!("Bearer {}", self.token));
        for (name, value) in more {
            request = request.header(*name, *value);
        }
        let request = request.body(body.to_owned()).expect("a request");
        let answer = tokio::time::timeout(PATIENCE, self.requests.send_request(request)).await;
        answer.expect("it is answered").expect("it is answered well")
    }

    async fn post(&mut self, more: &[(&str, &str)], message: &Value) -> Response<Incoming> {
        let more = [&[("content-type", "application/json")], more].concat();
        self.ask(Method::POST, "/acp?agent=fake", &more, &message.to_string())
            .await
    }

    /// Opens a session; returns the first event of its stream, and the stream.
    async fn session(&mut self, daemon: &Daemon) -> (Value, Events) {
        let hello =
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": 1 } });
        let answer = self.post(&[], &hello).await;
        assert_eq!(
            (answer.status().as_u16(), answer.version()),
            (200, Version::HTTP_2)
        );
        let id = answer.headers()["acp-connection-id"]
            .to_str()
            .expect("text")
            .to_owned();
        let mut hello = Events::of(answer);
        while hello.more().await {}
        assert!(hello.text.contains(r#""protocolVersion":1"#), "{}", hello.text);
        let named = [("acp-connection-id", &*id), ("accept", "text/event-stream")];
        let events = self.ask(Method::GET, "/acp", &named, "").await;
        assert_eq!(events.status(), 200);
        let mut events = Events::of(events);
        let params = json!({ "cwd": daemon.place.work(), "mcpServers": [] });
        let new = json!({ "jsonrpc": "2.0", "id": 1, "method": "session/new", "params": params });
        assert_eq!(self.post(&named[..1], &new).await.status(), 202);
        (events.next().await, events)
    }
}

impl Events {
    fn of(answer: Response<Incoming>) -> Self {
        Self {
            body: answer.into_body(),
            text: String::new(),
        }
    }

    /// Reads a chunk; returns `false` at the end of the stream.
    async fn more(&mut self) -> bool {
        let frame = poll_fn(|context| Pin::new(&mut self.body).poll_frame(context));
        match tokio::time::timeout(PATIENCE, frame)
            .await
            .expect("something comes")
        {
            Some(Ok(frame)) => {
                let data = frame.data_ref().map(|data| &data[..]).unwrap_or_default();
                self.text.push_str(std::str::from_utf8(data).expect("text"));
                true
            }
            Some(Err(_)) | None => false,
        }
    }

    /// Returns the next event's data.
    async fn next(&mut self) -> Value {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data:"));
                let data = data.map(|data| serde_json::from_str(data).expect("JSON"));
                let rest = rest.to_owned();
                self.text = rest;
                if let Some(data) = data {
                    return data;
                }
            } else {
                assert!(self.more().await, "the stream ended: {}", self.text);
            }
        }
    }
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be made").block_on(test);
}

#[test]
fn an_editor_works_over_one_connection_until_the_daemon_stops() {
    run(async {
        let mut daemon = Daemon::start();
        let mut client = Client::clear(&daemon).await;
        let (made, mut events) = client.session(&daemon).await;
        assert!(made["result"]["sessionId"].is_string(), "{made}");
        // The shutdown does not wait for clients that only listen.
        let stopped = tokio::task::spawn_blocking(move || daemon.stop());
        while events.more().await {}
        let _ = stopped.await.expect("it stops");
    });
}

#[test]
fn a_socket_is_not_opened_over_it_and_a_name_must_be_ours() {
    run(async {
        let daemon = Daemon::start();
        let mut client = Client::clear(&daemon).await;
        let refused = client.ask(Method::GET, "/ws", &[], "").await;
        assert!(refused.status().is_client_error(), "{refused:?}");
        assert_eq!(client.ask(Method::GET, "/readyz", &[], "").await.status(), 200);
        let port = daemon.address().port();
        client.base = format!("http://elsewhere.example:{port}");
        assert_eq!(client.ask(Method::GET, "/readyz", &[], "").await.status(), 403);
    });
}

#[test]
fn it_is_agreed_on_under_tls() {
    run(async {
        let daemon = Daemon::with("[server.tls]\nself_signed = true\n");
        let certificate = CertificateDer::from_pem_file(daemon.place.data().join("tls-cert.pem"));
        let mut roots = RootCertStore::empty();
        roots.add(certificate.expect("one was made")).expect("it is one");
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has them")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let address: SocketAddr = daemon.address();
        let stream = TcpStream::connect(address).await.expect("the daemon listens");
        let name = ServerName::try_from("localhost").expect("a name");
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
        let stream = stream.expect("the certificate is right");
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let base = format!("https://localhost:{}", address.port());
        let mut client = Client::over(stream, base, &daemon).await;
        let (made, _events) = client.session(&daemon).await;
        assert!(made["result"]["sessionId"].is_string(), "{made}");
    });
}
