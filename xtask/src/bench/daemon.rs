//! The two measured programs, as child processes.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::json;

use super::Binaries;
use super::WORKSPACE;
use super::client::Counter;
use crate::relay::BY_LINE;

/// Limits that no benchmark meets. Without them, the daemon stops the agents of idle threads once there are many, and reads fast ones
/// slowly.
const LIMITS: &str = "requests_per_window = 100000\nconnections = 4096\nagents = 4096\nagent_memory_mib = 1000000\n\
                      agent_bytes_per_sec = 0\n";

/// A running daemon; dropping it kills the process.
pub struct Daemon {
    child: Child,
    /// The daemon's address.
    pub address: SocketAddr,
    token: String,
    /// Time from the start of the process until the daemon reported its address.
    pub ready_after: Duration,
}

impl Daemon {
    /// Starts a daemon on `data_dir`, with limits that no benchmark meets.
    pub fn start(binaries: &Binaries, data_dir: &Path) -> anyhow::Result<Self> {
        Self::with_limits(binaries, data_dir, LIMITS)
    }

    /// Starts a daemon on `data_dir` with these settings of `[limits]`.
    pub fn with_limits(binaries: &Binaries, data_dir: &Path, limits: &str) -> anyhow::Result<Self> {
        let agent = binaries.agent.display();
        let text = format!("[agents.fake]\ncommand = \"{agent}\"\n[limits]\n{limits}");
        Self::with_config(binaries, data_dir, &text)
    }

    /// Starts such a daemon whose agent writes updates as fast as it can. Editors and the agent speak this version of ACP.
    pub fn of_version(binaries: &Binaries, data_dir: &Path, version: u8) -> anyhow::Result<Self> {
        let agent = binaries.relay.display();
        let text = format!(
            "[server]\nacp_v2 = true\n[agents.fake]\ncommand = \"{agent}\"\nargs = [\"flood\", \"{version}\"]\nacp = {version}\n\
             [limits]\n{LIMITS}"
        );
        Self::with_config(binaries, data_dir, &text)
    }

    fn with_config(binaries: &Binaries, data_dir: &Path, text: &str) -> anyhow::Result<Self> {
        let config = data_dir.with_extension("toml");
        std::fs::write(&config, text)?;
        let begun = Instant::now();
        let mut child = Command::new(&binaries.acpd)
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(&config)
            .arg("--data-dir")
            .arg(data_dir)
            // The configuration lies in the directory of temporary files, which is a warning for every agent.
            .env("ACPD_LOG", "warn,acpd_runtime::agent::sandbox=error")
            .stdout(Stdio::piped())
            .spawn()
            .context("the daemon cannot be started")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no stdout")?).read_line(&mut line)?;
        let ready_after = begun.elapsed();
        let address = line
            .trim()
            .rsplit("http://")
            .next()
            .context("no address")?
            .parse()
            .context(line.clone())?;
        let token = std::fs::read_to_string(data_dir.join("token"))?;
        Ok(Self {
            child,
            address,
            token,
            ready_after,
        })
    }

    /// Connects an initialized client.
    pub fn client(&self) -> anyhow::Result<Counter> {
        self.client_at("/ws")
    }

    /// Connects an initialized client to the path of one protocol.
    pub fn client_at(&self, path: &str) -> anyhow::Result<Counter> {
        let mut client = Counter::connect_at(self.address, path, Some(self.token.trim()))?;
        client.request(
            0,
            "initialize",
            &json!({ "clientInfo": { "name": "bench", "version": "0" } }),
        )?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "initialized" }))?;
        Ok(client)
    }

    /// Sends SIGTERM. Returns the time until the process has exited.
    pub fn stop(mut self) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        let pid = self.child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &pid]).status()?;
        anyhow::ensure!(told.success(), "kill failed");
        let ended = self.child.wait()?;
        anyhow::ensure!(ended.success(), "the daemon ended with {ended}");
        Ok(begun.elapsed())
    }

    /// Returns the peak resident memory, in bytes.
    pub fn peak(&self) -> anyhow::Result<u64> {
        memory(self.child.id(), "VmHWM:")
    }

    /// Makes the peak begin at the current resident memory.
    pub fn forget_peak(&self) -> anyhow::Result<()> {
        let path = format!("/proc/{}/clear_refs", self.child.id());
        std::fs::write(&path, "5").context(path)
    }

    /// Returns the resident memory, in bytes.
    pub fn rss(&self) -> anyhow::Result<u64> {
        memory(self.child.id(), "VmRSS:")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A running relay; dropping it kills the process.
pub struct Relay {
    child: Child,
    /// The relay's address.
    pub address: SocketAddr,
}

impl Relay {
    /// Starts a relay with its agent.
    pub fn start(binaries: &Binaries) -> anyhow::Result<Self> {
        Self::start_with(binaries, &[])
    }

    /// Starts a relay that writes each line by itself.
    pub fn by_line(binaries: &Binaries) -> anyhow::Result<Self> {
        Self::start_with(binaries, &[BY_LINE])
    }

    fn start_with(binaries: &Binaries, options: &[&str]) -> anyhow::Result<Self> {
        let mut child = Command::new(&binaries.relay)
            .arg("relay")
            .args(options)
            .arg(&binaries.agent)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no stdout")?).read_line(&mut line)?;
        Ok(Self {
            child,
            address: line.trim().parse().context("no address")?,
        })
    }

    /// Connects, and opens a session; returns its id.
    pub fn client(&self) -> anyhow::Result<(Counter, String)> {
        let mut client = Counter::connect(self.address, None)?;
        client.request(
            0,
            "initialize",
            &json!({ "protocolVersion": 1, "clientCapabilities": {} }),
        )?;
        let session = client.request(1, "session/new", &json!({ "cwd": WORKSPACE, "mcpServers": [] }))?;
        Ok((
            client,
            session["sessionId"].as_str().context("no session")?.to_owned(),
        ))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Kills a child process. It may have exited already.
pub(super) fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn memory(pid: u32, what: &str) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find(|line| line.starts_with(what))
        .with_context(|| format!("no {what}"))?;
    let kib: u64 = line.split_whitespace().nth(1).context("no figure")?.parse()?;
    Ok(kib * 1024)
}
