//! Restricts tickets to programs of the same user, and determines the user of a connection.

use std::net::SocketAddr;

use axum::http::{Extensions, StatusCode};
use axum::response::Response;

use crate::auth::store::Holder;
use crate::http::{ServerState, refuse, stopping};
use crate::net::peer_address::PeerAddress;

const NOT_HERE: &str = "this link is for a browser of the user that runs acpd, on the same machine: for another one, \
     \"acpd open --other-device\" prints a link";

/// Checks that this connection can use a ticket. Unknown tickets pass here, and fail when they are used.
pub async fn may_show(server: &ServerState, ticket: &str, from: &Extensions) -> Result<(), Box<Response>> {
    let ticket = ticket.to_owned();
    let asked = server.auth.ask(move |store, _| store.ticket_holder(&ticket));
    let holder = asked.await.ok_or_else(|| Box::new(stopping()))?;
    if holder != Some(Holder::SameUser) {
        return Ok(());
    }
    let is_ours = match from.get() {
        // The operating system has authenticated the client.
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

/// Returns whether the client is a program of the daemon's user on this host. Root is accepted: it can read the token, and
/// system relays (from Windows to WSL) run as root. Returns `false` where the system does not report the user.
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
            tracing::error!(%error, "the user of a connection cannot be determined: tickets of this user are refused");
            false
        }
    }
}

#[cfg(not(target_os = "linux"))]
async fn is_of_user(_: SocketAddr, _: SocketAddr) -> bool {
    true
}
