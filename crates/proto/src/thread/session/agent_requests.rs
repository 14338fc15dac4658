//! Requests of clients for the agent, other than turns: modes, options, sessions, authentication, extensions. A
//! request waits while the agent starts. A request that the agent never answers fails when the agent exits.

use acpd_model::event::{ChosenOption, Level, ThreadForked};
use acpd_model::limits::AGENT_STATE_BYTES;
use acpd_model::{ErrorCode, EventKind, Failure, Origin, RawJson, SessionEvent, TurnId};

use super::{AgentState, Session};
use crate::agent::{AgentCommand, AgentRequest, ConfigValue};
use crate::projection::{LEGACY_MODE, LEGACY_MODEL, current_value, listed_value};
use crate::thread::journal::Journal;
use crate::thread::reply::Reply;
use crate::wire::RpcError;

/// A request for the agent and the client that sent it.
#[derive(Debug)]
pub(super) struct PendingAgentRequest {
    by: Origin,
    request: AgentRequest,
    /// Whether a client has set the mode or the model as an option.
    as_option: bool,
    /// Whether the request was sent to the agent.
    sent: bool,
    then: Option<Continuation>,
}

impl PendingAgentRequest {
    fn signs_in(&self) -> bool {
        matches!(self.request, AgentRequest::Authenticate { .. })
    }

    /// Returns whether the request sets a mode, a model or an option.
    fn is_setting(&self) -> bool {
        matches!(
            self.request,
            AgentRequest::SetMode { .. }
                | AgentRequest::SetModel { .. }
                | AgentRequest::SetConfigOption { .. }
        )
    }

    /// Returns whether the request is the thread's own, which no client waits for.
    pub(super) fn is_own(&self) -> bool {
        matches!(
            self.then,
            Some(Continuation::DefaultMode { .. } | Continuation::Restore(_))
        )
    }
}

/// The operation that continues after a request is answered or has failed.
#[derive(Debug)]
pub(in crate::thread) enum Continuation {
    /// Steering of the running turn.
    Steer {
        by: Origin,
        turn: TurnId,
        input: Vec<RawJson>,
        client_turn_id: Option<String>,
    },
    /// A fork of the thread.
    Fork {
        point: ThreadForked,
        /// Whether the session is forked at a cursor.
        at_cursor: bool,
    },
    /// A rollback of the thread to a cursor.
    RollBack(Box<PendingRollback>),
    /// The deletion of the thread.
    Delete {
        by: Origin,
        /// The session that the agent is asked to delete.
        asked: String,
        /// Whether the agent has not deleted an earlier one.
        failed: bool,
    },
    /// The mode that replaces the one in which the agent began.
    DefaultMode { wanted: String, current: String },
    /// The start of a process that is set to what a user chose before: the choice with this index.
    Restore(usize),
}

/// A rollback for which the agent forks its session.
#[derive(Debug)]
pub(in crate::thread) struct PendingRollback {
    pub by: Origin,
    pub last_kept: TurnId,
    /// The number of the last turn when the rollback was requested: who requested it knew of no later one.
    pub last: u32,
    /// The turn that starts then, in place of those that are dropped.
    pub next: Option<NextTurn>,
}

/// A turn that starts after a rollback.
#[derive(Debug)]
pub(in crate::thread) struct NextTurn {
    pub input: Vec<RawJson>,
    pub meta: Option<RawJson>,
    pub client_turn_id: Option<String>,
}

/// An answered or failed request of the command `call`, and the operation to continue.
pub(in crate::thread) struct Continued {
    pub call: u64,
    pub continuation: Continuation,
    pub answer: Result<RawJson, Failure>,
}

impl PendingAgentRequest {
    /// Replies to the client, unless a continuation handles the answer.
    fn finish(self, journal: &mut Journal, call: u64, answer: Result<RawJson, Failure>) -> Option<Continued> {
        let Some(continuation) = self.then else {
            journal.reply(call, answer.map(Reply::Agent));
            return None;
        };
        Some(Continued {
            call,
            continuation,
            answer,
        })
    }
}

impl Session {
    /// Queues a request. Returns whether to start the agent for it.
    pub fn request(
        &mut self,
        journal: &mut Journal,
        call: u64,
        by: Origin,
        request: AgentRequest,
        then: Option<Continuation>,
    ) -> bool {
        let is_option = |request: &AgentRequest| matches!(request, AgentRequest::SetConfigOption { .. });
        let sets_option = is_option(&request);
        let request = match translate(request) {
            Ok(request) => request,
            Err(failure) => {
                journal.reply(call, Err(failure));
                return false;
            }
        };
        let pending = PendingAgentRequest {
            by,
            as_option: sets_option && !is_option(&request),
            request,
            sent: false,
            then,
        };
        // `authenticate` must reach the process that waits for it, so it must not start another one.
        let signs_in = pending.signs_in();
        let starts = self.agent != AgentState::SigningIn || !signs_in;
        if signs_in {
            self.sign_in_lines = Vec::new();
        }
        self.requests.insert(call, pending);
        starts
    }

