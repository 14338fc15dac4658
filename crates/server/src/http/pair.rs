//! Pairings over HTTP: a client invites a new device, which gets a token of its own.

use std::time::Duration;

use acpd_model::Role;
use acpd_model::limits::{PAIRING_MAX_SECS, PAIRING_MIN_SECS};
use axum::Json;
use axum::extract::{Extension, Request, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use crate::auth::identity::Identity;
use crate::auth::owner_token::random;
use crate::auth::store::{PairingError, PairingState};
use crate::auth::tokens::{NewDevice, check_name};
use crate::http::host_check::HostError;
use crate::http::login::{invalid, no_chance, read};
use crate::http::{ServerState, refuse, slow_down, stopping};

/// Seconds after which the daemon answers a client that waits for a device, at the latest: less than
/// [`REACH_SECS`](acpd_model::limits::REACH_SECS).
const PAIRING_WAIT_SECS: u64 = 20;

/// The body of `POST /api/pairings`.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    /// The name of the device.
    name: Option<String>,
    role: Option<Role>,
    /// How long the device may take, in seconds.
    ttl_secs: Option<u64>,
    /// The address at which the device will open the page.
    url: Option<String>,
}

/// The body of the other requests.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    ticket: Option<String>,
}

/// The name of a device that has none.
const NAME: &str = "phone";
/// The time for a device, in seconds.
const TTL_SECS: u64 = 600;

/// `POST /api/pairings`: creates a ticket with which one device signs in. The device gets a token of its own then, and nothing
/// remains of a ticket that is not used.
pub async fn create(
    State(server): State<ServerState>,
    Extension(identity): Extension<Identity>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let wanted: Wanted = match read(
        &parts.headers,
        body,
        "{\"name\": …, \"role\": …, \"ttlSecs\": …, \"url\": …}",
    )
    .await
    {
        Ok(wanted) => wanted,
        Err(refused) => return *refused,
    };
    let name = wanted.name.as_deref().unwrap_or(NAME);
    if let Err(error) = check_name(name) {
        return invalid(&error.to_string());
    }
    let role = wanted.role.unwrap_or(Role::Approver);
    if !identity.role.may(role) {
        let message = format!(
            "{} has the role {}, and cannot give a device the role {role}: choose a role that is not above its own",
            identity.principal, identity.role
        );
        return refuse(StatusCode::FORBIDDEN, "forbidden", &message);
    }
    let secs = wanted.ttl_secs.unwrap_or(TTL_SECS);
    if !(PAIRING_MIN_SECS..=PAIRING_MAX_SECS).contains(&secs) {
        let message = format!(
            "ttlSecs is {secs}: a pairing waits for {PAIRING_MIN_SECS} to {PAIRING_MAX_SECS} seconds"
        );
        return invalid(&message);
    }
    if let Some(Err(refused)) = wanted.url.as_deref().map(|url| check_address(&server, url)) {
        return *refused;
    }
    let Ok(ticket) = random() else {
        return no_chance();
    };
    let (kept, device) = (ticket.clone(), NewDevice::new(name, role));
    let lasts = Duration::from_secs(secs);
    let added = server
        .auth
        .ask(move |store, now| store.add_pairing(&kept, identity, device, lasts, now));
    match added.await {
        Some(Ok(())) => Json(json!({ "ticket": ticket, "name": name, "role": role, "expiresInSecs": secs }))
            .into_response(),
        Some(Err(PairingError::Limit)) => {
            slow_down(PAIRING_MIN_SECS, "too many pairings: wait until they expire")
        }
        Some(Err(PairingError::OfDevice)) => refuse(
            StatusCode::FORBIDDEN,
            "forbidden",
            "a paired device cannot pair another one: run \"acpd pair\" on the daemon's host, or with a token of your own",
        ),
        None => stopping(),
    }
}

/// Checks that the daemon would answer a device at this address. Otherwise returns the error, with the value that the configuration
/// lacks.
fn check_address(server: &ServerState, url: &str) -> Result<(), Box<Response>> {
    let uri: Option<Uri> = url.parse().ok();
    let host = uri.as_ref().and_then(Uri::host);
    let (Some(uri), Some(host)) = (&uri, host) else {
        let message = format!("invalid daemon URL {url:?}: use https://HOST:PORT");
        return Err(Box::new(invalid(&message)));
    };
    let is_secure = uri.scheme_str() == Some("https");
    let hosts = &server.allowed_hosts;
    hosts
        .check_name(host, uri.port_u16(), is_secure, server.address)
        .map_err(|error| {
            let setting = match &error {
                HostError::OtherHost { setting, .. } => Some(setting),
                _ => None,
            };
            let error = json!({ "code": "unknown_host", "message": error.to_string(), "setting": setting });
            (StatusCode::MISDIRECTED_REQUEST, Json(json!({ "error": error }))).into_response()
        })
        .map_err(Box::new)
}

/// `POST /api/pairings/wait`: responds when a device has used the ticket, when it has ended, or after a while.
pub async fn wait(
    State(server): State<ServerState>,
    Extension(identity): Extension<Identity>,
    request: Request,
) -> Response {
    let ticket = match named(request).await {
        Ok(ticket) => ticket,
        Err(refused) => return *refused,
    };
    if let Some(PairingState::Open(gone, left)) = state(&server, &ticket, &identity).await {
        tokio::select! {
            () = gone.cancelled() => {}
            () = server.stop.cancelled() => return stopping(),
            () = tokio::time::sleep(left.min(Duration::from_secs(PAIRING_WAIT_SECS))) => {}
        }
    }
    let answer = match state(&server, &ticket, &identity).await {
        Some(PairingState::Open(..)) => json!({ "state": "open" }),
        Some(PairingState::Used(name)) => json!({ "state": "used", "name": name }),
        Some(PairingState::Gone) => json!({ "state": "gone" }),
        None => return stopping(),
    };
    Json(answer).into_response()
}

async fn state(server: &ServerState, ticket: &str, by: &Identity) -> Option<PairingState> {
    let (ticket, by) = (ticket.to_owned(), by.clone());
    let asked = server
        .auth
        .ask(move |store, now| store.pairing_state(&ticket, &by, now));
    asked.await
}

/// `DELETE /api/pairings`: ends a pairing of this client that no device has used.
pub async fn end(
    State(server): State<ServerState>,
    Extension(identity): Extension<Identity>,
    request: Request,
) -> Response {
    let ticket = match named(request).await {
        Ok(ticket) => ticket,
        Err(refused) => return *refused,
    };
    let ended = server
        .auth
        .ask(move |store, _| store.end_pairing(&ticket, &identity));
    match ended.await {
        Some(ended) => Json(json!({ "ended": ended })).into_response(),
        None => stopping(),
    }
}

async fn named(request: Request) -> Result<String, Box<Response>> {
    let (parts, body) = request.into_parts();
    let Named { ticket } = read(&parts.headers, body, "{\"ticket\": …}").await?;
    ticket.ok_or_else(|| Box::new(invalid("give {\"ticket\": …}")))
}
