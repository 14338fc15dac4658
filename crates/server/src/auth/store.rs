//! The store that authenticates clients.
//!
//! In: credentials, and the current time. Out: an [`Identity`], or an error. Owns: tokens, sessions, tickets, pairings, links and
//! failed attempts. Never: reads a clock, random numbers or files, or sees a secret that no client has sent.
//!
//! When the token or the link expires or is revoked, or the session ends, `ends` of the identity is cancelled, and its connections
//! close. What has expired rests: if the clock had leapt, it holds again by the right time.

mod devices;
mod pairings;
mod signed_in;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use acpd_model::limits::TICKET_SECS;
use acpd_model::{ErrorCode, Failure, Role, ThreadId};
use acpd_proto::surface::reply::ShareInfo;
use acpd_proto::time::{Instant, Now};
use acpd_runtime::share::NewShare;
use serde::{Deserialize, Serialize};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::auth::identity::{Identity, SharedThread};
use crate::auth::owner_token::{Hash, Token};
use crate::auth::sessions::{Session, SessionSecret, Sessions};
use crate::auth::shares::{Share, ShareSecret, Shares};
use crate::auth::stored_list::Unstored;
use crate::auth::throttle::Throttle;
use crate::auth::tokens::{IssuedToken, OWNER};

pub use self::devices::{EndingSession, SubscribeError};
use self::pairings::Pairing;
pub use self::pairings::{PairingError, PairingState};
pub use self::signed_in::SignedOut;

/// HTTP requests that one principal may send in a burst, not counting those that open a WebSocket.
const HTTP_REQUESTS: u32 = 300;
/// Milliseconds until one more of the [`HTTP_REQUESTS`] is available.
const HTTP_REQUEST_MILLIS: u64 = 100;
/// Failed logins that one address may make in a burst.
const FAILED_LOGINS: u32 = 10;
/// Seconds until one more of the [`FAILED_LOGINS`] is available.
const FAILED_LOGIN_SECS: u64 = 6;
/// Unused tickets of all tokens.
const TICKETS: usize = 1024;
/// Unused tickets of one token.
const TICKETS_OF_ONE: usize = 64;

/// The origin of an authentication attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// A network address, or the /64 network of an IPv6 address.
    Network(IpAddr),
    /// The local socket.
    Socket,
}

impl Source {
    /// Returns the source of a network address. An IPv6 address counts as its /64 network, which one household can have to
    /// itself.
    pub fn of(address: IpAddr) -> Self {
        Self::Network(match address.to_canonical() {
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64))),
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

/// An error of authenticating a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthError {
    /// The credential is invalid.
    Wrong,
    /// The source had too many failed attempts; it can retry after this time.
    Wait(Duration),
    /// The client sends too many requests; it can retry after this time.
    Busy(Duration),
    /// The limit of connections is reached.
    Full,
}

/// The error for a ticket beyond the limits [`TICKETS`] or [`TICKETS_OF_ONE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TicketLimit;

/// A valid token.
#[derive(Debug)]
struct ActiveToken {
    key: IssuedToken,
    /// The name of the token that its user has: its own, or that of the one that paired it.
    user: Arc<str>,
    guessable: bool,
    ends: CancellationToken,
}

/// Restricts which processes can use a ticket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Holder {
    /// Any client.
    #[default]
    Anyone,
    /// Processes of the daemon's user on this host.
    SameUser,
}

#[derive(Debug)]
struct Ticket {
    identity: Identity,
    holder: Holder,
    until: Instant,
    /// Cancelled when the ticket was used, or has expired or was revoked.
    gone: DropGuard,
}

/// All credentials that the daemon accepts.
#[derive(Debug)]
pub struct AuthStore {
    /// The first entry is the owner's token.
    tokens: Vec<ActiveToken>,
    /// Links that share a thread.
    shares: Shares,
    /// Browser sessions.
    sessions: Sessions,
    tickets: HashMap<Hash, Ticket>,
    pairings: HashMap<Hash, Pairing>,
    failed: Throttle<Source>,
    requests: Throttle<Arc<str>>,
}

