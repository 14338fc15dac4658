//! The mode that a session gets if no user has chosen one: the configured one, or for a known agent the one in which it asks.
//!
//! In: an opened session. Out: a request for the agent, or a notice. Never: changes a mode that a user has chosen.

use acpd_model::event::{Binding, Level};
use acpd_model::{Failure, Origin, RawJson};

use super::Session;
use super::agent_requests::Continuation;
use super::decides::note_mode;
use crate::agent::{AgentRequest, ConfigValue, Opened, modes};
use crate::projection::{SessionState, listed_value};
use crate::thread::journal::Journal;

/// The number of the request, which is not a client's command.
const CALL: u64 = u64::MAX;

/// What decides about the mode of an opened session.
#[derive(Debug)]
pub(super) struct ModeContext {
    /// The agent's name from `agentInfo`.
    agent: String,
    /// The configured mode.
    configured: Option<String>,
    /// Whether the agent has just reported the mode.
    reported: bool,
}

impl ModeContext {
    /// Returns the agent's name from `agentInfo`.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Takes what applies to the session that was opened, which `reported` its state.
    pub fn of(opened: &Opened, reported: &SessionState) -> Self {
        Self {
            agent: opened.capabilities.name.clone(),
            configured: opened.mode.clone(),
            reported: opened.how == Binding::New
                || reported.modes.is_some()
                || reported.config_options.is_some(),
        }
    }
}

impl Session {
    /// Sets the default mode of the session that was just opened, unless a user has just requested one.
    pub(super) fn set_default_mode(&mut self, journal: &mut Journal, context: &ModeContext) {
        let live = journal.live();
        if self.mode_is_requested(journal) {
            return;
        }
        let Some(mode) = live.options().mode() else {
            if let Some(wanted) = &context.configured {
                return unavailable(journal, wanted, &[]);
            }
            return;
        };
        let current = mode.current.as_deref().unwrap_or_default();
        let decides = modes::decides(&context.agent, current);
        let asking = || modes::asking(&context.agent, &mode.offered).map(str::to_owned);
        let wanted = match &context.configured {
            Some(wanted) => Some(wanted.clone()),
            None if decides => asking(),
            None => None,
        };
        let Some(wanted) = wanted else {
            if decides {
                note_mode(journal, current);
            }
            return;
        };
        if !mode.offered.contains(&wanted) {
            unavailable(journal, &wanted, &mode.offered);
            if decides {
                note_mode(journal, current);
            }
            return;
        }
        if context.reported && current == wanted {
            return;
        }
        let request = match mode.option {
            Some(config_id) => AgentRequest::SetConfigOption {
                config_id,
                value: ConfigValue::Id(wanted.clone()),
            },
            None => AgentRequest::SetMode {
                mode_id: wanted.clone(),
            },
        };
        let then = Continuation::DefaultMode {
            wanted,
            current: current.to_owned(),
        };
        self.request(journal, CALL, Origin::Daemon, request, Some(then));
    }

    /// Handles the agent's answer about the default mode.
    pub fn default_mode_answered(
        journal: &mut Journal,
        wanted: &str,
        current: &str,
        answer: Result<RawJson, Failure>,
    ) {
        let (reason, detail) = match answer {
            Err(failure) => (failure.message, failure.detail),
            Ok(answer) => {
                let mode = journal.live().options().mode();
                let listed = mode
                    .and_then(|mode| mode.option)
                    .and_then(|option| listed_value(&answer, &option));
                match listed.and_then(|listed| listed.read::<String>().ok()) {
                    Some(listed) if listed != wanted => {
                        let detail = "change the mode in the thread, or correct \"mode\" of the agent in the configuration";
                        (format!("it answered with {listed:?}"), Some(detail.to_owned()))
                    }
                    _ => return,
                }
            }
        };
        let text = format!("The agent did not change its mode from {current:?} to {wanted:?}: {reason}");
        journal.detailed_notice(Level::Warning, "modeNotSet", &text, detail);
    }
}

fn unavailable(journal: &mut Journal, wanted: &str, offered: &[String]) {
    let has = if offered.is_empty() {
        "it has no modes".to_owned()
    } else {
        format!("it has {}", offered.join(", "))
    };
    let text = format!("The agent does not have the configured mode {wanted:?}: {has}.");
    let detail = "correct \"mode\" of the agent in the configuration".to_owned();
    journal.detailed_notice(Level::Warning, "modeNotSet", &text, Some(detail));
}
