//! The baseline: copies an agent's stdout lines into WebSocket frames, and back, on the daemon's stack (tokio,
//! tungstenite). It parses, stores and checks nothing. By default, it writes the lines of one read to a client at once;
//! with `--by-line` it writes each line by itself, as simpler relays do.

use std::process::Stdio;
use std::sync::Arc;

use anyhow::Context;
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{ChildStdout, Command};
use tokio::sync::{broadcast, mpsc};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Bytes, Message, Utf8Bytes};

/// The lines of one read, without their ends.
type Lines = Arc<(Bytes, Vec<usize>)>;

/// Asks the relay to write each line to a client by itself.
pub const BY_LINE: &str = "--by-line";

/// Runs `agent` and relays it to every client. Prints its address first.
pub fn run(args: &[&str]) -> anyhow::Result<()> {
    let (agent, by_line) = match args {
        [BY_LINE, agent @ ..] => (agent, true),
        agent => (agent, false),
    };
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(relay(agent, by_line))
}

async fn relay(agent: &[&str], by_line: bool) -> anyhow::Result<()> {
    let (program, args) = agent.split_first().context("which agent?")?;
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let stdout = child.stdout.take().context("no stdout")?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    let (to_agent, mut for_agent) = mpsc::channel::<String>(64);
    let (publish, _) = broadcast::channel::<Lines>(64);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    tokio::spawn(async move {
        while let Some(line) = for_agent.recv().await {
            if stdin.write_all(line.as_bytes()).await.is_err() {
                return;
            }
        }
    });
    tokio::spawn(down(stdout, publish.clone()));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(client(stream, publish.subscribe(), to_agent.clone(), by_line));
    }
}

/// Relays agent output to clients. Waits for a slow client, as a pipe would.
async fn down(mut stdout: ChildStdout, publish: broadcast::Sender<Lines>) {
    let mut buffer = Vec::with_capacity(128 << 10);
    loop {
        buffer.reserve(64 << 10);
        let Ok(1..) = stdout.read_buf(&mut buffer).await else {
            return;
        };
        let ends: Vec<usize> = memchr::memchr_iter(b'\n', &buffer).collect();
        let Some(whole) = ends.last().map(|end| end + 1) else {
            continue;
        };
        let rest = buffer.split_off(whole);
        let lines = Bytes::from(std::mem::replace(&mut buffer, rest));
        while publish.len() >= 48 {
            tokio::task::yield_now().await;
        }
        let _ = publish.send(Arc::new((lines, ends)));
    }
}

async fn client(
    stream: TcpStream,
    mut lines: broadcast::Receiver<Lines>,
    to_agent: mpsc::Sender<String>,
    by_line: bool,
) {
    let config = WebSocketConfig::default().read_buffer_size(4096);
    let Ok(socket) = tokio_tungstenite::accept_async_with_config(stream, Some(config)).await else {
        return;
    };
    let (mut sink, mut source) = socket.split();
    let up = async {
        while let Some(Ok(Message::Text(text))) = source.next().await {
            if to_agent.send(format!("{text}\n")).await.is_err() {
                return;
            }
        }
    };
    let down = async {
        while let Ok(batch) = lines.recv().await {
            let mut start = 0;
            for end in &batch.1 {
                let Ok(text) = Utf8Bytes::try_from(batch.0.slice(start..*end)) else {
                    continue;
                };
                start = end + 1;
                if sink.feed(Message::Text(text)).await.is_err() {
                    return;
                }
                if by_line && sink.flush().await.is_err() {
                    return;
                }
            }
            if sink.flush().await.is_err() {
                return;
            }
        }
    };
    tokio::select! { () = up => {}, () = down => {} }
}
