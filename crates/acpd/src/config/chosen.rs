//! The agents that the user has chosen.

use acpd_catalog::{LaunchMethod, OnHost, Presence};

/// An agent that the file will have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The name in the configuration.
    pub id: String,
    /// The name that clients display.
    pub title: String,
    /// What it takes to start the agent.
    pub presence: Presence,
    /// Whether the agent can be started without a further step.
    pub is_ready: bool,
}

impl From<OnHost> for Chosen {
    fn from(found: OnHost) -> Self {
        Self {
            is_ready: !matches!(found.presence, Presence::Adapter { .. }),
            id: found.id,
            title: found.title,
            presence: found.presence,
        }
    }
}

impl Chosen {
    /// Records that what it needs was installed.
    pub fn set_installed(&mut self) {
        self.presence = Presence::Runs(LaunchMethod::Installed);
        self.is_ready = true;
    }
}
