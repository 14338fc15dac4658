//! What clients want of the agent beside turns: modes, options, sessions, signing in, extensions. What comes
//! while the agent is on its way waits for it; what the agent never answers is answered when it is gone.

use acpd_model::event::Level;
use acpd_model::{ErrorCode, EventKind, Failure, Origin, RawJson};

use super::command::Reply;
use super::thread::{AgentState, Thread};
use crate::agent::{AgentCommand, AgentRequest, ConfigValue};
use crate::projection::{LEGACY_MODE, LEGACY_MODEL};
use crate::wire::RpcError;

/// A request for the agent and who wants it.
#[derive(Debug)]
pub(super) struct PendingAgentRequest {
    by: Origin,
    request: AgentRequest,
    /// Whether the agent has it.
    sent: bool,
}

impl Thread {
    pub(super) fn request_agent(&mut self, call: u64, by: Origin, request: AgentRequest) {
        let request = match Self::translate(request) {
            Ok(request) => request,
            Err(failure) => return self.refuse(call, failure),
        };
        let sent = false;
        self.agent_requests
            .insert(call, PendingAgentRequest { by, request, sent });
        // Signing in goes to the process that waits for it, and not to another one.
        let signs_in = |ask: &PendingAgentRequest| matches!(ask.request, AgentRequest::Authenticate { .. });
        if self.agent != AgentState::SigningIn || !self.agent_requests.get(&call).is_some_and(signs_in) {
            self.wake();
        }
        self.send_agent_requests();
    }

    pub(super) fn notify_agent(&mut self, method: String, params: Option<RawJson>) -> Result<Reply, Failure> {
        crate::agent::check_extension(&method)?;
        if self.agent != AgentState::Ready {
            return Err(Failure::new(ErrorCode::Conflict, "the agent is not running"));
        }
        self.journal
            .send_to_agent(AgentCommand::Notify { method, params });
        Ok(Reply::Done)
    }

    /// What clients see as a config option may be a mode or a model to the agent.
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

    /// Sends what waits, as far as the agent is there.
    pub(super) fn send_agent_requests(&mut self) {
        let ready = match self.agent {
            AgentState::Ready => true,
            AgentState::SigningIn => false,
            _ => return,
        };
        let waiting: Vec<u64> = self
            .agent_requests
            .iter()
            .filter(|(_, ask)| !ask.sent)
            .filter(|(_, ask)| ready || matches!(ask.request, AgentRequest::Authenticate { .. }))
            .map(|(call, _)| *call)
            .collect();
        for call in waiting {
            let Some(ask) = self.agent_requests.get_mut(&call) else {
                continue;
            };
            ask.sent = true;
            let request = ask.request.clone();
            let checked = self
                .capabilities
                .as_ref()
                .map_or(Ok(()), |capabilities| request.check(capabilities))
                .and_then(|()| self.check_known(&request));
            match checked {
                Ok(()) => self
                    .journal
                    .send_to_agent(AgentCommand::Request { ask: call, request }),
                Err(failure) => {
                    self.agent_requests.remove(&call);
                    self.refuse(call, failure);
                }
            }
        }
    }

    /// Refuses a mode or an option that the agent never offered.
    fn check_known(&self, request: &AgentRequest) -> Result<(), Failure> {
        let options = self.journal.live().options();
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

    pub(super) fn agent_answered(&mut self, call: u64, result: Result<RawJson, RpcError>) {
        self.note_answer(call, result);
        self.reopen_if_idle();
        self.prompt_if_ready();
    }

    fn note_answer(&mut self, call: u64, result: Result<RawJson, RpcError>) {
        let Some(PendingAgentRequest { by, request, .. }) = self.agent_requests.remove(&call) else {
            return;
        };
        let answer = match result {
            Ok(answer) => answer,
            Err(error) => {
                let failure = AgentRequest::refused(request.method(), &error);
                return self.refuse(call, failure);
            }
        };
        match request {
            // Its session is about to be opened.
            AgentRequest::Authenticate { .. } if self.agent == AgentState::SigningIn => {
                self.agent = AgentState::Starting;
            }
            AgentRequest::SetMode { mode_id } if self.journal.live().mode.as_ref() != Some(&mode_id) => {
                self.journal.emit(by, EventKind::ModeChanged { mode_id }, None);
            }
            AgentRequest::SetModel { model_id } => {
                self.journal.emit(by, EventKind::ModelChanged { model_id }, None);
            }
            // Agents that answer without the list tell it by an update.
            AgentRequest::SetConfigOption { .. } if crate::projection::has_options(&answer) => {
                let kind = EventKind::ConfigOptionsReplaced {};
                self.journal.emit(by, kind, Some(answer.clone()));
            }
            _ => {}
        }
        if let Some(answer) = self.run_continuation(call, Ok(answer)) {
            self.journal.reply(call, answer.map(Reply::Agent));
        }
    }

    /// Nobody wants the answer any more.
    pub(super) fn drop_agent_request(&mut self, call: u64) {
        self.agent_requests.remove(&call);
    }

    /// The agent opens no session until somebody signs in.
    pub(super) fn sign_in_required(&mut self, failure: &Failure) {
        if self.agent == AgentState::Stopping {
            return;
        }
        self.agent = AgentState::SigningIn;
        self.fail_ready_waiters(failure);
        let detail = failure.detail.as_deref().unwrap_or_default();
        self.journal.notice(
            Level::Warning,
            "signInRequired",
            &format!("{} ({detail})", failure.message),
        );
        let others: Vec<u64> = self
            .agent_requests
            .iter()
            .filter(|(_, ask)| !matches!(ask.request, AgentRequest::Authenticate { .. }))
            .map(|(call, _)| *call)
            .collect();
        for call in others {
            self.agent_requests.remove(&call);
            self.refuse(call, failure.clone());
        }
        self.settle_unanswered(&failure.message, &Origin::Agent);
        self.send_agent_requests();
    }

    /// Whether the agent has yet to confirm a mode or an option that the next prompt is to go by.
    pub(super) fn settings_wait(&self) -> bool {
        self.agent_requests.values().any(|ask| {
            matches!(
                ask.request,
                AgentRequest::SetMode { .. }
                    | AgentRequest::SetModel { .. }
                    | AgentRequest::SetConfigOption { .. }
            )
        })
    }

    /// Whether somebody is signing in right now.
    pub(super) fn signs_in(&self) -> bool {
        let signs_in =
            |ask: &PendingAgentRequest| ask.sent && matches!(ask.request, AgentRequest::Authenticate { .. });
        self.agent_requests.values().any(signs_in)
    }

    /// The agent is gone: nobody will answer what it was asked, nor, with `unsent_too`, what it was to be asked.
    pub(super) fn fail_agent_requests(&mut self, reason: &str, unsent_too: bool) {
        let gone: Vec<u64> = self
            .agent_requests
            .iter()
            .filter(|(_, ask)| ask.sent || unsent_too)
            .map(|(call, _)| *call)
            .collect();
        for call in gone {
            self.agent_requests.remove(&call);
            self.refuse(call, Failure::agent(reason.to_owned()));
        }
    }

    fn refuse(&mut self, call: u64, failure: Failure) {
        if let Some(answer) = self.run_continuation(call, Err(failure)) {
            self.journal.reply(call, answer.map(Reply::Agent));
        }
    }
}
