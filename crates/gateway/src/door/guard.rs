//! The guard: knows who may come in. A machine: no clock, no chance, no files; it sees secrets only as what was shown.
//!
//! In: what somebody shows, and the time. Out: a [`Pass`], or why not. Whoever holds a pass is let go when its
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

use super::keys::{Key, OWNER};
use super::sessions::{SessionSecret, Sessions};
use super::throttle::Throttle;
use super::token::{Hash, Token};
use crate::acp::Visitor;

/// Somebody who was let in.
#[derive(Debug, Clone)]
pub struct Pass {
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

impl Pass {
    /// Them, as an editor.
    pub fn visitor(&self) -> Visitor {
        Visitor {
            principal: Arc::clone(&self.principal),
            role: self.role,
            ends: self.ends.clone(),
        }
    }
}

/// Where somebody stands who shows something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// In the network.
    Network(IpAddr),
    /// At the local socket.
    Socket,
}

impl Place {
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
pub enum Denied {
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
pub struct TooMany;

/// A token while it holds.
#[derive(Debug)]
struct Held {
    key: Key,
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
    pass: Pass,
    holder: Holder,
    until: Instant,
    /// Cancelled when the ticket is worth nothing any more.
    gone: DropGuard,
}

/// Who may come in.
#[derive(Debug)]
pub struct Guard {
    /// The owner's token comes first.
    held: Vec<Held>,
    /// What it has of sessions.
    sessions: Sessions,
    tickets: HashMap<Hash, Ticket>,
    failed: Throttle<Place>,
    requests: Throttle<Arc<str>>,
}

impl Guard {
    /// With the owner's token and those that were given out.
    pub fn new(owner: &Token, keys: Vec<Key>, mut sessions: Sessions, now: Now) -> Self {
        let owner = Held {
            key: Key {
                name: OWNER.to_owned(),
                role: Role::Owner,
                hash: Hash::of(owner.secret()),
                created_at: now.wall,
                expires_at: None,
            },
            guessable: owner.is_guessable(),
            ends: CancellationToken::new(),
        };
        let held: Vec<_> = std::iter::once(owner)
            .chain(keys.into_iter().map(Held::new))
            .collect();
        sessions.bind(|key| {
            held.iter()
                .find(|held| held.key.hash == key)
                .map(|held| held.ends.clone())
        });
        let mut guard = Self {
            held,
            sessions,
            tickets: HashMap::new(),
            failed: Throttle::new(FAILED_LOGINS, Duration::from_secs(FAILED_LOGIN_SECS)),
            requests: Throttle::new(HTTP_REQUESTS, Duration::from_millis(HTTP_REQUEST_MILLIS)),
        };
        guard.handle_timeout(now);
        guard
    }

    /// The tokens have changed: those that are gone, or open something else now, end. Answers how many did.
    pub fn set_keys(&mut self, keys: Vec<Key>) -> usize {
        let before = self.held.len();
        // The owner's is not in the file.
        self.held.retain(|held| {
            let stays = held.key.name == OWNER || keys.contains(&held.key);
            if !stays {
                held.ends.cancel();
            }
            stays
        });
        let ended = before - self.held.len();
        for key in keys {
            if !self.held.iter().any(|held| held.key == key) {
                self.held.push(Held::new(key));
            }
        }
        let held = &self.held;
        self.sessions
            .end(|session| !held.iter().any(|held| held.key.hash == session.key));
        self.forget_tickets();
        ended
    }

    /// Somebody shows a token.
    pub fn token(&mut self, shown: &str, place: Place, now: Now) -> Result<Pass, Denied> {
        let shown = Hash::of(shown);
        let mut found = None;
        // All of them, so that the time says nothing about which it was.
        for held in &self.held {
            if held.key.hash == shown {
                found = Some(held);
            }
        }
        match found {
            Some(held) if !held.is_over(now.wall) => {
                // What is 256 bits of chance is not guessed: whoever has it is never held up, so that nobody else
                // can shut them out. What a person thought up is not even looked at while there are too many guesses.
                if held.guessable {
                    self.failed.check(&place, now.mono).map_err(Denied::Wait)?;
                }
                Ok(held.pass())
            }
            _ => Err(self.failed(place, now)),
        }
    }

    /// Somebody shows a ticket: it is used up, unless `admit` has no room for what it opens.
    pub fn ticket(
        &mut self,
        shown: &str,
        place: Place,
        now: Now,
        admit: impl FnOnce(&mut Self, &Pass) -> Result<(), Denied>,
    ) -> Result<Pass, Denied> {
        let shown = Hash::of(shown);
        let ticket = self.tickets.get(&shown);
        let ticket = ticket.filter(|ticket| ticket.until > now.mono && self.holds(&ticket.pass, now.wall));
        let Some(Ticket { pass, .. }) = ticket else {
            return Err(self.failed(place, now));
        };
        let pass = Pass {
            by_ticket: true,
            ..pass.clone()
        };
        admit(self, &pass)?;
        self.tickets.remove(&shown);
        Ok(pass)
    }

