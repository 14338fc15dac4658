//! What an agent reports about the state of its session.

use acpd_model::RawJson;
use serde::Deserialize;

/// The members of an opened session, or of an update of its options, that are stored unchanged.
#[derive(Debug, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SessionState {
    pub modes: Option<RawJson>,
    pub models: Option<RawJson>,
    pub config_options: Option<RawJson>,
}

impl SessionState {
    /// Returns the current mode, if the agent reported it.
    pub fn mode(&self) -> Option<String> {
        let modes: CurrentMode = self.modes.as_ref()?.read().ok()?;
        Some(modes.current_mode_id)
    }

    /// Returns the current model, if the agent reported it.
    pub fn model(&self) -> Option<String> {
        let models: CurrentModel = self.models.as_ref()?.read().ok()?;
        Some(models.current_model_id)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CurrentModel {
    current_model_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CurrentMode {
    current_mode_id: String,
}
