//! Tailscale on this host: forwards an address of the tailnet to the daemon.
//!
//! In: the answers of the program `tailscale`. Out: the address, or a sentence that says what is missing. Owns: nothing. Never: opens
//! the daemon to the internet, or replaces what the address forwards to already.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use crate::exit::Exit;
use crate::terminal::plain::plain_line;

/// Time for a command of Tailscale. `tailscale serve` waits for the user to allow it in a browser.
const PATIENCE: Duration = Duration::from_secs(20);

/// Longest output of a command. The status of a tailnet with thousands of hosts is smaller.
const OUTPUT_BYTES: u64 = 16 << 20;

/// Characters of Tailscale's own words in an error.
const WORDS_CHARS: usize = 600;

/// A host in a tailnet.
#[derive(Debug, PartialEq, Eq)]
pub struct Tailnet {
    /// The host's name, such as `box.tail1234.ts.net`.
    pub name: String,
}

impl Tailnet {
    /// Asks Tailscale for the name of this host.
    pub async fn find() -> anyhow::Result<Self> {
        let ended = run(&["status", "--json"]).await?;
        let status: Option<Value> = serde_json::from_str(&ended.stdout).ok();
        match status {
            Some(status) => of_status(&status).map_err(|reason| Exit::Failure.error(reason)),
            None => Err(Exit::Failure.error(format!(
                "Tailscale does not answer: {}; check it with \"tailscale status\"",
                ended.words()
            ))),
        }
    }

    /// Returns the address of the daemon in the tailnet.
    pub fn url(&self) -> String {
        format!("https://{}", self.name)
    }

    /// Lets the address forward to this local URL, unless it does so already.
    pub async fn serve(&self, target: &str) -> anyhow::Result<()> {
        let status = run(&["serve", "status", "--json"]).await?;
        let status: Value = serde_json::from_str(&status.stdout).unwrap_or_default();
        let is_served =
            is_served(&status, &self.name, target).map_err(|reason| Exit::Failure.error(reason))?;
        if is_served {
            return Ok(());
        }
        let ended = run(&["serve", "--bg", target]).await?;
        if ended.is_success {
            return Ok(());
        }
        let command = format!("tailscale serve --bg {target}");
        Err(Exit::Failure.error(if ended.is_late {
            format!(
                "\"{command}\" did not end within {} s. It says: {}\nDo what it asks for, then run this command again",
                PATIENCE.as_secs(),
                ended.words()
            )
        } else {
            format!(
                "\"{command}\" was refused: {}\nIf this user may not change Tailscale, run \"sudo tailscale set --operator=$USER\" \
                 once, then run this command again",
                ended.words()
            )
        }))
    }
}

/// Returns the host of a `tailscale status --json`, or why it has none.
fn of_status(status: &Value) -> Result<Tailnet, String> {
    match status["BackendState"].as_str() {
        Some("Running") => {}
        Some("NeedsLogin" | "NoState") => {
            return Err(
                "Tailscale is not signed in: run \"sudo tailscale up\", then this command again".to_owned(),
            );
        }
        Some("NeedsMachineAuth") => {
            return Err("Tailscale waits until an admin of the tailnet approves this host".to_owned());
        }
        Some("Stopped") => {
            return Err(
                "Tailscale is stopped: run \"sudo tailscale up\", then this command again".to_owned(),
            );
        }
        other => {
            let state = plain_line(other.unwrap_or("unknown"));
            return Err(format!(
                "Tailscale is not ready (its state is {state}): try again soon"
            ));
        }
    }
    let name = status["Self"]["DNSName"].as_str().unwrap_or_default();
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
    if !is_name {
        return Err(
            "this host has no name in the tailnet: turn on MagicDNS and HTTPS at https://login.tailscale.com/admin/dns"
                .to_owned(),
        );
    }
    Ok(Tailnet { name })
}

/// Returns whether a `tailscale serve status --json` forwards the host's address to `target`. An error says what it does instead.
fn is_served(status: &Value, name: &str, target: &str) -> Result<bool, String> {
    let at = format!("{name}:443");
    if status["AllowFunnel"][&at] == true {
        return Err(format!(
            "\"tailscale funnel\" opens https://{name} to the whole internet: run \"tailscale funnel --https=443 off\" first"
        ));
    }
    let root = &status["Web"][&at]["Handlers"]["/"];
    if root.is_null() {
        // Another program may have the port without HTTPS.
        return match &status["TCP"]["443"] {
            Value::Null => Ok(false),
            served if served["HTTPS"] == true => Ok(false),
            _ => Err(in_use(name, "a TCP service")),
        };
    }
    match root["Proxy"].as_str() {
        Some(proxy) if proxy.trim_end_matches('/') == target => Ok(true),
        other => Err(in_use(name, &plain_line(other.unwrap_or("files or a text")))),
    }
}

