//! The settings of a thread: its agent's models, efforts and modes, as Codex's models, efforts and permission profiles.
//!
//! Codex has one list of models. Here a model is named `agent` or `agent/model`: the agent of a thread is fixed, its
//! model can change.

use acpd_model::{ErrorCode, Failure, RawJson, ThreadId};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::agent::{AgentRequest, ConfigValue};
use crate::projection::Live;
use crate::surface::contract::{DaemonRequest, request};
use crate::wire::Object;

/// The effort of models that have none to choose from.
const NO_EFFORT: &str = "none";

/// The mode in which an agent plans, in Codex and in most agents.
const PLAN: &str = "plan";

/// One of an agent's options with its values.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Choice {
    id: String,
    #[serde(default)]
    category: Option<String>,
    current_value: String,
    options: Vec<ValueOrGroup>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum ValueOrGroup {
    Value(ChoiceValue),
    Group { options: Vec<ChoiceValue> },
}

/// A value of an option.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct ChoiceValue {
    pub value: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub description: Option<String>,
}

impl Choice {
    /// Returns the values.
    pub fn values(&self) -> impl Iterator<Item = &ChoiceValue> {
        self.options.iter().flat_map(|option| match option {
            ValueOrGroup::Value(value) => std::slice::from_ref(value),
            ValueOrGroup::Group { options } => options.as_slice(),
        })
    }

    fn has(&self, value: &str) -> bool {
        self.values().any(|own| own.value == value)
    }
}

/// The settings of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    thread: ThreadId,
    agent: String,
    cwd: String,
    modes: Option<Choice>,
    models: Option<Choice>,
    efforts: Option<Choice>,
}

/// Settings that a client wants. What is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WantedSettings {
    pub model: Option<String>,
    effort: Option<String>,
    /// Id of a permission profile.
    permissions: Option<String>,
    collaboration_mode: Option<CollaborationMode>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct CollaborationMode {
    mode: String,
}

impl WantedSettings {
    /// Returns whether the client wants nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The requests that bring about the settings that a client wants, and what cannot be had.
#[derive(Debug, Default)]
pub(super) struct SettingsChange {
    /// The agent answers each with its options.
    pub requests: Vec<DaemonRequest<RawJson>>,
    pub refused: Vec<String>,
}

impl Settings {
    /// Returns the settings of a thread.
    pub fn of(live: &Live) -> Self {
        let options = live.options().to_list();
        let all: Vec<Choice> = options.iter().filter_map(|option| option.read().ok()).collect();
        let of = |category: &str| {
            all.iter()
                .find(|own| own.category.as_deref() == Some(category))
                .cloned()
        };
        Self {
            thread: live.thread,
            agent: live.summary.agent.clone(),
            cwd: live.summary.cwd.clone(),
            modes: of("mode"),
            models: of("model"),
            efforts: of("thought_level"),
        }
    }

    /// Returns the name of the model: the agent's name, and that of its model if it has several.
    pub fn model(&self) -> String {
        match &self.models {
            Some(models) => model_name(&self.agent, &models.current_value),
            None => self.agent.clone(),
        }
    }

    /// Returns the effort, if the agent has one.
    pub fn effort(&self) -> Option<&str> {
        self.efforts
            .as_ref()
            .map(|efforts| efforts.current_value.as_str())
    }

    fn profile(&self) -> Value {
        match &self.modes {
            Some(modes) => json!({ "id": modes.current_value, "extends": null }),
            None => Value::Null,
        }
    }

    fn plans(&self) -> bool {
        self.modes
            .as_ref()
            .is_some_and(|modes| modes.current_value == PLAN)
    }

