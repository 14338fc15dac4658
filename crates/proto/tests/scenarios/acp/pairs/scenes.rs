//! The scenes: what an agent and an editor can do, each in a turn or two.

use serde_json::{Value, json};

use super::act::{Act, Asked, Version};
use super::told::{Piece, Role};

/// A scene.
pub struct Scene {
    pub name: &'static str,
    pub acts: Vec<Act>,
}

impl Scene {
    /// Returns whether an agent of a version can play it.
    pub fn is_played_by(&self, agent: Version) -> bool {
        match agent {
            Version::One => self.acts.iter().all(Act::is_of_one) && !NEWER.contains(&self.name),
            Version::Two => !OLDER.contains(&self.name),
        }
    }
}

/// Scenes with values that only version 2 has.
const NEWER: [&str; 6] = [
    "statuses of version 2",
    "an earlier status",
    "members that are cleared",
    "steps of version 2",
    "skills",
    "a reason that ACP does not have",
];

/// Scenes that only version 1 has.
const OLDER: [&str; 2] = ["messages without an id", "null in version 1"];

pub fn text(text: &str) -> Piece {
    Piece::Text(text.to_owned())
}

pub fn prompts(text: &str) -> Act {
    Act::EditorPrompts(text.to_owned())
}

fn spoken(lane: &'static str, role: Role, id: Option<&str>, piece: Piece) -> Act {
    let id = id.map(str::to_owned);
    Act::Says {
        lane,
        role,
        id,
        piece,
    }
}

pub fn says(id: &str, words: &str) -> Act {
    spoken("", Role::Agent, Some(id), text(words))
}

pub fn thinks(id: &str, words: &str) -> Act {
    spoken("", Role::Thought, Some(id), text(words))
}

pub fn calls(id: &str, members: Value) -> Act {
    call("", id, members, None)
}

fn shows(id: &str, members: Value, pieces: Vec<Piece>) -> Act {
    call("", id, members, Some(pieces))
}

fn call(lane: &'static str, id: &str, members: Value, pieces: Option<Vec<Piece>>) -> Act {
    let id = id.to_owned();
    Act::Calls {
        lane,
        id,
        members,
        pieces,
    }
}

fn begins(title: &str) -> Value {
    json!({ "title": title, "kind": "execute", "status": "in_progress", "rawInput": { "command": title } })
}

fn modified(lines: &[(&str, &str)]) -> Piece {
    let lines = lines
        .iter()
        .map(|(old, new)| ((*old).to_owned(), (*new).to_owned()));
    Piece::Modified("/workspace/a".to_owned(), lines.collect())
}

