//! Every kind of event has its name, and its place in `docs/export.md`.

use std::collections::BTreeSet;

use acpd_model::{EventKind, Summary};
use acpd_proto::surface::export::{Format, name::type_of};
use serde_json::Value;

use super::{event, write};
use crate::support::Scene;

const DOC: &str = include_str!("../../../../../docs/export.md");

/// The names of all kinds, as the model's own reader tells them.
fn kinds() -> BTreeSet<String> {
    let error = serde_json::from_str::<EventKind>(r#"{"none of them":{}}"#)
        .unwrap_err()
        .to_string();
    let (_, names) = error.split_once("expected one of ").unwrap();
    let names = names.split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

/// One of each kind, and of each that has several types.
const SAMPLES: &[&str] = &[
    r#"{"threadCreated":{"agent":"a","cwd":"/","name":"n","projectId":"p","metadata":{"m":1},"additionalDirectories":["/b"],"mcpServers":[{"name":"db","env":[{"name":"K","value":"secret"}]},7]}}"#,
    r#"{"statusChanged":{"status":"idle"}}"#,
    r#"{"sessionInfoUpdated":{"title":"t","overruled":true}}"#,
    r#"{"threadRenamed":{"name":"n","shown":"n"}}"#,
    r#"{"metadataSet":{"metadata":{"m":1}}}"#,
    r#"{"threadArchived":{}}"#,
    r#"{"threadUnarchived":{}}"#,
    r#"{"threadDeleted":{"session":"deleted"}}"#,
    r#"{"turnsRolledBack":{"lastKept":"turn_1","fidelity":"recalled"}}"#,
    r#"{"threadForked":{"from":"0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4","last":"turn_1","sessionId":"s","fidelity":"exact"}}"#,
    r#"{"leaseMoved":{"holder":{"principal":"p","client":"c","connection":"n"},"why":"opened"}}"#,
    r#"{"steerRequested":{"input":[{"type":"text","text":"t"}]}}"#,
    r#"{"sessionParamsSet":{"cwd":"/b","mcpServers":[{"name":"db","env":[{"name":"K","value":"secret"}]}],"members":{"k":1},"meta":{}}}"#,
    r#"{"agentBound":{"sessionId":"s","how":"load","agent":{},"session":{}}}"#,
    r#"{"agentLost":{"reason":"r","stderr":"s","expected":true}}"#,
    r#"{"noticeGiven":{"level":"info","code":"c","message":"m"}}"#,
    r#"{"lineMalformed":{"reason":"r","text":"t","bytes":1}}"#,
    r#"{"agentNotified":{"method":"_x"}}"#,
    r#"{"callRefused":{"method":"m","reason":"r"}}"#,
    r#"{"turnQueued":{"input":[{"type":"text","text":"t"}],"clientTurnId":"c"}}"#,
    r#"{"turnStarted":{"clientTurnId":"c"}}"#,
    r#"{"turnSettled":{"status":"failed","stopReason":"r","error":"e","startedAt":1,"usage":{}}}"#,
    r#"{"interruptRequested":{}}"#,
    r#"{"diffUpdated":{"diff":"d"}}"#,
    r#"{"itemStarted":{"item":"item_1","start":{"message":{"role":"userMessage"}}}}"#,
    r#"{"itemStarted":{"item":"item_1","start":{"message":{"role":"agentMessage","messageId":"m"}}}}"#,
    r#"{"itemStarted":{"item":"item_1","start":{"message":{"role":"agentThought"}}}}"#,
    r#"{"itemStarted":{"item":"item_1","start":{"toolCall":{"toolCallId":"t","title":"n","kind":"edit","status":"pending"}}}}"#,
    r#"{"itemStarted":{"item":"item_2","parent":"item_1","start":{"fileChange":{"path":"/p"}}}}"#,
    r#"{"itemStarted":{"item":"item_1","start":{"terminalCommand":{"terminalId":"t","command":"c","args":["a"],"cwd":"/"}}}}"#,
    r#"{"itemDelta":{"item":"item_1","role":"userMessage","text":"t"}}"#,
    r#"{"itemDelta":{"item":"item_1","role":"agentMessage","text":"t"}}"#,
    r#"{"itemDelta":{"item":"item_1","role":"agentThought","text":"t"}}"#,
    r#"{"itemContent":{"item":"item_1","role":"agentMessage","block":{"type":"image","data":"AA","mimeType":"image/png"}}}"#,
    r#"{"itemUpdated":{"item":"item_1","status":"completed"}}"#,
    r#"{"itemCompleted":{"item":"item_1","outcome":"completed","end":{"message":{"role":"userMessage","content":[]}}}}"#,
    r#"{"itemCompleted":{"item":"item_1","outcome":"completed","end":{"message":{"role":"agentMessage","content":[]}}}}"#,
    r#"{"itemCompleted":{"item":"item_1","outcome":"completed","end":{"message":{"role":"agentThought","content":[]}}}}"#,
    r#"{"itemCompleted":{"item":"item_1","outcome":"failed","end":{"toolCall":{"status":"failed","call":{}}}}}"#,
    r#"{"itemCompleted":{"item":"item_1","outcome":"completed","end":{"fileChange":{"path":"/p","diff":"d"}}}}"#,
    r#"{"itemCompleted":{"item":"item_1","outcome":"completed","end":{"terminalCommand":{"terminalId":"t","exitCode":0,"signal":null,"output":"o","truncated":false}}}}"#,
    r#"{"userMessageAdded":{"item":"item_1","content":[{"type":"text","text":"t"}]}}"#,
    r#"{"terminalOutput":{"item":"item_1","terminalId":"t","text":"o"}}"#,
    r#"{"planReplaced":{"entries":[]}}"#,
    r#"{"modeChanged":{"modeId":"m"}}"#,
    r#"{"modelChanged":{"modelId":"m"}}"#,
    r#"{"terminalKilled":{"terminalId":"t"}}"#,
    r#"{"terminalReleased":{"terminalId":"t"}}"#,
    r#"{"callPermitted":{"method":"fs/write_text_file","subject":"s"}}"#,
    r#"{"policySet":{"policy":"standard"}}"#,
    r#"{"answerRemembered":{"answer":{}}}"#,
    r#"{"answerRevoked":{"id":1}}"#,
    r#"{"inputRequested":{"request":"req_1_0192f0c1c5d77c0aa5e5f8d9a1b2c3d4","message":"m"}}"#,
    r#"{"configOptionsReplaced":{}}"#,
    r#"{"commandsReplaced":{}}"#,
    r#"{"usageUpdated":{"used":1,"size":2,"cost":{}}}"#,
    r#"{"permissionRequested":{"request":"req_1_0192f0c1c5d77c0aa5e5f8d9a1b2c3d4","item":"item_1","about":"fileChange","title":"t","options":[]}}"#,
    r#"{"requestSettled":{"request":"req_1_0192f0c1c5d77c0aa5e5f8d9a1b2c3d4","outcome":{"selected":{"optionId":"o","kind":"allow_once"}}}}"#,
    r#"{"requestSettled":{"request":"req_1_0192f0c1c5d77c0aa5e5f8d9a1b2c3d4","outcome":"cancelled"}}"#,
    r#"{"requestVoided":{"request":"req_1_0192f0c1c5d77c0aa5e5f8d9a1b2c3d4","reason":"r"}}"#,
    r#"{"fileRead":{"path":"/p","bytes":1}}"#,
    r#"{"fileWritten":{"path":"/p","bytes":1}}"#,
];

/// The rows of the tables of types in `docs/export.md`: type → members that its row names.
fn documented() -> Vec<(String, String)> {
    let rows = DOC.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("| `")?.split_once("` |")?;
        (name.contains(':') || ["notice", "unknown"].contains(&name))
            .then(|| (name.to_owned(), rest.to_owned()))
    });
    rows.collect()
}

