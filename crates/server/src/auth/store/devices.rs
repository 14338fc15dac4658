//! The browsers that receive notifications. Each is a part of its session.
use acpd_proto::time::Now;

use super::{AuthStore, identity_of};
use crate::auth::devices::{Device, Devices, PushSubscription};
use crate::auth::identity::Identity;
use crate::auth::owner_token::Hash;
use crate::auth::sessions::Session;

/// Browsers that receive pushed notifications.
const PUSH_DEVICES: usize = 128;
/// Browsers of one token that receive pushed notifications.
const PUSH_DEVICES_OF_ONE: usize = 32;
/// Hours before the end of a session in which its browser is notified of it.
const SIGN_OUT_NOTICE_HOURS: i64 = 24;
const HOUR: i64 = 3600 * 1000;

/// A browser whose session expires soon.
#[derive(Debug)]
pub struct EndingSession {
    pub device: Device,
    /// Whether the session expires later if it is used again.
    pub is_prolonged_by_use: bool,
    session: Hash,
    end: i64,
}

/// Why a browser cannot receive notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubscribeError {
    /// The client is not a browser with a session.
    #[error(
        "only a browser that is signed in can receive notifications: its subscription ends with its session"
    )]
    NoSession,
    /// The limit [`PUSH_DEVICES_OF_ONE`] is reached.
    #[error(
        "{PUSH_DEVICES_OF_ONE} browsers of your token receive notifications: turn them off in one of them first"
    )]
    FullOfOne,
    /// The limit [`PUSH_DEVICES`] is reached.
    #[error("{PUSH_DEVICES} browsers of all users receive notifications, which is the limit of this daemon")]
    Full,
}

impl AuthStore {
    /// Lets the browser of an identity's session receive notifications. Replaces its earlier subscription, whose id it keeps,
    /// and that of an earlier session of the same browser.
    pub fn subscribe(
        &mut self,
        identity: &Identity,
        mut subscription: PushSubscription,
    ) -> Result<(), SubscribeError> {
        let session = identity.session.and_then(|(hash, _)| self.sessions.find(hash));
        let session = session.ok_or(SubscribeError::NoSession)?;
        let (hash, key) = (session.hash, session.key);
        let known = session.push.as_ref().map(|known| known.id.clone());
        self.end_endpoint(&subscription.endpoint);
        match known {
            Some(known) => subscription.id = known,
            None => {
                let others = || self.sessions.with_push().map(|(session, _)| session);
                if others().filter(|session| session.key == key).count() >= PUSH_DEVICES_OF_ONE {
                    return Err(SubscribeError::FullOfOne);
                }
                if others().count() >= PUSH_DEVICES {
                    return Err(SubscribeError::Full);
                }
            }
        }
        self.sessions.set_push(hash, Some(subscription));
        Ok(())
    }

    /// Ends the subscription of an identity's session, if there is one.
    pub fn unsubscribe(&mut self, identity: &Identity) {
        if let Some((hash, _)) = identity.session {
            self.sessions.set_push(hash, None);
        }
    }

    /// Returns the subscription of an identity's session.
    pub fn subscription(&self, identity: &Identity) -> Option<&PushSubscription> {
        let (hash, _) = identity.session?;
        self.sessions.find(hash)?.push.as_ref()
    }

    /// Ends the subscription of the session whose browser is reached at this endpoint. A session that has another endpoint
    /// meanwhile is not affected.
    pub fn end_endpoint(&mut self, endpoint: &str) {
        let found = self.sessions.at_endpoint(endpoint);
        if let Some(hash) = found.map(|session| session.hash) {
            self.sessions.set_push(hash, None);
        }
    }

    /// Returns the browsers that receive notifications.
    pub fn devices(&self, now: Now) -> Devices {
        let devices = self.sessions.with_push();
        devices
            .filter_map(|(session, push)| Some((push.target(), self.device(session, push, now)?)))
            .collect()
    }

    fn device(&self, session: &Session, push: &PushSubscription, now: Now) -> Option<Device> {
        let identity = identity_of(&self.tokens, &self.shares, session.key, now.wall)?;
        Some(Device {
            subscription: push.clone(),
            principal: identity.principal,
            role: identity.role,
        })
    }

    /// Returns the browsers whose sessions expire within [`SIGN_OUT_NOTICE_HOURS`], and which were not yet notified of it.
    pub fn ending_sessions(&self, now: Now) -> Vec<EndingSession> {
        let soon = now.wall.saturating_add(SIGN_OUT_NOTICE_HOURS * HOUR);
        let ending = self.sessions.with_push().filter(|(session, _)| {
            let end = session.expires_at();
            now.wall < end && end <= soon && session.announced_end != Some(end)
        });
        ending
            .filter_map(|(session, push)| {
                Some(EndingSession {
                    device: self.device(session, push, now)?,
                    is_prolonged_by_use: session.is_prolonged_by_use(),
                    session: session.hash,
                    end: session.expires_at(),
                })
            })
            .collect()
    }

    /// Records that a browser was notified of the end of its session.
    pub fn announced(&mut self, ending: &EndingSession) {
        self.sessions.set_announced_end(ending.session, ending.end);
    }
}

#[cfg(test)]
mod tests;