impl AuthStore {
    /// Creates a store with the owner's token, the issued tokens, and the links and sessions of these.
    pub fn new(
        owner: &Token,
        keys: Vec<IssuedToken>,
        mut shares: Shares,
        mut sessions: Sessions,
        now: Now,
    ) -> Self {
        let owner = ActiveToken {
            key: IssuedToken::new(OWNER, Role::Owner, owner.secret(), now.wall, None),
            user: OWNER.into(),
            guessable: owner.is_guessable(),
            ends: CancellationToken::new(),
        };
        let mut tokens: Vec<_> = std::iter::once(owner)
            .chain(keys.into_iter().map(ActiveToken::new))
            .collect();
        name_users(&mut tokens);
        shares.end(|share| !tokens.iter().any(|tokens| tokens.key.hash == share.key));
        sessions.bind(|key| {
            let token = tokens.iter().find(|tokens| tokens.key.hash == key);
            let ends = token.map(|token| &token.ends);
            ends.or(shares.find(key).map(|share| &share.ends)).cloned()
        });
        let mut store = Self {
            tokens,
            shares,
            sessions,
            tickets: HashMap::new(),
            pairings: HashMap::new(),
            failed: Throttle::new(FAILED_LOGINS, Duration::from_secs(FAILED_LOGIN_SECS)),
            requests: Throttle::new(HTTP_REQUESTS, Duration::from_millis(HTTP_REQUEST_MILLIS)),
        };
        store.handle_timeout(now);
        store
    }

    /// Replaces the issued tokens. Tokens that were removed, or have another role, end. Returns their number.
    pub fn set_keys(&mut self, keys: Vec<IssuedToken>, now: Now) -> usize {
        let before = self.tokens.len();
        // The tokens file does not contain the owner's token.
        self.tokens.retain_mut(|tokens| {
            let known = keys.iter().find(|key| key.is_same(&tokens.key));
            if let Some(known) = known {
                tokens.key.clone_from(known);
            }
            let stays = tokens.key.name == OWNER || known.is_some();
            if !stays {
                tokens.ends.cancel();
            }
            stays
        });
        let ended = before - self.tokens.len();
        for key in keys {
            if !self.tokens.iter().any(|tokens| tokens.key == key) {
                self.tokens.push(ActiveToken::new(key));
            }
        }
        name_users(&mut self.tokens);
        let tokens = &self.tokens;
        self.shares
            .end(|share| !tokens.iter().any(|tokens| tokens.key.hash == share.key));
        self.end_sessions(now.wall);
        self.forget_tickets();
        ended
    }

    /// Makes a link in the name of the token that `share` names.
    pub fn create_share(
        &mut self,
        share: NewShare,
        secret: &ShareSecret,
        now: Now,
    ) -> Result<ShareInfo, Failure> {
        let mut tokens = self.tokens.iter();
        let token = tokens.find(|token| token.key.name == share.created_by && !token.is_over(now.wall));
        let token = token.ok_or_else(|| {
            let message = "the token of this connection is revoked";
            Failure::new(ErrorCode::Forbidden, message)
        })?;
        self.shares.add(share, secret, &token.key, now.wall)
    }

    /// Returns the links that have not expired.
    pub fn list_shares(&self, thread: Option<ThreadId>, now: Now) -> Vec<ShareInfo> {
        self.shares.list(thread, now.wall)
    }

    /// Ends the links that `over` selects, with all sessions and connections that depend on them. Returns their number.
    pub fn end_shares(&mut self, over: impl Fn(&Share) -> bool, now: Now) -> usize {
        let ended = self.shares.end(over);
        if ended > 0 {
            self.end_sessions(now.wall);
        }
        ended
    }

    /// Authenticates a client by a token, or by the secret of a link.
    pub fn token(&mut self, shown: &str, source: Source, now: Now) -> Result<Identity, AuthError> {
        self.wake(now.wall);
        let shown = Hash::of(shown);
        let mut found = None;
        // Compares all tokens, so that the duration does not reveal which one matched.
        for tokens in &self.tokens {
            if tokens.key.hash == shown {
                found = Some(tokens);
            }
        }
        match found {
            Some(tokens) if !tokens.is_over(now.wall) => {
                // 256 random bits cannot be guessed. A client with such a token is never delayed, so that other clients
                // cannot lock it out. A token that the user chose is not accepted while there are too many failed attempts.
                if tokens.guessable {
                    self.failed.check(&source, now.mono).map_err(AuthError::Wait)?;
                }
                Ok(tokens.pass())
            }
            Some(_) => Err(self.failed(source, now)),
            None => match self.shares.find(shown) {
                Some(share) if !share.is_over(now.wall) => Ok(pass_share(share)),
                _ => Err(self.failed(source, now)),
            },
        }
    }