    /// Sends the agent a notification that ACP does not define.
    pub fn notify(
        &self,
        journal: &mut Journal,
        method: String,
        params: Option<RawJson>,
    ) -> Result<Reply, Failure> {
        crate::agent::check_extension(&method)?;
        if !self.is_ready() {
            return Err(Failure::new(ErrorCode::Conflict, "the agent is not running"));
        }
        journal.send_to_agent(AgentCommand::Notify { method, params });
        Ok(Reply::Done)
    }

    /// Sends all requests that the agent can accept now. Returns a rejected request that has a continuation; call it
    /// again then.
    pub fn send_requests(&mut self, journal: &mut Journal) -> Option<Continued> {
        loop {
            let ready = match self.agent {
                AgentState::Ready => true,
                AgentState::SigningIn => false,
                _ => return None,
            };
            let call = self.next_request(ready)?;
            let pending = self.requests.get_mut(&call)?;
            pending.sent = true;
            let request = pending.request.clone();
            let capabilities = self.capabilities.as_ref();
            let checked = capabilities
                .map_or(Ok(()), |capabilities| {
                    request.check(capabilities, &journal.live().spec.agent)
                })
                .and_then(|()| check_known(journal, &request));
            match checked {
                Ok(()) => journal.send_to_agent(AgentCommand::Request { ask: call, request }),
                Err(failure) => {
                    let continued = self.refuse(journal, call, failure);
                    if continued.is_some() {
                        return continued;
                    }
                }
            }
        }
    }

    /// Returns the next request to send. The thread's own settings come first, one after another: what an agent offers may
    /// depend on the one before, and a setting that a client requests replaces them.
    fn next_request(&self, ready: bool) -> Option<u64> {
        let own = self.requests.iter().find(|(_, pending)| pending.is_own());
        if let Some((&call, pending)) = own
            && ready
            && !pending.sent
        {
            return Some(call);
        }
        let mut others = self.requests.iter().filter(|(_, pending)| {
            !pending.sent && !pending.is_own() && (own.is_none() || !pending.is_setting())
        });
        let found = others.find(|(_, pending)| ready || pending.signs_in());
        found.map(|(&call, _)| call)
    }

    fn refuse(&mut self, journal: &mut Journal, call: u64, failure: Failure) -> Option<Continued> {
        self.requests.remove(&call)?.finish(journal, call, Err(failure))
    }

    /// Rejects some requests. Returns one that has a continuation; call it again then.
    fn refuse_some(
        &mut self,
        journal: &mut Journal,
        failure: &Failure,
        which: impl Fn(&PendingAgentRequest) -> bool,
    ) -> Option<Continued> {
        while let Some((&call, _)) = self.requests.iter().find(|(_, pending)| which(pending)) {
            let continued = self.refuse(journal, call, failure.clone());
            if continued.is_some() {
                return continued;
            }
        }
        None
    }

