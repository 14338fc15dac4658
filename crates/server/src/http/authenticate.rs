//! Authenticates requests, and checks the role that the route requires.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use acpd_model::Role;
use acpd_proto::surface::request::outside;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

use crate::auth::identity::Identity;
use crate::auth::store::{AuthError, AuthStore, Source};
use crate::http::credentials::{bearer, cookies, is_socket, page_key, share_of, ticket};
use crate::http::{ServerState, host_check, refuse, same_user, slow_down, stopping, unauthenticated};
use crate::http::{acp_stream, attachment};
use crate::net::peer_address::PeerAddress;
use crate::net::unauthenticated::AuthProgress;
use crate::net::unix_socket::{NOT_FOR_AGENTS, Peer};

/// The protocol of the daemon's WebSocket. A page offers it next to its key, because browsers require the server to choose
/// one.
pub const PROTOCOL: &str = "acpd";

/// The error message for requests without a valid credential.
const HOW: &str =
    "send the access token as Authorization: Bearer; a ticket works once and opens one connection";

/// The credential of a request. Not printed.
pub enum Credential {
    /// `Authorization: Bearer`.
    Token(String),
    /// `?ticket=` of a WebSocket, or of an editor's first request over HTTP.
    Ticket(String),
    /// The `Acp-Connection-Id` of a connection that a ticket opened, with the identity of the ticket.
    Connection(Identity),
    /// The cookies that may be that of a session, and the key of its page.
    Session {
        /// At least one cookie.
        cookies: Vec<String>,
        /// The page key, which says whose session it is.
        page_key: String,
    },
    /// A program of the daemon's user at the local socket.
    User,
}

/// What a route requires of a client.
#[derive(Debug, Clone, Copy)]
pub enum Needs {
    /// A token of this role, or a session of one.
    Role(Role),
    /// As `Role`, for a file that a client attaches. It is received before it is refused: a client that sends does not see the answer.
    Attach(Role),
    /// A token of any role, or a link that shares a thread. The route limits the link to its thread.
    SharedThread,
}

/// Passes on requests of clients that have what the route needs, and adds their [`Identity`] as an extension.
pub async fn authenticate(
    State((server, needs)): State<(ServerState, Needs)>,
    request: Request,
    next: Next,
) -> Result<Response, Infallible> {
    let (mut parts, body) = request.into_parts();
    match enter(&server, &parts)
        .await
        .and_then(|identity| permit(needs, identity))
    {
        Ok(identity) => {
            parts.extensions.insert(identity);
            Ok(next.run(Request::from_parts(parts, body)).await)
        }
        Err(refused) => {
            if matches!(needs, Needs::Attach(_)) {
                attachment::discard(&server, &parts.headers, body).await;
            }
            Ok(*refused)
        }
    }
}

/// Returns the identity if it has what the route needs, or the error response.
fn permit(needs: Needs, identity: Identity) -> Result<Identity, Box<Response>> {
    let needed = match needs {
        Needs::Role(needed) | Needs::Attach(needed) => needed,
        Needs::SharedThread => return Ok(identity),
    };
    let forbidden = |message: &str| Err(Box::new(refuse(StatusCode::FORBIDDEN, "forbidden", message)));
    if identity.share.is_some() {
        return forbidden(&outside().message);
    }
    if !identity.role.may(needed) {
        return forbidden(&format!(
            "requires the role {needed}; {} has the role {}",
            identity.principal, identity.role
        ));
    }
    Ok(identity)
}

/// Returns the identity of a request's client, or the error response.
async fn enter(server: &ServerState, parts: &Parts) -> Result<Identity, Box<Response>> {
    let Some(shown) = read_credential(server, parts)? else {
        return Err(Box::new(unauthenticated(HOW)));
    };
    // The number of WebSockets is limited, and each limits its own requests. The connection of an editor also limits the
    // messages that are posted to it.
    let is_counted_there = is_socket(parts)
        || parts.headers.contains_key(acp_stream::CONNECTION_ID) && parts.uri.path() == "/acp";
    check(server, shown, &parts.extensions, !is_counted_there).await
}

/// Authenticates a credential. A valid credential admits the connection, which then no longer counts as unauthenticated.
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
            // Each request of a link's reader counts, also those that make a session: they are written to the disk.
            if is_counted || identity.share.is_some() {
                store.request(identity, now)
            } else {
                Ok(())
            }
        };
        let identity = match shown {
            Credential::Ticket(ticket) => return store.ticket(&ticket, source, now, admit),
            Credential::Token(token) => store.token(&token, source, now)?,
            Credential::Connection(identity) => store.connection(identity, now)?,
            Credential::Session { cookies, page_key } => store.session_of(&cookies, &page_key, now)?,
            Credential::User => store.owner(),
        };
        admit(store, &identity)?;
        Ok(identity)
    });
    let too_many = |wait: Duration, message| slow_down(wait.as_secs() + 1, message);
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

/// Returns the source of a request.
fn source_of(from: &Extensions) -> Source {
    match from.get() {
        Some(PeerAddress::Network { peer, .. }) => Source::of(peer.ip()),
        _ => Source::Socket,
    }
}

/// Returns the credential of a request. Only the first one found counts: if it is invalid, the others are not tried.
pub fn read_credential(server: &ServerState, parts: &Parts) -> Result<Option<Credential>, Box<Response>> {
    let headers = &parts.headers;
    // A header of another scheme belongs to a proxy in front, whose password browsers send with every request.
    if let Some(token) = bearer(headers) {
        return Ok(Some(Credential::Token(token)));
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
            // The page key says which of the cookies belongs to the page.
            let page_key = page_key(parts);
            let share = page_key.as_deref().and_then(share_of);
            let port = port_of(server, headers, *secure);
            let cookies = cookies(headers, port, share, *secure);
            if cookies.is_empty() {
                return Ok(None);
            }
            if !host_check::cookie_counts(&parts.method, headers) {
                return Err(Box::new(refuse(
                    StatusCode::FORBIDDEN,
                    "forbidden",
                    "a request with a cookie must have the daemon's own Origin",
                )));
            }
            // The browser sends the cookie to other ports of this host as well, so the page key must prove the page.
            Ok(page_key.map(|page_key| Credential::Session { cookies, page_key }))
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

/// Returns the credential of an editor over HTTP that cannot set its own headers. The first request has a ticket. Later
/// requests have the id of the connection that the ticket opened. The protocol does not treat this id as a secret, and a
/// proxy may log it; so both are accepted only from this host.
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
    let forbidden = |message| Err(Box::new(refuse(StatusCode::FORBIDDEN, "forbidden", message)));
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

/// Returns whether a request comes from this host, as far as the daemon can determine.
fn is_of_this_machine(parts: &Parts) -> bool {
    let is_near = match parts.extensions.get() {
        Some(PeerAddress::Network { local, .. }) => local.ip().to_canonical().is_loopback(),
        Some(PeerAddress::Socket { .. }) => true,
        None => false,
    };
    is_near && !host_check::is_forwarded(&parts.headers)
}

/// Returns the port at which the browser reaches the daemon, which is another one than the daemon's own behind a tunnel or a
/// proxy.
pub fn port_of(server: &ServerState, headers: &HeaderMap, secure: bool) -> u16 {
    host_check::named_port(headers, secure).unwrap_or_else(|| server.address.port())
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