/// Returns all scenes.
pub fn scenes() -> Vec<Scene> {
    let path = |name: &str| format!("/workspace/{name}");
    let status = |status: &str| json!({ "status": status });
    let image = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
    let scene = |name, acts| Scene { name, acts };
    vec![
        scene(
            "a conversation",
            vec![
                prompts("hello"),
                thinks("h", "I "),
                thinks("h", "think"),
                says("a", "Good "),
                says("a", "morning"),
                spoken("", Role::Agent, Some("a"), Piece::Block(image)),
                says("b", "Anything else?"),
                Act::Ends("end_turn"),
                prompts("no"),
                says("c", "Bye"),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "messages without an id",
            vec![
                prompts("hello"),
                spoken("", Role::Thought, None, text("hm")),
                spoken("", Role::Agent, None, text("Good ")),
                spoken("", Role::Agent, None, text("morning")),
                calls("t", begins("ls")),
                spoken("", Role::Agent, None, text("Done")),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "a tool call",
            vec![
                prompts("run it"),
                calls("t", begins("make")),
                says("a", "It runs"),
                shows("t", json!({ "rawOutput": { "lines": 1 } }), vec![text("built")]),
                shows("t", status("completed"), vec![text("built"), text("all")]),
                calls("u", begins("make test")),
                calls("u", status("failed")),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "changes of files",
            vec![
                prompts("write it"),
                shows(
                    "t",
                    begins("write"),
                    vec![Piece::Added(path("new"), "made\n".to_owned())],
                ),
                shows("u", begins("edit"), vec![modified(&[("old\n", "new\n")])]),
                shows(
                    "v",
                    begins("edit more"),
                    vec![
                        text("Two places"),
                        modified(&[("old\n", "new\n"), ("a\n", "b\n")]),
                    ],
                ),
                shows(
                    "w",
                    begins("delete"),
                    vec![Piece::Deleted(path("gone"), "old\n".to_owned())],
                ),
                shows("x", begins("move"), vec![Piece::Moved(path("from"), path("to"))]),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "a terminal",
            vec![
                prompts("run it"),
                Act::Runs("one", "make"),
                shows("t", begins("make"), vec![Piece::Terminal("one".to_owned())]),
                Act::Prints("one", b"built\n".to_vec()),
                Act::Exits("one", 2),
                calls("t", status("completed")),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "a question about a call",
            vec![
                prompts("delete it"),
                calls(
                    "t",
                    json!({ "title": "rm x", "kind": "execute", "status": "pending", "rawInput": { "command": "rm x" } }),
                ),
                Act::Asks(Asked::Call("t")),
                Act::EditorPicks(Some("allow_once")),
                calls("t", status("completed")),
                calls(
                    "u",
                    json!({ "title": "rm y", "kind": "execute", "status": "pending", "rawInput": { "command": "rm y" } }),
                ),
                Act::Asks(Asked::Call("u")),
                Act::EditorPicks(Some("reject_once")),
                calls("u", status("failed")),
                calls(
                    "v",
                    json!({ "title": "rm z", "kind": "execute", "status": "pending", "rawInput": { "command": "rm z" } }),
                ),
                Act::Asks(Asked::Call("v")),
                Act::EditorPicks(None),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "a form",
            vec![
                prompts("ask me"),
                Act::AsksForm("How many?"),
                Act::EditorFills(Some(json!({ "n": 3 }))),
                Act::AsksForm("And now?"),
                Act::EditorFills(None),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "plans",
            vec![
                prompts("plan it"),
                Act::Plans(None, vec![("one", "in_progress"), ("two", "pending")]),
                Act::Plans(Some("p"), vec![("three", "completed")]),
                Act::Plans(Some("q"), vec![("four", "pending")]),
                Act::Drops("q"),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "the state of the session",
            vec![
                prompts("hello"),
                Act::HasTitle("A title"),
                Act::Uses(50),
                Act::HasCommands(vec!["plan", "review"], Vec::new()),
                Act::Warns("Little memory"),
                Act::Compacts("k", "in_progress"),
                Act::Compacts("k", "completed"),
                Act::Changes("mode", "code"),
                says("a", "Done"),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "options",
            vec![
                Act::EditorSets("effort", "high"),
                prompts("hello"),
                Act::EditorSets("mode", "code"),
                says("a", "Done"),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "ends",
            vec![
                prompts("one"),
                Act::Ends("max_tokens"),
                prompts("two"),
                Act::Ends("max_turn_requests"),
                prompts("three"),
                Act::Ends("refusal"),
                prompts("four"),
                Act::Fails("the model is gone"),
            ],
        ),
        scene(
            "a queue",
            vec![
                prompts("one"),
                prompts("two"),
                says("a", "First"),
                Act::Ends("end_turn"),
                says("b", "Second"),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "a cancel",
            vec![
                prompts("one"),
                prompts("two"),
                says("a", "First"),
                calls("t", begins("sleep")),
                calls(
                    "u",
                    json!({ "title": "rm x", "kind": "execute", "status": "pending", "rawInput": { "command": "rm x" } }),
                ),
                Act::Asks(Asked::Call("u")),
                Act::EditorCancels,
                Act::Ends("cancelled"),
            ],
        ),
        scene(
            "a subagent",
            vec![
                prompts("delegate it"),
                Act::Delegates("child", "review", "running"),
                spoken("lane_1", Role::Agent, Some("s"), text("I look")),
                call("lane_1", "t", begins("look"), None),
                call("lane_1", "t", status("completed"), None),
                shows(
                    "u",
                    begins("task"),
                    vec![text("It works"), Piece::Linked("child".to_owned())],
                ),
                Act::Delegates("child", "review", "idle"),
                says("a", "Done"),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "a message that is replaced",
            vec![
                prompts("hello"),
                says("a", "Bad"),
                Act::Revises("a", "Good"),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "statuses of version 2",
            vec![
                prompts("run it"),
                calls("t", json!({ "title": "wait", "status": "paused" })),
                calls("u", json!({ "title": "odd", "status": "_odd" })),
                calls("v", json!({ "title": "stop", "status": "in_progress" })),
                calls("v", status("cancelled")),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "an earlier status",
            vec![
                prompts("run it"),
                calls("t", begins("make")),
                calls("t", status("pending")),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "members that are cleared",
            vec![
                prompts("run it"),
                shows("t", begins("make"), vec![text("x")]),
                calls(
                    "t",
                    json!({ "title": null, "kind": null, "rawInput": null, "status": "in_progress" }),
                ),
                shows("t", json!({}), Vec::new()),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "null in version 1",
            vec![
                prompts("run it"),
                shows("t", begins("make"), vec![text("x")]),
                calls(
                    "t",
                    json!({ "title": null, "kind": null, "rawInput": null, "content": null, "status": "completed" }),
                ),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "content in pieces",
            vec![
                prompts("run it"),
                calls("t", begins("make")),
                Act::Adds("t", text("one")),
                Act::Adds("t", text("two")),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "steps of version 2",
            vec![
                prompts("plan it"),
                Act::Plans(Some("p"), vec![("one", "cancelled"), ("two", "_odd")]),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "questions of version 2",
            vec![
                prompts("run it"),
                Act::Asks(Asked::Command("make")),
                Act::EditorPicks(Some("allow_once")),
                Act::Asks(Asked::Nothing),
                Act::EditorPicks(Some("reject_once")),
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "skills",
            vec![
                prompts("hello"),
                Act::HasCommands(vec!["plan"], vec!["review"]),
                Act::OffersOdd,
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "work in the background",
            vec![
                prompts("run it"),
                calls("t", begins("serve")),
                Act::WorksBeside,
                Act::Ends("end_turn"),
            ],
        ),
        scene(
            "a reason that ACP does not have",
            vec![prompts("hello"), says("a", "Hm"), Act::Ends("_odd")],
        ),
    ]
}
