//! The config options that clients can set for a session. These are the agent's own, and its older `modes` and `models`
//! unless its options cover them.

use acpd_model::{Failure, RawJson};
use serde::Deserialize;
use serde_json::json;

use super::{Live, SessionState};
use crate::agent::ConfigValue;

/// Id of the option that represents `modes`.
pub const LEGACY_MODE: &str = "acpd.mode";
/// Id of the option that represents `models`.
pub const LEGACY_MODEL: &str = "acpd.model";

#[derive(Deserialize)]
struct Known {
    id: String,
    #[serde(default)]
    category: Option<String>,
    #[serde(default, rename = "currentValue")]
    current_value: Option<serde_json::Value>,
}

/// The mode of a session, and the way to set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionMode {
    /// The id of the agent's own option; `None` for the older `modes`.
    pub option: Option<String>,
    /// The current mode, if the agent has reported it.
    pub current: Option<String>,
    /// The ids of all modes.
    pub offered: Vec<String>,
}

/// An option of the agent's own with values to select from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selector {
    /// The agent's id for the option.
    pub id: String,
    /// The current value, if it is a text.
    pub current: Option<String>,
    /// All values.
    pub offered: Vec<String>,
}

/// The permitted values of an option, by its `type`.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Choices {
    Select { options: Vec<Choice> },
    Boolean,
}

/// A value, or a group of values.
#[derive(Deserialize)]
#[serde(untagged)]
enum Choice {
    Value { value: String },
    Group { options: Vec<Value> },
}

#[derive(Deserialize)]
struct Value {
    value: String,
}

impl Choice {
    fn values(self) -> Vec<String> {
        match self {
            Self::Value { value } => vec![value],
            Self::Group { options } => options.into_iter().map(|option| option.value).collect(),
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Modes {
    available_modes: Vec<Mode>,
}

#[derive(Deserialize)]
struct Mode {
    id: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Models {
    available_models: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    #[serde(rename = "modelId")]
    id: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

/// Returns whether the result of a request contains a list of options.
pub fn has_options(result: &RawJson) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Has {
        #[serde(rename = "configOptions")]
        _config_options: Vec<serde::de::IgnoredAny>,
    }
    result.read::<Has>().is_ok()
}

/// The options of one session.
#[derive(Debug)]
pub struct Options<'a> {
    own: Vec<RawJson>,
    modes: Option<&'a RawJson>,
    models: Option<&'a RawJson>,
    /// The current mode and model, if the agent has reported them.
    mode: Option<&'a str>,
    model: Option<&'a str>,
}

fn own_options(list: Option<&RawJson>) -> Vec<RawJson> {
    list.and_then(|list| list.read().ok()).unwrap_or_default()
}

impl Live {
    /// Returns the options of the session.
    pub fn options(&self) -> Options<'_> {
        Options {
            own: own_options(self.config_options.as_ref()),
            modes: self.modes.as_ref(),
            models: self.models.as_ref(),
            mode: self.mode.as_deref(),
            model: self.model.as_deref(),
        }
    }
}

impl SessionState {
    /// Returns the options of a session with this state, whose current mode and model are these.
    pub fn options<'a>(&'a self, mode: Option<&'a str>, model: Option<&'a str>) -> Options<'a> {
        Options {
            own: own_options(self.config_options.as_ref()),
            modes: self.modes.as_ref(),
            models: self.models.as_ref(),
            mode,
            model,
        }
    }
}

