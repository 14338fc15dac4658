//! A web server on loopback, for tests of code that downloads registries and archives.
//!
//! In: responses by path. Out: the server's address. Owns: a thread for as long as the test runs. Never: is part of
//! acpd.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use sha2::{Digest, Sha256};

/// The response for a path.
#[derive(Debug, Clone)]
pub enum CannedResponse {
    /// 200, with this body.
    Body(Vec<u8>),
    /// 302, to this address.
    Moved(&'static str),
}

impl From<Vec<u8>> for CannedResponse {
    fn from(body: Vec<u8>) -> Self {
        Self::Body(body)
    }
}

impl From<String> for CannedResponse {
    fn from(body: String) -> Self {
        Self::Body(body.into_bytes())
    }
}

impl From<&str> for CannedResponse {
    fn from(body: &str) -> Self {
        Self::Body(body.into())
    }
}

/// Serves the responses, which may depend on the server's own address, and 404 for other paths, until the test ends.
pub fn serve<A>(answers: impl FnOnce(SocketAddr) -> A) -> SocketAddr
where
    A: IntoIterator<Item = (&'static str, CannedResponse)>,
{
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    let answers: Vec<_> = answers(address).into_iter().collect();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.expect("a connection comes in"), &answers);
        }
    });
    address
}

/// Returns the SHA-256 checksum in the format of registries.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn answer(mut stream: TcpStream, answers: &[(&str, CannedResponse)]) {
    let mut lines = BufReader::new(stream.try_clone().expect("it can be shared")).lines();
    let first = lines.next().and_then(Result::ok).unwrap_or_default();
    // Read the whole head: closing a socket with unread bytes would reset the connection.
    while lines
        .next()
        .and_then(Result::ok)
        .is_some_and(|line| !line.is_empty())
    {}
    let wanted = first.split(' ').nth(1).unwrap_or_default();
    let found = answers.iter().find(|(path, _)| *path == wanted);
    let (status, body) = match found.map(|(_, answer)| answer) {
        Some(CannedResponse::Body(body)) => ("200 OK".to_owned(), &body[..]),
        Some(CannedResponse::Moved(to)) => (format!("302 Found\r\nLocation: {to}"), &b""[..]),
        None => ("404 Not Found".to_owned(), &b"no"[..]),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // The client may have closed the connection.
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(body));
}
