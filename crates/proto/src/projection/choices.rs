//! What users chose for the session: mode, model, config options. A process that opens the session again may begin with the
//! agent's defaults; the thread then sets the choices again.

use std::collections::{BTreeMap, BTreeSet};

use acpd_model::event::ChosenOption;
use acpd_model::{Origin, RawJson};
use serde::{Deserialize, Serialize};

use super::session_state::SessionState;

/// Config options of a thread whose chosen values are kept.
const CHOSEN_OPTIONS: usize = 64;

/// The choices of users. What the agent changes afterwards, in the same session, replaces a choice: it does so with the
/// user's knowledge, for example at the end of planning.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Choices {
    /// The agent's id for the mode.
    pub mode: Option<String>,
    /// The agent's id for the model, for agents that have no config option for it.
    pub model: Option<String>,
    /// Values of config options, by the agent's ids.
    pub options: BTreeMap<String, RawJson>,
    /// Whether the agent has replaced the mode since.
    #[serde(default)]
    pub mode_by_agent: bool,
    /// Options that the agent has replaced since.
    #[serde(default)]
    pub options_by_agent: BTreeSet<String>,
}

impl Choices {
    /// Returns whether no user has chosen anything.
    pub fn is_empty(&self) -> bool {
        self.mode.is_none() && self.model.is_none() && self.options.is_empty()
    }

    /// Takes over a mode. `option` is the config option that is the mode too, if the agent has one: the latest choice counts.
    pub(super) fn mode_changed(&mut self, by: &Origin, mode_id: &str, option: Option<&str>) {
        let is_other = self.mode.as_deref() != Some(mode_id);
        change(&mut self.mode, by, mode_id);
        match by {
            Origin::Client(_) => {
                self.mode_by_agent = false;
                if let Some(option) = option {
                    self.options.remove(option);
                }
            }
            // Agents also repeat what was set.
            Origin::Agent => self.mode_by_agent |= is_other,
            Origin::Daemon | Origin::Policy(_) => {}
        }
    }

    /// Takes over a model. `option` is the config option that is the model too, if the agent has one: the latest choice counts.
    pub(super) fn model_changed(&mut self, by: &Origin, model_id: &str, option: Option<&str>) {
        change(&mut self.model, by, model_id);
        if let (Origin::Client(_), Some(option)) = (by, option) {
            self.options.remove(option);
        }
    }

    /// Takes over an option that was set. `is_mode` and `is_model` say whether it is the agent's mode or model.
    pub(super) fn option_chosen(
        &mut self,
        by: &Origin,
        chosen: &ChosenOption,
        is_mode: bool,
        is_model: bool,
    ) {
        if !self.options.contains_key(&chosen.id) && !matches!(by, Origin::Client(_)) {
            return;
        }
        if matches!(by, Origin::Client(_)) {
            self.options_by_agent.remove(&chosen.id);
            if is_mode {
                self.mode = None;
            }
            if is_model {
                self.model = None;
            }
        } else if !is_mode {
            // A new process is set to what a user chose. The mode may also be the agent's default.
            self.options_by_agent.remove(&chosen.id);
        }
        self.options.insert(chosen.id.clone(), chosen.value.clone());
        if self.options.len() > CHOSEN_OPTIONS {
            self.options.pop_first();
        }
    }

    /// Takes over what the agent reports of the chosen options: by itself, or if `answers`, because one was set.
    pub(super) fn options_reported(&mut self, by: &Origin, list: &RawJson, answers: bool) {
        // While a new process is set to the choices, its answers contain its defaults for those that follow.
        if *by == Origin::Daemon {
            return;
        }
        // The user has changed what these options depend on.
        if answers {
            self.options.retain(|id, _| current_value(list, id).is_some());
        }
        for (id, value) in &mut self.options {
            if let Some(current) = current_value(list, id).filter(|current| current != value) {
                *value = current;
                self.options_by_agent.insert(id.clone());
            }
        }
    }
}

fn change(choice: &mut Option<String>, by: &Origin, id: &str) {
    if choice.is_some() || matches!(by, Origin::Client(_)) {
        *choice = Some(id.to_owned());
    }
}

/// Returns the value of an option in a result that contains ACP's list of options.
pub(crate) fn listed_value(result: &RawJson, id: &str) -> Option<RawJson> {
    let state: SessionState = result.read().ok()?;
    current_value(&state.config_options?, id)
}

/// Returns the value of an option in ACP's list of options.
pub(crate) fn current_value(list: &RawJson, id: &str) -> Option<RawJson> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Current {
        id: String,
        current_value: RawJson,
    }
    let options: Vec<RawJson> = list.read().ok()?;
    options
        .iter()
        .filter_map(|option| option.read::<Current>().ok())
        .find(|option| option.id == id)
        .map(|option| option.current_value)
}
