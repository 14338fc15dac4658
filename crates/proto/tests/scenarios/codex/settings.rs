//! Models, efforts and modes.

use acpd_model::Role;
use acpd_proto::agent::{AgentRequest, ConfigValue};
use acpd_proto::projection::Live;
use acpd_proto::surface::reply::Reply;
use acpd_proto::surface::request::Request;
use serde_json::{Value, json};

use super::client::{Client, view};
use super::connection::live;
use crate::support::NEW_THREAD;

/// Returns a thread whose agent has models, efforts and modes.
pub fn rich() -> Live {
    let mut rich = live();
    let values = |names: &[&str]| {
        let value = |name: &&str| json!({ "value": name, "name": name.to_uppercase() });
        names.iter().map(value).collect::<Vec<Value>>()
    };
    rich.config_options = Some(
        json!([
            { "id": "m", "name": "Model", "category": "model", "type": "select", "currentValue": "small",
              "options": [{ "group": "g", "name": "G", "options": values(&["small", "large"]) }] },
            { "id": "e", "name": "Effort", "category": "thought_level", "type": "select", "currentValue": "low",
              "options": values(&["low", "high"]) },
            { "id": "x", "name": "Flag", "type": "boolean", "currentValue": true },
        ])
        .into(),
    );
    rich.modes = Some(
        json!({ "currentModeId": "ask", "availableModes": [
            { "id": "ask", "name": "Ask", "description": "Asks first" },
            { "id": "code", "name": "Code" }, { "id": "plan", "name": "Plan" },
        ] })
        .into(),
    );
    rich.mode = Some("ask".into());
    rich
}

fn set(config_id: &str, value: &str) -> Request {
    Request::AskAgent {
        thread: Some(NEW_THREAD),
        request: AgentRequest::SetConfigOption {
            config_id: config_id.into(),
            value: ConfigValue::Id(value.into()),
        },
        names_thread: false,
    }
}

/// Returns the requests for the agent that the settings of `params` lead to, and what the client was warned of.
fn changed(live: &Live, params: Value) -> (Vec<Request>, Vec<String>) {
    let mut client = Client::following(live);
    let mut params = params;
    params["threadId"] = json!(NEW_THREAD);
    let id = client.request("thread/settings/update", &params);
    client.reply(Ok(view(live, None)));
    let mut requests = Vec::new();
    while matches!(client.peek(), Request::AskAgent { .. }) {
        let options = acpd_model::RawJson::parse("{}").unwrap();
        requests.push(client.reply(Ok(Reply::Agent(options))));
    }
    assert_eq!(client.response(id)["result"], json!({}));
    // Codex waits for this, whatever has changed.
    client.reply(Ok(view(live, None)));
    assert_eq!(client.params("thread/settings/updated").len(), 1);
    let warnings = client.params("warning").into_iter();
    let warnings = warnings.map(|params| params["message"].as_str().unwrap().to_owned());
    (requests, warnings.collect())
}

#[test]
fn settings_become_options_of_the_agent() {
    let live = rich();
    let none = Vec::<String>::new();
    assert_eq!(
        changed(&live, json!({ "model": "alpha/large" })),
        (vec![set("m", "large")], none.clone())
    );
    assert_eq!(
        changed(&live, json!({ "effort": "high" })),
        (vec![set("e", "high")], none.clone())
    );
    let modes = vec![set("acpd.mode", "code")];
    assert_eq!(
        changed(&live, json!({ "permissions": "code" })),
        (modes, none.clone())
    );
    let plan = json!({ "collaborationMode": { "mode": "plan", "settings": { "model": "alpha/small" } } });
    assert_eq!(
        changed(&live, plan),
        (vec![set("acpd.mode", "plan")], none.clone())
    );
    // What is already so is not requested.
    for same in ["alpha", "alpha/small"] {
        assert_eq!(
            changed(&live, json!({ "model": same, "effort": "low" })),
            (vec![], none.clone())
        );
    }
    let (requests, warnings) = changed(
        &live,
        json!({ "model": "alpha/none", "effort": "max", "permissions": "no" }),
    );
    assert!(requests.is_empty());
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].contains("has no model \"none\""), "{warnings:?}");
}

