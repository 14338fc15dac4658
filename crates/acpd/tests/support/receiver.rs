//! A receiver of notifications on loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::Value;

use super::wait_until;

/// A request that a receiver got.
#[derive(Debug, Clone)]
pub struct Posted {
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Posted {
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

/// A loopback HTTP server that keeps what it is sent.
pub struct Receiver {
    pub address: SocketAddr,
    posted: Arc<Mutex<Vec<Posted>>>,
    status: Arc<AtomicU16>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Reserves a port at which nothing listens yet.
pub fn free_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address")
}

impl Receiver {
    pub fn start() -> Self {
        Self::at(free_port())
    }

    pub fn at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).expect("the port is free");
        let posted = Arc::<Mutex<Vec<Posted>>>::default();
        let status = Arc::new(AtomicU16::new(200));
        let ends = Arc::new(AtomicBool::new(false));
        let (kept, answers, stops) = (Arc::clone(&posted), Arc::clone(&status), Arc::clone(&ends));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stops.load(Ordering::Acquire) {
                    return;
                }
                let Ok(mut stream) = stream else { continue };
                let Some(request) = read(&stream) else { continue };
                kept.lock().expect("no panic").push(request);
                let status = answers.load(Ordering::Acquire);
                let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                // The daemon may have been killed meanwhile.
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Self {
            address,
            posted,
            status,
            ends,
            thread: Some(thread),
        }
    }

    pub fn answers(&self, status: u16) {
        self.status.store(status, Ordering::Release);
    }

    pub fn posted(&self) -> Vec<Posted> {
        self.posted.lock().expect("no panic").clone()
    }

    /// Waits until there are that many requests, and returns them.
    pub fn wait_for(&self, number: usize) -> Vec<Posted> {
        wait_until("the receiver has its requests", || self.posted().len() >= number);
        let posted = self.posted();
        assert_eq!(posted.len(), number, "{posted:#?}");
        posted
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        // Wakes it up. If it has ended, there is no listener.
        let _ = std::net::TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn read(stream: &std::net::TcpStream) -> Option<Posted> {
    let mut lines = BufReader::new(stream);
    let mut first = String::new();
    lines.read_line(&mut first).ok()?;
    let path = first.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length?.1.parse().ok()?];
    lines.read_exact(&mut body).ok()?;
    Some(Posted { path, headers, body })
}
