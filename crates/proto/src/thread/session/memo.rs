//! What the log does not say of the agent's open session, and of requests that the agent has not answered.
//!
//! In: the state of the session. Out: its memo, and the state again. Owns: which requests matter when their clients are gone.
//! Never: contains params of requests that only their clients needed: they may be secrets.

use std::collections::BTreeMap;

use acpd_model::event::Binding;
use acpd_model::{Origin, RawJson, Seq, TurnId};
use serde::{Deserialize, Serialize};

use super::agent_requests::{Continuation, PendingAgentRequest};
use super::choices::{FIRST_REQUEST, Restoration};
use super::history::History;
use super::watchdog::{Watchdog, WatchdogMemo};
use super::{AgentState, Session};
use crate::agent::{AgentCommand, AgentRequest, Capabilities, Quirks};
use crate::thread::journal::Journal;
use crate::thread::kept::is_default;
use crate::thread::recalled::Recalled;

/// What the log does not say of an open session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::thread) struct SessionMemo {
    /// The event that bound the thread to the session.
    bound: Seq,
    /// All quirks of the agent, with the configured ones.
    #[serde(skip_serializing_if = "is_default")]
    quirks: Quirks,
    #[serde(skip_serializing_if = "is_default")]
    reopen_requested: bool,
    #[serde(skip_serializing_if = "is_default")]
    requests: BTreeMap<u64, RequestMemo>,
    #[serde(skip_serializing_if = "is_default")]
    next_ask: u64,
    /// Whether the conversation could not be read, and whether the agent still has to know it.
    #[serde(skip_serializing_if = "is_default")]
    history: (bool, bool),
    /// Methods of opening a session that broke a process.
    #[serde(skip_serializing_if = "is_default")]
    broken: Vec<Binding>,
    #[serde(skip_serializing_if = "is_default")]
    watchdog: WatchdogMemo,
    #[serde(skip_serializing_if = "is_default")]
    restoration: Restoration,
    #[serde(skip_serializing_if = "is_default")]
    mode_refused: Option<String>,
}

impl SessionMemo {
    /// Returns the event that bound the thread to the session.
    pub fn bound(&self) -> Seq {
        self.bound
    }

    /// Returns the events that are needed to continue.
    pub fn events(&self) -> impl Iterator<Item = Seq> {
        let steered = self.requests.values().filter_map(|request| match request.what {
            What::Steer { seq, .. } => Some(seq),
            _ => None,
        });
        std::iter::once(self.bound).chain(steered)
    }
}

/// A request that the agent has not answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestMemo {
    by: Origin,
    #[serde(default, skip_serializing_if = "is_default")]
    as_option: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    sent: bool,
    what: What,
}

/// The requests whose answers change the thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum What {
    /// A mode, a model or an option that a client sets.
    Setting(AgentRequest),
    /// The same, set by the thread: the choice with this index.
    Restored(AgentRequest, usize),
    /// The default mode.
    DefaultMode {
        request: AgentRequest,
        wanted: String,
        current: String,
    },
    /// Input for the running turn, which this event has.
    Steer {
        seq: Seq,
        turn: TurnId,
        client_turn_id: Option<String>,
    },
    /// A fork of the session, at this cursor. Its client waits no longer.
    Fork { cursor: Option<String> },
    /// The deletion of the thread.
    Delete { asked: String, failed: bool },
}

impl RequestMemo {
    /// Returns the memo of a request, unless only its client needs the answer.
    fn of(pending: &PendingAgentRequest) -> Option<Self> {
        let request = || pending.request.clone();
        let what = match &pending.then {
            Some(Continuation::Restore(index)) => What::Restored(request(), *index),
            Some(Continuation::DefaultMode { wanted, current }) => What::DefaultMode {
                request: request(),
                wanted: wanted.clone(),
                current: current.clone(),
            },
            Some(Continuation::Steer {
                turn,
                client_turn_id,
                seq,
                ..
            }) => What::Steer {
                seq: *seq,
                turn: *turn,
                client_turn_id: client_turn_id.clone(),
            },
            Some(Continuation::Fork { .. } | Continuation::RollBack(_) | Continuation::Forsaken) => {
                match &pending.request {
                    AgentRequest::ForkSession { cursor } if pending.sent => What::Fork {
                        cursor: cursor.clone(),
                    },
                    _ => return None,
                }
            }
            Some(Continuation::Delete { asked, failed, .. }) => What::Delete {
                asked: asked.clone(),
                failed: *failed,
            },
            None if pending.is_setting() => What::Setting(request()),
            None => return None,
        };
        Some(Self {
            by: pending.by.clone(),
            as_option: pending.as_option,
            sent: pending.sent,
            what,
        })
    }

