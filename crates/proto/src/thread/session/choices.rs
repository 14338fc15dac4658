//! What users chose for the session, set again in each process that opens it: agents keep their mode, model and options in the
//! process, and begin with their defaults.

use acpd_model::event::Level;
use acpd_model::{Failure, Origin};

use super::Session;
use super::agent_requests::Continuation;
use crate::agent::{AgentRequest, ConfigValue};
use crate::projection::{SessionState, current_value};
use crate::thread::journal::Journal;

/// The first number of the requests that set choices again. Commands of clients have smaller numbers.
const FIRST_REQUEST: u64 = 1 << 63;

/// A choice of a user.
#[derive(Debug)]
pub(in crate::thread) enum Choice {
    /// The agent's id for the mode.
    Mode(String),
    /// The agent's id for the model.
    Model(String),
    /// A config option.
    Option {
        /// The agent's id for the option.
        id: String,
        /// The value, for the user.
        value: String,
        /// Whether the option is the agent's mode.
        is_mode: bool,
    },
}

impl Choice {
    fn words(&self) -> String {
        match self {
            Self::Mode(id) => format!("the mode {id:?}"),
            Self::Model(id) => format!("the model {id:?}"),
            Self::Option { id, value, .. } => format!("the option {id:?} with the value {value}"),
        }
    }
}

/// A mode that a user chose and that the process refuses.
#[derive(Debug)]
pub(super) struct RefusedMode {
    /// Why prompts fail.
    reason: String,
    /// The config option that is the mode, if the agent has its modes in one.
    pub option: Option<String>,
}

impl Session {
    /// Requests what users chose, if the open session `reported` something else or nothing. A prompt waits for the answers.
    pub(super) fn restore_choices(&mut self, journal: &mut Journal, reported: &SessionState) {
        self.mode_refused = None;
        let live = journal.live();
        let (choices, options) = (&live.choices, live.options());
        let mut wanted = Vec::new();
        if let Some(mode_id) = choices
            .mode
            .clone()
            .filter(|mode| Some(mode) != reported.mode().as_ref())
        {
            let request = AgentRequest::SetMode {
                mode_id: mode_id.clone(),
            };
            wanted.push((request, Choice::Mode(mode_id)));
        }
        if let Some(model_id) = choices
            .model
            .clone()
            .filter(|model| Some(model) != reported.model().as_ref())
        {
            let request = AgentRequest::SetModel {
                model_id: model_id.clone(),
            };
            wanted.push((request, Choice::Model(model_id)));
        }
        for (id, chosen) in &choices.options {
            let current = reported
                .config_options
                .as_ref()
                .and_then(|list| current_value(list, id));
            let Ok(value) = chosen.read::<ConfigValue>() else {
                continue;
            };
            if current.as_ref() != Some(chosen) {
                let choice = Choice::Option {
                    id: id.clone(),
                    value: chosen.get().to_owned(),
                    is_mode: options.is_mode(id),
                };
                let config_id = id.clone();
                wanted.push((AgentRequest::SetConfigOption { config_id, value }, choice));
            }
        }
        for (number, (request, choice)) in (FIRST_REQUEST..).zip(wanted) {
            let then = Some(Continuation::Restore(choice));
            self.request(journal, number, Origin::Daemon, request, then);
        }
    }

    /// Records that the process refuses a choice. Without the mode that a user chose it gets no prompt, because it might act
    /// more freely than the user allowed.
    pub fn restore_refused(&mut self, journal: &mut Journal, choice: Choice, failure: &Failure) {
        // The process is about to exit. The next one is asked again.
        if !self.is_ready() {
            return;
        }
        let words = choice.words();
        let message = format!(
            "The agent was started again and refuses {words}, which was set before: {}",
            failure.message
        );
        journal.notice(Level::Warning, "settingLost", &message);
        let options = journal.live().options();
        let option = match choice {
            Choice::Mode(_) if !options.modes().is_empty() => None,
            Choice::Option {
                id, is_mode: true, ..
            } => Some(id),
            // An agent without modes has no looser one.
            _ => return,
        };
        let reason = format!(
            "the agent was started again and refuses {words}, which was set before; choose a mode for the thread, then send \
             the prompt again"
        );
        self.mode_refused = Some(RefusedMode { reason, option });
    }

    /// Returns why the process gets no prompt, if it refuses the mode that a user chose.
    pub fn refused_mode(&self) -> Option<String> {
        self.mode_refused.as_ref().map(|refused| refused.reason.clone())
    }
}