    /// Authenticates a client by a ticket. The ticket is used up, unless `admit` has no room for the connection.
    pub fn ticket(
        &mut self,
        shown: &str,
        source: Source,
        now: Now,
        admit: impl FnOnce(&mut Self, &Identity) -> Result<(), AuthError>,
    ) -> Result<Identity, AuthError> {
        let shown = Hash::of(shown);
        let ticket = self.tickets.get(&shown);
        let ticket =
            ticket.filter(|ticket| ticket.until > now.mono && self.holds(&ticket.identity, now.wall));
        let Some(Ticket { identity, .. }) = ticket else {
            return Err(self.failed(source, now));
        };
        let identity = Identity {
            by_ticket: true,
            ..identity.clone()
        };
        admit(self, &identity)?;
        self.tickets.remove(&shown);
        Ok(identity)
    }

    /// Authenticates a request by the id of a connection that `identity` opened. An id of a closed connection does not
    /// count as a failed attempt.
    pub fn connection(&self, identity: Identity, now: Now) -> Result<Identity, AuthError> {
        if self.holds(&identity, now.wall) {
            Ok(identity)
        } else {
            Err(AuthError::Wrong)
        }
    }

    #[cfg(test)]
    pub fn session(&mut self, shown: &SessionSecret, now: Now) -> Result<Identity, AuthError> {
        let SessionSecret { cookie, page_key } = shown;
        self.session_of(std::slice::from_ref(cookie), page_key, now)
    }

    /// Authenticates a page by its session, whose cookie is one of these. An expired session does not count as a failed attempt,
    /// because browsers keep their cookies.
    pub fn session_of(
        &mut self,
        cookies: &[String],
        page_key: &str,
        now: Now,
    ) -> Result<Identity, AuthError> {
        self.wake(now.wall);
        let session = self.sessions.used(cookies, page_key, now.wall);
        let session = session.ok_or(AuthError::Wrong)?;
        let (hash, key) = (session.hash, session.key);
        let opened_by = identity_of(&self.tokens, &self.shares, key, now.wall).ok_or(AuthError::Wrong)?;
        let session = self.sessions.wake(hash, &opened_by.ends);
        Ok(with_session(opened_by, session.ok_or(AuthError::Wrong)?))
    }

    /// Returns the owner's identity, for a client that the operating system has authenticated.
    pub fn owner(&self) -> Identity {
        self.tokens[0].pass()
    }

    /// Counts an HTTP request of a principal, and fails if the principal exceeds its rate.
    pub fn request(&mut self, identity: &Identity, now: Now) -> Result<(), AuthError> {
        self.requests
            .take(&identity.principal, now.mono)
            .map_err(AuthError::Busy)
    }

    /// Adds a ticket.
    pub fn add_ticket(
        &mut self,
        ticket: &str,
        identity: Identity,
        holder: Holder,
        now: Now,
    ) -> Result<(), TicketLimit> {
        self.tickets.retain(|_, ticket| ticket.until > now.mono);
        let of_one = self
            .tickets
            .values()
            .filter(|ticket| ticket.identity.key == identity.key)
            .count();
        if of_one >= TICKETS_OF_ONE || self.tickets.len() >= TICKETS {
            return Err(TicketLimit);
        }
        let until = now.mono + Duration::from_secs(TICKET_SECS);
        let gone = CancellationToken::new().drop_guard();
        let ticket_hash = Hash::of(ticket);
        let ticket = Ticket {
            identity,
            holder,
            until,
            gone,
        };
        self.tickets.insert(ticket_hash, ticket);
        Ok(())
    }

    /// Returns which processes can use a ticket, or `None` for an unknown ticket. Does not use up the ticket.
    pub fn ticket_holder(&self, ticket: &str) -> Option<Holder> {
        Some(self.tickets.get(&Hash::of(ticket))?.holder)
    }

