//! Plans by id, for editors that know them and for those that know one plan.

use serde_json::{Value, json};

use super::stage::{SIMPLE, Stage, play};

/// The `initialize` params of an editor that knows plans by id.
const PLANS: &str = concat!(
    r#"{"protocolVersion":1,"clientInfo":{"name":"planner","version":"1"},"#,
    r#""clientCapabilities":{"plan":{}}}"#
);

/// Returns what an editor received about plans.
fn plans(s: &Stage, who: usize) -> Vec<Value> {
    let updates = s.editors[who]
        .got
        .iter()
        .map(|message| &message["params"]["update"]);
    let of_plans = updates.filter(|update| {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        kind.starts_with("plan")
    });
    of_plans.cloned().collect()
}

fn step(text: &str, status: &str) -> Value {
    json!({ "content": text, "priority": "low", "status": status })
}

/// Two plans that change in turn, a text, one that is removed, and what acpd does not know.
fn sent() -> Vec<Value> {
    let items = |id: &str, entry: Value| json!({ "sessionUpdate": "plan_update", "plan": { "type": "items", "planId": id, "entries": [entry] } });
    let text = json!({ "type": "markdown", "planId": "c", "content": "# C", "path": "/workspace/c.md" });
    vec![
        json!({ "sessionUpdate": "plan", "entries": [step("z", "pending")] }),
        items("a", step("a", "pending")),
        items("b", step("b", "_later")),
        items("a", step("a", "cancelled")),
        json!({ "sessionUpdate": "plan_update", "plan": text }),
        json!({ "sessionUpdate": "plan_removed", "planId": "a" }),
        json!({ "sessionUpdate": "plan_removed", "planId": "unknown" }),
        json!({ "sessionUpdate": "plan_update", "plan": { "type": "_board", "planId": "d" } }),
        json!({ "sessionUpdate": "plan_removed", "planId": "c" }),
    ]
}

#[test]
fn each_editor_receives_plans_as_it_knows_them() {
    play(|s| {
        // The agent's status of a step is not ACP's.
        s.strict = false;
        let knows = Stage::at_work(PLANS, s);
        let simple = s.editor(SIMPLE);
        let load = r#"{"sessionId":"SESSION","cwd":"/workspace","mcpServers":[]}"#;
        let load = load.replace("SESSION", &s.session());
        s.ask(simple, "session/load", &load);
        s.prompt(knows, "plan it");
        s.then(|scene| {
            for update in sent() {
                scene.update(&update.to_string());
            }
            scene.stops_with("end_turn");
        });
        assert_eq!(plans(s, knows), sent(), "unchanged, with what acpd does not know");
        let shown: Vec<Value> = plans(s, simple)
            .iter()
            .map(|update| update["entries"].clone())
            .collect();
        let expected = [
            json!([step("z", "pending")]),
            json!([step("a", "pending")]),
            json!([step("b", "pending")]),
            json!([step("a", "completed")]),
            json!([{ "content": "# C", "priority": "medium", "status": "pending" }]),
            json!([]),
        ];
        assert_eq!(shown, expected, "one plan: the one that changed last");
        assert!(
            plans(s, simple)
                .iter()
                .all(|update| update["sessionUpdate"] == "plan")
        );
        let text = &plans(s, simple)[4]["_meta"]["acpd"];
        assert_eq!(
            (&text["planId"], &text["path"]),
            (&json!("c"), &json!("/workspace/c.md"))
        );
        // The same from the history.
        let later = s.editor(SIMPLE);
        s.ask(later, "session/load", &load);
        assert_eq!(plans(s, later), plans(s, simple));
    });
}

#[test]
fn plans_that_acpd_drops_are_removed_in_editors() {
    play(|s| {
        let knows = Stage::at_work(PLANS, s);
        s.prompt(knows, "plan it");
        s.then(|scene| {
            for number in 0..66 {
                let plan = json!({ "type": "markdown", "planId": number.to_string(), "content": "x" });
                scene.update(&json!({ "sessionUpdate": "plan_update", "plan": plan }).to_string());
            }
            scene.stops_with("end_turn");
        });
        let removed: Vec<Value> = plans(s, knows)
            .into_iter()
            .filter(|update| update["sessionUpdate"] == "plan_removed")
            .collect();
        let gone = |id: &str| json!({ "sessionUpdate": "plan_removed", "planId": id });
        assert_eq!(removed, [gone("0"), gone("1")]);
    });
}
