//! All permission requests of the recorded agents.

use std::collections::{BTreeMap, BTreeSet};

use acpd_model::RawJson;
use acpd_policy::{Layers, Preset, Request};
use acpd_proto::projection::ToolView;
use serde_json::Value;

use crate::support::recording::{Line, Recording};

const AGENTS: [&str; 8] = [
    "codex",
    "deepagents",
    "fast-agent-passthrough",
    "gemini",
    "opencode",
    "openhands",
    "sdk-agent",
    "zed-codex",
];

/// An agent's tool calls, by process, session and id, as a thread has them.
#[derive(Default)]
struct Calls(BTreeMap<(u32, String, String), ToolView>);

impl Calls {
    /// Records the update of a call in a line. Returns the update, and the call including all of its earlier updates.
    fn hear<'a>(&mut self, line: &'a Line) -> Option<(&'a Value, &ToolView)> {
        let params = &line.json["params"];
        let call = match line.method()? {
            "session/update" => &params["update"],
            "session/request_permission" => &params["toolCall"],
            _ => return None,
        };
        let id = call["toolCallId"].as_str()?.to_owned();
        let session = line.session().unwrap_or_default().to_owned();
        let view = self.0.entry((line.process, session, id)).or_default();
        view.apply(&RawJson::from(call));
        Some((call, view))
    }
}

/// Evaluates every call of the recorded agents in its final state. Only reads are allowed.
#[test]
fn policy_presets_judge_every_recorded_call() {
    let mut shown = BTreeSet::new();
    for agent in AGENTS {
        let recording = Recording::read(agent);
        let mut calls = Calls::default();
        for line in &recording.lines {
            calls.hear(line);
        }
        for view in calls.0.values() {
            let call = view.to_json();
            let request = Request::from_tool_call(&call, "/workspace");
            let effect = |preset: Preset| {
                let policy = preset.into();
                let layers = Layers {
                    daemon: Some(&policy),
                    ..Layers::default()
                };
                layers.decide(&request).effect
            };
            let call: Value = call.read().unwrap();
            let kind = call["kind"].as_str().unwrap_or("no kind");
            let (standard, readonly) = (effect(Preset::Standard), effect(Preset::Readonly));
            let subjects = subjects(&request);
            shown.insert(format!("{standard:?}, {readonly:?}: {agent}, {kind}\n{subjects}"));
        }
    }
    let shown: String = shown.into_iter().collect();
    insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "../snapshots", omit_expression => true }, {
        insta::assert_snapshot!("policy-presets", shown);
    });
}

#[test]
fn policy_reads_every_recorded_permission() {
    let mut shown = String::new();
    let mut count = 0;
    for agent in AGENTS {
        shown += &format!("{agent}\n");
        let recording = Recording::read(agent);
        let mut calls = Calls::default();
        for line in &recording.lines {
            let Some((call, view)) = calls.hear(line) else {
                continue;
            };
            if line.method() != Some("session/request_permission") {
                continue;
            }
            count += 1;
            let alone = Request::from_tool_call(&RawJson::from(call), "/workspace");
            let merged = Request::from_tool_call(&view.to_json(), "/workspace");
            shown += &show(call, &alone);
            if merged != alone {
                shown += &format!("    with what was said before:\n{}", subjects(&merged));
            }
            let mut untitled = call.clone();
            untitled.as_object_mut().unwrap().remove("title");
            assert_eq!(Request::from_tool_call(&untitled.into(), "/workspace"), alone);
        }
    }
    assert_eq!(count, 45);
    insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "../snapshots", omit_expression => true }, {
        insta::assert_snapshot!("policy-permissions", shown);
    });
}

fn show(call: &Value, request: &Request) -> String {
    let kind = call["kind"].as_str().unwrap_or("no kind");
    format!(
        "  {kind}, {}\n{}",
        request.tool_name().unwrap_or("no name"),
        subjects(request)
    )
}

fn subjects(request: &Request) -> String {
    request
        .subjects()
        .iter()
        .map(|subject| format!("    {subject}\n"))
        .collect()
}