    /// Adds the members that the result of opening a thread has besides the thread. Codex's own sandbox and approvals do
    /// not apply: acpd's policy does.
    pub fn put_open(&self, object: &mut Object<'_>) {
        object
            .put("model", &self.model())
            .put("modelProvider", &self.agent);
        object.put("cwd", &self.cwd).raw("serviceTier", "null");
        object
            .raw("disabledPluginIds", "[]")
            .raw("instructionSources", "[]");
        object.put("runtimeWorkspaceRoots", &[&self.cwd]);
        object
            .plain("approvalPolicy", "on-request")
            .plain("approvalsReviewer", "user");
        object
            .raw("sandbox", SANDBOX)
            .put("activePermissionProfile", &self.profile());
        object.put("reasoningEffort", &self.effort());
        object.plain("multiAgentMode", "explicitRequestOnly");
    }

    /// Returns Codex's `ThreadSettings`.
    pub fn thread_settings(&self) -> Value {
        let mode = if self.plans() { PLAN } else { "default" };
        let sandbox: Value = serde_json::from_str(SANDBOX).unwrap_or_default();
        json!({
            "cwd": self.cwd, "environments": null, "disabledPluginIds": [],
            "approvalPolicy": "on-request", "approvalsReviewer": "user",
            "sandboxPolicy": sandbox, "activePermissionProfile": self.profile(),
            "model": self.model(), "modelProvider": self.agent, "serviceTier": null,
            "effort": self.effort(), "summary": null, "personality": null,
            "collaborationMode": {
                "mode": mode,
                "settings": {
                    "model": self.model(), "reasoning_effort": self.effort(), "developer_instructions": null,
                },
            },
            "multiAgentMode": "explicitRequestOnly",
        })
    }

    /// Returns the modes as Codex's permission profiles.
    pub fn profiles(&self) -> Value {
        let modes = self.modes.iter().flat_map(Choice::values);
        let profile = |mode: &ChoiceValue| {
            let words = mode.description.as_deref().unwrap_or(&mode.name);
            json!({ "id": mode.value, "description": words, "allowed": true })
        };
        modes.map(profile).collect()
    }

    /// Returns the models as Codex's, the current one first if `is_default`.
    pub fn models(&self, title: &str, is_default: bool) -> Vec<Value> {
        let (efforts, effort) = self.efforts_of_models();
        match &self.models {
            None => vec![model(&self.agent, title, "", is_default, &efforts, &effort)],
            Some(models) => models
                .values()
                .map(|own| {
                    let name = format!("{title}: {}", own.name);
                    let is_default = is_default && own.value == models.current_value;
                    let words = own.description.as_deref().unwrap_or_default();
                    model(
                        &model_name(&self.agent, &own.value),
                        &name,
                        words,
                        is_default,
                        &efforts,
                        &effort,
                    )
                })
                .collect(),
        }
    }

    fn efforts_of_models(&self) -> (Value, String) {
        let Some(efforts) = &self.efforts else {
            return no_efforts();
        };
        let effort = |value: &ChoiceValue| {
            let words = value.description.as_deref().unwrap_or(&value.name);
            json!({ "reasoningEffort": value.value, "description": words })
        };
        (
            efforts.values().map(effort).collect(),
            efforts.current_value.clone(),
        )
    }

    /// Returns what must be requested to get the settings that the client wants. A client sends many settings with each
    /// turn; those that this thread does not have are refused only if `strict`.
    pub fn change(&self, wanted: &WantedSettings, strict: bool) -> SettingsChange {
        let mut change = SettingsChange::default();
        if let Some(model) = &wanted.model {
            self.change_model(model, strict, &mut change);
        }
        // "none" is what this surface calls the effort of agents without one.
        let effort = wanted.effort.as_deref().filter(|effort| *effort != NO_EFFORT);
        self.set(&mut change, self.efforts.as_ref(), effort, strict, "effort");
        let profile = wanted.permissions.as_deref();
        self.set(&mut change, self.modes.as_ref(), profile, strict, "mode");
        if let Some(mode) = &wanted.collaboration_mode {
            self.change_collaboration(&mode.mode, strict, &mut change);
        }
        change
    }

    fn change_model(&self, wanted: &str, strict: bool, change: &mut SettingsChange) {
        if wanted == self.agent || wanted == self.model() {
            return;
        }
        let own = wanted
            .strip_prefix(&self.agent)
            .and_then(|rest| rest.strip_prefix('/'));
        if let Some(own) = own {
            self.set(change, self.models.as_ref(), Some(own), strict, "model");
        }
    }

