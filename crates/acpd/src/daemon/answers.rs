//! `acpd policy answers` and `acpd policy revoke`: the remembered answers that apply to all threads of an agent. The daemon
//! has them, whether the agent has threads or not.

use serde_json::{Value, json};

use crate::cli::{PolicyAnswersArgs, PolicyRevokeArgs};
use crate::client::Client;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::plain::plain_line;
use crate::terminal::print;
use crate::terminal::table::table;

/// Lists the answers.
pub async fn list(settings: &Settings, args: &PolicyAnswersArgs) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, false).await?;
    let params = args
        .agent
        .as_ref()
        .map_or_else(|| json!({}), |agent| json!({ "agentType": agent }));
    let found = client.request("agent/remembered/list", params).await?;
    let rows = rows_of(&found);
    if args.json {
        for (agent, answer) in rows {
            let mut line = answer.clone();
            line["agentType"] = agent.clone();
            print::json(&line.to_string());
        }
    } else if rows.is_empty() {
        print::hint("no answer is remembered for all threads of an agent");
    } else {
        let rows: Vec<_> = rows.into_iter().map(row).collect();
        table(["AGENT", "ID", "ANSWER", "RULE", "DIRECTORY"], &rows);
    }
    Ok(Exit::Success)
}

/// Returns each answer with the name of its agent.
fn rows_of(found: &Value) -> Vec<(&Value, &Value)> {
    let agents = found["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut rows = Vec::new();
    for agent in agents {
        let answers = agent["answers"].as_array().into_iter().flatten();
        rows.extend(answers.map(|answer| (&agent["agentType"], answer)));
    }
    rows
}

fn row((agent, answer): (&Value, &Value)) -> [String; 5] {
    let text = |value: &Value| plain_line(value.as_str().unwrap_or("-"));
    let allows = answer["allow"].as_bool().unwrap_or_default();
    [
        text(agent),
        answer["id"].to_string(),
        if allows { "allow" } else { "deny" }.to_owned(),
        text(&answer["rule"]),
        text(&answer["cwd"]),
    ]
}

/// Revokes an answer.
pub async fn revoke(settings: &Settings, args: &PolicyRevokeArgs) -> anyhow::Result<Exit> {
    let mut client = Client::connect(settings, false).await?;
    let params = json!({ "agentType": args.agent, "id": args.id });
    client.request("agent/remembered/revoke", params).await?;
    if args.json {
        print::json(&json!({ "agentType": args.agent, "id": args.id }).to_string());
    } else {
        let agent = plain_line(&args.agent);
        print::out(&format!("answer {} for {agent} is revoked\n", args.id));
    }
    Ok(Exit::Success)
}
