//! Editors: the latency of single updates through the daemon's editor socket, compared with the same agent over its own
//! pipes, and the updates per second, compared with a client of the app protocol. Both ends and the clock are the same.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use serde_json::{Value, json};

use super::Binaries;
use super::WORKSPACE;
use super::client::sent_at;
use super::daemon::{Daemon, end};
use super::measure::{codex_turn, daemon_turn, median, percentile};
use super::report::{Report, Target};

/// Maximum time without input.
const SILENCE: Duration = Duration::from_mins(1);

/// An editor that exchanges lines of JSON.
struct Editor {
    read: BufReader<Box<dyn Read>>,
    write: Box<dyn Write>,
    line: Vec<u8>,
    /// The version of ACP that it speaks.
    version: u8,
}

/// The agent process without a daemon; dropping it kills the process.
struct Bare(Child);

impl Drop for Bare {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

/// Measures tool updates, which are sent one by one, and text chunks, which may be merged.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of one run")]
pub fn latency(binaries: &Binaries, quick: bool, report: &mut Report) -> anyhow::Result<()> {
    let updates = if quick { 100 } else { 500 };
    for (what, kind) in [("update", "update"), ("chunk", "delta")] {
        let text = format!("lone n={updates} ms=10 bytes=300 kind={kind}");
        let mut bare = direct(binaries, &text)?;
        let mut ours = through(binaries, &text)?;
        for (name, part, target) in [("p50", 0.50, Some(1.0)), ("p99", 0.99, None)] {
            let (bare, ours) = (
                percentile(&mut bare, part) as f64 / 1e6,
                percentile(&mut ours, part) as f64 / 1e6,
            );
            report.add(
                &format!("editor, lone {what}, {name}: agent alone"),
                bare,
                "ms",
                None,
            );
            report.add(&format!("editor, lone {what}, {name}: acpd"), ours, "ms", None);
            let added = (ours - bare).max(0.0);
            let name = format!("editor, lone {what}, {name}: added");
            report.add(&name, added, "ms", target.map(Target::AtMost));
        }
    }
    Ok(())
}

/// Measures how many updates and texts per second reach a Codex client, compared with a client of the app protocol.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub fn codex(binaries: &Binaries, quick: bool, report: &mut Report) -> anyhow::Result<()> {
    let (count, rounds) = if quick { (50_000_u64, 1) } else { (300_000, 5) };
    for (what, kind) in [("300-byte updates", "update"), ("300-byte texts", "delta")] {
        let text = format!("flood n={count} bytes=300 kind={kind}");
        let (mut codex, mut clients) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let dir = tempfile::tempdir()?;
            let daemon = Daemon::start(binaries, &dir.path().join("data"))?;
            let took = daemon_turn(&mut daemon.client()?, &text)?;
            clients.push(count as f64 / took.as_secs_f64());
            drop(daemon);
            let daemon = Daemon::start(binaries, &dir.path().join("codex"))?;
            let took = codex_turn(&mut daemon.client_at("/")?, &text)?;
            codex.push(count as f64 / took.as_secs_f64());
        }
        let (codex, client) = (median(&mut codex), median(&mut clients));
        report.add(&format!("Codex, {what}: acpd"), codex, "/s", None);
        report.add(
            &format!("Codex, {what}: Codex / app protocol"),
            codex / client,
            "x",
            Some(Target::AtLeast(0.8)),
        );
    }
    Ok(())
}

/// Measures how many updates per second reach an editor and a client of the app protocol.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub fn throughput(binaries: &Binaries, quick: bool, report: &mut Report) -> anyhow::Result<()> {
    let (updates, rounds) = if quick { (50_000_u64, 1) } else { (300_000, 5) };
    let text = format!("flood n={updates} bytes=300 kind=update");
    let (mut editors, mut clients) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let dir = tempfile::tempdir()?;
        let daemon = Daemon::start(binaries, &dir.path().join("data"))?;
        let took = daemon_turn(&mut daemon.client()?, &text)?;
        clients.push(updates as f64 / took.as_secs_f64());
        drop(daemon);
        let data = dir.path().join("editors");
        let _daemon = Daemon::start(binaries, &data)?;
        let took = Editor::connect(&data)?.count(&text, updates)?;
        editors.push(updates as f64 / took.as_secs_f64());
    }
    let (editor, client) = (median(&mut editors), median(&mut clients));
    report.add("editor, 300-byte updates: acpd", editor, "/s", None);
    report.add(
        "editor, 300-byte updates: editor / app protocol",
        editor / client,
        "x",
        Some(Target::AtLeast(0.8)),
    );
    Ok(())
}

