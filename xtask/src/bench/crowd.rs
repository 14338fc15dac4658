//! Many clients on one thread while its agent streams. Checks that all receive everything in order, and measures the
//! time from the agent's write until the last client has received it.
//!
//! One task per client, all on one OS thread, reads the frames. So the result measures the daemon, and not client
//! threads that compete for the CPU.

use std::net::TcpStream;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::task::JoinSet;
use tokio::time::{Duration, timeout};

use super::Binaries;
use super::WORKSPACE;
use super::client::{Counter, head};
use super::daemon::{Daemon, Relay};
use super::measure::{ENDS, percentile};
use super::report::Report;

/// Number of clients on one thread, and of deltas that its agent streams.
struct Size {
    clients: usize,
    deltas: usize,
}

const FULL: Size = Size {
    clients: 500,
    deltas: 2_000,
};
const QUICK: Size = Size {
    clients: 50,
    deltas: 200,
};

/// Milliseconds between two deltas: 200 per second.
const PACE_MILLIS: u64 = 5;

/// Maximum time without input.
const SILENCE: Duration = Duration::from_mins(1);

/// Measures the daemon and the bare relay.
pub fn streaming(binaries: &Binaries, quick: bool, report: &mut Report) -> anyhow::Result<()> {
    let size = if quick { QUICK } else { FULL };
    let text = format!("lone n={} ms={PACE_MILLIS} kind=delta", size.deltas);
    let bare = relay(binaries, &size, &text).context("the relay's crowd")?;
    let ours = daemon(binaries, &size, &text).context("the daemon's crowd")?;
    let name = format!("{} clients, 200 deltas/s", size.clients);
    for (part, word) in [(0.50, "p50"), (0.99, "p99")] {
        let bare = last_arrival(&bare, part)?;
        let ours = last_arrival(&ours, part)?;
        let what = format!("{name}: line to last client, {word}");
        report.add(&format!("{what}: bare relay"), bare, "ms", None);
        report.add(&format!("{what}: acpd"), ours, "ms", None);
        report.add(&format!("{what}: added"), (ours - bare).max(0.0), "ms", None);
    }
    Ok(())
}

/// One client's deltas: when each was sent, and its latency, both in nanoseconds.
type Arrivals = Vec<(u64, u64)>;

fn relay(binaries: &Binaries, size: &Size, text: &str) -> anyhow::Result<Vec<Arrivals>> {
    let relay = Relay::start(binaries)?;
    let (mut first, session) = relay.client()?;
    let mut others: Vec<_> = (1..size.clients)
        .map(|_| Counter::connect(relay.address, None))
        .collect::<Result<_, _>>()?;
    let prompt = |text: &str| {
        let params = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
        json!({ "jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": params })
    };
    // A turn that reaches all clients proves that all have subscribed.
    first.send(&prompt("say joined"))?;
    for client in std::iter::once(&mut first).chain(&mut others) {
        client.count_until(&ENDS[1..])?;
    }
    first.send(&prompt(text))?;
    read(first, others, Source::Relay, size)
}

fn daemon(binaries: &Binaries, size: &Size, text: &str) -> anyhow::Result<Vec<Arrivals>> {
    let dir = tempfile::tempdir()?;
    let daemon = Daemon::start(binaries, &dir.path().join("data"))?;
    let mut first = daemon.client()?;
    let thread = first.request(
        1,
        "thread/start",
        &json!({ "agentType": "fake", "cwd": WORKSPACE }),
    )?["thread"]["id"]
        .take();
    let mut others = Vec::new();
    for _ in 1..size.clients {
        let mut client = daemon.client()?;
        client.request(1, "thread/resume", &json!({ "threadId": thread }))?;
        others.push(client);
    }
    let params = json!({ "threadId": thread, "text": text });
    first.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "turn/start", "params": params }))?;
    read(first, others, Source::Daemon, size)
}

/// The source of the frames.
#[derive(Debug, Clone, Copy)]
enum Source {
    Relay,
    Daemon,
}

impl Source {
    /// Returns the prefix of a frame that carries deltas.
    fn delta(self) -> &'static [u8] {
        match self {
            Self::Relay => b"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\"",
            Self::Daemon => b"{\"jsonrpc\":\"2.0\",\"method\":\"item/agentMessage/delta\"",
        }
    }

    fn ends(self) -> &'static [&'static [u8]] {
        match self {
            Self::Relay => &ENDS[1..],
            Self::Daemon => &ENDS[..1],
        }
    }
}

