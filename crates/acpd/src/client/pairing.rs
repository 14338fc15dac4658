//! Pairings: tickets with which a new device signs in, and gets a token of its own.

use acpd_model::Role;
use anyhow::Context;
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::client::patience::Patience;
use crate::client::reach::{self, Reached, reach_running, reach_within};
use crate::client::refusal::Refusal;
use crate::client::response::{self, granted};
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::plain::plain_line;

/// A device that the user wants to pair.
#[derive(Serialize)]
pub struct Wanted<'a> {
    pub name: &'a str,
    pub role: Role,
    #[serde(rename = "ttlSecs")]
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

/// The daemon's response to a new pairing.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Issued {
    ticket: Option<String>,
    expires_in_secs: Option<u64>,
}

/// What names a pairing to the daemon.
#[derive(Serialize)]
struct Named<'a> {
    ticket: &'a str,
}

/// The daemon's response to a client that waits.
#[derive(Default, Deserialize)]
#[serde(tag = "state", rename_all = "camelCase")]
enum State {
    /// No device has used the pairing yet.
    Open,
    /// A device has.
    Used {
        #[serde(default)]
        name: String,
    },
    /// It has ended in another way.
    #[default]
    #[serde(other)]
    Gone,
}

/// The daemon's response to a client that ends a pairing.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Ended {
    /// Whether the client has ended it; otherwise it had ended before.
    ended: Option<bool>,
}

impl Pairing {
    /// Creates a pairing at a daemon that runs, unless the daemon would not answer at the address.
    pub async fn create(settings: &Settings, wanted: &Wanted<'_>) -> anyhow::Result<Created> {
        let reached = reach_running(settings).await?;
        let reached = reached.ok_or_else(|| Exit::Unreachable.error("no daemon is running"))?;
        let (name, answer) = send(reached, "POST", "/api/pairings", wanted).await?;
        if answer.status() == StatusCode::MISDIRECTED_REQUEST {
            let body = response::text(answer.into_body()).await?;
            let refusal = Refusal::read(&body).unwrap_or_default();
            return match &refusal.setting {
                Some(setting) => Ok(Created::UnknownName(plain_line(setting))),
                None => Err(refusal.error()),
            };
        }
        let answer = granted(answer, &name).await?;
        let issued: Issued = response::read(answer.into_body()).await?;
        Ok(Created::Pairing(Self {
            ticket: issued.ticket.context("the daemon gave no ticket")?,
            secs: issued.expires_in_secs.unwrap_or(wanted.secs),
        }))
    }

    /// Waits until a device has used the pairing, or it has expired.
    pub async fn outcome(&self, settings: &Settings) -> anyhow::Result<Outcome> {
        let named = Named { ticket: &self.ticket };
        loop {
            // The daemon answers when something happens, at the latest after half a minute.
            let Some(reached) = reach_within(settings, Patience::silent()).await? else {
                return Ok(Outcome::Stopped);
            };
            let state: State = request(reached, "POST", "/api/pairings/wait", &named).await?;
            match state {
                State::Open => {}
                State::Used { name } => return Ok(Outcome::Used(name)),
                State::Gone => return Ok(Outcome::Gone),
            }
        }
    }

    /// Ends the pairing. A device may have used it just before.
    pub async fn end(&self, settings: &Settings) -> anyhow::Result<Outcome> {
        let Some(reached) = reach_within(settings, Patience::silent()).await? else {
            return Ok(Outcome::Stopped);
        };
        let named = Named { ticket: &self.ticket };
        let answer: Ended = request(reached, "DELETE", "/api/pairings", &named).await?;
        if answer.ended == Some(false) {
            // It has ended in another way, so this returns at once.
            return self.outcome(settings).await;
        }
        Ok(Outcome::Gone)
    }
}

async fn request<T: DeserializeOwned + Default>(
    reached: Reached,
    method: &str,
    path: &str,
    body: &impl Serialize,
) -> anyhow::Result<T> {
    let (name, answer) = send(reached, method, path, body).await?;
    response::read(granted(answer, &name).await?.into_body()).await
}

/// Sends a request. Returns the daemon's name in messages, and its response.
async fn send(
    reached: Reached,
    method: &str,
    path: &str,
    body: &impl Serialize,
) -> anyhow::Result<(String, Response<Incoming>)> {
    let name = reached.name.clone();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(serde_json::to_string(body)?)?;
    Ok((name, reach::ask(reached, request).await?))
}
