//! Several plans of an agent, by its ids.

use acpd_model::limits::AGENT_STATE_BYTES;
use acpd_model::{Event, EventKind, Origin, SessionEvent, TurnEvent};
use acpd_proto::projection::{Live, Plan};
use acpd_proto::surface::export::Format;
use serde_json::{Value, json};

use crate::export::{export, lines};
use crate::support::{Scene, check};

const NO_ID: &str =
    r#"{"sessionUpdate":"plan","entries":[{"content":"z","priority":"low","status":"pending"}]}"#;

/// Returns an update with a plan of one step.
fn steps(id: &str, step: &str) -> String {
    let entry = json!({ "content": step, "priority": "low", "status": "pending" });
    let plan = json!({ "type": "items", "planId": id, "entries": [entry] });
    json!({ "sessionUpdate": "plan_update", "plan": plan }).to_string()
}

/// Returns an update with a plan that is a text.
fn markdown(id: &str, text: &str) -> String {
    let plan = json!({ "type": "markdown", "planId": id, "content": text, "path": "/workspace/plan.md" });
    json!({ "sessionUpdate": "plan_update", "plan": plan }).to_string()
}

fn removed(id: &str) -> String {
    json!({ "sessionUpdate": "plan_removed", "planId": id }).to_string()
}

/// Returns the id of each plan with its step or its text.
fn brief<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> Vec<(&'a str, &'a str)> {
    let text = |plan: &'a Plan| match (&plan.markdown, plan.entries.first()) {
        (Some(markdown), _) => &*markdown.content,
        (None, Some(step)) => &*step.content,
        (None, None) => "",
    };
    plans.into_iter().map(|plan| (&*plan.id, text(plan))).collect()
}

fn current(s: &Scene) -> Vec<(&str, &str)> {
    brief(s.thread.live().plans.as_slice())
}

/// Returns the plans of each turn, as readers see them.
fn of_turns(s: &Scene) -> Vec<Vec<(String, String)>> {
    let own = |(id, text): (&str, &str)| (id.to_owned(), text.to_owned());
    let turns = s.transcript().into_turns();
    let plans = turns
        .iter()
        .map(|turn| brief(turn.plans.as_slice()).into_iter().map(own).collect());
    plans.collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let own = |(id, text): &(&str, &str)| ((*id).to_owned(), (*text).to_owned());
    expected.iter().map(own).collect()
}

#[test]
fn plans_are_told_apart_by_their_ids() {
    let scene = check(|s| {
        s.open_turn();
        s.update(NO_ID);
        s.update(&steps("a", "1"));
        s.update(&markdown("b", "# B"));
        s.update(&steps("a", "2"));
        assert_eq!(current(s), [("", "z"), ("a", "2"), ("b", "# B")]);
        // A plan keeps its id if its form changes.
        s.update(&markdown("a", "# A"));
        s.update(&removed("b"));
        s.update(&removed("b"));
        s.update(&removed("unknown"));
        assert_eq!(current(s), [("", "z"), ("a", "# A")]);
        s.stops_with("end_turn");
        s.prompt("go on");
        s.update(&steps("a", "3"));
        s.update(&steps("c", "4"));
        s.update(&removed("c"));
        s.update(&removed(""));
        s.stops_with("end_turn");
        assert_eq!(current(s), [("a", "3")]);
    });
    // A turn keeps what its plans were at its end.
    assert_eq!(
        of_turns(&scene),
        [pairs(&[("", "z"), ("a", "# A")]), pairs(&[("a", "3")])]
    );
    let changes = scene.params("turn/plan/updated");
    assert_eq!(changes[0]["entries"][0]["content"], "z");
    for absent in ["planId", "form", "markdown", "path"] {
        assert_eq!(changes[0].get(absent), None, "as before");
    }
    assert_eq!(
        (&changes[1]["planId"], changes[1].get("form")),
        (&json!("a"), None)
    );
    let text = &changes[2];
    assert_eq!(
        [
            &text["planId"],
            &text["form"],
            &text["markdown"],
            &text["path"],
            &text["entries"]
        ],
        [
            &json!("b"),
            &json!("markdown"),
            &json!("# B"),
            &json!("/workspace/plan.md"),
            &json!([])
        ]
    );
    let gone: Vec<Value> = scene
        .params("turn/plan/removed")
        .iter()
        .map(|params| params["planId"].clone())
        .collect();
    assert_eq!(
        gone,
        [json!("b"), json!("c"), Value::Null],
        "an unknown plan cannot be removed"
    );
}

#[test]
fn the_end_of_a_turn_names_its_plans() {
    let scene = check(|s| {
        s.open_turn();
        s.update(NO_ID);
        s.stops_with("end_turn");
        for updates in [
            vec![steps("a", "1"), markdown("b", "# B")],
            vec![markdown("b", "# B 2")],
            vec![steps("a", "2"), removed("a")],
        ] {
            s.prompt("go on");
            for update in &updates {
                s.update(update);
            }
            s.stops_with("end_turn");
        }
    });
    let ends = scene.kinds().filter_map(|kind| match kind {
        EventKind::Turn(TurnEvent::Settled { plan, plans, .. }) => {
            Some((plan.is_some(), plans.as_ref().map_or(0, |plans| plans.0.len())))
        }
        _ => None,
    });
    let ends: Vec<_> = ends.collect();
    assert_eq!(ends, [(true, 0), (true, 2), (false, 1), (false, 0)]);
}

