//! Who makes a request: what it shows, and whether that is enough for the route.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use acpd_model::Role;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::auth::sessions::SessionSecret;
use crate::auth::store::{AuthError, AuthStore, Identity, Source};
use crate::http::acp_stream;
use crate::http::{ServerState, host_check, refuse, same_user, slow_down, stopping, unauthenticated};
use crate::net::peer_address::PeerAddress;
use crate::net::unauthenticated::AuthProgress;
use crate::net::unix_socket::{NOT_FOR_AGENTS, Peer};

/// The header in which a page shows its key.
const PAGE_KEY: &str = "acpd-page-key";

/// The protocol that the daemon's WebSocket speaks, which a page offers beside its key: browsers want one to be chosen.
pub const PROTOCOL: &str = "acpd";

/// What the key follows among the protocols that a page offers.
const PAGE_KEY_PROTOCOL: &str = "acpd.page-key.";

/// The message that says how to get in.
const HOW: &str =
    "send the access token as Authorization: Bearer; a ticket works once and opens one connection";

/// What a request shows. Not printed.
pub enum Credential {
    /// `Authorization: Bearer`.
    Token(String),
    /// `?ticket=` of a WebSocket, or of the first request of an editor over HTTP.
    Ticket(String),
    /// `Acp-Connection-Id` of a connection that a ticket has opened: whose it is.
    Connection(Identity),
    /// The cookie of a session, and the key of its page.
    Session(SessionSecret),
    /// A program of this user, at the local socket.
    User,
}

/// Lets requests through that may do what `needed` says, and puts the [`Identity`] beside them.
pub async fn authenticate(
    State((server, needed)): State<(ServerState, Role)>,
    request: Request,
    next: Next,
) -> Result<Response, Infallible> {
    let (mut parts, body) = request.into_parts();
    let identity = match enter(&server, &parts).await {
        Ok(identity) => identity,
        Err(refused) => return Ok(*refused),
    };
    if !identity.role.may(needed) {
        let told = format!(
            "requires the role {needed}; {} has the role {}",
            identity.principal, identity.role
        );
        return Ok(refuse(StatusCode::FORBIDDEN, "forbidden", &told));
    }
    parts.extensions.insert(identity);
    Ok(next.run(Request::from_parts(parts, body)).await)
}

/// Whoever makes this request; else what it is told.
async fn enter(server: &ServerState, parts: &Parts) -> Result<Identity, Box<Response>> {
    let Some(shown) = read_credential(server, parts)? else {
        return Err(Box::new(unauthenticated(HOW)));
    };
    // Of WebSockets there are as many as there is room for, and each counts its own requests; what is sent to an
    // editor's connection is counted there, too.
    let is_counted_there = is_socket(parts)
        || parts.headers.contains_key(acp_stream::CONNECTION_ID) && parts.uri.path() == "/acp";
    check(server, shown, &parts.extensions, !is_counted_there).await
}

/// Asks the guard. A connection on which something valid is shown is no newcomer any more.
pub async fn check(
    server: &ServerState,
    shown: Credential,
    from: &Extensions,
    is_counted: bool,
) -> Result<Identity, Box<Response>> {
    if let Credential::Ticket(ticket) = &shown {
        same_user::may_show(server, ticket, from).await?;
    }
    let (source, progress) = (source_of(from), from.get::<Arc<AuthProgress>>().cloned());
    let asked = server.auth.ask(move |store, now| {
        let admit = |store: &mut AuthStore, identity: &Identity| {
            if progress.is_some_and(|progress| !progress.admit()) {
                return Err(AuthError::Full);
            }
            if is_counted {
                store.request(identity, now)
            } else {
                Ok(())
            }
        };
        let identity = match shown {
            Credential::Ticket(ticket) => return store.ticket(&ticket, source, now, admit),
            Credential::Token(token) => store.token(&token, source, now)?,
            Credential::Connection(identity) => store.connection(identity, now)?,
            Credential::Session(secret) => store.session(&secret, now)?,
            Credential::User => store.owner(),
        };
        admit(store, &identity)?;
        Ok(identity)
    });
    let too_many = |wait: Duration, told| slow_down(wait.as_secs() + 1, told);
    let refused = match asked.await {
        Some(Ok(identity)) => return Ok(identity),
        Some(Err(AuthError::Wrong)) => unauthenticated(HOW),
        Some(Err(AuthError::Wait(wait))) => too_many(wait, "too many invalid tokens: retry later"),
        Some(Err(AuthError::Busy(wait))) => too_many(wait, "too many requests: retry later"),
        Some(Err(AuthError::Full)) => refuse(
            StatusCode::SERVICE_UNAVAILABLE,
            "overloaded",
            "too many connections: close some, or raise limits.connections",
        ),
        None => stopping(),
    };
    Err(Box::new(refused))
}

/// Where a request comes from.
fn source_of(from: &Extensions) -> Source {
    match from.get() {
        Some(PeerAddress::Network { peer, .. }) => Source::of(peer.ip()),
        _ => Source::Socket,
    }
}

