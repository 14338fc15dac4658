//! Pairings: tickets that sign in a new device. The device has a token of its own from the moment it uses the ticket.

use std::time::Duration;

use acpd_model::limits::{PAIRINGS, PAIRINGS_OF_ONE};
use acpd_proto::time::{Instant, Now};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{AuthStore, TicketLimit};
use crate::auth::identity::Identity;
use crate::auth::owner_token::Hash;
use crate::auth::sessions::SessionSecret;
use crate::auth::tokens::NewDevice;

/// A ticket that makes the token of a device when it is used. It never opens anything in the name of its maker.
#[derive(Debug)]
pub(super) struct Pairing {
    /// The client that made it.
    identity: Identity,
    device: NewDevice,
    until: Instant,
    /// The name of the device that used it. Such a pairing stays until it would have expired, for the client that waits for it.
    used_by: Option<String>,
    /// Cancelled when the pairing is used, or ends.
    gone: Option<DropGuard>,
}

/// What has become of a pairing.
#[derive(Debug, Clone)]
pub enum PairingState {
    /// It waits for a device, for at most this time. The token is cancelled when that changes.
    Open(CancellationToken, Duration),
    /// The device with this name has used it.
    Used(String),
    /// It was ended, or has expired.
    Gone,
}

impl AuthStore {
    /// Adds a pairing for `device`, in the name of `identity`.
    pub fn add_pairing(
        &mut self,
        ticket: &str,
        identity: Identity,
        device: NewDevice,
        lasts: Duration,
        now: Now,
    ) -> Result<(), TicketLimit> {
        self.pairings.retain(|_, pairing| pairing.until > now.mono);
        let of_one = self.pairings.values();
        let of_one = of_one.filter(|pairing| pairing.identity.key == identity.key);
        if of_one.count() >= PAIRINGS_OF_ONE || self.pairings.len() >= PAIRINGS {
            return Err(TicketLimit);
        }
        let pairing = Pairing {
            device: device.below(self.parent_of(&identity)),
            identity,
            until: now.mono + lasts,
            used_by: None,
            gone: Some(CancellationToken::new().drop_guard()),
        };
        self.pairings.insert(Hash::of(ticket), pairing);
        Ok(())
    }

    /// Returns the token that the tokens of this client's devices end with, and when that expires. The owner's token is none: only a
    /// revocation ends what the owner has made.
    fn parent_of(&self, identity: &Identity) -> Option<(Hash, Option<i64>)> {
        let mut issued = self.tokens.iter().skip(1);
        let token = issued.find(|token| token.key.hash == identity.key)?;
        Some((identity.key, token.key.expires_at))
    }

    /// Returns the device of a pairing that can be used now.
    pub fn open_pairing(&self, ticket: &str, now: Now) -> Option<NewDevice> {
        let pairing = self.pairings.get(&Hash::of(ticket))?;
        let is_open = pairing.used_by.is_none() && pairing.until > now.mono;
        (is_open && self.holds(&pairing.identity, now.wall)).then(|| pairing.device.clone())
    }

    /// Records that a device has used a pairing.
    pub fn use_pairing(&mut self, ticket: &str, name: &str) {
        if let Some(pairing) = self.pairings.get_mut(&Hash::of(ticket)) {
            pairing.used_by = Some(name.to_owned());
            pairing.gone = None;
        }
    }

    /// Starts the session of a device, in the name of its new token.
    pub fn begin_session_of(&mut self, name: &str, secret: &SessionSecret, now: Now) -> Option<Identity> {
        let token = self.tokens.iter().skip(1).find(|token| token.key.name == name)?;
        let identity = token.pass();
        self.begin_session(secret, &identity, now)
    }

    /// Ends a pairing that no device has used. Returns whether this client had made one.
    pub fn end_pairing(&mut self, ticket: &str, by: &Identity) -> bool {
        let ticket = Hash::of(ticket);
        let pairing = self.pairings.get(&ticket);
        let is_own =
            pairing.is_some_and(|pairing| pairing.used_by.is_none() && pairing.identity.key == by.key);
        if is_own {
            self.pairings.remove(&ticket);
        }
        is_own
    }

    /// Returns what has become of a pairing. Those of other clients are unknown.
    pub fn pairing_state(&self, ticket: &str, by: &Identity, now: Now) -> PairingState {
        let pairing = self.pairings.get(&Hash::of(ticket));
        match pairing.filter(|pairing| pairing.identity.key == by.key) {
            Some(Pairing {
                used_by: Some(name), ..
            }) => PairingState::Used(name.clone()),
            Some(Pairing {
                gone: Some(gone),
                until,
                ..
            }) if *until > now.mono => {
                PairingState::Open(gone.token().clone(), until.saturating_sub(now.mono))
            }
            _ => PairingState::Gone,
        }
    }