#[test]
fn plans_of_earlier_versions_are_read_as_before() {
    let line = |seq: u64, kind: &str| format!(r#"{{"seq":{seq},"at":1,"turn":"turn_1","kind":{kind}}}"#);
    let entries = r#"[{"content":"a","priority":"low","status":"pending"}]"#;
    let log = [
        line(1, r#"{"turnStarted":{}}"#),
        line(2, &format!(r#"{{"planReplaced":{{"entries":{entries}}}}}"#)),
        line(
            3,
            r#"{"turnSettled":{"status":"completed","startedAt":1,"plan":2}}"#,
        ),
    ];
    let log: Vec<Event> = log
        .iter()
        .map(|line| Event::decode(line.as_bytes()).unwrap())
        .collect();
    let scene = Scene::new();
    let mut live = Live::new(scene.id);
    for event in &log {
        live.fold(event);
        let mut again = Vec::new();
        event.encode(&mut again).unwrap();
        assert_eq!(Event::decode(&again).unwrap(), *event);
    }
    assert_eq!(brief(live.plans.as_slice()), [("", "a")]);
    assert!(live.plans.is_plain());
}

#[test]
fn a_thread_keeps_a_bounded_number_of_plans() {
    let scene = check(|s| {
        s.open_turn();
        for number in 0..1_000 {
            s.update(&steps(&format!("p{number}"), "step"));
            // One that changes stays.
            if number % 50 == 0 {
                s.update(&steps("kept", &format!("{number}")));
            }
        }
        let plans = current(s);
        assert_eq!(plans.len(), 64);
        assert!(plans.contains(&("kept", "950")) && plans.contains(&("p999", "step")));
        assert!(!plans.contains(&("p0", "step")));
        s.stops_with("end_turn");
    });
    let dropped = scene.log.iter().filter(|event| {
        event.by == Origin::Daemon && matches!(event.kind, EventKind::Turn(TurnEvent::PlanRemoved { .. }))
    });
    assert_eq!(dropped.count(), 1_001 - 64);
    let said = scene.notices().into_iter().filter(|code| code == "plansDropped");
    assert_eq!(said.count(), 1, "it is said once");
    assert_eq!(of_turns(&scene)[0].len(), 64);
}

#[test]
fn plans_are_bounded_in_bytes() {
    let scene = check(|s| {
        s.open_turn();
        let half = "x".repeat(AGENT_STATE_BYTES * 2 / 3);
        s.update(&steps("small", "1"));
        s.update(&markdown("a", &half));
        assert_eq!(s.thread.live().plans.as_slice().len(), 2);
        s.update(&markdown("b", &half));
        let ids: Vec<&str> = s
            .thread
            .live()
            .plans
            .as_slice()
            .iter()
            .map(|plan| &*plan.id)
            .collect();
        assert_eq!(ids, ["b"], "those that changed longest ago go first");
        // A plan that is larger than a thread keeps is passed on, and not shown.
        s.update(&markdown("c", &"x".repeat(AGENT_STATE_BYTES)));
        assert!(s.thread.live().plans.get("c").is_none());
        s.update(&steps(&"i".repeat(1 << 16), "1"));
        assert_eq!(s.thread.live().plans.as_slice().len(), 1);
        s.stops_with("end_turn");
    });
    let unshown = scene
        .kinds()
        .filter(|kind| matches!(kind, EventKind::Session(SessionEvent::AgentNotified { .. })));
    assert_eq!(unshown.count(), 2);
}

#[test]
fn documents_have_each_plan_in_its_last_state() {
    let scene = check(|s| {
        s.open_turn();
        s.update(&steps("a", "first way"));
        s.update(&markdown("b", "The **second** way. <script>alert(1)</script>"));
        s.update(&steps("a", "other way"));
        s.update(&steps("c", "no way"));
        s.update(&removed("c"));
        s.stops_with("end_turn");
    });
    let document = export(&scene, Format::Markdown);
    for (words, is) in [
        ("first way", false),
        ("other way", true),
        ("**second** way", true),
        ("no way", false),
    ] {
        assert_eq!(document.contains(words), is, "{words}: {document}");
    }
    assert!(document.contains("plan.md"), "{document}");
    assert!(!export(&scene, Format::Html).contains("<script>alert"));
    let lines = lines(&scene);
    let plan = lines.iter().find(|line| line["markdown"].is_string()).unwrap();
    assert_eq!(
        (&plan["type"], &plan["planId"]),
        (&json!("plan:update"), &json!("b"))
    );
    assert_eq!(plan["path"], "/workspace/plan.md");
    assert!(
        lines
            .iter()
            .any(|line| line["type"] == "plan:remove" && line["planId"] == "c")
    );
}
