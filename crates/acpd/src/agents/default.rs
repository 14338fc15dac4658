//! `acpd agents default`: shows or sets the agent of clients that name none. The daemon changes the configuration.

use serde_json::json;

use crate::cli::AgentsDefaultArgs;
use crate::client::Client;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::plain::{plain_line, visible_line};
use crate::terminal::print;

/// Shows or sets the default agent.
pub async fn default(settings: &Settings, args: &AgentsDefaultArgs) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, false).await?;
    let wanted = match &args.name {
        Some(name) => json!(name),
        None if args.none => json!(null),
        None => return show(&mut client, args.json).await,
    };
    let changed = client
        .request("config/agent/set", json!({ "agentType": wanted }))
        .await?;
    if args.json {
        print::json(&changed.to_string());
        return Ok(Exit::Success);
    }
    let file = visible_line(changed["file"].as_str().unwrap_or_default());
    let done = match &args.name {
        Some(name) => format!("{} is the default agent", plain_line(name)),
        None => "default_agent is removed".to_owned(),
    };
    print::out(&format!("{done}: {file}\n"));
    Ok(Exit::Success)
}

async fn show(client: &mut Client, as_json: bool) -> anyhow::Result<Exit> {
    let listed = client.request("agent/list", json!({})).await?;
    let agents = listed["data"].as_array().map_or(&[][..], Vec::as_slice);
    let default = agents.iter().find(|agent| agent["isDefault"] == true);
    let id = default.and_then(|agent| agent["id"].as_str());
    if as_json {
        print::json(&json!({ "id": id }).to_string());
        return Ok(Exit::Success);
    }
    match id {
        Some(id) => print::out(&format!("{}\n", plain_line(id))),
        None => print::hint("there is no default agent; \"acpd agents default NAME\" sets one"),
    }
    Ok(Exit::Success)
}