fn in_use(name: &str, other: &str) -> String {
    format!(
        "https://{name} leads to {other} already: end that with \"tailscale serve --https=443 off\", or forward another port and \
         name its address with --url"
    )
}

/// How a command ended.
struct Ended {
    is_success: bool,
    is_late: bool,
    stdout: String,
    stderr: String,
}

impl Ended {
    /// Returns what the command says, in one paragraph.
    fn words(&self) -> String {
        let said = format!("{} {}", self.stderr.trim(), self.stdout.trim());
        let words = plain_line(said.split_whitespace().collect::<Vec<_>>().join(" ").as_str());
        let words: String = words.chars().take(WORDS_CHARS).collect();
        if words.is_empty() {
            "nothing".to_owned()
        } else {
            words
        }
    }
}

/// Runs Tailscale's program. One that takes too long is ended, with what it has said until then.
async fn run(args: &[&str]) -> anyhow::Result<Ended> {
    let started = Command::new("tailscale")
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let mut child = started.map_err(|error| {
        Exit::Failure.error(match error.kind() {
            std::io::ErrorKind::NotFound => "Tailscale is not installed on this host: get it at \
                 https://tailscale.com/download, or name another address with --url"
                .to_owned(),
            _ => format!("the program \"tailscale\" cannot be started: {error}"),
        })
    })?;
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let read = async {
        let out = async {
            match out {
                Some(pipe) => pipe.take(OUTPUT_BYTES).read_to_end(&mut stdout).await,
                None => Ok(0),
            }
        };
        let err = async {
            match err {
                Some(pipe) => pipe.take(OUTPUT_BYTES).read_to_end(&mut stderr).await,
                None => Ok(0),
            }
        };
        let (out, err, status) = tokio::join!(out, err, child.wait());
        out.and(err).and(status)
    };
    let ended = tokio::time::timeout(PATIENCE, read).await;
    let (is_success, is_late) = match ended {
        Ok(status) => (status?.success(), false),
        Err(_) => (false, true),
    };
    Ok(Ended {
        is_success,
        is_late,
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_name_of_a_host_is_known_only_while_tailscale_runs() {
        let status = |state: &str, name: &str| json!({ "BackendState": state, "Self": { "DNSName": name } });
        let found = of_status(&status("Running", "Box.tail1234.ts.net."));
        assert_eq!(found.unwrap().url(), "https://box.tail1234.ts.net");
        for (status, words) in [
            (status("NeedsLogin", ""), "not signed in"),
            (status("Stopped", "box.ts.net."), "is stopped"),
            (status("NeedsMachineAuth", "box.ts.net."), "an admin"),
            (status("Starting", "box.ts.net."), "its state is Starting"),
            (json!({}), "its state is unknown"),
            (json!([]), "its state is unknown"),
            (status("Running", ""), "MagicDNS"),
            (status("Running", "a b/#x"), "MagicDNS"),
        ] {
            let error = of_status(&status).unwrap_err();
            assert!(error.contains(words), "{status}: {error}");
        }
    }

    #[test]
    fn existing_forwards_are_not_replaced() {
        const TARGET: &str = "http://127.0.0.1:4127";
        let proxy = |to: &str| {
            json!({
                "TCP": { "443": { "HTTPS": true } },
                "Web": { "box.ts.net:443": { "Handlers": { "/": { "Proxy": to } } } },
            })
        };
        let look = |status: &Value| is_served(status, "box.ts.net", TARGET);
        for empty in [
            json!({}),
            Value::Null,
            json!({ "TCP": { "443": { "HTTPS": true } } }),
        ] {
            assert_eq!(look(&empty), Ok(false), "{empty}");
        }
        assert_eq!(look(&proxy(TARGET)), Ok(true));
        assert_eq!(look(&proxy("http://127.0.0.1:4127/")), Ok(true));
        let other = look(&proxy("http://127.0.0.1:3000")).unwrap_err();
        assert!(other.contains("http://127.0.0.1:3000 already"), "{other}");
        let files = json!({ "Web": { "box.ts.net:443": { "Handlers": { "/": { "Path": "/srv" } } } } });
        assert!(look(&files).unwrap_err().contains("files"));
        let tcp = json!({ "TCP": { "443": { "TCPForward": "127.0.0.1:22" } } });
        assert!(look(&tcp).unwrap_err().contains("a TCP service"));
        let mut open = proxy(TARGET);
        open["AllowFunnel"] = json!({ "box.ts.net:443": true });
        assert!(look(&open).unwrap_err().contains("whole internet"));
    }
}
