//! Browser sessions. A session has a cookie and a page key, which together authenticate as the token that opened it.
//!
//! The sessions are stored in `sessions.json` as hashes, so that a restart of the daemon logs no user out. An expired session
//! stays there, at rest, until its place is needed: the clock may have leapt, and by the right time it has not expired.

use std::path::Path;

use acpd_files::{Form, data_files};
use acpd_model::limits::{
    SESSION_DAYS, SESSION_MAX_DAYS, SESSIONS, SESSIONS_FILE_BYTES, SESSIONS_OF_ONE, SHARE_SESSIONS,
};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::auth::devices::PushSubscription;
use crate::auth::lifetime;
use crate::auth::owner_token::{Hash, random};
use crate::auth::stored_list::{Entry, ListForm, StoredList, Unstored};

/// Seconds by which the stored time of a session's last use may lag behind.
const SESSION_NOTE_SECS: i64 = 3600;
const DAY: i64 = 24 * 3600 * 1000;

/// All sessions, oldest first.
#[derive(Debug, Default)]
pub struct Sessions {
    all: StoredList<Session>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// The hash of the cookie.
    pub hash: Hash,
    /// The hash of the key that the page sends.
    pub page_key: Hash,
    /// The hash of the token or the link that opened the session.
    pub key: Hash,
    /// Whether a link opened the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// Milliseconds since the epoch, accurate to [`SESSION_NOTE_SECS`].
    pub used_at: i64,
    /// The name that a user gave to the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The browser and its system, such as "Firefox on Linux", as the browser said when it signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser: Option<String>,
    /// How the browser receives notifications, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push: Option<PushSubscription>,
    /// The end of which the browser was notified, in milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announced_end: Option<i64>,
    /// Cancelled when the session ends or expires.
    #[serde(skip)]
    pub ends: CancellationToken,
}

/// The credentials of a browser session. Browsers send the cookie to every port of a host, and scripts cannot read it. The
/// page stores the key, and pages of other ports cannot read it. Not printed.
#[derive(Clone)]
pub struct SessionSecret {
    pub cookie: String,
    pub page_key: String,
}

impl SessionSecret {
    /// Generates a cookie and a page key.
    pub fn random() -> std::io::Result<Self> {
        Ok(Self {
            cookie: random()?,
            page_key: random()?,
        })
    }
}

impl Entry for Session {
    const FORM: &'static ListForm = &ListForm {
        file: data_files::SESSIONS,
        form: Form {
            // Sessions of version 1 had no page key.
            versions: &[2],
            bytes: SESSIONS_FILE_BYTES,
            is_pretty: false,
            is_private: true,
        },
        list: "sessions",
        entries: SESSIONS + SHARE_SESSIONS,
        loss: "browsers have to log in again",
    };

    fn ends(&self) -> &CancellationToken {
        &self.ends
    }
}

impl Session {
    /// Returns when the session expires if it is not used again, in milliseconds since the epoch.
    pub fn expires_at(&self) -> i64 {
        let unused = self.used_at.saturating_add(SESSION_DAYS * DAY);
        unused.min(self.last_end())
    }

    /// Returns whether the session expires later if it is used again.
    pub fn is_prolonged_by_use(&self) -> bool {
        self.expires_at() < self.last_end()
    }

    /// Returns when the session expires in any case.
    fn last_end(&self) -> i64 {
        self.created_at.saturating_add(SESSION_MAX_DAYS * DAY)
    }
}

impl Sessions {
    /// Loads the sessions of a data directory. If the file cannot be read or has another version, all users must log in
    /// again; there is no other effect.
    pub fn load(data_dir: &Path) -> Self {
        let all = StoredList::load(data_dir);
        Self { all }
    }

    /// Returns the new content of the file if the file on disk is outdated.
    pub fn take_unstored(&mut self) -> Option<Unstored> {
        self.all.take_unstored()
    }

    /// Starts a session for a token or a link, which is one of a family. At the limit of a family, its oldest session ends; at the overall limit, the
    /// oldest of all. Sessions at rest end first. Sessions of links have an overall limit of their own, so that readers of links log out no user.
    pub fn begin(
        &mut self,
        secret: &SessionSecret,
        key: Hash,
        family: &[Hash],
        shared: bool,
        ends: CancellationToken,
        now: i64,
    ) -> &Session {
        let most = if shared { SHARE_SESSIONS } else { SESSIONS };
        if !self.make_room(SESSIONS_OF_ONE, |session| family.contains(&session.key)) {
            self.make_room(most, |session| session.shared == shared);
        }
        self.all.push(Session {
            hash: Hash::of(&secret.cookie),
            page_key: Hash::of(&secret.page_key),
            key,
            shared,
            created_at: now,
            used_at: now,
            name: None,
            browser: None,
            push: None,
            announced_end: None,
            ends,
        })
    }

    /// Ends a session among those that count if there are `most` of them. Returns whether it did.
    fn make_room(&mut self, most: usize, counts: impl Fn(&Session) -> bool) -> bool {
        let places = || {
            let all = self.all.iter().enumerate();
            all.filter(|(_, session)| counts(session))
        };
        if places().count() < most {
            return false;
        }
        let at_rest = places().find(|(_, session)| session.ends.is_cancelled());
        let Some((place, _)) = at_rest.or_else(|| places().next()) else {
            return false;
        };
        self.all.end_at(place);
        true
    }

