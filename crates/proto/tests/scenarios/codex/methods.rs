//! The table of methods: what each method begins with.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use acpd_model::{ErrorCode, Role};
use acpd_proto::surface::codex::METHODS;
use acpd_proto::surface::request::{Request, RequestKind};
use acpd_proto::thread::{Change, QueueChange};
use serde_json::{Value, json};

use super::client::{Client, turn_id};
use super::connection::live;
use crate::support::NEW_THREAD;

/// What a method begins with.
enum Begins {
    /// With this member of its result.
    Answer(&'static str),
    /// With such a request to the daemon.
    Asks(fn(&Request) -> bool),
}

macro_rules! asks {
    ($($request:tt)+) => { Begins::Asks(|request| matches!(request, $($request)+)) };
}

/// Returns each method with params besides the thread's id, and what it begins with.
fn rows() -> Vec<(&'static str, Value, Begins)> {
    use Begins::Answer;
    let none = || json!({});
    let turn = || json!({ "turnId": turn_id(2) });
    let queued = || json!({ "queuedSubmissionId": turn_id(2) });
    let input = || json!({ "input": [{ "type": "text", "text": "x" }] });
    vec![
        ("account/read", none(), Answer("requiresOpenaiAuth")),
        (
            "account/bedrock/checkGovCloudRequirements",
            none(),
            Answer("isGovCloud"),
        ),
        ("app/list", none(), Answer("nextCursor")),
        ("collaborationMode/list", none(), Answer("data")),
        ("config/batchWrite", none(), Answer("filePath")),
        ("config/read", none(), Answer("config")),
        ("config/value/write", none(), Answer("filePath")),
        ("configRequirements/read", none(), Answer("requirements")),
        ("experimentalFeature/list", none(), Answer("nextCursor")),
        ("hooks/list", none(), Answer("data")),
        ("mcpServerStatus/list", none(), Answer("nextCursor")),
        ("model/list", none(), asks!(Request::ListAgents)),
        (
            "permissionProfile/list",
            none(),
            asks!(Request::ReadThread { turns: None, .. }),
        ),
        ("plugin/installed", none(), Answer("marketplaces")),
        (
            "review/start",
            json!({ "target": { "type": "uncommittedChanges" } }),
            asks!(Request::StartTurn(start) if start.input[0].get().contains("Review")),
        ),
        ("skills/list", none(), Answer("data")),
        (
            "thread/archive",
            none(),
            asks!(Request::ChangeThread {
                change: Change::Archive,
                ..
            }),
        ),
        (
            "thread/compact/start",
            none(),
            asks!(Request::ReadThread { turns: None, .. }),
        ),
        ("thread/delete", none(), asks!(Request::DeleteThread { .. })),
        ("thread/fork", none(), asks!(Request::ForkThread(_))),
        (
            "thread/items/list",
            turn(),
            asks!(Request::ReadThread { turns: Some(_), .. }),
        ),
        (
            "thread/list",
            none(),
            asks!(Request::ListThreads(list) if list.status.is_none()),
        ),
        (
            "thread/loaded/list",
            none(),
            asks!(Request::ListThreads(list) if list.status.is_some()),
        ),
        (
            "thread/name/set",
            json!({ "name": "n" }),
            asks!(Request::ChangeThread {
                change: Change::Rename { name: Some(_) },
                ..
            }),
        ),
        (
            "thread/queue/add",
            input(),
            asks!(Request::StartTurn(start) if start.input.len() == 1),
        ),
        (
            "thread/queue/delete",
            queued(),
            asks!(Request::Interrupt { turn: Some(_), .. }),
        ),
        (
            "thread/queue/list",
            none(),
            asks!(Request::ReadThread { turns: None, .. }),
        ),
        (
            "thread/queue/reorder",
            json!({ "queuedSubmissionIds": [turn_id(2)] }),
            asks!(Request::ChangeQueue {
                change: QueueChange::Arrange { paused: None, .. },
                ..
            }),
        ),
        (
            "thread/queue/start",
            none(),
            asks!(Request::ChangeQueue {
                change: QueueChange::Arrange {
                    paused: Some(false),
                    ..
                },
                ..
            }),
        ),
        (
            "thread/queue/update",
            json!({ "queuedSubmissionId": turn_id(2), "input": [{ "type": "text", "text": "x" }] }),
            asks!(Request::ChangeQueue {
                change: QueueChange::Edit { .. },
                ..
            }),
        ),
        (
            "thread/read",
            none(),
            asks!(Request::ReadThread { turns: None, .. }),
        ),
        ("thread/resume", none(), asks!(Request::OpenThread(_))),
        (
            "thread/revert",
            json!({ "beforeTurnId": turn_id(2) }),
            asks!(Request::ReadThread { turns: Some(_), .. }),
        ),
        (
            "thread/search",
            json!({ "searchTerm": "x" }),
            asks!(Request::SearchThreads(_)),
        ),
        (
            "thread/settings/update",
            none(),
            asks!(Request::ReadThread { turns: None, .. }),
        ),
        (
            "thread/shellCommand",
            json!({ "command": "ls" }),
            asks!(Request::RunCommand { .. }),
        ),
        ("thread/start", none(), asks!(Request::ListAgents)),
        (
            "thread/turns/list",
            none(),
            asks!(Request::ReadThread { turns: Some(_), .. }),
        ),
        ("thread/unarchive", none(), asks!(Request::UnarchiveThread { .. })),
        (
            "thread/unsubscribe",
            none(),
            asks!(Request::CloseThread { release: false, .. }),
        ),
        (
            "turn/interrupt",
            turn(),
            asks!(Request::Interrupt { turn: Some(_), .. }),
        ),
        ("turn/start", input(), asks!(Request::StartTurn(_))),
        ("turn/steer", input(), asks!(Request::SteerTurn { .. })),
    ]
}

/// Returns the kind whose role a method needs: that of its request, or of a later one if it only reads first.
fn needed(method: &str, first: &Request) -> RequestKind {
    match method {
        "thread/compact/start" => RequestKind::StartTurn,
        "thread/revert" => RequestKind::RollBack,
        "thread/start" => RequestKind::StartThread,
        // Which of its settings the client may change is checked for each.
        "thread/settings/update" => RequestKind::ReadThread,
        _ => first.kind(),
    }
}

fn with_thread(mut params: Value) -> Value {
    params["threadId"] = json!(NEW_THREAD);
    params
}

#[test]
fn each_method_begins_with_its_own_function() {
    let mut rows: BTreeMap<_, _> = rows()
        .into_iter()
        .map(|(name, params, begins)| (name, (params, begins)))
        .collect();
    for method in METHODS {
        let Entry::Occupied(row) = rows.entry(method.name) else {
            panic!("{} is not in the test, or twice in the table", method.name);
        };
        let (params, begins) = row.remove();
        let mut client = Client::following(&live());
        let id = client.request(method.name, &with_thread(params));
        match begins {
            Begins::Answer(member) => {
                let result = client.response(id)["result"].take();
                assert!(result.get(member).is_some(), "{}: {result}", method.name);
                assert!(client.asked.is_empty(), "{}", method.name);
                assert_eq!(method.kind, None, "{}", method.name);
            }
            Begins::Asks(is_it) => {
                let request = client.peek();
                assert!(is_it(request), "{}: {request:?}", method.name);
                assert_eq!(client.asked.len(), 1, "{}", method.name);
                assert_eq!(method.kind, Some(needed(method.name, request)), "{}", method.name);
            }
        }
    }
    assert!(rows.is_empty(), "the table lacks {:?}", rows.keys());
}

/// No name begins anything because it looks like that of a method.
#[test]
fn a_method_that_is_not_in_the_table_does_nothing() {
    let mut client = Client::following(&live());
    for method in [
        "",
        "/",
        "thread",
        "thread/",
        "thread/queue",
        "thread/queue/",
        "thread/queue/startAll",
        "thread/goal/get",
        "thread/start ",
        "Thread/start",
        "turn",
        "turn/",
        "turn/pause",
        "turn/start/now",
        "config/write",
        "unknown",
    ] {
        let params = with_thread(json!({ "input": [{ "type": "text", "text": "x" }] }));
        let refused = client.ask(method, &params);
        let error = &refused["error"];
        assert_eq!(error["code"], json!(ErrorCode::MethodNotFound.rpc()), "{method}");
        assert_eq!(error["message"], format!("unknown method {method:?}"), "{method}");
        assert!(client.asked.is_empty(), "{method}: {:?}", client.asked);
    }
}

/// A method whose refusal would end Codex's TUI has a result anyway, and says why nothing has happened.
#[test]
fn the_row_of_a_method_says_which_role_it_needs() {
    for role in Role::ALL {
        for (name, params, _) in rows() {
            let method = METHODS.iter().find(|method| method.name == name).unwrap();
            let may = method.kind.is_none_or(|kind| role.may(kind.role()));
            let mut client = Client::following_as(role, &live());
            let id = client.request(name, &with_thread(params));
            assert!(
                may || client.asked.is_empty(),
                "{role} {name}: {:?}",
                client.asked
            );
            if may {
                continue;
            }
            let words = format!("{name} needs the role");
            let shown = match name {
                "thread/name/set" => client.params("warning")[0]["message"].clone(),
                "thread/compact/start" | "thread/shellCommand" => {
                    client.params("error")[0]["error"]["message"].clone()
                }
                _ => client.response(id)["error"]["message"].take(),
            };
            assert!(
                shown.as_str().unwrap().starts_with(&words),
                "{role} {name}: {shown}"
            );
        }
    }
}
