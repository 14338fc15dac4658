//! Links with which threads are shared. A client with a link's secret reads one thread until the link expires.
//!
//! `shares.json` in the data directory holds their hashes. Only a running daemon writes it. An expired link stays there, at rest,
//! until its place is needed: the clock may have leapt, and by the right time it has not expired.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use acpd_files::{Form, data_files};
use acpd_model::limits::{SHARE_CONNECTIONS, SHARES, SHARES_FILE_BYTES, SHARES_OF_THREAD};
use acpd_model::{ErrorCode, Failure, Role, ThreadId};
use acpd_proto::surface::reply::ShareInfo;
use acpd_runtime::share::NewShare;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::auth::lifetime;
use crate::auth::owner_token::{Hash, random};
use crate::auth::stored_list::{Entry, ListForm, StoredList, Unstored};
use crate::auth::tokens::IssuedToken;

/// The number of hexadecimal digits in the id of a link.
const ID_DIGITS: usize = 16;

/// All links, oldest first.
#[derive(Debug, Default)]
pub struct Shares {
    all: StoredList<Share>,
}

/// The record of a link. It does not contain the secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// Identifies the link in lists and logs.
    pub id: String,
    /// The hash of the secret.
    pub hash: Hash,
    /// The thread that it shares.
    pub thread: ThreadId,
    /// A name for lists of links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The name of the token that made it.
    pub created_by: String,
    /// The hash of that token. The link ends with it.
    pub key: Hash,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// Milliseconds since the epoch.
    pub expires_at: i64,
    /// Cancelled when the link ends or expires.
    #[serde(skip)]
    pub ends: CancellationToken,
    /// The places for connections of the link.
    #[serde(skip, default = "room")]
    pub room: Arc<Semaphore>,
}

fn room() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(SHARE_CONNECTIONS))
}

impl Entry for Share {
    const FORM: &'static ListForm = &ListForm {
        file: data_files::SHARES,
        form: Form {
            versions: &[1],
            bytes: SHARES_FILE_BYTES,
            is_pretty: false,
            is_private: true,
        },
        list: "shares",
        entries: SHARES,
        loss: "all links that share threads have ended",
    };

    fn ends(&self) -> &CancellationToken {
        &self.ends
    }
}

/// The id and the secret of a new link. Not printed.
#[derive(Clone)]
pub struct ShareSecret {
    /// The id, which is a part of the secret. So a page can find the session of a link that it opened earlier.
    pub id: String,
    /// The secret.
    pub secret: String,
}

impl ShareSecret {
    /// Generates an id and a secret.
    pub fn random() -> std::io::Result<Self> {
        let mut id = random()?;
        id.truncate(ID_DIGITS);
        // The prefix identifies a leaked secret to readers and to secret scanners.
        let secret = format!("acpd_share_{id}_{}", random()?);
        Ok(Self { id, secret })
    }
}

impl Share {
    /// Returns the name of the link's reader in the log. No token has such a name.
    pub fn principal(&self) -> String {
        format!("share:{}", self.id)
    }

    /// The role of every reader.
    pub const ROLE: Role = Role::Observer;

    /// Returns whether the link has expired.
    pub fn is_over(&self, wall: i64) -> bool {
        self.expires_at <= wall
    }

    fn info(&self) -> ShareInfo {
        ShareInfo {
            id: self.id.clone(),
            thread: self.thread,
            name: self.name.clone(),
            created_by: self.created_by.clone(),
            created_at: self.created_at,
            expires_at: self.expires_at,
        }
    }
}

impl Shares {
    /// Loads the links of a data directory. If the file cannot be read or has another version, all links have ended,
    /// and nothing else changes.
    pub fn load(data_dir: &Path) -> Self {
        let all = StoredList::load(data_dir);
        Self { all }
    }

    /// Returns the new content of the file if the file on disk is outdated.
    pub fn take_unstored(&mut self) -> Option<Unstored> {
        self.all.take_unstored()
    }