    /// Closes the connections of the sessions that have expired, which stay in the list.
    pub fn rest(&mut self, is_over: impl Fn(&Session) -> bool) {
        for place in 0..self.all.len() {
            let session = &self.all[place];
            if is_over(session) && !session.ends.is_cancelled() {
                session.ends.cancel();
                // Its browser receives no notifications any more.
                self.all.changed();
            }
        }
    }

    /// Returns a session that has not expired, and lets it have connections again if it was at rest. It ends with `parent`.
    pub fn wake(&mut self, hash: Hash, parent: &CancellationToken) -> Option<&Session> {
        let place = self.all.iter().position(|session| session.hash == hash)?;
        if self.all[place].ends.is_cancelled() && !parent.is_cancelled() {
            self.all.change(place)?.ends = parent.child_token();
        }
        self.all.get(place)
    }

    /// Returns the session of a page key and one of these cookies, and records that it is used now. Looks through the sessions once:
    /// anybody may send many cookies, but only a page of a session has its key.
    pub fn used(&mut self, cookies: &[String], page_key: &str, now: i64) -> Option<&Session> {
        let page_key = Hash::of(page_key);
        let mut of_page = Vec::new();
        // Compares all sessions, so that the duration does not reveal which one matched.
        for (place, session) in self.all.iter().enumerate() {
            if session.page_key == page_key {
                of_page.push((place, session.hash));
            }
        }
        if of_page.is_empty() {
            return None;
        }
        let hashes: Vec<_> = cookies.iter().map(|cookie| Hash::of(cookie)).collect();
        let found = of_page.iter().find(|(_, hash)| hashes.contains(hash));
        let (place, _) = *found?;
        let session = &self.all[place];
        if session.expires_at() <= now {
            return None;
        }
        if session.used_at.saturating_add(SESSION_NOTE_SECS * 1000) <= now {
            self.all.change(place)?.used_at = now;
        }
        self.all.get(place)
    }

    /// Lets the sessions that were used while the clock was ahead be used last now.
    pub fn correct(&mut self, now: i64) {
        for place in 0..self.all.len() {
            if lifetime::is_ahead(self.all[place].used_at, now)
                && let Some(session) = self.all.change(place)
            {
                session.created_at = session.created_at.min(now);
                session.used_at = now;
            }
        }
    }

    /// Returns the session with this hash.
    pub fn find(&self, hash: Hash) -> Option<&Session> {
        self.all.iter().find(|session| session.hash == hash)
    }

    /// Records that the browser of a session was notified of this end.
    pub fn set_announced_end(&mut self, hash: Hash, end: i64) {
        if let Some(session) = self.changing(hash) {
            session.announced_end = Some(end);
        }
    }

    /// Sets the name of a session's device, or removes it.
    pub fn set_name(&mut self, hash: Hash, name: Option<String>) {
        if let Some(session) = self.changing(hash) {
            session.name = name;
        }
    }

    /// Sets what the browser of a session is.
    pub fn set_browser(&mut self, hash: Hash, browser: String) {
        if let Some(session) = self.changing(hash) {
            session.browser = Some(browser);
        }
    }

    fn changing(&mut self, hash: Hash) -> Option<&mut Session> {
        let place = self.all.iter().position(|session| session.hash == hash)?;
        self.all.change(place)
    }

    /// Sets how the browser of a session receives notifications.
    pub fn set_push(&mut self, hash: Hash, push: Option<PushSubscription>) {
        let differs = |session: &Session| session.hash == hash && session.push != push;
        let place = self.all.iter().position(differs);
        if let Some(session) = place.and_then(|place| self.all.change(place)) {
            session.push = push;
        }
    }

    /// Returns the session whose browser is reached at this endpoint, also if it is at rest.
    pub fn at_endpoint(&self, endpoint: &str) -> Option<&Session> {
        let is_there = |push: &PushSubscription| push.endpoint == endpoint;
        let mut all = self.all.iter();
        all.find(|session| session.push.as_ref().is_some_and(is_there))
    }

    /// Returns the sessions that are not at rest, oldest first.
    pub fn live(&self) -> impl Iterator<Item = &Session> {
        self.all.iter().filter(|session| !session.ends.is_cancelled())
    }

    /// Returns the sessions whose browsers receive notifications.
    pub fn with_push(&self) -> impl Iterator<Item = (&Session, &PushSubscription)> {
        self.live()
            .filter_map(|session| Some((session, session.push.as_ref()?)))
    }

    /// Ends the sessions that `over` selects, and returns their number.
    pub fn end(&mut self, over: impl Fn(&Session) -> bool) -> usize {
        self.all.end(over)
    }

    /// Makes each session end with its token. Sessions without a token end immediately.
    pub fn bind(&mut self, ends_of: impl Fn(Hash) -> Option<CancellationToken>) {
        self.end(|session| ends_of(session.key).is_none());
        for session in self.all.unstored_parts() {
            if let Some(ends) = ends_of(session.key) {
                session.ends = ends.child_token();
            }
        }
    }

    /// Returns when the next session expires.
    pub fn next_end(&self) -> Option<i64> {
        self.live().map(Session::expires_at).min()
    }
}