/// What a request shows; the first of these counts, and if it is wrong, no other is looked at.
pub fn read_credential(server: &ServerState, parts: &Parts) -> Result<Option<Credential>, Box<Response>> {
    let headers = &parts.headers;
    if headers.contains_key(header::AUTHORIZATION) {
        // Something of another kind is nothing.
        return Ok(bearer(headers).map(Credential::Token));
    }
    if is_socket(parts)
        && let Some(ticket) = ticket(parts.uri.query())
    {
        return Ok(Some(Credential::Ticket(ticket)));
    }
    if let Some(shown) = read_editor_credential(server, parts)? {
        return Ok(Some(shown));
    }
    match parts.extensions.get() {
        Some(PeerAddress::Network { secure, .. }) => {
            let Some(cookie) = cookie(headers, server.address.port(), *secure) else {
                return Ok(None);
            };
            if !host_check::cookie_counts(&parts.method, headers) {
                return Err(Box::new(refuse(
                    StatusCode::FORBIDDEN,
                    "forbidden",
                    "a request with a cookie must have the daemon's own Origin",
                )));
            }
            // Other ports of this host were sent the cookie as well.
            let page_key = page_key(parts);
            Ok(page_key.map(|page_key| Credential::Session(SessionSecret { cookie, page_key })))
        }
        Some(PeerAddress::Socket { peer: Peer::User }) => Ok(Some(Credential::User)),
        Some(PeerAddress::Socket { peer: Peer::Agent }) => Err(Box::new(refuse(
            StatusCode::FORBIDDEN,
            "forbidden",
            NOT_FOR_AGENTS,
        ))),
        _ => Ok(None),
    }
}

/// What an editor over HTTP shows that can set no header of its own choice: a ticket to begin with, then the id of the
/// connection that the ticket opened. The protocol does not call that id a secret, and a proxy may log it; so both count
/// on this machine alone.
fn read_editor_credential(server: &ServerState, parts: &Parts) -> Result<Option<Credential>, Box<Response>> {
    if parts.uri.path() != "/acp" || is_socket(parts) {
        return Ok(None);
    }
    let shown = match parts.headers.get(acp_stream::CONNECTION_ID) {
        Some(id) => {
            let id = id.to_str().unwrap_or_default();
            server
                .setup
                .connections
                .opened_by_ticket(id)
                .map(Credential::Connection)
        }
        None if parts.method == Method::POST => ticket(parts.uri.query()).map(Credential::Ticket),
        None => None,
    };
    let forbidden = |told| Err(Box::new(refuse(StatusCode::FORBIDDEN, "forbidden", told)));
    if shown.is_none() {
        Ok(None)
    } else if !is_of_this_machine(parts) {
        forbidden(
            "tickets over HTTP work only on the daemon's host: send the access token as Authorization: Bearer",
        )
    } else if host_check::is_of_another_site(&parts.headers) {
        forbidden("requests from other origins are refused")
    } else {
        Ok(shown)
    }
}

/// Whether a request was made on this machine, as far as can be seen.
fn is_of_this_machine(parts: &Parts) -> bool {
    let is_near = match parts.extensions.get() {
        Some(PeerAddress::Network { local, .. }) => local.ip().to_canonical().is_loopback(),
        Some(PeerAddress::Socket { .. }) => true,
        None => false,
    };
    is_near && !host_check::is_forwarded(&parts.headers)
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

/// The key of a page: a header, or one of the protocols that a WebSocket offers, since a page can set nothing else there.
fn page_key(parts: &Parts) -> Option<String> {
    let headers = &parts.headers;
    if let Some(key) = headers.get(PAGE_KEY) {
        return Some(key.to_str().ok()?.to_owned());
    }
    if !is_socket(parts) {
        return None;
    }
    let offered = headers.get(header::SEC_WEBSOCKET_PROTOCOL)?.to_str().ok()?;
    let mut offered = offered.split(',');
    offered.find_map(|name| Some(name.trim().strip_prefix(PAGE_KEY_PROTOCOL)?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_of_this_machine_if_nothing_says_otherwise() {
        let network = |local: &str| PeerAddress::Network {
            local: local.parse().unwrap(),
            peer: ([127, 0, 0, 1], 50000).into(),
            secure: false,
        };
        for (peer_address, passed_on, near) in [
            (Some(network("127.0.0.1:4127")), None, true),
            (Some(network("[::1]:4127")), None, true),
            (Some(network("[::ffff:127.0.0.1]:4127")), None, true),
            (Some(network("192.0.2.1:4127")), None, false),
            (Some(network("[2001:db8::1]:4127")), None, false),
            (Some(network("127.0.0.1:4127")), Some("x-real-ip"), false),
            (Some(network("127.0.0.1:4127")), Some("forwarded"), false),
            (Some(PeerAddress::Socket { peer: Peer::User }), None, true),
            (None, None, false),
        ] {
            let (mut parts, ()) = axum::http::Request::new(()).into_parts();
            if let Some(peer_address) = peer_address {
                parts.extensions.insert(peer_address);
            }
            if let Some(name) = passed_on {
                parts.headers.insert(name, "x".parse().unwrap());
            }
            assert_eq!(is_of_this_machine(&parts), near, "{peer_address:?} {passed_on:?}");
        }
    }
}
