//! Pairings: tickets that sign in a new device. The device has a token of its own from the moment it uses the ticket.

use std::time::Duration;

use acpd_proto::time::{Instant, Now};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::AuthStore;
use crate::auth::identity::Identity;
use crate::auth::owner_token::Hash;
use crate::auth::sessions::SessionSecret;
use crate::auth::tokens::NewDevice;

/// Pairings of all tokens that have not expired.
const PAIRINGS: usize = 256;
/// Pairings of one token that have not expired.
const PAIRINGS_OF_ONE: usize = 16;

/// A ticket that makes the token of a device when it is used. It never opens anything in the name of its maker.
#[derive(Debug)]
pub(super) struct Pairing {
    /// The client that made it.
    identity: Identity,
    device: NewDevice,
    until: Instant,
    /// Whether the token of a device is being made.
    in_use: bool,
    /// The name of the device that used it. Such a pairing stays until it would have expired, for the client that waits for it.
    used_by: Option<String>,
    /// Cancelled when the pairing is used, or ends.
    gone: Option<DropGuard>,
}

/// Why a client gets no pairing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairingError {
    /// The limit of pairings is reached.
    Limit,
    /// The client is a paired device itself. If it could pair others, those could pair more, without a limit.
    OfDevice,
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
    ) -> Result<(), PairingError> {
        if self.is_paired(&identity) {
            return Err(PairingError::OfDevice);
        }
        self.pairings.retain(|_, pairing| pairing.until > now.mono);
        let of_one = self.pairings.values();
        let of_one = of_one.filter(|pairing| pairing.identity.key == identity.key);
        if of_one.count() >= PAIRINGS_OF_ONE || self.pairings.len() >= PAIRINGS {
            return Err(PairingError::Limit);
        }
        let pairing = Pairing {
            device: device.below(self.parent_of(&identity)),
            identity,
            until: now.mono + lasts,
            in_use: false,
            used_by: None,
            gone: Some(CancellationToken::new().drop_guard()),
        };
        self.pairings.insert(Hash::of(ticket), pairing);
        Ok(())
    }

    /// Returns the token that the tokens of this client's devices end with, and when that expires. `None` for the owner's token: only a
    /// revocation ends what the owner has made.
    fn parent_of(&self, identity: &Identity) -> Option<(Hash, Option<i64>)> {
        let mut issued = self.tokens.iter().skip(1);
        let token = issued.find(|token| token.key.hash == identity.key)?;
        Some((identity.key, token.key.expires_at))
    }

    /// Returns whether the client is a paired device.
    pub(super) fn is_paired(&self, identity: &Identity) -> bool {
        let mut issued = self.tokens.iter().skip(1);
        issued.any(|token| token.key.hash == identity.key && token.key.paired)
    }

    /// Returns the device of a pairing that can be used now. No other device can use it, until [`Self::finish_pairing`] or
    /// [`Self::release_pairing`].
    pub fn begin_pairing(&mut self, ticket: &str, now: Now) -> Option<NewDevice> {
        let ticket = Hash::of(ticket);
        let pairing = self.pairings.get(&ticket)?;
        let is_open = !pairing.in_use && pairing.used_by.is_none() && pairing.until > now.mono;
        if !is_open || !self.holds(&pairing.identity, now.wall) {
            return None;
        }
        let pairing = self.pairings.get_mut(&ticket)?;
        pairing.in_use = true;
        Some(pairing.device.clone())
    }

    /// Starts the session of a device in the name of its new token, which is loaded already. Returns `None` if the pairing has ended
    /// meanwhile, or there is no such token.
    pub fn finish_pairing(
        &mut self,
        ticket: &str,
        name: &str,
        secret: &SessionSecret,
        now: Now,
    ) -> Option<Identity> {
        let ticket = Hash::of(ticket);
        let pairing = self.pairings.get(&ticket).filter(|pairing| pairing.in_use)?;
        if !self.holds(&pairing.identity, now.wall) {
            return None;
        }
        let token = self.tokens.iter().skip(1).find(|token| token.key.name == name)?;
        let identity = token.pass();
        let session = self.begin_session(secret, &identity, now)?;
        if let Some(pairing) = self.pairings.get_mut(&ticket) {
            pairing.in_use = false;
            pairing.used_by = Some(name.to_owned());
            pairing.gone = None;
        }
        Some(session)
    }

    /// Lets a pairing be used again, because no device has got a token.
    pub fn release_pairing(&mut self, ticket: &str) {
        if let Some(pairing) = self.pairings.get_mut(&Hash::of(ticket)) {
            pairing.in_use = false;
        }
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
    use acpd_model::limits::{PAIRED_OF_ONE, SESSIONS_OF_ONE};

    use super::*;
    use crate::auth::store::tests::{HERE, at, guard, key, secret};
    use crate::auth::tokens::IssuedToken;

    const LASTS: Duration = Duration::from_mins(10);

    fn device() -> NewDevice {
        NewDevice::new("phone", Role::Approver)
    }

    fn add(store: &mut AuthStore, ticket: &str, identity: &Identity, now: Now) -> Result<(), PairingError> {
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
        let found = store.begin_pairing("ticket", at(3)).unwrap();
        assert_eq!((&*found.name, found.role), ("phone", Role::Approver));
        assert!(
            store.begin_pairing("ticket", at(3)).is_none(),
            "a device uses it already"
        );
        store.release_pairing("ticket");
        assert!(store.begin_pairing("ticket", at(3)).is_some());
        store.set_keys(vec![key("phone", Role::Approver, "nobody has it", None)], at(3));
        let session = store
            .finish_pairing("ticket", "phone", &secret("cookie"), at(3))
            .unwrap();
        assert_eq!((&*session.principal, session.role), ("phone", Role::Approver));
        assert!(store.begin_pairing("ticket", at(4)).is_none(), "it works once");
        assert!(matches!(
            store.pairing_state("ticket", &owner, at(4)),
            PairingState::Used(name) if name == "phone"
        ));
        add(&mut store, "other", &owner, at(5)).unwrap();
        assert!(
            store
                .finish_pairing("other", "phone", &secret("other"), at(5))
                .is_none(),
            "no device uses it"
        );
        store.begin_pairing("other", at(5)).unwrap();
        for name in ["owner", "nobody"] {
            let begun = store.finish_pairing("other", name, &secret("other"), at(5));
            assert!(begun.is_none(), "{name}");
        }
        assert!(store.end_pairing("other", &owner), "its maker ends it meanwhile");
        let begun = store.finish_pairing("other", "phone", &secret("other"), at(5));
        assert!(begun.is_none(), "it has ended");
    }

    #[test]
    fn a_paired_device_pairs_no_other() {
        let phone = IssuedToken {
            paired: true,
            ..key("phone", Role::Operator, "phone", None)
        };
        let mut store = guard(vec![phone, key("ann", Role::Approver, "ann", None)]);
        let phone = store.token("phone", HERE, at(1)).unwrap();
        assert_eq!(add(&mut store, "x", &phone, at(2)), Err(PairingError::OfDevice));
        let session = store.begin_session(&secret("cookie"), &phone, at(2)).unwrap();
        assert_eq!(add(&mut store, "x", &session, at(2)), Err(PairingError::OfDevice));
        let ann = store.token("ann", HERE, at(2)).unwrap();
        assert_eq!(add(&mut store, "x", &ann, at(2)), Ok(()));
    }

    #[test]
    fn the_sessions_of_a_token_and_its_devices_count_together() {
        let of_ann = |name: &str| IssuedToken {
            paired: true,
            parent: Some(Hash::of("ann")),
            ..key(name, Role::Approver, name, None)
        };
        let devices: Vec<_> = (0..PAIRED_OF_ONE)
            .map(|n| of_ann(&format!("device-{n}")))
            .collect();
        let ann = key("ann", Role::Approver, "ann", None);
        let mut store = guard([vec![ann], devices].concat());
        let owner = store.owner();
        store.begin_session(&secret("owner"), &owner, at(2)).unwrap();
        for n in 0..PAIRED_OF_ONE {
            let device = store.token(&format!("device-{n}"), HERE, at(2)).unwrap();
            for session in 0..SESSIONS_OF_ONE {
                let name = format!("{n} {session}");
                store.begin_session(&secret(&name), &device, at(3)).unwrap();
            }
        }
        let ann = store.token("ann", HERE, at(4)).unwrap();
        store.begin_session(&secret("ann"), &ann, at(4)).unwrap();
        assert!(store.session(&secret("owner"), at(4)).is_ok());
        let last = PAIRED_OF_ONE - 1;
        let is_valid = |store: &mut AuthStore, name: &str| store.session(&secret(name), at(4)).is_ok();
        for (name, expected) in [
            ("0 0", false),
            (&*format!("{last} 0"), false),
            (&*format!("{last} 1"), true),
        ] {
            assert_eq!(is_valid(&mut store, name), expected, "{name}");
        }
        assert!(is_valid(&mut store, "ann"));
    }

    #[test]
    fn a_pairing_ends_by_time_by_its_maker_and_with_its_maker() {
        let a = key("a", Role::Operator, "a", None);
        let mut store = guard(vec![a.clone()]);
        let (owner, a_identity) = (store.owner(), store.token("a", HERE, at(1)).unwrap());
        add(&mut store, "late", &owner, at(2)).unwrap();
        assert!(store.begin_pairing("late", at(602)).is_none());
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
        assert!(store.begin_pairing("ended", at(701)).is_none());

        add(&mut store, "orphan", &a_identity, at(800)).unwrap();
        store.set_keys(Vec::new(), at(801));
        assert!(store.begin_pairing("orphan", at(801)).is_none());
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
        assert_eq!(add(&mut store, "more", &owner, at(1)), Err(PairingError::Limit));
        add(&mut store, "later", &owner, at(601)).unwrap();
    }
}
