//! The settings that a reload of the configuration replaces.
//!
//! In: configurations. Out: the current settings on watch channels, and what has changed. Never: reads a file.

use std::sync::Arc;

use acpd_model::Limits;
use acpd_runtime::agent::registry::AgentBook;
use acpd_runtime::policy::book::PolicyBook;
use acpd_runtime::retention::RetentionSettings;
use tokio::sync::watch;

use crate::config::Config;
use crate::notify::NotificationsConfig;

/// The settings that a reload replaces, for the daemon.
#[derive(Debug)]
pub(super) struct LiveSettings {
    /// The configuration at the start of the daemon.
    started: Config,
    policies: watch::Sender<PolicyBook>,
    agents: watch::Sender<Arc<AgentBook>>,
    limits: watch::Sender<Arc<Limits>>,
    retention: watch::Sender<RetentionSettings>,
    notifications: watch::Sender<Arc<NotificationsConfig>>,
}

/// The same settings, for the parts that use them.
#[derive(Debug)]
pub(super) struct SettingsInUse {
    pub policies: watch::Receiver<PolicyBook>,
    pub agents: watch::Receiver<Arc<AgentBook>>,
    pub limits: watch::Receiver<Arc<Limits>>,
    pub retention: watch::Receiver<RetentionSettings>,
    pub notifications: watch::Receiver<Arc<NotificationsConfig>>,
}

/// The result of a reload of the configuration.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Names of the settings that changed.
    pub changed: Vec<&'static str>,
    /// Names of the settings that differ from those of the running daemon, which needs a restart to use them.
    pub needs_restart: Vec<&'static str>,
}

impl LiveSettings {
    /// Takes the settings of the configuration with which the daemon starts.
    pub fn new(config: &Config) -> (Self, SettingsInUse) {
        let (policies, policies_in_use) = watch::channel(config.policy_book());
        let (agents, agents_in_use) = watch::channel(Arc::new(config.agent_book()));
        let (limits, limits_in_use) = watch::channel(Arc::new(config.limits.clone()));
        let (retention, retention_in_use) = watch::channel(config.retention.clone());
        let (notifications, notifications_in_use) = watch::channel(Arc::new(config.notifications.clone()));
        let settings = Self {
            started: config.clone(),
            policies,
            agents,
            limits,
            retention,
            notifications,
        };
        let in_use = SettingsInUse {
            policies: policies_in_use,
            agents: agents_in_use,
            limits: limits_in_use,
            retention: retention_in_use,
            notifications: notifications_in_use,
        };
        (settings, in_use)
    }

    /// Replaces the settings by those of another configuration.
    pub fn reload(&self, config: &Config) -> Reloaded {
        let changed = [
            ("policies", replace(&self.policies, config.policy_book())),
            ("agents", replace(&self.agents, Arc::new(config.agent_book()))),
            ("limits", replace(&self.limits, Arc::new(config.limits.clone()))),
            ("retention", replace(&self.retention, config.retention.clone())),
            (
                "notifications",
                replace(&self.notifications, Arc::new(config.notifications.clone())),
            ),
        ];
        let changed = changed.into_iter().filter(|(_, changed)| *changed);
        Reloaded {
            changed: changed.map(|(name, _)| name).collect(),
            needs_restart: config.fixed_changes(&self.started),
        }
    }
}

/// Sends a value, unless it is equal to the last one. Returns whether it was sent.
fn replace<T: PartialEq>(sender: &watch::Sender<T>, value: T) -> bool {
    sender.send_if_modified(|now| {
        let changed = *now != value;
        *now = value;
        changed
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::tests::config;

    #[test]
    fn only_what_differs_is_replaced_and_named() {
        let started = config("/data".into());
        let (settings, mut in_use) = LiveSettings::new(&started);
        let mut again = started.clone();
        assert_eq!(settings.reload(&again), Reloaded::default());
        assert!(!in_use.limits.has_changed().unwrap());

        again.limits.agent_idle_secs += 1;
        again.notifications.waiting_secs += 1;
        again.listen.set_port(1);
        let reloaded = settings.reload(&again);
        assert_eq!(reloaded.changed, ["limits", "notifications"]);
        assert_eq!(reloaded.needs_restart, started.fixed_changes(&again));
        assert_eq!(reloaded.needs_restart.len(), 1);
        assert_eq!(**in_use.limits.borrow_and_update(), again.limits);
        assert_eq!(**in_use.notifications.borrow_and_update(), again.notifications);
        let others = [
            in_use.policies.has_changed(),
            in_use.agents.has_changed(),
            in_use.retention.has_changed(),
        ];
        assert_eq!(others.map(Result::unwrap), [false; 3]);

        // A restart is still due, but nothing else is new.
        let reloaded = settings.reload(&again);
        assert_eq!((reloaded.changed.len(), reloaded.needs_restart.len()), (0, 1));
    }
}
