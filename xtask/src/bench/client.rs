//! A client that only counts frames, so that it is never the bottleneck.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

/// A WebSocket after its handshake, parsed by hand.
pub struct Counter {
    stream: TcpStream,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

/// Maximum time without input.
const SILENCE: Duration = Duration::from_mins(1);

impl Counter {
    /// Connects to the relay or, with a token, to the daemon.
    pub fn connect(address: SocketAddr, token: Option<&str>) -> anyhow::Result<Self> {
        Self::connect_at(address, "/ws", token)
    }

    /// Connects to the path of one protocol.
    pub fn connect_at(address: SocketAddr, path: &str, token: Option<&str>) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE))?;
        let mut request = format!("ws://{address}{path}").into_client_request()?;
        if let Some(token) = token {
            request
                .headers_mut()
                .insert("authorization", format!("Bearer {token}").parse()?);
        }
        let (socket, _) = tokio_tungstenite::tungstenite::client(request, stream)
            .map_err(|error| anyhow::anyhow!("handshake: {error}"))?;
        // The server sends nothing before the client does, so the library has buffered no bytes.
        let stream = socket.into_inner();
        Ok(Self {
            stream,
            buffer: vec![0; 512 << 10],
            start: 0,
            end: 0,
        })
    }

    /// Returns the connection, and the bytes that were read and not consumed.
    pub fn into_parts(self) -> (TcpStream, Vec<u8>) {
        (self.stream, self.buffer[self.start..self.end].to_vec())
    }

    /// Sends one message, masked with zeros: clients must mask.
    pub fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        let text = message.to_string();
        let mut frame = vec![0x81];
        match text.len() {
            n @ 0..=125 => frame.push(0x80 | u8::try_from(n)?),
            n @ 126..=65535 => {
                frame.push(0x80 | 0x7e);
                frame.extend_from_slice(&u16::try_from(n)?.to_be_bytes());
            }
            _ => bail!("too long for a benchmark"),
        }
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(text.as_bytes());
        Ok(self.stream.write_all(&frame)?)
    }

    /// Returns the next frame's payload.
    pub fn next(&mut self) -> anyhow::Result<&[u8]> {
        loop {
            if let Some((header, length)) = head(&self.buffer[self.start..self.end]) {
                let whole = header + length;
                if self.end - self.start >= whole {
                    let from = self.start + header;
                    self.start += whole;
                    return Ok(&self.buffer[from..from + length]);
                }
                if whole > self.buffer.len() {
                    self.buffer.resize(whole, 0);
                }
            }
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            let read = self
                .stream
                .read(&mut self.buffer[self.end..])
                .context("nothing came")?;
            anyhow::ensure!(read > 0, "the connection was closed");
            self.end += read;
        }
    }

    /// Sends a request and waits for its result.
    pub fn request(&mut self, id: u64, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let frame = self.next()?;
            let Ok(message) = serde_json::from_slice::<Value>(frame) else {
                continue;
            };
            if message["id"] == id && message.get("method").is_none() {
                anyhow::ensure!(message.get("error").is_none(), "{method}: {}", message["error"]);
                return Ok(message["result"].clone());
            }
        }
    }

    /// Returns the bytes of all frames up to the response to a request.
    pub fn bytes_until_answer(&mut self, id: u64) -> anyhow::Result<u64> {
        let begin = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},");
        let mut bytes = 0;
        loop {
            let frame = self.next()?;
            bytes += frame.len() as u64;
            if let Some(rest) = frame.strip_prefix(begin.as_bytes()) {
                anyhow::ensure!(
                    rest.starts_with(b"\"result\":"),
                    "{}",
                    String::from_utf8_lossy(frame)
                );
                return Ok(bytes);
            }
        }
    }

    /// Reads all frames up to the next response. Fails if it is an error: a refused request is no load.
    pub fn next_result(&mut self) -> anyhow::Result<()> {
        loop {
            let frame = self.next()?;
            if let Some(rest) = frame.strip_prefix(b"{\"jsonrpc\":\"2.0\",\"id\":") {
                let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                anyhow::ensure!(
                    rest[digits..].starts_with(b",\"result\":"),
                    "{}",
                    String::from_utf8_lossy(frame)
                );
                return Ok(());
            }
        }
    }

    /// Counts frames until one starts with one of `ends`.
    pub fn count_until(&mut self, ends: &[&[u8]]) -> anyhow::Result<u64> {
        let mut count = 0;
        loop {
            let frame = self.next()?;
            count += 1;
            if ends.iter().any(|end| frame.starts_with(end)) {
                return Ok(count);
            }
        }
    }

    /// Returns the nanoseconds from `sentNs` to now, for each frame that has it, until one starts with one of `ends`.
    pub fn latencies_until(&mut self, ends: &[&[u8]]) -> anyhow::Result<Vec<u64>> {
        let mut found = Vec::new();
        loop {
            let frame = self.next()?;
            let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos())?;
            if let Some(sent) = sent_at(frame) {
                found.push(now.saturating_sub(sent));
            }
            if ends.iter().any(|end| frame.starts_with(end)) {
                return Ok(found);
            }
        }
    }
}

/// Returns the offset and length of the first frame's payload, once the header is complete.
pub(super) fn head(bytes: &[u8]) -> Option<(usize, usize)> {
    match *bytes.get(1)? & 0x7f {
        126 => Some((
            4,
            usize::from(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?])),
        )),
        127 => {
            let length = u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?);
            Some((10, usize::try_from(length).ok()?))
        }
        short => Some((2, usize::from(short))),
    }
}

/// Returns the send time in a frame: in `_meta`, or in the text.
pub(super) fn sent_at(frame: &[u8]) -> Option<u64> {
    const KEYS: [&[u8]; 2] = [b"\"sentNs\":", b"sentNs:"];
    let mut keys = KEYS.iter();
    let at = keys.find_map(|key| Some(memchr::memmem::find(frame, key)? + key.len()))?;
    let digits = frame[at..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    std::str::from_utf8(&frame[at..at + digits]).ok()?.parse().ok()
}
