//! The agent of a new thread for which the user names none.

use acpd_client::{Client, Error};
use anyhow::bail;
use serde::Deserialize;
use serde_json::json;

use crate::client::whole::Page;
use crate::settings::Settings;
use crate::terminal::plain::plain;

/// An agent of the list. Unlike [`Agent`](acpd_client::protocol::Agent), it says whether the daemon names a default agent at all, which an
/// older version does not.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedAgent {
    /// Its name.
    pub id: String,
    /// How the daemon finds the agent's program.
    pub runs: Option<String>,
    source: String,
    /// Whether it is the default one; `None` if the daemon is too old to say so.
    is_default: Option<bool>,
    #[serde(default)]
    is_set_up: bool,
}

impl ListedAgent {
    fn is_configured(&self) -> bool {
        self.source == "config"
    }
}

/// Returns the agents that the daemon knows.
pub async fn agents(client: &Client) -> Result<Vec<ListedAgent>, Error> {
    let listed: Page<ListedAgent> = client.call("agent/list", &json!({})).await?;
    Ok(listed.data)
}

/// Returns the agent that the daemon has for clients that name none.
pub async fn default_agent(client: &Client, settings: &Settings) -> anyhow::Result<String> {
    let agents = agents(client).await?;
    // The configuration here is that of a daemon elsewhere only by chance.
    let here = settings.daemon.default_agent.as_deref();
    if let Some(id) = default_of(&agents, here.filter(|_| settings.remote.is_none())) {
        return Ok(id.to_owned());
    }
    let named = |is_wanted: &dyn Fn(&ListedAgent) -> bool| {
        let wanted = agents.iter().filter(|agent| is_wanted(agent));
        let ids: Vec<_> = wanted.map(|agent| plain(&agent.id)).collect();
        ids.join(", ")
    };
    let configured = named(&ListedAgent::is_configured);
    if !configured.is_empty() {
        bail!(
            "several agents are configured and none is the default_agent, name one with --agent: {configured}; \"acpd agents \
             default NAME\" sets the default one"
        );
    }
    let file = settings
        .config_file
        .as_ref()
        .map_or("~/.config/acpd/config.toml".into(), |f| f.display().to_string());
    let set_up = named(&|agent| agent.is_set_up);
    let set_up = if set_up.is_empty() {
        "of \"acpd agents list\"".to_owned()
    } else {
        format!("of those that are set up ({set_up})")
    };
    bail!("no agent is configured: name one {set_up} with --agent, or write {file} with acpd setup")
}

/// Returns the agent that the daemon says is the default one, or else the configured one, which the daemon may not have read yet. A
/// daemon of an older version says nothing: then the only agent of the configuration is the default as well.
fn default_of<'a>(agents: &'a [ListedAgent], configured: Option<&'a str>) -> Option<&'a str> {
    if agents.iter().any(|agent| agent.is_default.is_some()) {
        let default = agents.iter().find(|agent| agent.is_default == Some(true));
        return default.map(|agent| agent.id.as_str()).or(configured);
    }
    let mut of_config = agents.iter().filter(|agent| agent.is_configured());
    let only = of_config.next().filter(|_| of_config.next().is_none());
    configured.or_else(|| only.map(|agent| agent.id.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn read(agents: Value) -> Vec<ListedAgent> {
        serde_json::from_value(agents).unwrap()
    }

    #[test]
    fn an_older_daemon_has_a_default_agent_too() {
        let agent = |id: &str, source: &str| json!({ "id": id, "source": source });
        let marked =
            |id: &str, is_default: bool| json!({ "id": id, "source": "config", "isDefault": is_default });
        let one = read(json!([agent("a", "config"), agent("b", "registry")]));
        assert_eq!(default_of(&one, None), Some("a"));
        assert_eq!(default_of(&one, Some("b")), Some("b"));
        let two = read(json!([agent("a", "config"), agent("b", "config")]));
        assert_eq!(default_of(&two, None), None);
        assert_eq!(default_of(&[], None), None);
        // What the daemon says counts.
        let says = read(json!([marked("a", false), marked("b", true)]));
        assert_eq!(default_of(&says, Some("a")), Some("b"));
        let none = read(json!([marked("a", false), marked("b", false)]));
        assert_eq!(default_of(&none, None), None);
        // It has not read the file yet.
        assert_eq!(default_of(&none, Some("a")), Some("a"));
    }
}
