//! Tickets for programs of the same user: whether the other end of a connection is one.

use std::net::SocketAddr;

use axum::http::{Extensions, StatusCode};
use axum::response::Response;

use crate::auth::store::Holder;
use crate::http::{ServerState, refuse, stopping};
use crate::net::peer_address::PeerAddress;

const NOT_HERE: &str = "this link is for a browser of the user that runs acpd, on the same machine: for another one, \
     \"acpd open --other-device\" prints a link";

/// Checks that a ticket may be shown by whoever made this connection; a ticket that nobody knows may be.
pub async fn may_show(server: &ServerState, ticket: &str, from: &Extensions) -> Result<(), Box<Response>> {
    let ticket = ticket.to_owned();
    let asked = server.auth.ask(move |store, _| store.ticket_holder(&ticket));
    let holder = asked.await.ok_or_else(|| Box::new(stopping()))?;
    if holder != Some(Holder::SameUser) {
        return Ok(());
    }
    let is_ours = match from.get() {
        // The system has said whose it is.
        Some(PeerAddress::Socket { .. }) => true,
        Some(PeerAddress::Network { local, peer, .. }) => is_of_user(*peer, *local).await,
        None => false,
    };
    if is_ours {
        Ok(())
    } else {
        Err(Box::new(refuse(StatusCode::FORBIDDEN, "forbidden", NOT_HERE)))
    }
}

/// Whether the other end is a program of this user on this machine. Root counts: it can read the token, and relays of
/// the system (from Windows to WSL) run as root. Where the system does not say, nobody is looked at.
#[cfg(target_os = "linux")]
async fn is_of_user(peer: SocketAddr, local: SocketAddr) -> bool {
    let looked = tokio::task::spawn_blocking(move || acpd_host::user_of_tcp_peer(peer, local)).await;
    match looked.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
        Ok(Some(user)) if user == 0 || user == rustix::process::geteuid().as_raw() => true,
        Ok(Some(user)) => {
            tracing::warn!(user, "another user has shown a ticket of this user");
            false
        }
        Ok(None) => false,
        Err(error) => {
            tracing::error!(%error, "whose a connection is cannot be looked up: tickets of this user are refused");
            false
        }
    }
}

#[cfg(not(target_os = "linux"))]
async fn is_of_user(_: SocketAddr, _: SocketAddr) -> bool {
    true
}
