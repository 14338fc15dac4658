//! What a connection with an open session knows beyond the log: with it, the connection of the next daemon continues at one byte of the
//! agent's output.
//!
//! In: a connection. Out: its memo. Owns: the form of the memo. Never: contains what the log or the parameters of the session have, or
//! what only matters until a session is open. Decision 60 lists all of it.

use std::time::Duration;

use acpd_model::{Failure, Millis, RawJson};
use serde::{Deserialize, Serialize};

use super::capabilities::AuthMethod;
use super::connection::{AgentConnection, Sent};
use super::halves::Half;
use super::v2;
use crate::time::{Instant, Now};

/// Bytes of a memo, about: it is stored again with each append that changes it. A connection that knows more is not resumable meanwhile,
/// such as while an agent has thousands of open requests with long ids.
const MEMO_BYTES: usize = 256 << 10;
/// About the bytes of a request or a callback in a memo, beside its names.
const ENTRY_BYTES: usize = 48;

/// The state of an agent's connection at one byte of the agent's output, a border of lines. JSON of it is about 200 bytes long while an
/// agent of version 1 streams. The caller keeps its version: another version of this program may not be able to read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionMemo {
    /// The agent's id for the session.
    pub(super) session: String,
    /// The id of the next request to the agent.
    pub(super) next_id: u64,
    /// The requests that the agent has not answered: the id, the purpose, and until when it has time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) pending: Vec<(u64, Sent, Option<Millis>)>,
    /// The number of the next callback.
    pub(super) next_call: u64,
    /// The callbacks that are not answered: our number, and the agent's id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<(u64, RawJson)>,
    /// Ids of requests in the agent's output from here on that were answered already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) answered: Vec<RawJson>,
    /// The agent's capabilities, see [`Capabilities::request_bits`](super::Capabilities::request_bits).
    pub(super) capabilities: u16,
    /// The ways to sign in: the id, and whether it needs a terminal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) auth_methods: Vec<(String, bool)>,
    /// The session of an earlier process that was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) given_up: Option<String>,
    /// Why the agent did not receive the system prompt. Then its later requests do not have it either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) prompt_left_out: Option<Failure>,
    /// Whether the thread knows that the agent writes lines that are not clean.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) has_noted_flaw: bool,
    /// The first half of a surrogate pair at the end of the agent's last chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) half: Option<Box<Half>>,
    /// What translates, if the agent speaks version 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) v2: Option<Box<v2::Translator>>,
}

impl AgentConnection {
    /// Returns the memo at the end of the last line, for a connection that [is resumable](Self::is_resumable). Its events must have been taken,
    /// and its writes must be in the journal: of those, the memo says that they were sent.
    pub fn memo(&self, now: Now) -> ConnectionMemo {
        debug_assert!(
            self.has_no_output(),
            "the events and the writes belong to the memo"
        );
        let pending = self.pending.requests().filter_map(|(id, sent, deadline)| {
            let sent = match sent {
                // They are answered before the session is open.
                Sent::Initialize | Sent::Open(_) => return None,
                Sent::Unclaimed(_) if !self.accepts_claims(now.mono) => Sent::GivenUp,
                sent => sent.clone(),
            };
            Some((id, sent, deadline.map(|at| on_wall(at, now))))
        });
        let auth_methods = self.capabilities.auth_methods.iter();
        ConnectionMemo {
            session: self.session.clone().unwrap_or_default(),
            next_id: self.pending.next_id(),
            pending: pending.collect(),
            next_call: self.next_call,
            calls: self.calls.iter().map(|(call, id)| (*call, id.clone())).collect(),
            answered: self.answered_ahead().to_vec(),
            capabilities: self.capabilities.request_bits(),
            auth_methods: auth_methods
                .map(|method| (method.id.clone(), method.is_terminal()))
                .collect(),
            given_up: self.given_up.clone(),
            prompt_left_out: self.prompt_left_out.clone(),
            has_noted_flaw: self.has_noted_flaw,
            half: self.half.clone(),
            v2: self.v2.as_ref().map(|v2| Box::new(v2.for_memo())),
        }
    }

    /// Returns whether a memo has all that the connection knows: its session is open and used by one thread alone, and the memo is not too
    /// large. Otherwise a turn ends with the daemon.
    pub fn is_resumable(&self) -> bool {
        self.is_open() && self.is_alone && !self.holds_answers() && self.memo_bytes() <= MEMO_BYTES
    }

    /// Returns about how many bytes the memo has.
    fn memo_bytes(&self) -> usize {
        let sent = |sent: &Sent| match sent {
            Sent::Ask { method, .. } => method.len() + ENTRY_BYTES,
            _ => ENTRY_BYTES,
        };
        let pending: usize = self.pending.notes().map(sent).sum();
        let ids = self.calls.values().chain(self.answered_ahead());
        let ids: usize = ids.map(|id| id.get().len() + ENTRY_BYTES).sum();
        let methods = self.capabilities.auth_methods.iter();
        let methods: usize = methods.map(|method| method.id.len() + ENTRY_BYTES).sum();
        let half = self.half.as_ref().map_or(0, |half| half.memo_bytes());
        let v2 = self.v2.as_ref().map_or(0, |v2| v2.memo_bytes());
        pending + ids + methods + half + v2
    }
}

impl ConnectionMemo {
    /// Returns the ways to sign in, as far as requests are checked against them.
    pub(super) fn auth_methods(&self) -> Vec<AuthMethod> {
        let methods = self.auth_methods.iter();
        methods
            .map(|(id, is_terminal)| AuthMethod::named(id, *is_terminal))
            .collect()
    }
}

/// Returns a point in time on the clock that later daemons have as well.
fn on_wall(at: Instant, now: Now) -> Millis {
    let left = at.saturating_sub(now.mono).as_millis();
    now.wall
        .saturating_add(Millis::try_from(left).unwrap_or(Millis::MAX))
}

/// Returns such a point in time on this process's clock: after `least` if it is over, and after `most` at the latest, because clocks are set.
pub(super) fn on_mono(at: Millis, now: Now, least: Duration, most: Duration) -> Instant {
    let left = u64::try_from(at.saturating_sub(now.wall)).unwrap_or(0);
    let left = match left {
        0 => least,
        left => Duration::from_millis(left).min(most),
    };
    now.mono + left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_continue_on_the_clock_of_the_next_process() {
        let (least, most) = (Duration::from_secs(5), Duration::from_mins(1));
        let before = Now {
            mono: Duration::from_secs(100_000),
            wall: 1_000_000,
        };
        let after = |wall| Now {
            mono: Duration::from_secs(2),
            wall,
        };
        let at = on_wall(Duration::from_secs(100_030), before);
        assert_eq!(at, 1_030_000);
        assert_eq!(
            on_mono(at, after(1_010_000), least, most),
            Duration::from_secs(22)
        );
        // Over, and a clock that was set back.
        assert_eq!(on_mono(at, after(1_030_000), least, most), Duration::from_secs(7));
        assert_eq!(on_mono(at, after(9_000_000), least, most), Duration::from_secs(7));
        assert_eq!(on_mono(at, after(0), least, most), Duration::from_secs(62));
        assert_eq!(
            on_mono(Millis::MIN, after(Millis::MAX), least, most),
            Duration::from_secs(7)
        );
        assert_eq!(on_wall(Duration::ZERO, before), 1_000_000);
        assert_eq!(on_wall(Duration::MAX, before), Millis::MAX);
    }
}