impl Options<'_> {
    fn known(&self) -> impl Iterator<Item = Known> {
        self.own.iter().filter_map(|option| option.read().ok())
    }

    fn has_category(&self, category: &str) -> bool {
        self.known()
            .any(|option| option.category.as_deref() == Some(category))
    }

    /// Returns whether the agent's own option `id` is its mode.
    pub fn is_mode(&self, id: &str) -> bool {
        self.is_of(id, "mode")
    }

    /// Returns whether the agent's own option `id` is its model.
    pub fn is_model(&self, id: &str) -> bool {
        self.is_of(id, "model")
    }

    fn is_of(&self, id: &str, category: &str) -> bool {
        self.known()
            .any(|option| option.id == id && option.category.as_deref() == Some(category))
    }

    fn legacy<T: serde::de::DeserializeOwned + Default>(raw: Option<&RawJson>) -> T {
        raw.and_then(|raw| raw.read().ok()).unwrap_or_default()
    }

    /// Returns the ids of the agent's own options.
    pub fn ids(&self) -> Vec<String> {
        self.known().map(|option| option.id).collect()
    }

    /// Returns an error if the agent does not offer this value for its own option `id`. If the option cannot be read,
    /// the agent decides.
    pub fn check(&self, id: &str, value: &ConfigValue) -> Result<(), Failure> {
        let known = |option: &RawJson| option.read::<Known>().is_ok_and(|known| known.id == id);
        let Some(option) = self.own.iter().find(|option| known(option)) else {
            return Ok(());
        };
        let invalid = |wants: String| {
            Err(Failure::invalid_params(format!(
                "the option {id:?} takes {wants}"
            )))
        };
        match (option.read(), value) {
            (Ok(Choices::Select { options }), value) => {
                let values: Vec<String> = options.into_iter().flat_map(Choice::values).collect();
                match value {
                    ConfigValue::Id(value) if values.is_empty() || values.contains(value) => Ok(()),
                    ConfigValue::Id(value) => {
                        invalid(format!("one of its values, not {value:?}: {}", values.join(", ")))
                    }
                    ConfigValue::Boolean(_) => {
                        invalid(format!("one of its values, not a boolean: {}", values.join(", ")))
                    }
                }
            }
            (Ok(Choices::Boolean), ConfigValue::Id(_)) => invalid("a boolean".to_owned()),
            _ => Ok(()),
        }
    }

    /// Returns the ids of the session's modes.
    pub fn modes(&self) -> Vec<String> {
        let modes: Modes = Self::legacy(self.modes);
        modes.available_modes.into_iter().map(|mode| mode.id).collect()
    }

    /// Returns the mode of the session; `None` if the agent has no modes.
    pub fn mode(&self) -> Option<SessionMode> {
        if let Some(Selector { id, current, offered }) = self.selector("mode") {
            return Some(SessionMode {
                option: Some(id),
                current,
                offered,
            });
        }
        let offered = self.modes();
        (!offered.is_empty()).then(|| SessionMode {
            option: None,
            current: self.mode.map(str::to_owned),
            offered,
        })
    }

    /// Returns the agent's own option of a category, if it has values to select from.
    pub(crate) fn selector(&self, category: &str) -> Option<Selector> {
        self.own.iter().find_map(|option| {
            let known: Known = option.read().ok()?;
            if known.category.as_deref() != Some(category) {
                return None;
            }
            let Ok(Choices::Select { options }) = option.read() else {
                return None;
            };
            let current = known.current_value.as_ref().and_then(serde_json::Value::as_str);
            Some(Selector {
                id: known.id,
                current: current.map(str::to_owned),
                offered: options.into_iter().flat_map(Choice::values).collect(),
            })
        })
    }

    /// Returns the ids of the session's models.
    pub fn models(&self) -> Vec<String> {
        let models: Models = Self::legacy(self.models);
        models
            .available_models
            .into_iter()
            .map(|model| model.id)
            .collect()
    }

    /// Returns all options as ACP's `SessionConfigOption` objects; the agent's own are unchanged.
    pub fn to_list(&self) -> Vec<RawJson> {
        let mut list = self.own.clone();
        if !self.has_category("mode") {
            let modes: Modes = Self::legacy(self.modes);
            let choices = modes
                .available_modes
                .into_iter()
                .map(|mode| choice(&mode.id, mode.name.as_deref(), mode.description.as_deref()))
                .collect::<Vec<_>>();
            list.extend(select(LEGACY_MODE, "Mode", "mode", self.mode, &choices));
        }
        if !self.has_category("model") {
            let models: Models = Self::legacy(self.models);
            let choices = models
                .available_models
                .into_iter()
                .map(|model| choice(&model.id, model.name.as_deref(), model.description.as_deref()))
                .collect::<Vec<_>>();
            list.extend(select(LEGACY_MODEL, "Model", "model", self.model, &choices));
        }
        list
    }

    /// Returns whether an option of the list represents the older `modes` or `models`.
    pub fn has_substitutes(&self) -> bool {
        self.to_list().len() > self.own.len()
    }
}

fn choice(value: &str, name: Option<&str>, description: Option<&str>) -> serde_json::Value {
    let mut choice = json!({ "value": value, "name": name.unwrap_or(value) });
    if let Some(description) = description {
        choice["description"] = description.into();
    }
    choice
}

fn select(
    id: &str,
    name: &str,
    category: &str,
    current: Option<&str>,
    choices: &[serde_json::Value],
) -> Option<RawJson> {
    if choices.is_empty() {
        return None;
    }
    let current = current.map_or_else(|| choices[0]["value"].clone(), Into::into);
    Some(
        json!({
            "id": id, "name": name, "category": category, "type": "select",
            "currentValue": current, "options": choices,
        })
        .into(),
    )
}
