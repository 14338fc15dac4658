//! The yardstick: copies an agent's stdout lines into WebSocket frames, and back. It parses nothing, keeps
//! nothing and checks nothing, so that it shows what the kernel and the agent alone cost.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use anyhow::Context;

/// Runs `agent` and relays it to every client. Prints its address first.
pub fn run(agent: &[&str]) -> anyhow::Result<()> {
    let (program, args) = agent.split_first().context("which agent?")?;
    let mut child = Command::new(program).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut stdout = child.stdout.take().context("no stdout")?;
    let stdin = Arc::new(Mutex::new(child.stdin.take().context("no stdin")?));
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    let clients: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    let joined = Arc::clone(&clients);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let stdin = Arc::clone(&stdin);
            let Ok(socket) = tungstenite::accept(stream) else { continue };
            let stream = socket.into_inner();
            let Ok(reading) = stream.try_clone() else { continue };
            let _ = stream.set_nodelay(true);
            joined.lock().expect("no panics").push(stream);
            std::thread::spawn(move || up(reading, &stdin));
        }
    });
    down(&mut stdout, &clients);
    Ok(())
}

/// Agent to clients.
fn down(stdout: &mut impl Read, clients: &Mutex<Vec<TcpStream>>) {
    let mut buffer = vec![0; 256 << 10];
    let mut filled = 0;
    let mut frames = Vec::with_capacity(300 << 10);
    while let Ok(read @ 1..) = stdout.read(&mut buffer[filled..]) {
        filled += read;
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &buffer[..filled]) {
            frame(&mut frames, &buffer[start..end]);
            start = end + 1;
        }
        buffer.copy_within(start..filled, 0);
        filled -= start;
        clients.lock().expect("no panics").retain_mut(|client| client.write_all(&frames).is_ok());
        frames.clear();
    }
}

/// One unmasked text frame.
fn frame(out: &mut Vec<u8>, line: &[u8]) {
    out.push(0x81);
    match line.len() {
        n @ 0..=125 => out.push(u8::try_from(n).expect("small")),
        n @ 126..=65535 => {
            out.push(126);
            out.extend_from_slice(&u16::try_from(n).expect("small").to_be_bytes());
        }
        n => {
            out.push(127);
            out.extend_from_slice(&(n as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(line);
}

/// Client to agent: a few small messages, so the library does.
fn up(stream: TcpStream, stdin: &Mutex<std::process::ChildStdin>) {
    let mut socket = tungstenite::WebSocket::from_raw_socket(stream, tungstenite::protocol::Role::Server, None);
    while let Ok(message) = socket.read() {
        if let tungstenite::Message::Text(text) = message {
            let line = format!("{text}\n");
            if stdin.lock().expect("no panics").write_all(line.as_bytes()).is_err() {
                return;
            }
        }
    }
}
