//! The room that answers to clients take.

use std::sync::Arc;

use acpd_model::Origin;
use acpd_model::limits::UNSENT_BYTES_OF_ONE;

use crate::room::{Charge, Room};
use crate::service::Caller;
use crate::unsent::UnsentAnswers;

impl UnsentAnswers {
    /// Waits for room for an answer of `bytes`. One that is larger than all room of its connection, or of its principal, gets all of
    /// it.
    pub(crate) async fn take(&self, caller: &Caller, bytes: u64) -> Charge {
        let room = self.room_of(caller);
        room.take(bytes.min(UNSENT_BYTES_OF_ONE.into())).await
    }

    /// Takes room for an answer of `bytes` if it is free and no other answer waits for it.
    pub(crate) fn try_take(&self, caller: &Caller, bytes: u64) -> Option<Charge> {
        self.room_of(caller)
            .try_take(bytes.min(UNSENT_BYTES_OF_ONE.into()))
    }

    /// Returns the room of a client's connection.
    pub(crate) fn room_of(&self, caller: &Caller) -> Room {
        let name = match &caller.by {
            Origin::Client(client) => client.principal.clone(),
            Origin::Agent | Origin::Daemon | Origin::Policy(_) => String::new(),
        };
        self.room_for(name, caller.permissions, Arc::clone(&caller.connection))
    }
}
