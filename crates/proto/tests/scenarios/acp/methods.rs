//! The table of methods: what each method asks the daemon for.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use acpd_proto::agent::AgentRequest;
use acpd_proto::surface::acp::{ConnectionStart, METHODS, Peer};
use acpd_proto::surface::contract::Surface;
use acpd_proto::surface::request::Request;
use acpd_proto::thread::Change;
use serde_json::{Value, json};

use super::connection::{connection, opened, request, sent};
use super::stage::NOW;
use crate::support::{NEW_THREAD, gate};

type Asks = fn(&Request) -> bool;

macro_rules! asks {
    ($($request:tt)+) => {{
        let asks: Asks = |request| matches!(request, $($request)+);
        asks
    }};
}

macro_rules! asks_agent {
    ($($agent:tt)+) => { asks!(Request::AskAgent { request: $($agent)+, .. }) };
}

/// Returns each method with params besides the session, and what it asks for.
fn rows() -> Vec<(&'static str, Value, Asks)> {
    let none = || json!({});
    let cwd = || json!({ "cwd": "/w" });
    vec![
        ("session/new", cwd(), asks!(Request::StartThread(_))),
        (
            "session/load",
            cwd(),
            asks!(Request::OpenThread(open) if open.claims.is_empty()),
        ),
        ("session/resume", cwd(), asks!(Request::OpenThread(_))),
        ("session/fork", cwd(), asks!(Request::ForkThread(_))),
        ("session/list", none(), asks!(Request::ListThreads(_))),
        (
            "session/close",
            none(),
            asks!(Request::CloseThread { release: true, .. }),
        ),
        ("session/delete", none(), asks!(Request::DeleteThread { .. })),
        (
            "session/set_title",
            json!({ "title": " A name " }),
            asks!(Request::ChangeThread { change: Change::Rename { name: Some(name) }, .. } if name == "A name"),
        ),
        (
            "session/prompt",
            json!({ "prompt": [] }),
            asks!(Request::StartTurn(_)),
        ),
        (
            "session/set_mode",
            json!({ "modeId": "m" }),
            asks_agent!(AgentRequest::SetMode { .. }),
        ),
        (
            "session/set_model",
            json!({ "modelId": "m" }),
            asks_agent!(AgentRequest::SetModel { .. }),
        ),
        (
            "session/set_config_option",
            json!({ "configId": "c", "value": "v" }),
            asks_agent!(AgentRequest::SetConfigOption { .. }),
        ),
        (
            "session/options",
            cwd(),
            asks_agent!(AgentRequest::SessionOptions { of_session: true, .. }),
        ),
        (
            "auth/status",
            none(),
            asks_agent!(AgentRequest::Passthrough { .. }),
        ),
        (
            "providers/list",
            none(),
            asks_agent!(AgentRequest::Passthrough { .. }),
        ),
        (
            "providers/set",
            none(),
            asks_agent!(AgentRequest::Passthrough { .. }),
        ),
        (
            "providers/disable",
            none(),
            asks_agent!(AgentRequest::Passthrough { .. }),
        ),
        (
            "_acpd/lease/acquire",
            none(),
            asks!(Request::MoveLease { take: true, .. }),
        ),
        (
            "_acpd/lease/release",
            none(),
            asks!(Request::MoveLease { take: false, .. }),
        ),
        (
            "authenticate",
            json!({ "methodId": "m" }),
            asks_agent!(AgentRequest::Authenticate { .. }),
        ),
        ("logout", none(), asks_agent!(AgentRequest::Logout)),
    ]
}

/// Returns a connection with an open session.
fn with_session() -> Peer {
    let mut peer = connection(ConnectionStart::default());
    let params = json!({ "sessionId": NEW_THREAD, "cwd": "/w" }).to_string();
    let (call, _) = request(&mut peer, 1, "session/resume", &params);
    peer.handle_reply(call, Ok(opened(NEW_THREAD, 0, 0, Vec::new())));
    sent(&mut peer);
    peer
}

#[test]
fn each_method_asks_for_what_its_row_says() {
    let mut rows: BTreeMap<_, _> = rows()
        .into_iter()
        .map(|(name, params, asks)| (name, (params, asks)))
        .collect();
    for method in METHODS.iter().filter(|method| method.name != "initialize") {
        let Entry::Occupied(row) = rows.entry(method.name) else {
            panic!("{} is not in the test, or twice in the table", method.name);
        };
        let (mut params, asks) = row.remove();
        params["sessionId"] = json!(NEW_THREAD);
        let mut peer = with_session();
        let (_, asked) = request(&mut peer, 2, method.name, &params.to_string());
        assert!(asks(&asked), "{}: {asked:?}", method.name);
        assert_eq!(asked.kind(), method.kind, "{}", method.name);
    }
    assert!(rows.is_empty(), "the table lacks {:?}", rows.keys());
    let mut peer = Peer::new("owner".into(), acpd_model::Role::Owner, "c".into(), gate());
    let (_, asked) = request(&mut peer, 1, "initialize", "{}");
    assert_eq!(asked, Request::Initialize);
}

/// No name asks for anything because it looks like that of a method.
#[test]
fn a_method_that_is_not_in_the_table_asks_for_nothing() {
    for method in [
        "session",
        "session/",
        "session/set",
        "session/set_other",
        "session/loads",
        "providers/other",
        "Session/load",
        "_acpd/lease",
        "_acpd/other",
        "extension",
        "unknown",
    ] {
        let mut peer = with_session();
        let params = json!({ "sessionId": NEW_THREAD, "configId": "c", "value": "v" });
        let message = json!({ "jsonrpc": "2.0", "id": 2, "method": method, "params": params });
        peer.handle_message(&message.to_string(), NOW);
        let refused = sent(&mut peer);
        let message = refused[0]["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(message, format!("unknown method {method:?}"), "{refused:?}");
        assert_eq!(refused.len(), 1, "{refused:?}");
    }
}
