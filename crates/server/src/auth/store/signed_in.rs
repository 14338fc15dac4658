//! The devices that are signed in, as their users see and remove them.
//!
//! The owner sees all. Other users see the devices of their token, and those that their token has paired: a paired device does not see
//! what has paired it.

use acpd_model::Role;
use acpd_proto::time::Now;
use serde::Serialize;

use super::{AuthStore, identity_of};
use crate::auth::identity::Identity;
use crate::auth::owner_token::Hash;
use crate::auth::sessions::Session;

/// A browser with a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SignedIn {
    /// Identifies the device in requests. It is not a credential.
    pub id: String,
    /// The name that a user gave to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its browser and system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser: Option<String>,
    /// The name of its token in the log.
    pub principal: String,
    pub role: Role,
    /// Whether it has a token of its own, which ends with it.
    pub is_paired: bool,
    /// Whether it is the client that asks.
    pub is_current: bool,
    /// Whether it receives notifications while the page is closed.
    pub has_push: bool,
    /// Milliseconds since the epoch, as all times.
    pub created_at: i64,
    /// Accurate to an hour.
    pub used_at: i64,
    /// When it has to sign in again if it is not used.
    pub expires_at: i64,
}

/// What has become of a device that was to be signed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignedOut {
    /// There is no such device for this client.
    Unknown,
    /// Its session has ended.
    Session,
    /// Its session has ended, and the token with this name, which only it has, is to be revoked.
    Paired(String),
}

impl AuthStore {
    /// Returns the devices that a client may see, those that were used last first.
    pub fn signed_in(&self, by: &Identity, now: Now) -> Vec<SignedIn> {
        let visible = self.sessions.live().filter(|session| self.may_see(by, session));
        let mut devices: Vec<_> = visible
            .filter_map(|session| self.describe(session, by, now))
            .collect();
        devices
            .sort_by_key(|device| std::cmp::Reverse((device.is_current, device.used_at, device.created_at)));
        devices
    }

    /// Returns whether a client may pair devices.
    pub fn may_pair(&self, by: &Identity) -> bool {
        by.role.may(Role::Approver) && !self.is_paired(by)
    }

    /// Names a device that the client may see. Returns whether there is one.
    pub fn rename_device(&mut self, id: &str, name: Option<String>, by: &Identity) -> bool {
        let found = self.find_device(id, by);
        if let Some((session, _)) = found {
            self.sessions.set_name(session, name);
        }
        found.is_some()
    }

    /// Ends the session of a device that the client may see, with its connections and tickets.
    pub fn sign_out_device(&mut self, id: &str, by: &Identity) -> SignedOut {
        let Some((session, key)) = self.find_device(id, by) else {
            return SignedOut::Unknown;
        };
        self.sessions.end(|other| other.hash == session);
        self.forget_tickets();
        let mut issued = self.tokens.iter().skip(1);
        let paired = issued.find(|token| token.key.hash == key && token.key.paired);
        paired.map_or(SignedOut::Session, |token| {
            SignedOut::Paired(token.key.name.clone())
        })
    }

    /// Records what the browser of an identity's session is.
    pub fn set_browser(&mut self, identity: &Identity, browser: String) {
        if let Some((session, _)) = identity.session {
            self.sessions.set_browser(session, browser);
        }
    }

    /// Returns the session and the token of a device.
    fn find_device(&self, id: &str, by: &Identity) -> Option<(Hash, Hash)> {
        let mut live = self.sessions.live();
        let found = live.find(|session| session.hash.id() == id && self.may_see(by, session))?;
        Some((found.hash, found.key))
    }

    fn may_see(&self, by: &Identity, session: &Session) -> bool {
        if session.shared || by.share.is_some() {
            return false;
        }
        let is_child = || {
            let mut tokens = self.tokens.iter();
            tokens.any(|token| token.key.hash == session.key && token.key.parent == Some(by.key))
        };
        by.role.may(Role::Owner) || session.key == by.key || is_child()
    }