    /// Records that what [`take_unstored`](Self::take_unstored) returned could not be written.
    pub fn not_stored(&mut self) {
        self.all.not_stored();
    }

    /// Adds a link that `token` made. It expires with the token at the latest.
    pub fn add(
        &mut self,
        share: NewShare,
        secret: &ShareSecret,
        token: &IssuedToken,
        now: i64,
    ) -> Result<ShareInfo, Failure> {
        let full = |message: String| Err(Failure::new(ErrorCode::Overloaded, message));
        let live = self.of(Some(share.thread)).filter(|share| !share.is_over(now));
        let of_thread = live.count();
        if of_thread >= SHARES_OF_THREAD {
            return full(format!(
                "this thread has {SHARES_OF_THREAD} links already: revoke one first"
            ));
        }
        if self.all.len() >= SHARES && !self.end_one(|share| share.is_over(now)) {
            return full(format!("there are {SHARES} links already: revoke one first"));
        }
        let until = now.saturating_add(millis(share.lifetime));
        let share = Share {
            id: secret.id.clone(),
            hash: Hash::of(&secret.secret),
            thread: share.thread,
            name: share.name,
            created_by: token.name.clone(),
            key: token.hash,
            created_at: now,
            expires_at: token.expires_at.map_or(until, |end| end.min(until)),
            ends: CancellationToken::new(),
            room: room(),
        };
        Ok(self.all.push(share).info())
    }

    /// Returns the link with a secret or a session of this hash.
    pub fn find(&self, hash: Hash) -> Option<&Share> {
        let mut found = None;
        // Compares all links, so that the duration does not reveal which one matched.
        for share in self.all.iter() {
            if share.hash == hash {
                found = Some(share);
            }
        }
        found
    }

    /// Returns the links that have not expired, of one thread or of all.
    pub fn list(&self, thread: Option<ThreadId>, now: i64) -> Vec<ShareInfo> {
        let live = self.of(thread).filter(|share| !share.is_over(now));
        live.map(Share::info).collect()
    }

    /// Returns the threads that are shared.
    pub fn threads(&self) -> Vec<ThreadId> {
        self.all.iter().map(|share| share.thread).collect()
    }

    /// Ends the links that `over` selects, and returns their number.
    pub fn end(&mut self, over: impl Fn(&Share) -> bool) -> usize {
        self.all.end(over)
    }

    /// Ends the oldest link that `over` selects. Returns whether there was one.
    fn end_one(&mut self, over: impl Fn(&Share) -> bool) -> bool {
        let Some(place) = self.all.iter().position(over) else {
            return false;
        };
        self.all.end_at(place);
        true
    }

    /// Closes the connections of the links that have expired, which stay in the list.
    pub fn rest(&self, wall: i64) {
        for share in self.all.iter().filter(|share| share.is_over(wall)) {
            share.ends.cancel();
        }
    }

    /// Lets links at rest that have not expired have connections again.
    pub fn wake(&mut self, wall: i64) {
        let rests = |share: &&mut Share| share.ends.is_cancelled() && !share.is_over(wall);
        for share in self.all.unstored_parts().filter(rests) {
            share.ends = CancellationToken::new();
        }
    }

    /// Lets the links that were made while the clock was ahead begin now.
    pub fn correct(&mut self, now: i64) {
        for place in 0..self.all.len() {
            if lifetime::is_ahead(self.all[place].created_at, now)
                && let Some(share) = self.all.change(place)
            {
                lifetime::correct(&mut share.created_at, &mut share.expires_at, now);
            }
        }
    }

    /// Returns when the next link expires.
    pub fn next_end(&self) -> Option<i64> {
        let live = self.all.iter().filter(|share| !share.ends.is_cancelled());
        live.map(|share| share.expires_at).min()
    }

