//! Pairings: tickets with which a new device signs in, and gets a token of its own.

use acpd_model::Role;
use anyhow::Context;
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use serde_json::{Value, json};

use crate::client::patience::Patience;
use crate::client::reach::{self, Reached, reach_running, reach_within};
use crate::client::refusal::refusal;
use crate::client::response::{granted, short};
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::plain::plain_line;

/// A device that the user wants to pair.
pub struct Wanted<'a> {
    pub name: &'a str,
    pub role: Role,
    pub secs: u64,
    /// The address at which the device reaches the daemon.
    pub url: &'a str,
}

/// A pairing that waits for its device.
pub struct Pairing {
    /// The secret part of the link.
    pub ticket: String,
    /// Remaining lifetime, in seconds.
    pub secs: u64,
}

/// What the daemon answers to a new pairing.
pub enum Created {
    /// A pairing that waits for its device.
    Pairing(Pairing),
    /// The daemon does not accept requests at the address, unless its configuration has this name.
    UnknownName(String),
}

/// What has become of a pairing.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A device has used it, and has a token with this name.
    Used(String),
    /// It has ended without a device.
    Gone,
    /// The daemon has stopped, and takes its pairings with it.
    Stopped,
}

impl Pairing {
    /// Creates a pairing at a daemon that runs, unless the daemon would not answer at the address.
    pub async fn create(settings: &Settings, wanted: &Wanted<'_>) -> anyhow::Result<Created> {
        let body = json!({
            "name": wanted.name, "role": wanted.role, "ttlSecs": wanted.secs, "url": wanted.url,
        });
        let reached = reach_running(settings).await?;
        let reached = reached.ok_or_else(|| Exit::Unreachable.error("no daemon is running"))?;
        let (name, answer) = send(reached, "POST", "/api/pairings", &body).await?;
        if answer.status() == StatusCode::MISDIRECTED_REQUEST {
            let body = short(answer.into_body()).await?.unwrap_or_default();
            if let Some(setting) = body["error"]["setting"].as_str() {
                return Ok(Created::UnknownName(plain_line(setting)));
            }
            return Err(refusal(&body["error"]));
        }
        let answer = granted(answer, &name).await?;
        let answer = short(answer.into_body()).await?.unwrap_or_default();
        let ticket = answer["ticket"].as_str();
        Ok(Created::Pairing(Self {
            ticket: ticket.context("the daemon gave no ticket")?.to_owned(),
            secs: answer["expiresInSecs"].as_u64().unwrap_or(wanted.secs),
        }))
    }

    /// Waits until a device has used the pairing, or it has expired.
    pub async fn outcome(&self, settings: &Settings) -> anyhow::Result<Outcome> {
        let body = json!({ "ticket": self.ticket });
        loop {
            // The daemon answers when something happens, at the latest after half a minute.
            let Some(reached) = reach_within(settings, Patience::silent()).await? else {
                return Ok(Outcome::Stopped);
            };
            let answer = request(reached, "POST", "/api/pairings/wait", &body).await?;
            match answer["state"].as_str() {
                Some("open") => {}
                Some("used") => {
                    let name = answer["name"].as_str().unwrap_or_default();
                    return Ok(Outcome::Used(name.to_owned()));
                }
                _ => return Ok(Outcome::Gone),
            }
        }
    }

    /// Ends the pairing. A device may have used it just before.
    pub async fn end(&self, settings: &Settings) -> anyhow::Result<Outcome> {
        let Some(reached) = reach_within(settings, Patience::silent()).await? else {
            return Ok(Outcome::Stopped);
        };
        let body = json!({ "ticket": self.ticket });
        let answer = request(reached, "DELETE", "/api/pairings", &body).await?;
        if answer["ended"] == false {
            // It has ended in another way, so this returns at once.
            return self.outcome(settings).await;
        }
        Ok(Outcome::Gone)
    }
}

async fn request(reached: Reached, method: &str, path: &str, body: &Value) -> anyhow::Result<Value> {
    let (name, answer) = send(reached, method, path, body).await?;
    let answer = granted(answer, &name).await?;
    Ok(short(answer.into_body()).await?.unwrap_or_default())
}

/// Sends a request. Returns the daemon's name in messages, and its response.
async fn send(
    reached: Reached,
    method: &str,
    path: &str,
    body: &Value,
) -> anyhow::Result<(String, Response<Incoming>)> {
    let name = reached.name.clone();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(body.to_string())?;
    Ok((name, reach::ask(reached, request).await?))
}
