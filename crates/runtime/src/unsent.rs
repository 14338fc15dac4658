//! Memory for large answers that clients have not received yet.
//!
//! In: a client, and the bytes that its answer will have. Out: charges, which are held until the answer is sent. Owns: the room of
//! each principal, which is a part of the room of all. Never: lets readers of shared threads use the room of other clients.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use acpd_model::limits::{UNSENT_BYTES, UNSENT_BYTES_OF_ONE};
use acpd_model::{AccessScope, Origin, ThreadId};

use crate::room::{Charge, Room};
use crate::service::Caller;

/// The room for answers; cheap to clone.
#[derive(Debug, Clone)]
pub struct UnsentAnswers(Arc<Rooms>);

#[derive(Debug)]
struct Rooms {
    /// For clients that reach everything.
    whole: Room,
    /// For the readers of shared threads.
    shared: Room,
    principals: Mutex<BTreeMap<Principal, Room>>,
}

/// The name of a principal, and the thread if it reaches only one.
type Principal = (String, Option<ThreadId>);

impl Default for UnsentAnswers {
    fn default() -> Self {
        Self(Arc::new(Rooms {
            whole: Room::new(UNSENT_BYTES),
            shared: Room::new(UNSENT_BYTES),
            principals: Mutex::default(),
        }))
    }
}

impl UnsentAnswers {
    /// Waits for room for an answer of `bytes`. One that is larger than all room of a principal gets all of it.
    pub(crate) async fn take(&self, caller: &Caller, bytes: u64) -> Charge {
        let room = self.room_of(caller);
        room.take(bytes).await
    }

    fn room_of(&self, caller: &Caller) -> Room {
        let name = match &caller.by {
            Origin::Client(client) => client.principal.clone(),
            Origin::Agent | Origin::Daemon | Origin::Policy(_) => String::new(),
        };
        let (whole, thread) = match caller.permissions.scope {
            AccessScope::Everything => (&self.0.whole, None),
            AccessScope::Thread(thread) => (&self.0.shared, Some(thread)),
        };
        let mut principals = self.0.principals.lock().unwrap_or_else(PoisonError::into_inner);
        principals.retain(|_, room| room.is_used());
        principals
            .entry((name, thread))
            .or_insert_with(|| whole.part(UNSENT_BYTES_OF_ONE))
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use acpd_model::Role;
    use acpd_model::event::ClientOrigin;
    use acpd_proto::surface::contract::Lane;
    use acpd_proto::surface::request::Permissions;
    use futures_util::FutureExt;

    use super::*;
    use crate::service::Defaults;

    const ALL: u64 = UNSENT_BYTES_OF_ONE as u64;

    fn caller(principal: &str, scope: AccessScope) -> Caller {
        let by = Origin::Client(Box::new(ClientOrigin {
            principal: principal.into(),
            client: "test".into(),
        }));
        let permissions = Permissions {
            role: Role::Observer,
            scope,
        };
        Caller::new(by, permissions, Lane::App, Defaults::none())
    }

    #[tokio::test]
    async fn a_principal_waits_for_itself_alone() {
        let unsent = UnsentAnswers::default();
        let [ann, bob] = ["ann", "bob"].map(|name| caller(name, AccessScope::Everything));
        let first = unsent.take(&ann, ALL - 10).await;
        let mut second = Box::pin(unsent.take(&ann, 11));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(unsent.take(&bob, u64::MAX).now_or_never().is_some());
        drop(first);
        assert!(second.now_or_never().is_some());
        // Rooms that are not used are forgotten.
        unsent.room_of(&bob);
        assert_eq!(unsent.0.principals.lock().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn readers_of_shared_threads_take_no_room_of_others() {
        let unsent = UnsentAnswers::default();
        let scope = |number| AccessScope::Thread(ThreadId(uuid::Uuid::from_u128(number)));
        let mut held = Vec::new();
        for number in 0..u128::from(UNSENT_BYTES / UNSENT_BYTES_OF_ONE) {
            held.push(unsent.take(&caller("link", scope(number)), ALL).await);
        }
        assert!(
            unsent
                .take(&caller("link", scope(99)), 1)
                .now_or_never()
                .is_none()
        );
        let owner = caller("owner", AccessScope::Everything);
        assert!(unsent.take(&owner, ALL).now_or_never().is_some());
    }
}