    /// Somebody shows the id of a connection that `pass` has opened. A connection that is over is no attempt at
    /// anything.
    pub fn connection(&self, pass: Pass, now: Now) -> Result<Pass, Denied> {
        if self.holds(&pass, now.wall) {
            Ok(pass)
        } else {
            Err(Denied::Wrong)
        }
    }

    /// A page shows its session. One that is over is no attempt at anything: browsers keep what they show.
    pub fn session(&mut self, shown: &SessionSecret, now: Now) -> Result<Pass, Denied> {
        let session = self.sessions.used(shown, now.wall).ok_or(Denied::Wrong)?;
        let held = self.held.iter().find(|held| held.key.hash == session.key);
        let held = held.filter(|held| !held.is_over(now.wall)).ok_or(Denied::Wrong)?;
        Ok(Pass {
            ends: session.ends.clone(),
            session: Some((session.hash, session.expires_at())),
            ..held.pass()
        })
    }

    /// Somebody whom the system knows as the owner.
    pub fn owner(&self) -> Pass {
        self.held[0].pass()
    }

    /// Whether a principal may make one more request by HTTP.
    pub fn request(&mut self, pass: &Pass, now: Now) -> Result<(), Denied> {
        self.requests
            .take(&pass.principal, now.mono)
            .map_err(Denied::Busy)
    }

    /// Takes a ticket in.
    pub fn admit_ticket(
        &mut self,
        ticket: &str,
        pass: Pass,
        holder: Holder,
        now: Now,
    ) -> Result<(), TooMany> {
        self.tickets.retain(|_, ticket| ticket.until > now.mono);
        let of_one = self
            .tickets
            .values()
            .filter(|ticket| ticket.pass.key == pass.key)
            .count();
        if of_one >= TICKETS_OF_ONE || self.tickets.len() >= TICKETS {
            return Err(TooMany);
        }
        let until = now.mono + Duration::from_secs(TICKET_SECS);
        let gone = CancellationToken::new().drop_guard();
        let ticket_hash = Hash::of(ticket);
        let ticket = Ticket {
            pass,
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
    pub fn begin_session(&mut self, secret: &SessionSecret, pass: &Pass, now: Now) -> Option<Pass> {
        let held = self.held.iter().find(|held| held.key.hash == pass.key)?;
        let (ends, known) = (held.ends.child_token(), held.pass());
        let session = self.sessions.begin(secret, pass.key, ends, now.wall);
        Some(Pass {
            ends: session.ends.clone(),
            session: Some((session.hash, session.expires_at())),
            ..known
        })
    }

    /// Ends the session of a pass, and whatever came in with it.
    pub fn end_session(&mut self, pass: &Pass) {
        if let Some((hash, _)) = pass.session {
            self.sessions.end(|session| session.hash == hash);
            self.forget_tickets();
        }
    }

    /// What is over ends.
    pub fn handle_timeout(&mut self, now: Now) {
        for held in self.held.iter().filter(|held| held.is_over(now.wall)) {
            held.ends.cancel();
        }
        let held = &self.held;
        self.sessions.end(|session| {
            let key = held.iter().find(|held| held.key.hash == session.key);
            session.expires_at() <= now.wall || key.is_none_or(|held| held.is_over(now.wall))
        });
        self.forget_tickets();
        self.tickets.retain(|_, ticket| ticket.until > now.mono);
    }

    /// When something is over next, in milliseconds since the epoch.
    pub fn poll_timeout(&self) -> Option<i64> {
        let live = self.held.iter().filter(|held| !held.ends.is_cancelled());
        live.filter_map(|held| held.key.expires_at)
            .chain(self.sessions.next_end())
            .min()
    }

    /// The sessions, if they are to be stored.
    pub fn take_unstored(&mut self) -> Option<Vec<u8>> {
        self.sessions.take_unstored()
    }

    fn failed(&mut self, place: Place, now: Now) -> Denied {
        let before = self.failed.check(&place, now.mono);
        self.failed.count(&place, now.mono);
        match (before, self.failed.check(&place, now.mono)) {
            (Err(wait), _) => Denied::Wait(wait),
            (Ok(()), Err(_)) => {
                tracing::warn!(?place, "too many wrong tokens: this place has to wait");
                Denied::Wrong
            }
            (Ok(()), Ok(())) => Denied::Wrong,
        }
    }

    fn holds(&self, pass: &Pass, wall: i64) -> bool {
        let held = self.held.iter().find(|held| held.key.hash == pass.key);
        !pass.ends.is_cancelled() && held.is_some_and(|held| !held.is_over(wall))
    }

    fn forget_tickets(&mut self) {
        self.tickets.retain(|_, ticket| !ticket.pass.ends.is_cancelled());
    }
}

impl Held {
    fn new(key: Key) -> Self {
        Self {
            key,
            guessable: false,
            ends: CancellationToken::new(),
        }
    }

    fn is_over(&self, wall: i64) -> bool {
        self.ends.is_cancelled() || self.key.expires_at.is_some_and(|end| end <= wall)
    }

    fn pass(&self) -> Pass {
        Pass {
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