    fn of(&self, thread: Option<ThreadId>) -> impl Iterator<Item = &Share> {
        let is_of = move |share: &&Share| thread.is_none_or(|thread| thread == share.thread);
        self.all.iter().filter(is_of)
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(number: u128) -> ThreadId {
        ThreadId(uuid::Uuid::from_u128(number))
    }

    fn token(expires_at: Option<i64>) -> IssuedToken {
        IssuedToken::new("ann", Role::Operator, "ann's secret", 0, expires_at)
    }

    fn new(of: ThreadId) -> NewShare {
        NewShare::new(of, Some("for Bob".to_owned()), "ann".to_owned(), Some(60)).unwrap()
    }

    #[test]
    fn a_link_is_kept_as_a_hash() {
        let dir = tempfile::tempdir().unwrap();
        let secret = ShareSecret::random().unwrap();
        let mut shares = Shares::load(dir.path());
        let made = shares.add(new(thread(1)), &secret, &token(None), 5).unwrap();
        assert_eq!((made.created_at, made.expires_at), (5, 60_005));
        shares.take_unstored().unwrap().store(dir.path()).unwrap();
        let text = std::fs::read_to_string(dir.path().join("shares.json")).unwrap();
        assert!(text.starts_with(r#"{"version":1,"shares":[{"id":""#), "{text}");
        let (_, random_part) = secret.secret.rsplit_once('_').unwrap();
        assert!(text.contains(&secret.id) && !text.contains(random_part), "{text}");
        let again = Shares::load(dir.path());
        assert_eq!(again.list(None, 60_004), [made]);
        assert_eq!(again.list(None, 60_005), []);
        assert!(again.find(Hash::of(&secret.secret)).is_some());
        assert!(again.find(Hash::of(random_part)).is_none());
    }

    #[test]
    fn links_are_bounded_and_the_longest_file_can_be_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut shares = Shares::default();
        let secret = || ShareSecret::random().unwrap();
        let longest = |of| {
            let name = Some("\u{10ffff}".repeat(acpd_model::limits::SHARE_NAME_BYTES / 4));
            NewShare::new(of, name, "ann".to_owned(), None).unwrap()
        };
        let ann = IssuedToken {
            name: "x".repeat(acpd_model::limits::TOKEN_NAME_BYTES),
            ..token(None)
        };
        for number in 0..SHARES {
            let of = thread((number / SHARES_OF_THREAD) as u128);
            shares.add(longest(of), &secret(), &ann, 0).unwrap();
        }
        let refused = |shares: &mut Shares, of| shares.add(new(of), &secret(), &ann, 0).unwrap_err().message;
        assert!(refused(&mut shares, thread(0)).starts_with("this thread has 32 links"));
        assert!(refused(&mut shares, thread(9999)).starts_with("there are 512 links"));
        shares.take_unstored().unwrap().store(dir.path()).unwrap();
        assert_eq!(Shares::load(dir.path()).threads().len(), SHARES);
        assert_eq!(shares.end(|share| share.thread == thread(0)), SHARES_OF_THREAD);
        assert!(shares.add(new(thread(0)), &secret(), &ann, 0).is_ok());
    }

    #[test]
    fn expired_links_leave_their_places_to_new_ones() {
        let mut shares = Shares::default();
        let secret = || ShareSecret::random().unwrap();
        for number in 0..SHARES {
            let of = thread((number / SHARES_OF_THREAD) as u128);
            shares.add(new(of), &secret(), &token(None), 0).unwrap();
        }
        assert!(
            shares
                .add(new(thread(0)), &secret(), &token(None), 59_999)
                .is_err()
        );
        for _ in 0..SHARES_OF_THREAD {
            shares
                .add(new(thread(0)), &secret(), &token(None), 60_000)
                .unwrap();
        }
        assert_eq!(shares.threads().len(), SHARES);
        assert_eq!(shares.list(None, 60_000).len(), SHARES_OF_THREAD);
    }

    #[test]
    fn a_link_expires_with_the_token_that_made_it_at_the_latest() {
        let mut shares = Shares::default();
        let secret = ShareSecret::random().unwrap();
        let made = shares
            .add(new(thread(1)), &secret, &token(Some(1000)), 5)
            .unwrap();
        assert_eq!(made.expires_at, 1000);
        assert_eq!(shares.next_end(), Some(1000));
    }
}