    /// Returns a token that is cancelled when the ticket is used or expires, or `None` for an unknown ticket. Does not use
    /// up the ticket.
    pub fn ticket_gone(&self, ticket: &str) -> Option<CancellationToken> {
        let ticket = self.tickets.get(&Hash::of(ticket))?;
        Some(ticket.gone.token().clone())
    }

    /// Starts a session, and returns its identity.
    pub fn begin_session(
        &mut self,
        secret: &SessionSecret,
        identity: &Identity,
        now: Now,
    ) -> Option<Identity> {
        let known = identity_of(&self.tokens, &self.shares, identity.key, now.wall)?;
        let (ends, shared) = (known.ends.child_token(), known.share.is_some());
        let family = self.family_of(identity.key);
        let session = self
            .sessions
            .begin(secret, identity.key, &family, shared, ends, now.wall);
        Some(with_session(known, session))
    }

    /// Returns the token or the link with this hash, with the token that paired it and all devices that this one has paired. Their
    /// sessions count together, so that devices give a client no more than its token does.
    fn family_of(&self, key: Hash) -> Vec<Hash> {
        let tokens = || self.tokens.iter().map(|token| &token.key);
        let parent = tokens()
            .find(|token| token.hash == key)
            .and_then(|token| token.parent);
        let head = parent.unwrap_or(key);
        let devices = tokens().filter(|token| token.parent == Some(head));
        let devices = devices.map(|token| token.hash);
        std::iter::once(head).chain(devices).collect()
    }

    /// Ends the session of an identity, and all connections and tickets that depend on it.
    pub fn end_session(&mut self, identity: &Identity) {
        if let Some((hash, _)) = identity.session {
            self.sessions.end(|session| session.hash == hash);
            self.forget_tickets();
        }
    }

    /// Ends the tokens, links, sessions and tickets that have expired.
    pub fn handle_timeout(&mut self, now: Now) {
        // First those of the sessions, so that their browsers are known to receive no more notifications.
        self.end_sessions(now.wall);
        for token in self.tokens.iter().filter(|token| token.is_over(now.wall)) {
            token.ends.cancel();
        }
        self.shares.rest(now.wall);
        self.wake(now.wall);
        self.forget_tickets();
        self.tickets.retain(|_, ticket| ticket.until > now.mono);
    }

    /// Lets links and sessions that began while the clock was ahead begin now, which is known to be right. Returns whether there are
    /// such tokens, whose file has to be corrected.
    pub fn correct(&mut self, now: i64) -> bool {
        self.shares.correct(now);
        self.sessions.correct(now);
        self.tokens.iter().any(|token| token.key.is_ahead(now))
    }

    /// Returns when the next token, link or session expires, in milliseconds since the epoch.
    pub fn poll_timeout(&self) -> Option<i64> {
        let live = self.tokens.iter().filter(|tokens| !tokens.ends.is_cancelled());
        live.filter_map(|tokens| tokens.key.expires_at)
            .chain(self.sessions.next_end())
            .chain(self.shares.next_end())
            .min()
    }

    /// Returns the sessions if the file on disk is outdated.
    pub fn take_unstored(&mut self) -> Option<Unstored> {
        self.sessions.take_unstored()
    }

    /// Returns the links if the file on disk is outdated.
    pub fn take_unstored_shares(&mut self) -> Option<Unstored> {
        self.shares.take_unstored()
    }

    /// Records that the links could not be stored.
    pub fn shares_not_stored(&mut self) {
        self.shares.not_stored();
    }

    /// Lets tokens and links hold again that had expired by a clock that leapt.
    fn wake(&mut self, wall: i64) {
        let rests = |token: &&mut ActiveToken| token.ends.is_cancelled() && !token.is_over(wall);
        for token in self.tokens.iter_mut().filter(rests) {
            token.ends = CancellationToken::new();
        }
        self.shares.wake(wall);
    }

