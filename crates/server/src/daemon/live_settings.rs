//! The settings that a reload of the configuration replaces.
//!
//! In: configurations. Out: the current settings on watch channels, and what has changed. Never: reads a file.

use std::fmt;

use tokio::sync::watch;

use crate::config::Config;

/// The settings that a reload replaces, for the daemon.
#[derive(Debug)]
pub(super) struct LiveSettings {
    /// The configuration at the start of the daemon.
    started: Config,
    /// What a reload replaces, with the names in messages.
    parts: Vec<(&'static str, Box<dyn Replace>)>,
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
    /// Takes the configuration with which the daemon starts.
    pub fn new(started: Config) -> Self {
        Self {
            started,
            parts: Vec::new(),
        }
    }

    /// Returns the current value of a part of the configuration, for its user. `name` is the part in messages: that of its section.
    pub fn watch<T>(&mut self, name: &'static str, of: fn(&Config) -> T) -> watch::Receiver<T>
    where
        T: PartialEq + fmt::Debug + Send + Sync + 'static,
    {
        let (current, receiver) = watch::channel(of(&self.started));
        self.parts.push((name, Box::new(Part { of, current })));
        receiver
    }

    /// Replaces the settings by those of another configuration.
    pub fn reload(&self, config: &Config) -> Reloaded {
        let changed = self.parts.iter().filter(|(_, part)| part.replace(config));
        Reloaded {
            changed: changed.map(|(name, _)| *name).collect(),
            needs_restart: config.needs_restart(&self.started),
        }
    }

    /// Returns the names of the parts.
    #[cfg(test)]
    pub fn names(&self) -> Vec<&'static str> {
        self.parts.iter().map(|(name, _)| *name).collect()
    }
}

/// A part of the configuration, whatever its type.
trait Replace: fmt::Debug + Send + Sync {
    /// Takes the value of a configuration. Returns whether it differs from the last one.
    fn replace(&self, config: &Config) -> bool;
}

#[derive(Debug)]
struct Part<T> {
    of: fn(&Config) -> T,
    current: watch::Sender<T>,
}

impl<T: PartialEq + fmt::Debug + Send + Sync> Replace for Part<T> {
    fn replace(&self, config: &Config) -> bool {
        let value = (self.of)(config);
        self.current.send_if_modified(|now| {
            let changed = *now != value;
            *now = value;
            changed
        })
    }
}

#[cfg(test)]
mod tests {
    use acpd_runtime::agent::config::AgentConfig;

    use super::*;
    use crate::daemon::tests::config;

    #[test]
    fn only_what_differs_is_replaced_and_named() {
        let started = config("/data".into());
        let mut settings = LiveSettings::new(started.clone());
        let mut limits = settings.watch("limits", |config| config.limits.clone());
        let retention = settings.watch("retention", |config| config.retention.clone());
        let mut notifications = settings.watch("notifications", |config| config.notifications.clone());
        let mut again = started.clone();
        assert_eq!(settings.reload(&again), Reloaded::default());
        assert!(!limits.has_changed().unwrap());

        again.limits.agent_idle_secs += 1;
        again.notifications.waiting_secs += 1;
        again.listen = Some(([127, 0, 0, 1], 1).into());
        let reloaded = settings.reload(&again);
        assert_eq!(reloaded.changed, ["limits", "notifications"]);
        assert_eq!(reloaded.needs_restart, ["listen"]);
        assert_eq!(*limits.borrow_and_update(), again.limits);
        assert_eq!(*notifications.borrow_and_update(), again.notifications);
        assert!(!retention.has_changed().unwrap());

        // A restart is still due, but nothing else is new.
        let reloaded = settings.reload(&again);
        assert_eq!((reloaded.changed.len(), reloaded.needs_restart.len()), (0, 1));
    }

    #[test]
    fn a_restart_is_due_for_the_settings_that_have_to_be_so() {
        type Change = fn(&mut Config);
        let started = config("/data".into());
        let settings = LiveSettings::new(started.clone());
        let changes: [(&str, Change); 11] = [
            ("", |config| config.default_agent = Some("a".to_owned())),
            ("", |config| config.data_dir_on_network = true),
            ("", |config| {
                config.registry_url = Some("https://example.com".to_owned())
            }),
            ("", |config| {
                drop(config.agents.insert("a".to_owned(), AgentConfig::default()))
            }),
            ("data_dir", |config| config.data_dir = "/other".into()),
            ("durability", |config| {
                config.durability = acpd_log::Durability::Power
            }),
            ("server", |config| config.server.insecure_listen = true),
            ("codex", |config| {
                config.codex.listen = Some(([127, 0, 0, 1], 1).into())
            }),
            ("traces", |config| {
                config.traces.endpoint = Some("http://127.0.0.1:1".to_owned())
            }),
            ("limits.connections", |config| config.limits.connections += 1),
            ("", |config| config.limits.agents += 1),
        ];
        for (key, change) in changes {
            let mut changed = started.clone();
            change(&mut changed);
            assert_eq!(settings.reload(&changed).needs_restart.join(" "), key);
        }
    }
}