/// Measures how many updates per second reach an editor of version 2 from an agent of version 2, compared with version 1 on both sides. The
/// same program is the agent.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub fn versions(binaries: &Binaries, quick: bool, report: &mut Report) -> anyhow::Result<()> {
    let (updates, rounds) = if quick { (20_000_u64, 1) } else { (200_000, 5) };
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        for (version, found) in [(1, &mut one), (2, &mut two)] {
            let dir = tempfile::tempdir()?;
            let data = dir.path().join("data");
            let _daemon = Daemon::of_version(binaries, &data, version)?;
            let mut editor = Editor::connect(&data)?;
            editor.version = version;
            let took = editor.count(&updates.to_string(), updates)?;
            found.push(updates as f64 / took.as_secs_f64());
        }
    }
    let (one, two) = (median(&mut one), median(&mut two));
    report.add("editor, 300-byte updates: acpd, version 2", two, "/s", None);
    report.add(
        "editor, 300-byte updates: version 2 / version 1",
        two / one,
        "x",
        None,
    );
    Ok(())
}

/// Measures the agent over its own pipes.
fn direct(binaries: &Binaries, text: &str) -> anyhow::Result<Vec<u64>> {
    let mut child = Command::new(&binaries.agent)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("the agent cannot be started")?;
    let (write, read) = (child.stdin.take(), child.stdout.take());
    let _bare = Bare(child);
    let editor = Editor::new(read.context("no stdout")?, write.context("no stdin")?);
    editor.turn(text)
}

/// Measures the agent through the daemon's editor socket.
fn through(binaries: &Binaries, text: &str) -> anyhow::Result<Vec<u64>> {
    let dir = tempfile::tempdir()?;
    let data = dir.path().join("data");
    let _daemon = Daemon::start(binaries, &data)?;
    Editor::connect(&data)?.turn(text)
}

impl Editor {
    fn new(read: impl Read + 'static, write: impl Write + 'static) -> Self {
        Self {
            read: BufReader::with_capacity(64 << 10, Box::new(read)),
            write: Box::new(write),
            line: Vec::new(),
            version: 1,
        }
    }

    fn connect(data: &Path) -> anyhow::Result<Self> {
        let stream = UnixStream::connect(data.join("acp.sock")).context("no socket for editors")?;
        stream.set_read_timeout(Some(SILENCE))?;
        Ok(Self::new(stream.try_clone()?, stream))
    }

    /// Runs one turn, and returns its time. Fails if fewer than `updates` messages came.
    fn count(mut self, text: &str, updates: u64) -> anyhow::Result<Duration> {
        self.prompt(text)?;
        let begun = Instant::now();
        let mut came = 0;
        loop {
            self.next()?;
            came += 1;
            if self.is_end(came) {
                anyhow::ensure!(came > updates, "{came} messages came");
                return Ok(begun.elapsed());
            }
        }
    }

    /// Returns whether the line ends the turn: the response to the prompt, or in version 2 the report that the agent is idle. The first ones
    /// are about the time before.
    fn is_end(&self, came: u64) -> bool {
        if self.version == 1 {
            return self.line.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":2,");
        }
        came > 3 && memchr::memmem::find(&self.line, b"\"state\":\"idle\"").is_some()
    }

    /// Runs one turn; returns the nanoseconds of each update.
    fn turn(mut self, text: &str) -> anyhow::Result<Vec<u64>> {
        self.prompt(text)?;
        let mut found = Vec::new();
        loop {
            self.next()?;
            let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos())?;
            if let Some(sent) = sent_at(&self.line) {
                found.push(now.saturating_sub(sent));
            } else if self.answer(2)?.is_some() {
                anyhow::ensure!(!found.is_empty(), "no update came");
                return Ok(found);
            }
        }
    }

    /// Opens a session, and sends the prompt as request 2.
    fn prompt(&mut self, text: &str) -> anyhow::Result<()> {
        let hello = match self.version {
            1 => json!({ "protocolVersion": 1, "clientCapabilities": {} }),
            version => json!({
                "protocolVersion": version, "info": { "name": "bench", "version": "0" }, "capabilities": {},
            }),
        };
        self.request(0, "initialize", &hello)?;
        let made = self.request(1, "session/new", &json!({ "cwd": WORKSPACE, "mcpServers": [] }))?;
        let block = json!({ "type": "text", "text": text });
        let params = json!({ "sessionId": made["sessionId"], "prompt": [block] });
        self.send(2, "session/prompt", &params)
    }

    fn send(&mut self, id: u64, method: &str, params: &Value) -> anyhow::Result<()> {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write.write_all(format!("{message}\n").as_bytes())?;
        Ok(self.write.flush()?)
    }

    fn request(&mut self, id: u64, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.send(id, method, params)?;
        loop {
            self.next()?;
            if let Some(result) = self.answer(id)? {
                return Ok(result);
            }
        }
    }

    fn next(&mut self) -> anyhow::Result<()> {
        self.line.clear();
        let read = self
            .read
            .read_until(b'\n', &mut self.line)
            .context("nothing came")?;
        anyhow::ensure!(read > 0, "the connection was closed");
        Ok(())
    }

    /// Returns the result of request `id`, if the line is its response.
    fn answer(&self, id: u64) -> anyhow::Result<Option<Value>> {
        let message: Value = serde_json::from_slice(&self.line)?;
        if message["id"] != id || message.get("method").is_some() {
            return Ok(None);
        }
        anyhow::ensure!(message.get("error").is_none(), "{}", message["error"]);
        Ok(Some(message["result"].clone()))
    }
}