    /// Handles the agent's answer to a request.
    pub fn answered(
        &mut self,
        journal: &mut Journal,
        call: u64,
        result: Result<RawJson, RpcError>,
    ) -> Option<Continued> {
        let pending = self.requests.remove(&call)?;
        let answer = match result {
            Ok(answer) => answer,
            Err(error) => {
                let failure = AgentRequest::refused(pending.request.method(), &error);
                return pending.finish(journal, call, Err(failure));
            }
        };
        let by = pending.by.clone();
        if pending.is_setting() && matches!(by, Origin::Client(_)) {
            self.end_restoration();
        }
        match &pending.request {
            // The connection opens the session now.
            AgentRequest::Authenticate { .. } if self.agent == AgentState::SigningIn => {
                self.agent = AgentState::Starting;
            }
            AgentRequest::SetMode { mode_id } => {
                self.mode_refused = None;
                let live = journal.live();
                let choices = &live.choices;
                let is_choice = choices.mode.as_ref() == Some(mode_id) && !choices.mode_by_agent;
                let chosen = is_choice || by == Origin::Daemon;
                // An agent may report the mode before it answers. That it is a user's choice is recorded all the same.
                if live.mode.as_ref() != Some(mode_id) || !chosen {
                    let mode_id = mode_id.clone();
                    journal.emit(
                        by,
                        EventKind::Session(SessionEvent::ModeChanged { mode_id }),
                        None,
                    );
                }
            }
            AgentRequest::SetModel { model_id } => {
                let model_id = model_id.clone();
                journal.emit(
                    by,
                    EventKind::Session(SessionEvent::ModelChanged { model_id }),
                    None,
                );
            }
            AgentRequest::SetConfigOption { config_id, value } => {
                if journal.live().options().is_mode(config_id) {
                    self.mode_refused = None;
                }
                let chosen = ChosenOption {
                    id: config_id.clone(),
                    value: value.to_json(),
                };
                let live = journal.live();
                let is_list =
                    crate::projection::has_options(&answer) && answer.get().len() <= AGENT_STATE_BYTES;
                // A new process that answers with another value was not set to the choice.
                let other = by == Origin::Daemon
                    && is_list
                    && listed_value(&answer, config_id).is_some_and(|listed| listed != chosen.value);
                let raw = if is_list {
                    Some(answer.clone())
                } else if live.choices.options.get(config_id) == Some(&chosen.value)
                    && !live.choices.options_by_agent.contains(config_id)
                {
                    None
                } else {
                    // Agents that answer without the list send the list in an update. Until then the known one applies.
                    live.config_options.as_ref().and_then(list_as_result)
                };
                if raw.is_some() {
                    let chosen = (!other).then_some(chosen);
                    journal.emit(
                        by,
                        EventKind::Session(SessionEvent::ConfigOptionsReplaced { chosen }),
                        raw,
                    );
                }
            }
            _ => {}
        }
        // ACP's answer to an option is the list of all options; the agent has answered something else.
        let options = pending.as_option.then(|| options_as_result(journal)).flatten();
        pending.finish(journal, call, Ok(options.unwrap_or(answer)))
    }

    /// Answers the requests for options that the agent has taken with the request that opened the session.
    pub(super) fn take_initial_options(&mut self, journal: &mut Journal) {
        for (config_id, value) in std::mem::take(&mut self.initial_options) {
            let list = journal.live().config_options.clone();
            let Some(list) = list.filter(|list| current_value(list, &config_id) == Some(value.to_json()))
            else {
                continue;
            };
            let request = AgentRequest::SetConfigOption { config_id, value };
            let is_it = |pending: &PendingAgentRequest| {
                !pending.sent && pending.then.is_none() && pending.request == request
            };
            let found = self.requests.iter().find(|(_, pending)| is_it(pending));
            if let (Some((&call, _)), Some(result)) = (found, list_as_result(&list)) {
                // The request has no continuation.
                self.answered(journal, call, Ok(result));
            }
        }
    }

    /// Handles that the agent opens no session before a user signs in. [`refuse_unsigned`](Self::refuse_unsigned)
    /// rejects other requests.
    pub fn sign_in_required(&mut self, journal: &mut Journal, failure: &Failure) {
        self.agent = AgentState::SigningIn;
        self.resume_deferred();
        self.fail_ready_waiters(journal, failure);
        let (code, detail) = ("signInRequired", failure.detail.clone());
        journal.detailed_notice(Level::Warning, code, &failure.message, detail);
    }

    /// Rejects requests that need a signed-in user. Returns one that has a continuation; call it again then.
    pub fn refuse_unsigned(&mut self, journal: &mut Journal, failure: &Failure) -> Option<Continued> {
        self.refuse_some(journal, failure, |pending| !pending.signs_in())
    }

    /// Notes what the agent has printed for a sign-in.
    pub fn sign_in_printed(&mut self, line: String) {
        self.sign_in_lines.push(line);
    }

    /// Returns the sign-in in progress, or what was printed for the last one.
    pub fn sign_in(&self) -> Reply {
        Reply::SignIn {
            in_progress: self.has_sign_in(),
            lines: self.sign_in_lines.clone(),
        }
    }

    /// Returns whether a sign-in was requested and has no answer.
    pub fn has_sign_in(&self) -> bool {
        self.requests.values().any(PendingAgentRequest::signs_in)
    }

    /// Rejects the sign-ins in progress. Returns one that has a continuation; call it again then.
    pub fn refuse_sign_in(&mut self, journal: &mut Journal, failure: &Failure) -> Option<Continued> {
        self.refuse_some(journal, failure, PendingAgentRequest::signs_in)
    }

    /// Fails the requests that were sent to the agent, and with `unsent_too` also the others. Returns one that has a
    /// continuation; call it again then.
    pub fn fail_requests(
        &mut self,
        journal: &mut Journal,
        reason: &str,
        unsent_too: bool,
    ) -> Option<Continued> {
        let failure = Failure::agent(reason);
        self.refuse_some(journal, &failure, |pending| pending.sent || unsent_too)
    }