    /// Returns why none of these settings is made: a model of another agent. Codex shows this where the user chose the
    /// model, and keeps the old one.
    pub fn refusal(&self, wanted: &WantedSettings) -> Option<Failure> {
        let wanted = wanted.model.as_deref()?;
        let agent = &self.agent;
        let is_own = wanted == agent || split_model(wanted).0 == agent;
        let message =
            format!("This thread belongs to the agent {agent}. To work with {wanted}, start a new thread.");
        (!is_own).then(|| Failure::new(ErrorCode::Conflict, message))
    }

    fn change_collaboration(&self, wanted: &str, strict: bool, change: &mut SettingsChange) {
        if (wanted == PLAN) == self.plans() {
            return;
        }
        let modes = self.modes.as_ref();
        let other = modes.and_then(|modes| {
            let named = modes.values().find(|mode| mode.value == "default");
            named.or_else(|| modes.values().find(|mode| mode.value != PLAN))
        });
        let mode = match other {
            Some(other) if wanted != PLAN => &other.value,
            _ => PLAN,
        };
        self.set(change, modes, Some(mode), strict, "mode");
    }

    fn set(
        &self,
        change: &mut SettingsChange,
        choice: Option<&Choice>,
        value: Option<&str>,
        strict: bool,
        what: &str,
    ) {
        let Some(value) = value else { return };
        match choice {
            Some(choice) if choice.current_value == value => {}
            Some(choice) if choice.has(value) => change.requests.push(request!(AskAgent {
                thread: Some(self.thread),
                request: AgentRequest::SetConfigOption {
                    config_id: choice.id.clone(),
                    value: ConfigValue::Id(value.to_owned()),
                },
                names_thread: false,
            })),
            _ if strict => {
                let agent = &self.agent;
                change
                    .refused
                    .push(format!("The agent {agent} has no {what} {value:?}."));
            }
            _ => {}
        }
    }
}

/// Returns the name of an agent's model.
fn model_name(agent: &str, model: &str) -> String {
    format!("{agent}/{model}")
}

/// Splits the name of a model into the agent's, and that of its own model.
pub(super) fn split_model(name: &str) -> (&str, Option<&str>) {
    match name.split_once('/') {
        Some((agent, model)) => (agent, Some(model)),
        None => (name, None),
    }
}

/// Returns an agent whose models are not known as Codex's model.
pub(super) fn agent_model(agent: &str, title: &str, description: &str, is_default: bool) -> Value {
    let (efforts, effort) = no_efforts();
    model(agent, title, description, is_default, &efforts, &effort)
}

fn no_efforts() -> (Value, String) {
    let none = json!([{ "reasoningEffort": NO_EFFORT, "description": "The agent has no efforts." }]);
    (none, NO_EFFORT.to_owned())
}

fn model(id: &str, name: &str, description: &str, is_default: bool, efforts: &Value, effort: &str) -> Value {
    json!({
        "id": id, "model": id, "displayName": name, "description": description, "hidden": false,
        "supportedReasoningEfforts": efforts, "defaultReasoningEffort": effort,
        "inputModalities": ["text", "image"], "isDefault": is_default,
    })
}

/// Codex's description of a sandbox. It is only shown: what an agent may do is decided by acpd.
const SANDBOX: &str = r#"{"type":"readOnly","networkAccess":false}"#;

/// Returns the commands of an agent that compact its context, the first that it has.
pub(super) fn compact_command(commands: &RawJson) -> Option<&'static str> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Commands {
        available_commands: Vec<Command>,
    }
    #[derive(Deserialize)]
    struct Command {
        name: String,
    }
    let commands: Commands = commands.read().ok()?;
    let has = |name: &&str| commands.available_commands.iter().any(|own| own.name == *name);
    ["compact", "compress", "summarize"].into_iter().find(has)
}