    /// Returns the request; `None` if its input was not read.
    fn into_pending(self, recalled: &Recalled) -> Option<PendingAgentRequest> {
        let Self {
            by,
            as_option,
            sent,
            what,
        } = self;
        let (request, then) = match what {
            What::Setting(request) => (request, None),
            What::Restored(request, index) => (request, Some(Continuation::Restore(index))),
            What::DefaultMode {
                request,
                wanted,
                current,
            } => (request, Some(Continuation::DefaultMode { wanted, current })),
            What::Steer {
                seq,
                turn,
                client_turn_id,
            } => {
                let input = recalled.steered(seq)?.to_vec();
                let prompt = input.clone();
                let then = Continuation::Steer {
                    by: by.clone(),
                    turn,
                    input,
                    client_turn_id,
                    seq,
                };
                (AgentRequest::Steer { prompt }, Some(then))
            }
            What::Fork { cursor } => (AgentRequest::ForkSession { cursor }, Some(Continuation::Forsaken)),
            What::Delete { asked, failed } => {
                let request = AgentRequest::DeleteSession {
                    session_id: asked.clone(),
                };
                let by = by.clone();
                (request, Some(Continuation::Delete { by, asked, failed }))
            }
        };
        Some(PendingAgentRequest {
            by,
            request,
            as_option,
            sent,
            then,
        })
    }
}

impl Session {
    /// Returns what the log does not say of the session. `None` unless it is open, and the agent gets no conversation of an earlier
    /// one now.
    pub fn memo(&self, journal: &Journal) -> Option<SessionMemo> {
        let history = self.history.memo().filter(|_| self.is_ready())?;
        let requests = self.requests.iter();
        Some(SessionMemo {
            bound: self.bound,
            quirks: self.quirks,
            reopen_requested: self.reopen_requested,
            requests: requests
                .filter_map(|(call, pending)| Some((*call, RequestMemo::of(pending)?)))
                .collect(),
            next_ask: self.next_ask,
            history,
            broken: self.resume.broken.clone(),
            watchdog: self.watchdog.memo(journal),
            restoration: self.open_restoration(),
            mode_refused: self.mode_refused.clone(),
        })
    }

    /// Continues with the open session. `agent` is the agent's answer to `initialize`.
    pub fn continue_with(
        &mut self,
        journal: &Journal,
        memo: SessionMemo,
        agent: &RawJson,
        recalled: &Recalled,
    ) {
        let capabilities = Capabilities {
            quirks: memo.quirks,
            ..Capabilities::read(agent)
        };
        self.agent = AgentState::Ready;
        self.bound = memo.bound;
        self.quirks = memo.quirks;
        self.capabilities = Some(capabilities);
        self.reopen_requested = memo.reopen_requested;
        let requests = memo.requests.into_iter();
        self.requests = requests
            .filter_map(|(call, request)| Some((call, request.into_pending(recalled)?)))
            .collect();
        self.next_ask = memo.next_ask;
        self.history = History::resume(memo.history);
        self.resume.broken = memo.broken;
        self.watchdog = Watchdog::resume(journal, memo.watchdog);
        self.restoration = memo.restoration;
        self.mode_refused = memo.mode_refused;
    }

    /// Sends the requests again that the agent may not have received.
    pub fn send_again(&self, journal: &mut Journal) {
        for (call, pending) in self.requests.iter().filter(|(_, pending)| pending.sent) {
            journal.send_to_agent(AgentCommand::Request {
                ask: *call,
                request: pending.request.clone(),
            });
        }
    }

    /// Notes the number of a request that is sent to the agent.
    pub(super) fn note_ask(&mut self, call: u64) {
        if call < FIRST_REQUEST {
            self.next_ask = self.next_ask.max(call + 1);
        }
    }

    /// Returns the first number that no request to this process of the agent has.
    pub fn next_ask(&self) -> u64 {
        self.next_ask
    }
}
