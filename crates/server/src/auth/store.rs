//! The guard: knows who may come in. A machine: no clock, no chance, no files; it sees secrets only as what was shown.
//!
//! In: what somebody shows, and the time. Out: a [`Identity`], or why not. Whoever holds a pass is let go when its
//! token is revoked or over, or its session ends: `ends` is cancelled then.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use acpd_model::Role;
use acpd_model::limits::{
    FAILED_LOGIN_SECS, FAILED_LOGINS, HTTP_REQUEST_MILLIS, HTTP_REQUESTS, TICKET_SECS, TICKETS,
    TICKETS_OF_ONE,
};
use acpd_proto::time::{Instant, Now};
use serde::{Deserialize, Serialize};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::auth::owner_token::{Hash, Token};
use crate::auth::sessions::{SessionSecret, Sessions};
use crate::auth::throttle::Throttle;
use crate::auth::tokens::{IssuedToken, OWNER};

/// Somebody who was let in.
#[derive(Debug, Clone)]
pub struct Identity {
    /// What the log calls them.
    pub principal: Arc<str>,
    /// What they may do.
    pub role: Role,
    /// Cancelled when they may do nothing any more.
    pub ends: CancellationToken,
    /// The token that this goes back to.
    key: Hash,
    /// The session, if one was shown, and when it ends if it is not used again.
    pub session: Option<(Hash, i64)>,
    /// Whether a ticket was shown.
    pub by_ticket: bool,
}

/// A client as an editor's connection needs to know it.
#[derive(Debug, Clone)]
pub struct EditorIdentity {
    /// Its name in the log.
    pub principal: Arc<str>,
    /// What it may do.
    pub role: Role,
    /// Cancelled when it may do nothing any more.
    pub ends: CancellationToken,
}

impl Identity {
    /// Them, as an editor.
    pub fn editor_identity(&self) -> EditorIdentity {
        EditorIdentity {
            principal: Arc::clone(&self.principal),
            role: self.role,
            ends: self.ends.clone(),
        }
    }
}

/// Where somebody stands who shows something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// In the network.
    Network(IpAddr),
    /// At the local socket.
    Socket,
}

impl Source {
    /// An address, or as much of it as one household has.
    pub fn of(address: IpAddr) -> Self {
        Self::Network(match address.to_canonical() {
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64))),
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthError {
    /// What they show opens nothing.
    Wrong,
    /// They have tried too often.
    Wait(Duration),
    /// They make too many requests.
    Busy(Duration),
    /// There is no room for their connection.
    Full,
}

/// Why there is no ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TicketLimit;

/// A token while it holds.
#[derive(Debug)]
struct ActiveToken {
    key: IssuedToken,
    guessable: bool,
    ends: CancellationToken,
}

/// From where a ticket may be shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Holder {
    /// From anywhere.
    #[default]
    Anyone,
    /// From a program of the daemon's user, on this machine.
    SameUser,
}

#[derive(Debug)]
struct Ticket {
    identity: Identity,
    holder: Holder,
    until: Instant,
    /// Cancelled when the ticket is worth nothing any more.
    gone: DropGuard,
}

/// Who may come in.
#[derive(Debug)]
pub struct AuthStore {
    /// The owner's token comes first.
    tokens: Vec<ActiveToken>,
    /// What it has of sessions.
    sessions: Sessions,
    tickets: HashMap<Hash, Ticket>,
    failed: Throttle<Source>,
    requests: Throttle<Arc<str>>,
}

impl AuthStore {
    /// With the owner's token and those that were given out.
    pub fn new(owner: &Token, keys: Vec<IssuedToken>, mut sessions: Sessions, now: Now) -> Self {
        let owner = ActiveToken {
            key: IssuedToken {
                name: OWNER.to_owned(),
                role: Role::Owner,
                hash: Hash::of(owner.secret()),
                created_at: now.wall,
                expires_at: None,
            },
            guessable: owner.is_guessable(),
            ends: CancellationToken::new(),
        };
        let tokens: Vec<_> = std::iter::once(owner)
            .chain(keys.into_iter().map(ActiveToken::new))
            .collect();
        sessions.bind(|key| {
            tokens
                .iter()
                .find(|tokens| tokens.key.hash == key)
                .map(|tokens| tokens.ends.clone())
        });
        let mut store = Self {
            tokens,
            sessions,
            tickets: HashMap::new(),
            failed: Throttle::new(FAILED_LOGINS, Duration::from_secs(FAILED_LOGIN_SECS)),
            requests: Throttle::new(HTTP_REQUESTS, Duration::from_millis(HTTP_REQUEST_MILLIS)),
        };
        store.handle_timeout(now);
        store
    }

