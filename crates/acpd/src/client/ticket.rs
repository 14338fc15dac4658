//! Tickets: short-lived, single-use credentials for programs that cannot send a token.

use acpd_server::auth::Holder;
use anyhow::Context;
use hyper::Request;
use serde::Deserialize;
use serde_json::json;

use crate::client::local;
use crate::client::patience::Patience;
use crate::client::reach::{self, reach, reach_within};
use crate::client::response::{self, granted};
use crate::settings::Settings;

/// A ticket, with the daemon's address.
pub struct Ticket {
    /// The daemon's address: `http://HOST:PORT`.
    pub url: String,
    /// The secret part, to put into a URL.
    pub secret: String,
    /// Remaining lifetime, in seconds.
    pub secs: u64,
}

/// The daemon's response.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Issued {
    ticket: Option<String>,
    expires_in_secs: u64,
}

/// Requests a ticket from this user's daemon; starts the daemon if it does not run.
pub async fn fetch(settings: &Settings, holder: Holder) -> anyhow::Result<Ticket> {
    // Before reading the URL: this starts the daemon, which then publishes it.
    let reached = reach(settings).await?;
    let name = reached.name.clone();
    let request = Request::post("/api/tickets").header("content-type", "application/json");
    let request = request.body(json!({ "holder": holder }).to_string())?;
    let answer = granted(reach::ask(reached, request).await?, &name).await?;
    let issued: Issued = response::read(answer.into_body()).await?;
    Ok(Ticket {
        url: match &settings.remote {
            Some(remote) => remote.url(),
            None => local::url(&settings.daemon.data_dir)?,
        },
        secret: issued.ticket.with_context(|| format!("{name} gave no ticket"))?,
        secs: issued.expires_in_secs,
    })
}

impl Ticket {
    /// Waits until the ticket is used or has expired. A daemon that has stopped takes its tickets with it.
    pub async fn used(&self, settings: &Settings) -> anyhow::Result<()> {
        // The daemon answers when the browser has signed in.
        let Some(reached) = reach_within(settings, Patience::silent()).await? else {
            return Ok(());
        };
        let name = reached.name.clone();
        let body = json!({ "ticket": self.secret }).to_string();
        let request = Request::post("/api/tickets/used").header("content-type", "application/json");
        granted(reach::ask(reached, request.body(body)?).await?, &name).await?;
        Ok(())
    }

    /// Returns the URL at which an editor can open one connection, with this agent.
    pub fn editor_address(&self, agent: Option<&str>) -> String {
        let Self { url, secret, .. } = self;
        let agent = agent.map(|name| format!("agent={}&", escaped(name.as_bytes(), b"")));
        format!("{url}/acp?{}ticket={secret}", agent.unwrap_or_default())
    }
}

/// Percent-encodes bytes for a URL, except unreserved characters and the bytes in `kept`.
pub fn escaped(bytes: &[u8], kept: &[u8]) -> String {
    let escaped = bytes.iter().map(|byte| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(*byte).to_string(),
        byte if kept.contains(byte) => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    escaped.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_any_agent() {
        let ticket = Ticket {
            url: "http://127.0.0.1:1".to_owned(),
            secret: "t".to_owned(),
            secs: 30,
        };
        for (agent, address) in [
            (None, "http://127.0.0.1:1/acp?ticket=t"),
            (
                Some("claude-code"),
                "http://127.0.0.1:1/acp?agent=claude-code&ticket=t",
            ),
            (
                Some("é &x=%+"),
                "http://127.0.0.1:1/acp?agent=%C3%A9%20%26x%3D%25%2B&ticket=t",
            ),
        ] {
            assert_eq!(ticket.editor_address(agent), address);
        }
    }
}
