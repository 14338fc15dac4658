//! `acpd agents default`: shows or sets the agent of clients that name none. The daemon changes the configuration.

use acpd_client::Client;
use acpd_client::protocol::{ConfigChanged, SetDefaultAgent};
use serde_json::json;

use crate::cli::AgentsDefaultArgs;
use crate::client::connect::connect;
use crate::client::whole::Whole;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::plain::{plain_line, visible_line};
use crate::terminal::print;

/// Shows or sets the default agent.
pub async fn default(settings: &Settings, args: &AgentsDefaultArgs) -> anyhow::Result<Exit> {
    let client = connect(settings, false).await?;
    if args.name.is_none() && !args.none {
        return show(&client, args.json).await;
    }
    let wanted = SetDefaultAgent {
        agent_type: args.name.clone(),
    };
    let changed: Whole<ConfigChanged> = client.call("config/agent/set", &wanted).await?;
    if args.json {
        print::json(&changed.json.to_string());
        return Ok(Exit::Success);
    }
    let file = visible_line(&changed.file);
    let done = match &args.name {
        Some(name) => format!("{} is the default agent", plain_line(name)),
        None => "default_agent is removed".to_owned(),
    };
    print::out(&format!("{done}: {file}\n"));
    Ok(Exit::Success)
}

async fn show(client: &Client, as_json: bool) -> anyhow::Result<Exit> {
    let agents = client.agent_list().await?.data;
    let default = agents.into_iter().find(|agent| agent.is_default);
    let id = default.map(|agent| agent.id);
    if as_json {
        print::json(&json!({ "id": id }).to_string());
        return Ok(Exit::Success);
    }
    match id {
        Some(id) => print::out(&format!("{}\n", plain_line(&id))),
        None => print::hint("there is no default agent; \"acpd agents default NAME\" sets one"),
    }
    Ok(Exit::Success)
}