/// Reads all clients to the turn's end, and checks that each received everything in order.
fn read(first: Counter, others: Vec<Counter>, source: Source, size: &Size) -> anyhow::Result<Vec<Arrivals>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let arrivals = runtime.block_on(async {
        let mut readers = JoinSet::new();
        for client in std::iter::once(first).chain(others) {
            let (stream, had) = client.into_parts();
            readers.spawn(one(stream, had, source));
        }
        let mut arrivals = Vec::new();
        while let Some(read) = readers.join_next().await {
            arrivals.push(read??);
        }
        anyhow::Ok(arrivals)
    })?;
    for arrivals in &arrivals {
        ensure!(
            arrivals.len() == size.deltas,
            "a client got {} of {} deltas",
            arrivals.len(),
            size.deltas
        );
        ensure!(
            arrivals.is_sorted_by(|(before, _), (after, _)| before < after),
            "a client got deltas out of order, or twice"
        );
    }
    Ok(arrivals)
}

/// Reads one client to the turn's end.
async fn one(stream: TcpStream, had: Vec<u8>, source: Source) -> anyhow::Result<Arrivals> {
    stream.set_nonblocking(true)?;
    let mut stream = tokio::net::TcpStream::from_std(stream)?;
    let mut buffer = had;
    let mut arrivals = Vec::new();
    let mut last_seq = None;
    loop {
        let now = nanos()?;
        let mut start = 0;
        while let Some((header, length)) = head(&buffer[start..]) {
            let from = start + header;
            let Some(frame) = buffer.get(from..from + length) else {
                break;
            };
            start = from + length;
            if matches!(source, Source::Daemon) {
                in_order(frame, &mut last_seq)?;
            }
            if frame.starts_with(source.delta()) {
                arrivals.extend(sent(frame).map(|sent| (sent, now.saturating_sub(sent))));
            }
            if source.ends().iter().any(|end| frame.starts_with(end)) {
                return Ok(arrivals);
            }
        }
        buffer.drain(..start);
        let read = timeout(SILENCE, stream.read_buf(&mut buffer)).await;
        ensure!(read.context("nothing came")?? > 0, "the connection was closed");
    }
}

/// Checks that the sequence numbers of a thread's events have no gap. A response has none.
fn in_order(frame: &[u8], last: &mut Option<u64>) -> anyhow::Result<()> {
    const KEY: &[u8] = b"\"seq\":";
    if !frame.starts_with(b"{\"jsonrpc\":\"2.0\",\"method\"") {
        return Ok(());
    }
    let at = memchr::memmem::find(frame, KEY).context("no seq")? + KEY.len();
    let digits = frame[at..].split(|byte| !byte.is_ascii_digit()).next();
    let seq: u64 = std::str::from_utf8(digits.unwrap_or_default())?.parse()?;
    if let Some(last) = *last {
        ensure!(seq == last + 1, "event {seq} came after {last}");
    }
    *last = Some(seq);
    Ok(())
}

/// Returns the send times of the deltas in a frame.
fn sent(frame: &[u8]) -> impl Iterator<Item = u64> {
    const KEY: &[u8] = b"sentNs:";
    memchr::memmem::find_iter(frame, KEY).filter_map(|at| {
        let digits = frame[at + KEY.len()..].split(|byte| *byte == b';').next()?;
        std::str::from_utf8(digits).ok()?.parse().ok()
    })
}

fn nanos() -> anyhow::Result<u64> {
    Ok(u64::try_from(
        SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos(),
    )?)
}

/// Returns the milliseconds until the last client received a delta, at this quantile of the deltas.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of one run")]
fn last_arrival(clients: &[Arrivals], part: f64) -> anyhow::Result<f64> {
    let deltas = clients.first().context("no clients")?.len();
    let mut last: Vec<u64> = (0..deltas)
        .map(|at| {
            clients
                .iter()
                .map(|arrivals| arrivals[at].1)
                .max()
                .unwrap_or_default()
        })
        .collect();
    Ok(percentile(&mut last, part) as f64 / 1e6)
}