    /// Ends the sessions whose token or link is gone, and closes the connections of those that have expired.
    fn end_sessions(&mut self, wall: i64) {
        let (tokens, shares) = (&self.tokens, &self.shares);
        self.sessions.end(|session| {
            let has_token = tokens.iter().any(|token| token.key.hash == session.key);
            !has_token && shares.find(session.key).is_none()
        });
        self.sessions.rest(|session| {
            session.expires_at() <= wall || identity_of(tokens, shares, session.key, wall).is_none()
        });
    }

    fn failed(&mut self, source: Source, now: Now) -> AuthError {
        let before = self.failed.check(&source, now.mono);
        self.failed.count(&source, now.mono);
        match (before, self.failed.check(&source, now.mono)) {
            (Err(wait), _) => AuthError::Wait(wait),
            (Ok(()), Err(_)) => {
                tracing::warn!(?source, "too many invalid tokens: address blocked temporarily");
                AuthError::Wrong
            }
            (Ok(()), Ok(())) => AuthError::Wrong,
        }
    }

    fn holds(&self, identity: &Identity, wall: i64) -> bool {
        let known = identity_of(&self.tokens, &self.shares, identity.key, wall);
        !identity.ends.is_cancelled() && known.is_some()
    }

    fn forget_tickets(&mut self) {
        self.tickets
            .retain(|_, ticket| !ticket.identity.ends.is_cancelled());
        self.forget_pairings();
    }
}

/// Returns the identity of the token or the link with this hash, unless it has ended.
fn identity_of(tokens: &[ActiveToken], shares: &Shares, key: Hash, wall: i64) -> Option<Identity> {
    if let Some(token) = tokens.iter().find(|token| token.key.hash == key) {
        return (!token.is_over(wall)).then(|| token.pass());
    }
    let share = shares.find(key).filter(|share| !share.is_over(wall));
    share.map(pass_share)
}

/// Returns an identity whose client is a browser with this session.
fn with_session(identity: Identity, session: &Session) -> Identity {
    let expires_at = identity.share.as_ref().map(|share| share.expires_at);
    let expires_at = expires_at.map_or(session.expires_at(), |end| end.min(session.expires_at()));
    Identity {
        ends: session.ends.clone(),
        session: Some((session.hash, expires_at)),
        ..identity
    }
}

/// Finds the user of each token. A device belongs to the user of the token that paired it, which may be a device itself.
fn name_users(tokens: &mut [ActiveToken]) {
    let users: Vec<Arc<str>> = tokens.iter().map(|token| user_of(tokens, token)).collect();
    for (token, user) in tokens.iter_mut().zip(users) {
        token.user = user;
    }
}

fn user_of(tokens: &[ActiveToken], token: &ActiveToken) -> Arc<str> {
    let mut found = token;
    // The file may be damaged, so that devices have paired each other.
    for _ in 0..tokens.len() {
        let Some(parent) = found.key.parent else {
            // Only a device of the owner names no token that paired it.
            let name = found.key.name.as_str();
            return if found.key.paired { OWNER } else { name }.into();
        };
        match tokens.iter().find(|token| token.key.hash == parent) {
            Some(by) => found = by,
            None => break,
        }
    }
    token.key.name.as_str().into()
}

/// Returns the identity of a client with a link.
fn pass_share(share: &Share) -> Identity {
    Identity {
        principal: share.principal().into(),
        user: share.principal().into(),
        role: Share::ROLE,
        share: Some(SharedThread {
            id: share.id.as_str().into(),
            thread: share.thread,
            expires_at: share.expires_at,
            room: Arc::clone(&share.room),
        }),
        ends: share.ends.clone(),
        key: share.hash,
        session: None,
        by_ticket: false,
    }
}

impl ActiveToken {
    fn new(key: IssuedToken) -> Self {
        Self {
            user: key.name.as_str().into(),
            key,
            guessable: false,
            ends: CancellationToken::new(),
        }
    }

    fn is_over(&self, wall: i64) -> bool {
        self.key.expires_at.is_some_and(|end| end <= wall)
    }

    fn pass(&self) -> Identity {
        Identity {
            principal: self.key.name.as_str().into(),
            user: Arc::clone(&self.user),
            role: self.key.role,
            share: None,
            ends: self.ends.clone(),
            key: self.key.hash,
            session: None,
            by_ticket: false,
        }
    }
}

#[cfg(test)]
mod tests;
