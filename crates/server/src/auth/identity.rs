//! The identity of an authenticated client.

use std::sync::Arc;

use acpd_model::{AccessScope, Role, ThreadId};
use acpd_proto::surface::request::Permissions;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::auth::owner_token::Hash;

/// An authenticated client.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The client's name in the log.
    pub principal: Arc<str>,
    /// The user whose device it is, by the name of the user's own token. All devices of a user share what the user has seen.
    pub user: Arc<str>,
    /// The client's role.
    pub role: Role,
    /// The link behind the credential, if it is a link.
    pub share: Option<SharedThread>,
    /// Cancelled when the client loses its permissions.
    pub ends: CancellationToken,
    /// The hash of the token or the link behind the credential.
    pub(super) key: Hash,
    /// The session that authenticated the client, if any, and when it expires if it is not used again.
    pub session: Option<(Hash, i64)>,
    /// Whether a ticket authenticated the client.
    pub by_ticket: bool,
}

/// The thread that a link shares.
#[derive(Debug, Clone)]
pub struct SharedThread {
    /// The id of the link.
    pub id: Arc<str>,
    /// The only thread that the client reaches.
    pub thread: ThreadId,
    /// When the link expires, in milliseconds since the epoch.
    pub expires_at: i64,
    /// Limits the connections of the link's readers, so that they leave room for others.
    pub room: Arc<Semaphore>,
}

/// Counts as a connection of a link until it is dropped. Clients with a token need none.
#[derive(Debug, Clone)]
pub struct ConnectionPermit(
    #[allow(dead_code, reason = "dropping it ends the count")] Option<Arc<OwnedSemaphorePermit>>,
);

/// The error for a connection beyond [`SHARE_CONNECTIONS`](acpd_model::limits::SHARE_CONNECTIONS).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many connections with this link: close some")]
pub struct TooManyConnections;

/// The identity of a client, as an editor's connection needs it.
#[derive(Debug, Clone)]
pub struct EditorIdentity {
    /// The editor's name in the log.
    pub principal: Arc<str>,
    /// The user who has the editor.
    pub user: Arc<str>,
    /// The editor's permissions.
    pub permissions: Permissions,
    /// Cancelled when the editor loses its permissions.
    pub ends: CancellationToken,
}

impl Identity {
    /// Returns the client's permissions.
    pub fn permissions(&self) -> Permissions {
        let shared = self.share.as_ref();
        Permissions {
            role: self.role,
            scope: shared.map_or(AccessScope::Everything, |share| AccessScope::Thread(share.thread)),
        }
    }

    /// Takes a permit for a connection.
    pub fn take_permit(&self) -> Result<ConnectionPermit, TooManyConnections> {
        let Some(share) = &self.share else {
            return Ok(ConnectionPermit(None));
        };
        let permit = Arc::clone(&share.room).try_acquire_owned();
        permit
            .map(|permit| ConnectionPermit(Some(Arc::new(permit))))
            .map_err(|_| TooManyConnections)
    }

    /// Returns the identity for an editor's connection.
    pub fn editor_identity(&self) -> EditorIdentity {
        EditorIdentity {
            principal: Arc::clone(&self.principal),
            user: Arc::clone(&self.user),
            permissions: self.permissions(),
            ends: self.ends.clone(),
        }
    }
}