    /// Ends the pairings whose maker has lost its permissions, or signed out.
    pub(super) fn forget_pairings(&mut self) {
        self.pairings
            .retain(|_, pairing| !pairing.identity.ends.is_cancelled());
    }
}

#[cfg(test)]
mod tests {
    use acpd_model::Role;

    use super::*;
    use crate::auth::store::tests::{HERE, at, guard, key, secret};
    use crate::auth::tokens::IssuedToken;

    const LASTS: Duration = Duration::from_mins(10);

    fn device() -> NewDevice {
        NewDevice::new("phone", Role::Approver)
    }

    fn add(store: &mut AuthStore, ticket: &str, identity: &Identity, now: Now) -> Result<(), TicketLimit> {
        store.add_pairing(ticket, identity.clone(), device(), LASTS, now)
    }

    #[test]
    fn a_pairing_opens_one_session_of_its_own_token() {
        let mut store = guard(Vec::new());
        let owner = store.owner();
        add(&mut store, "ticket", &owner, at(2)).unwrap();
        // It is no ticket of its maker.
        assert!(store.ticket("ticket", HERE, at(3), |_, _| Ok(())).is_err());
        assert!(matches!(
            store.pairing_state("ticket", &owner, at(3)),
            PairingState::Open(..)
        ));
        let found = store.open_pairing("ticket", at(3)).unwrap();
        assert_eq!((&*found.name, found.role), ("phone", Role::Approver));
        store.set_keys(vec![key("phone", Role::Approver, "nobody has it", None)], at(3));
        let session = store.begin_session_of("phone", &secret("cookie"), at(3)).unwrap();
        assert_eq!((&*session.principal, session.role), ("phone", Role::Approver));
        store.use_pairing("ticket", "phone");
        assert!(store.open_pairing("ticket", at(4)).is_none(), "it works once");
        assert!(matches!(
            store.pairing_state("ticket", &owner, at(4)),
            PairingState::Used(name) if name == "phone"
        ));
        assert!(store.begin_session_of("owner", &secret("other"), at(4)).is_none());
    }

    #[test]
    fn a_pairing_ends_by_time_by_its_maker_and_with_its_maker() {
        let a = key("a", Role::Operator, "a", None);
        let mut store = guard(vec![a.clone()]);
        let (owner, a_identity) = (store.owner(), store.token("a", HERE, at(1)).unwrap());
        add(&mut store, "late", &owner, at(2)).unwrap();
        assert!(store.open_pairing("late", at(602)).is_none());
        assert!(matches!(
            store.pairing_state("late", &owner, at(602)),
            PairingState::Gone
        ));

        add(&mut store, "ended", &owner, at(700)).unwrap();
        assert!(
            !store.end_pairing("ended", &a_identity),
            "it is of another client"
        );
        assert!(matches!(
            store.pairing_state("ended", &a_identity, at(700)),
            PairingState::Gone
        ));
        let PairingState::Open(gone, _) = store.pairing_state("ended", &owner, at(700)) else {
            panic!("it is open");
        };
        assert!(store.end_pairing("ended", &owner) && gone.is_cancelled());
        assert!(store.open_pairing("ended", at(701)).is_none());

        add(&mut store, "orphan", &a_identity, at(800)).unwrap();
        store.set_keys(Vec::new(), at(801));
        assert!(store.open_pairing("orphan", at(801)).is_none());
    }

    #[test]
    fn devices_end_with_the_token_that_paired_them() {
        let a = IssuedToken {
            expires_at: Some(90_000),
            ..key("a", Role::Operator, "a", None)
        };
        let mut store = guard(vec![a]);
        let a_identity = store.token("a", HERE, at(1)).unwrap();
        assert_eq!(store.parent_of(&a_identity), Some((Hash::of("a"), Some(90_000))));
        let owner = store.owner();
        assert_eq!(store.parent_of(&owner), None);
    }

    #[test]
    fn there_are_only_so_many_pairings() {
        let mut store = guard(Vec::new());
        let owner = store.owner();
        for n in 0..PAIRINGS_OF_ONE {
            add(&mut store, &format!("{n}"), &owner, at(1)).unwrap();
        }
        assert_eq!(add(&mut store, "more", &owner, at(1)), Err(TicketLimit));
        add(&mut store, "later", &owner, at(601)).unwrap();
    }
}