    fn describe(&self, session: &Session, by: &Identity, now: Now) -> Option<SignedIn> {
        let identity = identity_of(&self.tokens, &self.shares, session.key, now.wall)?;
        let mut tokens = self.tokens.iter();
        let of_token = tokens
            .find(|token| token.key.hash == session.key)
            .and_then(|token| token.key.expires_at);
        let expires_at = of_token.map_or(session.expires_at(), |end| end.min(session.expires_at()));
        (expires_at > now.wall).then(|| SignedIn {
            id: session.hash.id(),
            name: session.name.clone(),
            browser: session.browser.clone(),
            principal: identity.principal.to_string(),
            role: identity.role,
            is_paired: self.is_paired(&identity),
            is_current: by.session.is_some_and(|(hash, _)| hash == session.hash),
            has_push: session.push.is_some(),
            created_at: session.created_at,
            used_at: session.used_at,
            expires_at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::store::tests::{HERE, at, guard, key, secret};
    use crate::auth::tokens::IssuedToken;

    fn sign_in(store: &mut AuthStore, token: &str, cookie: &str, secs: u64) -> Identity {
        let identity = store.token(token, HERE, at(secs)).unwrap();
        store.begin_session(&secret(cookie), &identity, at(secs)).unwrap()
    }

    fn names(store: &AuthStore, by: &Identity) -> Vec<String> {
        let devices = store.signed_in(by, at(9)).into_iter();
        devices.map(|device| device.principal).collect()
    }

    fn store() -> AuthStore {
        let of_ann = IssuedToken {
            paired: true,
            parent: Some(Hash::of("ann")),
            ..key("phone", Role::Approver, "phone", None)
        };
        guard(vec![
            key("ann", Role::Operator, "ann", None),
            key("bob", Role::Observer, "bob", Some(90_000)),
            of_ann,
        ])
    }

    #[test]
    fn the_owner_sees_all_devices_and_others_see_theirs() {
        let mut store = store();
        let (ann, bob, phone) = (
            sign_in(&mut store, "ann", "a", 2),
            sign_in(&mut store, "bob", "b", 3),
            sign_in(&mut store, "phone", "p", 4),
        );
        let owner = store.owner();
        assert_eq!(names(&store, &owner), ["phone", "bob", "ann"]);
        // The own device is first.
        assert_eq!(names(&store, &ann), ["ann", "phone"]);
        assert_eq!(names(&store, &bob), ["bob"]);
        assert_eq!(names(&store, &phone), ["phone"], "it does not see what paired it");
        let own = store.signed_in(&bob, at(9)).remove(0);
        assert!(own.is_current && !own.is_paired && own.expires_at == 90_000);
        assert!(store.signed_in(&bob, at(91)).is_empty(), "its token has expired");
        assert!(store.may_pair(&ann) && store.may_pair(&owner));
        assert!(!store.may_pair(&bob) && !store.may_pair(&phone));
    }

    #[test]
    fn a_device_is_named_and_removed_by_those_who_see_it() {
        let mut store = store();
        let (ann, bob, phone) = (
            sign_in(&mut store, "ann", "a", 2),
            sign_in(&mut store, "bob", "b", 3),
            sign_in(&mut store, "phone", "p", 4),
        );
        let id = |store: &AuthStore, by: &Identity| store.signed_in(by, at(9)).remove(0).id;
        let (of_ann, of_phone) = (id(&store, &ann), id(&store, &phone));
        for by in [&bob, &phone] {
            assert!(!store.rename_device(&of_ann, Some("x".to_owned()), by));
            assert_eq!(store.sign_out_device(&of_ann, by), SignedOut::Unknown);
        }
        assert!(store.rename_device(&of_phone, Some("Ann's phone".to_owned()), &ann));
        store.set_browser(&phone, "Chrome on Android".to_owned());
        let shown = store.signed_in(&phone, at(9)).remove(0);
        assert_eq!(shown.name.as_deref(), Some("Ann's phone"));
        assert_eq!(shown.browser.as_deref(), Some("Chrome on Android"));
        assert!(shown.is_paired);

        let removed = store.sign_out_device(&of_phone, &ann);
        assert_eq!(removed, SignedOut::Paired("phone".to_owned()));
        assert!(phone.ends.is_cancelled());
        assert_eq!(store.sign_out_device(&of_phone, &ann), SignedOut::Unknown);
        let owner = store.owner();
        assert_eq!(store.sign_out_device(&of_ann, &owner), SignedOut::Session);
        assert!(ann.ends.is_cancelled() && !bob.ends.is_cancelled());
        assert!(store.token("ann", HERE, at(9)).is_ok(), "the token is as it was");
    }

    #[test]
    fn readers_of_links_are_not_devices() {
        use crate::auth::store::tests::{share, thread};

        let mut store = store();
        let (_, link) = share(&mut store, "ann", thread(1), 600, at(2));
        let reader = sign_in(&mut store, &link, "r", 3);
        let owner = store.owner();
        assert!(names(&store, &owner).is_empty() && names(&store, &reader).is_empty());
    }
}