    /// The tokens have changed: those that are gone, or open something else now, end. Answers how many did.
    pub fn set_keys(&mut self, keys: Vec<IssuedToken>) -> usize {
        let before = self.tokens.len();
        // The owner's is not in the file.
        self.tokens.retain(|tokens| {
            let stays = tokens.key.name == OWNER || keys.contains(&tokens.key);
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
        let tokens = &self.tokens;
        self.sessions
            .end(|session| !tokens.iter().any(|tokens| tokens.key.hash == session.key));
        self.forget_tickets();
        ended
    }

    /// Somebody shows a token.
    pub fn token(&mut self, shown: &str, source: Source, now: Now) -> Result<Identity, AuthError> {
        let shown = Hash::of(shown);
        let mut found = None;
        // All of them, so that the time says nothing about which it was.
        for tokens in &self.tokens {
            if tokens.key.hash == shown {
                found = Some(tokens);
            }
        }
        match found {
            Some(tokens) if !tokens.is_over(now.wall) => {
                // What is 256 bits of chance is not guessed: whoever has it is never held up, so that nobody else
                // can shut them out. What a person thought up is not even looked at while there are too many guesses.
                if tokens.guessable {
                    self.failed.check(&source, now.mono).map_err(AuthError::Wait)?;
                }
                Ok(tokens.pass())
            }
            _ => Err(self.failed(source, now)),
        }
    }

    /// Somebody shows a ticket: it is used up, unless `authenticate` has no room for what it opens.
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

    /// Somebody shows the id of a connection that `identity` has opened. A connection that is over is no attempt at
    /// anything.
    pub fn connection(&self, identity: Identity, now: Now) -> Result<Identity, AuthError> {
        if self.holds(&identity, now.wall) {
            Ok(identity)
        } else {
            Err(AuthError::Wrong)
        }
    }

    /// A page shows its session. One that is over is no attempt at anything: browsers keep what they show.
    pub fn session(&mut self, shown: &SessionSecret, now: Now) -> Result<Identity, AuthError> {
        let session = self.sessions.used(shown, now.wall).ok_or(AuthError::Wrong)?;
        let tokens = self.tokens.iter().find(|tokens| tokens.key.hash == session.key);
        let tokens = tokens
            .filter(|tokens| !tokens.is_over(now.wall))
            .ok_or(AuthError::Wrong)?;
        Ok(Identity {
            ends: session.ends.clone(),
            session: Some((session.hash, session.expires_at())),
            ..tokens.pass()
        })
    }

    /// Somebody whom the system knows as the owner.
    pub fn owner(&self) -> Identity {
        self.tokens[0].pass()
    }

    /// Whether a principal may make one more request by HTTP.
    pub fn request(&mut self, identity: &Identity, now: Now) -> Result<(), AuthError> {
        self.requests
            .take(&identity.principal, now.mono)
            .map_err(AuthError::Busy)
    }

    /// Takes a ticket in.
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

    /// From where a ticket may be shown, if there is such a ticket. Uses nothing up.
    pub fn ticket_holder(&self, ticket: &str) -> Option<Holder> {
        Some(self.tickets.get(&Hash::of(ticket))?.holder)
    }

    /// What is cancelled when a ticket was used or is over; `None` if there is no such ticket. Uses nothing up.
    pub fn ticket_gone(&self, ticket: &str) -> Option<CancellationToken> {
        let ticket = self.tickets.get(&Hash::of(ticket))?;
        Some(ticket.gone.token().clone())
    }

    /// Begins a session; answers the pass that it is.
    pub fn begin_session(
        &mut self,
        secret: &SessionSecret,
        identity: &Identity,
        now: Now,
    ) -> Option<Identity> {
        let tokens = self
            .tokens
            .iter()
            .find(|tokens| tokens.key.hash == identity.key)?;
        let (ends, known) = (tokens.ends.child_token(), tokens.pass());
        let session = self.sessions.begin(secret, identity.key, ends, now.wall);
        Some(Identity {
            ends: session.ends.clone(),
            session: Some((session.hash, session.expires_at())),
            ..known
        })
    }

    /// Ends the session of a pass, and whatever came in with it.
    pub fn end_session(&mut self, identity: &Identity) {
        if let Some((hash, _)) = identity.session {
            self.sessions.end(|session| session.hash == hash);
            self.forget_tickets();
        }
    }

    /// What is over ends.
    pub fn handle_timeout(&mut self, now: Now) {
        for tokens in self.tokens.iter().filter(|tokens| tokens.is_over(now.wall)) {
            tokens.ends.cancel();
        }
        let tokens = &self.tokens;
        self.sessions.end(|session| {
            let key = tokens.iter().find(|tokens| tokens.key.hash == session.key);
            session.expires_at() <= now.wall || key.is_none_or(|tokens| tokens.is_over(now.wall))
        });
        self.forget_tickets();
        self.tickets.retain(|_, ticket| ticket.until > now.mono);
    }

    /// When something is over next, in milliseconds since the epoch.
    pub fn poll_timeout(&self) -> Option<i64> {
        let live = self.tokens.iter().filter(|tokens| !tokens.ends.is_cancelled());
        live.filter_map(|tokens| tokens.key.expires_at)
            .chain(self.sessions.next_end())
            .min()
    }

    /// The sessions, if they are to be stored.
    pub fn take_unstored(&mut self) -> Option<Vec<u8>> {
        self.sessions.take_unstored()
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
        let tokens = self.tokens.iter().find(|tokens| tokens.key.hash == identity.key);
        !identity.ends.is_cancelled() && tokens.is_some_and(|tokens| !tokens.is_over(wall))
    }

    fn forget_tickets(&mut self) {
        self.tickets
            .retain(|_, ticket| !ticket.identity.ends.is_cancelled());
    }
}

impl ActiveToken {
    fn new(key: IssuedToken) -> Self {
        Self {
            key,
            guessable: false,
            ends: CancellationToken::new(),
        }
    }

    fn is_over(&self, wall: i64) -> bool {
        self.ends.is_cancelled() || self.key.expires_at.is_some_and(|end| end <= wall)
    }

    fn pass(&self) -> Identity {
        Identity {
            principal: self.key.name.as_str().into(),
            role: self.key.role,
            ends: self.ends.clone(),
            key: self.key.hash,
            session: None,
            by_ticket: false,
        }
    }
}

#[cfg(test)]
mod tests;