#[test]
fn every_kind_comes_out_under_a_documented_name() {
    let common = [
        "seq",
        "ts",
        "time",
        "type",
        "threadId",
        "turnId",
        "itemId",
        "by",
        "raw",
        "rawParams",
    ];
    let documented = documented();
    let mut sampled = BTreeSet::new();
    let mut used: BTreeSet<String> = BTreeSet::from(["unknown".to_owned()]);
    let scene = Scene::new();
    for sample in SAMPLES {
        let event = event(sample);
        let tag: serde_json::Map<String, Value> = serde_json::from_str(sample).unwrap();
        sampled.extend(tag.keys().cloned());
        let name =
            type_of(&event.kind).unwrap_or_else(|| panic!("{sample} has no name in surface/export/name.rs"));
        used.insert(name.to_owned());
        let text = write(
            &scene,
            &Summary::default(),
            std::slice::from_ref(&event),
            Format::Jsonl,
        );
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["type"], name);
        let (_, row) = documented
            .iter()
            .find(|(documented, _)| documented == name)
            .unwrap_or_else(|| panic!("{name} is not in docs/export.md"));
        // "as `message:chunk`": the members are in that row.
        let other = row
            .split_once("as `")
            .and_then(|(_, rest)| rest.split('`').next());
        let other = other.and_then(|other| documented.iter().find(|(name, _)| name == other));
        let row = format!("{row}{}", other.map_or("", |(_, row)| row));
        for member in line.as_object().unwrap().keys() {
            let told = common.contains(&member.as_str()) || row.contains(&format!("`{member}`"));
            assert!(told, "docs/export.md does not tell of {member} in {name}");
        }
        // A kind with a name needs no other way out.
        assert_eq!(line.get("data"), None, "{text}");
    }
    assert_eq!(
        sampled,
        kinds(),
        "SAMPLES has one of each kind that the model has"
    );
    let told: BTreeSet<String> = documented.into_iter().map(|(name, _)| name).collect();
    assert_eq!(told, used, "docs/export.md tells of the types that there are");
}

#[test]
fn documents_take_every_kind() {
    for sample in SAMPLES {
        for format in [Format::Markdown, Format::Html] {
            let text = write(&Scene::new(), &Summary::default(), &[event(sample)], format);
            assert!(!text.contains("secret"));
        }
    }
}

#[test]
fn a_kind_of_a_newer_daemon_comes_out_as_unknown() {
    let newer = event(r#"{"moonLanded":{"by":"eagle"}}"#);
    let line = write(
        &Scene::new(),
        &Summary::default(),
        std::slice::from_ref(&newer),
        Format::Jsonl,
    );
    assert_eq!(
        line,
        concat!(
            r#"{"seq":1,"ts":1700000000000,"time":"2023-11-14T22:13:20.000Z","type":"unknown","#,
            r#""threadId":"0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4","by":{"kind":"daemon"}}"#,
            "\n"
        )
    );
    let page = write(&Scene::new(), &Summary::default(), &[newer], Format::Markdown);
    assert!(!page.contains("Before the first turn"), "{page}");
}