    /// Fails the requests that have a continuation, because the daemon stops.
    pub fn fail_continuations(&mut self, journal: &mut Journal, reason: &str) {
        let greater = self.requests.extract_if(.., |_, pending| pending.then.is_some());
        for (call, pending) in greater {
            if !pending.is_own() {
                journal.reply(call, Err(Failure::agent(reason)));
            }
        }
    }

    /// Returns whether a request has a continuation.
    pub fn has_continuations(&self) -> bool {
        let mut requests = self.requests.values();
        requests.any(|pending| pending.then.is_some() && !pending.is_own())
    }

    pub fn check_not_deleted(&self) -> Result<(), Failure> {
        let deletes =
            |pending: &PendingAgentRequest| matches!(pending.then, Some(Continuation::Delete { .. }));
        if self.requests.values().any(deletes) {
            return Err(Failure::new(ErrorCode::Conflict, "the thread is being deleted"));
        }
        Ok(())
    }

    /// Returns whether the agent still has to confirm a mode or an option, which must apply to the next prompt.
    pub fn settings_wait(&self) -> bool {
        self.requests.values().any(PendingAgentRequest::is_setting)
    }

    /// Returns whether the agent still has to confirm a setting that a client has requested.
    pub(super) fn has_newer_setting(&self) -> bool {
        let mut requests = self.requests.values();
        requests.any(|pending| pending.is_setting() && !pending.is_own())
    }

    /// Returns whether a client's request for a mode waits for the session.
    pub(super) fn mode_is_requested(&self, journal: &Journal) -> bool {
        let mode = journal.live().options().mode();
        let option = mode.as_ref().and_then(|mode| mode.option.as_ref());
        self.requests.values().any(|pending| match &pending.request {
            AgentRequest::SetMode { .. } => true,
            AgentRequest::SetConfigOption { config_id, .. } => Some(config_id) == option,
            _ => false,
        })
    }

    /// Returns whether an `authenticate` request is in flight.
    pub fn signs_in(&self) -> bool {
        let mut requests = self.requests.values();
        requests.any(|pending| pending.sent && pending.signs_in())
    }
}

/// Returns ACP's list of options as the result of a request.
pub(super) fn list_as_result(list: &RawJson) -> Option<RawJson> {
    RawJson::parse(format!(r#"{{"configOptions":{}}}"#, list.get())).ok()
}

/// Returns all options of the session as the result of a request.
fn options_as_result(journal: &Journal) -> Option<RawJson> {
    let list = RawJson::of(&journal.live().options().to_list()).ok()?;
    list_as_result(&list)
}

/// Translates config options that are modes or models for the agent.
fn translate(request: AgentRequest) -> Result<AgentRequest, Failure> {
    let AgentRequest::SetConfigOption { config_id, value } = request else {
        return Ok(request);
    };
    Ok(match (config_id.as_str(), value) {
        (LEGACY_MODE, ConfigValue::Id(mode_id)) => AgentRequest::SetMode { mode_id },
        (LEGACY_MODEL, ConfigValue::Id(model_id)) => AgentRequest::SetModel { model_id },
        (LEGACY_MODE | LEGACY_MODEL, ConfigValue::Boolean(_)) => {
            return Err(Failure::invalid_params(format!(
                "{config_id} takes one of its values, not a boolean"
            )));
        }
        (_, value) => AgentRequest::SetConfigOption { config_id, value },
    })
}

/// Rejects a mode, an option or a cursor that the agent does not offer.
pub(super) fn check_known(journal: &Journal, request: &AgentRequest) -> Result<(), Failure> {
    if let AgentRequest::ForkSession { cursor: Some(cursor) } = request
        && !journal.live().cursors.forks_at(cursor)
    {
        let gone = "the agent no longer offers this cursor of its session";
        return Err(Failure::new(ErrorCode::NotFound, gone));
    }
    let options = journal.live().options();
    let (what, id, known) = match request {
        AgentRequest::SetMode { mode_id } => ("mode", mode_id, options.modes()),
        AgentRequest::SetModel { model_id } => ("model", model_id, options.models()),
        AgentRequest::SetConfigOption { config_id, .. } => ("option", config_id, options.ids()),
        _ => return Ok(()),
    };
    if known.iter().any(|known| known == id) {
        return match request {
            AgentRequest::SetConfigOption { config_id, value } => options.check(config_id, value),
            _ => Ok(()),
        };
    }
    if known.is_empty() {
        return Err(Failure::new(
            ErrorCode::Unsupported,
            format!("the agent has no {what}s"),
        ));
    }
    Err(Failure::invalid_params(format!(
        "the agent has no {what} {id:?}; it has {}",
        known.join(", ")
    )))
}