#[test]
fn a_model_of_another_agent_is_refused_and_nothing_changes() {
    let live = rich();
    let mut client = Client::following(&live);
    let params = json!({ "threadId": NEW_THREAD, "model": "beta/large", "effort": "high" });
    let id = client.request("thread/settings/update", &params);
    client.reply(Ok(view(&live, None)));
    let refused = client.response(id);
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("belongs to the agent alpha") && message.contains("start a new thread"),
        "{refused}"
    );
    assert!(client.asked.is_empty(), "{:?}", client.asked);
    assert_eq!(client.params("warning").len(), 0, "it is said once");
}

#[test]
fn a_clients_sandbox_and_approvals_change_nothing() {
    let wide = json!({ "approvalPolicy": "never", "sandboxPolicy": { "type": "dangerFullAccess" } });
    assert_eq!(changed(&rich(), wide), (vec![], vec![]));
}

#[test]
fn leaving_plan_mode_returns_to_another_mode() {
    let mut live = rich();
    live.mode = Some("plan".into());
    let default =
        json!({ "collaborationMode": { "mode": "default", "settings": { "model": "alpha/small" } } });
    let (requests, _) = changed(&live, default);
    assert_eq!(requests, [set("acpd.mode", "ask")]);
}

#[test]
fn a_turn_changes_only_what_differs() {
    let live = rich();
    let input = json!([{ "type": "text", "text": "go" }]);
    let start = |model: &str| {
        let mode = json!({ "mode": "default", "settings": { "model": model } });
        json!({
            "threadId": NEW_THREAD, "input": input, "model": model, "effort": "none",
            "permissions": ":workspace", "collaborationMode": mode,
        })
    };
    let mut client = Client::following(&live);
    client.request("turn/start", &start("alpha/small"));
    client.reply(Ok(view(&live, None)));
    assert!(
        matches!(client.peek(), Request::StartTurn(_)),
        "{:?}",
        client.asked
    );
    let mut client = Client::following(&live);
    client.request("turn/start", &start("alpha/large"));
    client.reply(Ok(view(&live, None)));
    assert_eq!(*client.peek(), set("m", "large"));
    // A setting that fails does not stop the turn.
    client.reply(Err(acpd_model::Failure::invalid_params("no such model")));
    assert!(
        matches!(client.peek(), Request::StartTurn(_)),
        "{:?}",
        client.asked
    );
    assert_eq!(client.params("warning")[0]["message"], "no such model");
}

#[test]
fn a_change_by_another_client_is_notified_once() {
    let mut client = Client::following(&rich());
    let scene = crate::support::check(crate::support::Scene::open_session);
    let bound = scene
        .log
        .iter()
        .find(|event| {
            matches!(
                event.kind,
                acpd_model::EventKind::Session(acpd_model::SessionEvent::AgentBound { .. })
            )
        })
        .unwrap();
    client.deliver(NEW_THREAD, &[bound.clone(), bound.clone()]);
    assert_eq!(client.asked.len(), 1, "{:?}", client.asked);
    client.reply(Ok(view(&rich(), None)));
    let told = client.params("thread/settings/updated")[0]["threadSettings"].clone();
    assert_eq!(told["activePermissionProfile"]["id"], "ask");
    assert_eq!(told["model"], "alpha/small");
    assert_eq!(told["collaborationMode"]["mode"], "default");
}

#[test]
fn the_modes_of_the_current_thread_are_the_profiles() {
    let mut client = Client::following_as(Role::Observer, &rich());
    let id = client.request("permissionProfile/list", &json!({}));
    client.reply(Ok(view(&rich(), None)));
    let data = client.response(id)["result"]["data"].take();
    assert_eq!(
        data[0],
        json!({ "id": "ask", "description": "Asks first", "allowed": true })
    );
    assert_eq!(data.as_array().unwrap().len(), 3);
}
