//! Who makes a request: what it shows, and whether that is enough for the route.

use std::convert::Infallible;

use acpd_model::Role;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use super::accept::Arrival;
use super::guard::{Denied, Pass, Place};
use super::{Door, names, refuse, slow_down, unauthenticated};
use crate::acp;

/// The message that says how to get in.
const HOW: &str = "show the access token as Authorization: Bearer";

/// What a request shows. Not printed.
pub enum Shown {
    /// `Authorization: Bearer`.
    Token(String),
    /// `?ticket=` of a WebSocket.
    Ticket(String),
    /// The cookie of a session.
    Cookie(String),
    /// A program of this user, at the local socket.
    User,
}

/// Lets requests through that may do what `needed` says, and puts the [`Pass`] beside them.
pub async fn admit(
    State((door, needed)): State<(Door, Role)>,
    request: Request,
    next: Next,
) -> Result<Response, Infallible> {
    let (mut parts, body) = request.into_parts();
    let pass = match enter(&door, &parts).await {
        Ok(pass) => pass,
        Err(refused) => return Ok(*refused),
    };
    if !pass.role.may(needed) {
        let told = format!(
            "this needs the role {needed}; {} is {}",
            pass.principal, pass.role
        );
        return Ok(refuse(StatusCode::FORBIDDEN, "forbidden", &told));
    }
    parts.extensions.insert(pass);
    Ok(next.run(Request::from_parts(parts, body)).await)
}

/// Whoever makes this request; else what it is told.
async fn enter(door: &Door, parts: &Parts) -> Result<Pass, Box<Response>> {
    let Some(shown) = shown(door, parts)? else {
        return Err(Box::new(unauthenticated(HOW)));
    };
    let pass = check(door, shown, place(parts)).await?;
    // Of WebSockets there are as many as there is room for, and each counts its own requests; what is sent to an
    // editor's connection is counted there, too.
    if is_socket(parts) || parts.headers.contains_key(acp::CONNECTION_ID) && parts.uri.path() == "/acp" {
        return Ok(pass);
    }
    let counted = pass.clone();
    match door
        .gate
        .ask(move |guard, now| guard.request(&counted, now))
        .await
    {
        Some(Ok(())) => Ok(pass),
        Some(Err(wait)) => Err(Box::new(slow_down(
            wait.as_secs() + 1,
            "too many requests: wait a moment",
        ))),
        None => Err(Box::new(stopping())),
    }
}

/// Asks the guard.
pub async fn check(door: &Door, shown: Shown, place: Place) -> Result<Pass, Box<Response>> {
    let asked = door.gate.ask(move |guard, now| match shown {
        Shown::Token(token) => guard.token(&token, place, now),
        Shown::Ticket(ticket) => guard.ticket(&ticket, place, now),
        Shown::Cookie(cookie) => guard.cookie(&cookie, now),
        Shown::User => Ok(guard.owner()),
    });
    match asked.await {
        Some(Ok(pass)) => Ok(pass),
        Some(Err(Denied::Wrong)) => Err(Box::new(unauthenticated(HOW))),
        Some(Err(Denied::Wait(wait))) => Err(Box::new(slow_down(
            wait.as_secs() + 1,
            "too many wrong tokens: wait a moment",
        ))),
        None => Err(Box::new(stopping())),
    }
}

/// Where a request comes from.
pub fn place(parts: &Parts) -> Place {
    match parts.extensions.get() {
        Some(Arrival::Network { place, .. }) => *place,
        _ => Place::Socket,
    }
}

/// What a request shows; the first of these counts, and if it is wrong, no other is looked at.
pub fn shown(door: &Door, parts: &Parts) -> Result<Option<Shown>, Box<Response>> {
    let headers = &parts.headers;
    if headers.contains_key(header::AUTHORIZATION) {
        // Something of another kind is nothing.
        return Ok(bearer(headers).map(Shown::Token));
    }
    if is_socket(parts)
        && let Some(ticket) = ticket(parts.uri.query())
    {
        return Ok(Some(Shown::Ticket(ticket)));
    }
    match parts.extensions.get() {
        Some(Arrival::Network { secure, .. }) => {
            let Some(cookie) = cookie(headers, door.address.port(), *secure) else {
                return Ok(None);
            };
            if names::cookie_counts(&parts.method, headers) {
                return Ok(Some(Shown::Cookie(cookie)));
            }
            Err(Box::new(refuse(
                StatusCode::FORBIDDEN,
                "forbidden",
                "a request with a cookie must say by Origin that it comes from the daemon's own page",
            )))
        }
        Some(Arrival::Socket { ours: true }) => Ok(Some(Shown::User)),
        _ => Ok(None),
    }
}

/// Whether a WebSocket is to be opened.
fn is_socket(parts: &Parts) -> bool {
    match parts.uri.path() {
        "/ws" => true,
        "/acp" => parts.headers.contains_key(header::SEC_WEBSOCKET_KEY),
        _ => false,
    }
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("Bearer")
        .then(|| token.trim().to_owned())
}

fn ticket(query: Option<&str>) -> Option<String> {
    let mut pairs = query?.split('&');
    pairs.find_map(|pair| Some(pair.strip_prefix("ticket=")?.to_owned()))
}

/// The name of the cookie. A browser sends a cookie to every port of a machine: each daemon has its own. With TLS
/// the prefix makes sure that nobody but this very host has set it.
pub fn cookie_name(port: u16, secure: bool) -> String {
    let prefix = if secure { "__Host-" } else { "" };
    format!("{prefix}acpd_session_{port}")
}

fn cookie(headers: &HeaderMap, port: u16, secure: bool) -> Option<String> {
    let named = |name: String| {
        let lines = headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|line| line.to_str().ok());
        let mut pairs = lines
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        pairs
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.to_owned())
    };
    // Behind a proxy with TLS the daemon itself has none.
    named(cookie_name(port, true)).or_else(|| {
        if secure {
            None
        } else {
            named(cookie_name(port, false))
        }
    })
}

/// What whoever comes too late is told.
pub fn stopping() -> Response {
    refuse(
        StatusCode::SERVICE_UNAVAILABLE,
        "overloaded",
        "the daemon is stopping",
    )
}
