//! What users chose for the session, set again in each process that opens it: agents keep their mode, model and options in the
//! process, and begin with their defaults.

use acpd_model::event::{ChosenOption, Level};
use acpd_model::{EventKind, Failure, Origin, SessionEvent};

use super::Session;
use super::agent_requests::{Continuation, list_as_result};
use crate::agent::{AgentRequest, ConfigValue, modes};
use crate::projection::{Choices, SessionState, current_value};
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

impl Session {
    /// Requests what users chose, if the open session `reported` something else or nothing. A prompt waits for the answers. A
    /// mode in which the `agent` decides by itself, and which it took by itself, does not count. Returns whether a user's choice
    /// of the mode remains.
    pub(super) fn restore_choices(
        &mut self,
        journal: &mut Journal,
        reported: &SessionState,
        agent: &str,
    ) -> bool {
        self.mode_refused = None;
        let live = journal.live();
        let (choices, options) = (&live.choices, live.options());
        let mut wanted = Vec::new();
        let mode = choices
            .mode
            .clone()
            .filter(|mode| !(choices.mode_by_agent && modes::decides(agent, mode)));
        let mut has_mode = mode.is_some();
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
        if let Some(mode_id) = mode.filter(|mode| Some(mode) != reported.mode().as_ref()) {
            let request = AgentRequest::SetMode {
                mode_id: mode_id.clone(),
            };
            wanted.push((request, Choice::Mode(mode_id)));
        }
        // What an agent offers may depend on its model.
        let (models, others): (Vec<_>, Vec<_>) =
            choices.options.iter().partition(|(id, _)| options.is_model(id));
        for (id, chosen) in models.into_iter().chain(others) {
            let current = reported
                .config_options
                .as_ref()
                .and_then(|list| current_value(list, id));
            let Ok(value) = chosen.read::<ConfigValue>() else {
                continue;
            };
            let is_mode = options.is_mode(id);
            if is_mode {
                let by_agent = choices.options_by_agent.contains(id);
                if by_agent && matches!(&value, ConfigValue::Id(mode) if modes::decides(agent, mode)) {
                    continue;
                }
                has_mode = true;
            }
            if current.as_ref() != Some(chosen) {
                let choice = Choice::Option {
                    id: id.clone(),
                    value: chosen.get().to_owned(),
                    is_mode,
                };
                let config_id = id.clone();
                wanted.push((AgentRequest::SetConfigOption { config_id, value }, choice));
            }
        }
        for (number, (request, choice)) in (FIRST_REQUEST..).zip(wanted) {
            let then = Some(Continuation::Restore(choice));
            self.request(journal, number, Origin::Daemon, request, then);
        }
        has_mode
    }

    /// Records that the process refuses a choice. Without the mode that a user chose it gets no prompt, because it might act
    /// more freely than the user allowed.
    pub fn restore_refused(&mut self, journal: &mut Journal, choice: &Choice, failure: &Failure) {
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
        let is_mode = match *choice {
            // An agent without modes has no looser one.
            Choice::Mode(_) => options.mode().is_some(),
            Choice::Option { is_mode, .. } => is_mode,
            Choice::Model(_) => false,
        };
        if !is_mode {
            return;
        }
        let reason = format!(
            "the agent was started again and refuses {words}, which was set before; choose a mode for the thread, then send \
             the prompt again"
        );
        self.mode_refused = Some(reason);
    }

    /// Returns why the process gets no prompt, if it refuses the mode that a user chose.
    pub fn refused_mode(&self) -> Option<String> {
        self.mode_refused.clone()
    }
}

/// Records what a fork takes over of its origin's `choices`, where its own state has others. What the agent took by itself stays
/// behind.
pub fn adopt_choices(journal: &mut Journal, by: &Origin, choices: Choices) {
    let known = journal.live().choices.clone();
    let mode = choices.mode.filter(|_| !choices.mode_by_agent);
    if let Some(mode_id) = mode.filter(|mode| known.mode.as_ref() != Some(mode)) {
        journal.emit_in(
            None,
            by.clone(),
            EventKind::Session(SessionEvent::ModeChanged { mode_id }),
            None,
        );
    }
    if let Some(model_id) = choices.model.filter(|model| known.model.as_ref() != Some(model)) {
        journal.emit_in(
            None,
            by.clone(),
            EventKind::Session(SessionEvent::ModelChanged { model_id }),
            None,
        );
    }
    for (id, value) in choices.options {
        let is_known = known.options.get(&id) == Some(&value);
        let list = journal.live().config_options.as_ref().and_then(list_as_result);
        if !is_known && !choices.options_by_agent.contains(&id) && list.is_some() {
            let chosen = Some(ChosenOption { id, value });
            journal.emit_in(
                None,
                by.clone(),
                EventKind::Session(SessionEvent::ConfigOptionsReplaced { chosen }),
                list,
            );
        }
    }
}
