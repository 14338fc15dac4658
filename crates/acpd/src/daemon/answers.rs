//! `acpd policy answers` and `acpd policy revoke`: the remembered answers that apply to all threads of an agent. The daemon
//! has them, whether the agent has threads or not.

use acpd_client::protocol::{ListAgentAnswers, RememberedAnswer, RevokeAgentAnswer};
use serde::Deserialize;
use serde_json::json;

use crate::cli::{PolicyAnswersArgs, PolicyRevokeArgs};
use crate::client::connect::connect;
use crate::client::whole::{Page, Whole};
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::plain::plain_line;
use crate::terminal::print;
use crate::terminal::table::table;

/// The answers for an agent, each of which is printed by itself.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answers {
    agent_type: String,
    answers: Vec<Whole<RememberedAnswer>>,
}

/// Lists the answers.
pub async fn list(settings: &Settings, args: &PolicyAnswersArgs) -> anyhow::Result<Exit> {
    let client = connect(settings, false).await?;
    let params = ListAgentAnswers {
        agent_type: args.agent.clone(),
    };
    let found: Page<Answers> = client.call("agent/remembered/list", &params).await?;
    if args.json {
        for Answers { agent_type, answers } in found.data {
            for answer in answers {
                let mut line = answer.json;
                line["agentType"] = json!(agent_type);
                print::json(&line.to_string());
            }
        }
        return Ok(Exit::Success);
    }
    let rows: Vec<_> = found.data.iter().flat_map(rows_of).collect();
    if rows.is_empty() {
        print::hint("no answer is remembered for all threads of an agent");
    } else {
        table(["AGENT", "ID", "ANSWER", "RULE", "DIRECTORY"], &rows);
    }
    Ok(Exit::Success)
}

fn rows_of(of_agent: &Answers) -> impl Iterator<Item = [String; 5]> {
    let agent = plain_line(&of_agent.agent_type);
    let row = move |answer: &Whole<RememberedAnswer>| {
        [
            agent.clone(),
            answer.id.to_string(),
            if answer.allow { "allow" } else { "deny" }.to_owned(),
            plain_line(&answer.rule),
            plain_line(answer.cwd.as_deref().unwrap_or("-")),
        ]
    };
    of_agent.answers.iter().map(row)
}

/// Revokes an answer.
pub async fn revoke(settings: &Settings, args: &PolicyRevokeArgs) -> anyhow::Result<Exit> {
    let client = connect(settings, false).await?;
    let params = RevokeAgentAnswer {
        agent_type: args.agent.clone(),
        id: args.id,
    };
    client.agent_remembered_revoke(&params).await?;
    if args.json {
        print::json(&json!({ "agentType": args.agent, "id": args.id }).to_string());
    } else {
        let agent = plain_line(&args.agent);
        print::out(&format!("answer {} for {agent} is revoked\n", args.id));
    }
    Ok(Exit::Success)
}
