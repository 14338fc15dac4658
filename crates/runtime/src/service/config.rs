//! Changes of the configuration file. Only the owner may make them, and only those of [`ConfigChange`].

use std::path::Path;
use std::sync::Arc;

use acpd_host::Reserved;
use acpd_model::limits::PATH_BYTES;
use acpd_model::{ErrorCode, Failure, Origin};
use acpd_policy::Policy;
use acpd_proto::surface::reply::ConfigChanged;
use acpd_proto::surface::request::ConfigChange;

use crate::agent::registry::Agents;
use crate::agent::sandbox::SandboxState;
use crate::config_file::Done;
use crate::host::blocking;
use crate::policy::book::PolicyBook;
use crate::service::{Dispatched, Service};

impl Service {
    /// Changes a setting. No thread has the change in its log, so the daemon's log names the client.
    pub(super) async fn change_config(
        &self,
        by: Origin,
        change: ConfigChange,
    ) -> Result<Dispatched<ConfigChanged>, Failure> {
        let (agents, reserved) = (
            Arc::clone(&self.context.agents),
            Arc::clone(&self.context.reserved),
        );
        let checked = change.clone();
        let look = move || {
            check(&agents, &reserved, &checked)?;
            Ok(agents.default_agent())
        };
        let default_agent = blocking(&*self.context.host, look).await?;
        let (agents, policies) = (Arc::clone(&self.context.agents), self.context.policies.clone());
        let is_used = move |change: &ConfigChange| is_in_use(&agents, &policies.borrow(), change);
        let done = self
            .state
            .config_file
            .change(change.clone(), default_agent, is_used)?;
        Ok(Dispatched::answer(async move {
            let stopping = |_| Failure::new(ErrorCode::Overloaded, "the daemon is being stopped");
            let Done { changed, is_in_use } = done.await.map_err(stopping)??;
            if changed.is_new {
                let principal = by.into_client().map(|client| client.principal);
                let file = &changed.file;
                tracing::info!(principal, file, setting = %Setting(&change), "a client has changed the configuration");
            }
            if !is_in_use {
                return Err(Failure::new(
                    ErrorCode::Conflict,
                    format!(
                        "{} has the setting, but this daemon does not use it: \"acpd logs\" says why it has not reloaded the file",
                        changed.file
                    ),
                ));
            }
            Ok(ConfigChanged {
                file: changed.file,
                changed: changed.is_new,
            })
        }))
    }
}

/// Checks that a change makes sense.
fn check(agents: &Agents, reserved: &Reserved, change: &ConfigChange) -> Result<(), Failure> {
    match change {
        ConfigChange::DefaultAgent { agent } | ConfigChange::Policy { agent, .. } => match agent {
            Some(agent) if !agents.knows(agent) => agents.find(agent).map(drop),
            _ => Ok(()),
        },
        ConfigChange::AllowFolder { agent, folder } => {
            if folder.len() > PATH_BYTES {
                let message = format!("folder is longer than {PATH_BYTES} bytes");
                return Err(Failure::invalid_params(message));
            }
            let config = agents.find(agent)?.config;
            let reason = match config.sandbox_state() {
                SandboxState::Confined(_) => None,
                SandboxState::Off => Some("as configured"),
                SandboxState::Impossible(_) if config.uses_own_sandbox() => {
                    Some("it confines itself; set sandbox = \"workspace\" for it first")
                }
                SandboxState::Impossible(reason) => Some(reason),
            };
            if let Some(reason) = reason {
                let message = format!(
                    "the agent {agent:?} runs without acpd's sandbox, so no folder can be allowed there: {reason}"
                );
                return Err(Failure::new(ErrorCode::Unsupported, message));
            }
            // The same folders as for one thread: the agent may have named it.
            config.check_folder(reserved, &agents.programs(), Path::new(folder))?;
            Ok(())
        }
    }
}

/// Returns whether the daemon uses a setting: a file that it cannot reload has no effect.
fn is_in_use(agents: &Agents, policies: &PolicyBook, change: &ConfigChange) -> bool {
    let book = agents.book();
    match change {
        ConfigChange::DefaultAgent { agent } => book.default == *agent,
        ConfigChange::Policy { agent, preset } => {
            let [daemon, own] = policies.layers(agent.as_deref());
            let used = if agent.is_some() { own } else { daemon };
            used == preset.map(Policy::from).as_ref()
        }
        ConfigChange::AllowFolder { agent, folder } => {
            let config = book.configured.get(agent);
            config.is_some_and(|config| config.sandbox.folders.contains(folder))
        }
    }
}

/// Writes a change for the daemon's log.
struct Setting<'a>(&'a ConfigChange);

impl std::fmt::Display for Setting<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            ConfigChange::DefaultAgent { agent } => write!(out, "default_agent = {agent:?}"),
            ConfigChange::Policy { agent, preset } => {
                let preset = preset.map(acpd_policy::Preset::name);
                match agent {
                    Some(agent) => write!(out, "agents.{agent}.policy = {preset:?}"),
                    None => write!(out, "policy = {preset:?}"),
                }
            }
            ConfigChange::AllowFolder { agent, folder } => {
                write!(out, "agents.{agent}.sandbox.folders += {folder:?}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::agent::config::AgentConfig;
    use crate::agent::registry::AgentBook;

    #[test]
    fn a_folder_for_an_agent_without_the_sandbox_is_refused_with_what_to_do_first() {
        let dir = tempfile::tempdir().unwrap();
        let config = AgentConfig {
            command: "/bin/true".to_owned(),
            confines_itself: Some(true),
            ..AgentConfig::default()
        };
        let agents = Agents::fixed(
            AgentBook {
                configured: BTreeMap::from([("own".to_owned(), config)]),
                ..AgentBook::default()
            },
            dir.path(),
        );
        let change = ConfigChange::AllowFolder {
            agent: "own".to_owned(),
            folder: "/work".to_owned(),
        };
        let refused = check(&agents, &Reserved::default(), &change).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Unsupported);
        let advice = "it confines itself; set sandbox = \"workspace\" for it first";
        assert!(refused.message.ends_with(advice), "{refused}");
    }
}
