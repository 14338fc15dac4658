//! Recordings of real agents, with kills between their lines.

use std::collections::BTreeMap;
use std::time::Duration;

use acpd_model::RawJson;
use acpd_proto::agent::{AcpVersion, Start};
use acpd_proto::wire::RpcError;
use serde_json::Value;

use super::kills::{Before, Order, run};
use super::plan::{Plan, Player};
use super::{assert_same, assert_same_lines};
use crate::support::recording::{Line, Recording};
use crate::support::replay::{Conversation, conversations};

/// All recordings of agents of version 1.
const RECORDINGS: [&str; 10] = [
    "claude",
    "codex",
    "codex-subagents",
    "deepagents",
    "fast-agent-passthrough",
    "gemini",
    "opencode",
    "openhands",
    "sdk-agent",
    "zed-codex",
];

fn start(version: AcpVersion) -> Start {
    let mut start = Start::new("recorded", "/workspace", Duration::from_mins(1));
    start.acp = version;
    start
}

/// Returns the answer of a recorded client, or its error.
fn result_of(line: &Value) -> Result<RawJson, RpcError> {
    match line.get("result") {
        Some(result) => Ok(result.into()),
        None => Err(serde_json::from_value(line["error"].clone()).unwrap()),
    }
}

/// Returns what happened in the first process of a conversation.
fn plan_of(recording: &Recording, all: &[Conversation], conversation: &Conversation) -> Plan {
    let opening = conversation.openings[0];
    let process = recording.lines[opening].process;
    let is_anothers = |session: &str| {
        let mut others = all.iter().filter(|other| other.session != conversation.session);
        others.any(|other| other.session == session)
    };
    let of_process = |line: &&Line| line.process == process && !line.session().is_some_and(is_anothers);
    let hello = recording
        .lines
        .iter()
        .position(|line| line.process == process && line.method() == Some("initialize"));
    let hello = recording.answer_to(hello.unwrap()).unwrap();
    let hello = recording.lines[hello].json["result"].to_string();
    let opened = recording.answer_to(opening).unwrap();
    let session = recording.lines[opened].json["result"].to_string();
    let mut player = Player::open(start(AcpVersion::One), &hello, &session, false);
    // The recording's ids of prompts, and ours.
    let mut prompts: BTreeMap<String, u64> = BTreeMap::new();
    for line in recording.lines[opened + 1..].iter().filter(of_process) {
        let ours = line.session() == Some(conversation.session.as_str());
        let id = line.json["id"].to_string();
        match (line.from_agent, line.method()) {
            (true, Some(_)) => player.line(line.text.as_bytes()),
            (true, None) if line.json.is_null() => player.line(line.text.as_bytes()),
            (true, None) => {
                if let Some(ours) = prompts.remove(&id) {
                    player.requests.retain(|(open, _)| *open != ours);
                    player.line(line.with_id(ours).as_bytes());
                }
            }
            (false, Some("session/prompt")) if ours => {
                let prompt: Vec<RawJson> =
                    serde_json::from_value(line.json["params"]["prompt"].clone()).unwrap();
                if player.prompt(prompt) {
                    prompts.insert(id, player.requests.last().unwrap().0);
                }
            }
            (false, Some("session/cancel")) if ours => player.cancel(),
            (false, Some(_)) => {}
            (false, None) => player.answer_to(&id, result_of(&line.json)),
        }
    }
    player.finish()
}

/// Returns what happened in a recording of version 2.
fn plan_of_version_2(recording: &str) -> Plan {
    let lines: Vec<(Value, &str)> = recording
        .lines()
        .map(|line| (serde_json::from_str(line).unwrap(), line))
        .collect();
    let [hello, session] = [0, 1].map(|at: usize| lines[at].0["result"].to_string());
    let mut player = Player::open(start(AcpVersion::Two), &hello, &session, true);
    for (message, line) in &lines[2..] {
        if let Some(client) = message.get("client") {
            match client["params"]["prompt"].as_array() {
                Some(prompt) => {
                    player.prompt(prompt.iter().map(RawJson::from).collect());
                }
                None => player.answer_to(&client["id"].to_string(), result_of(client)),
            }
        } else if let Some(result) = message.get("result") {
            player.reply(0, &format!(r#""result":{result}"#));
        } else {
            player.line(line.as_bytes());
        }
    }
    player.finish()
}

/// Kills the daemon between all lines, then at some of them.
fn kill_everywhere(plan: &Plan) {
    let each = Before {
        stores: true,
        kill: Some(0),
    };
    assert_same(plan, &run(plan, Order::CommandsFirst, |_| each));
    for (stores, kills, lost) in [(1, 2, 1), (3, 7, 0), (7, 3, 2), (40, 11, 1), (usize::MAX, 97, 3)] {
        let outcome = run(plan, Order::CommandsFirst, |step| Before {
            stores: step % stores == 0,
            kill: (step % kills == kills - 1).then_some(lost),
        });
        assert_same(plan, &outcome);
    }
    let late = run(plan, Order::LinesFirst, |step| Before {
        stores: step.is_multiple_of(5),
        kill: (step % 3 == 1).then_some(0),
    });
    assert_same_lines(plan, &late);
}

#[test]
fn recorded_turns_continue_after_every_kill() {
    for agent in RECORDINGS {
        let recording = Recording::read(agent);
        let all = conversations(&recording);
        let mut steps = 0;
        for conversation in &all {
            let plan = plan_of(&recording, &all, conversation);
            steps += plan.steps.len();
            kill_everywhere(&plan);
        }
        assert!(steps > 10, "{agent} has {steps}");
    }
}

#[test]
fn recorded_turns_of_version_2_continue_after_every_kill() {
    for recording in [
        include_str!("../v2/claude.jsonl"),
        include_str!("../v2/codex.jsonl"),
    ] {
        let plan = plan_of_version_2(recording);
        assert!(plan.steps.len() > 20 && !plan.events.is_empty());
        kill_everywhere(&plan);
    }
}
