//! One connection: handshake, threads, turns, and the order of messages.

use acpd_model::event::{Fidelity, TurnStatus};
use acpd_model::{ErrorCode, Failure, Role, Summary, ThreadId, ThreadStatus, TurnId};
use acpd_proto::projection::{Live, Transcript, TurnsPage};
use acpd_proto::surface::contract::Source;
use acpd_proto::surface::reply::{AgentInfo, ListPage, ListedThread, Reply, Steered};
use acpd_proto::surface::request::{
    Extent, FollowFrom, ListThreads, ListedStatus, OpenThread, Request, StartTurn,
};
use acpd_proto::thread::{InterruptOptions, SteerDelivery, TurnView};
use serde_json::{Value, json};
use uuid::Uuid;

use super::client::{Client, opened, turn_id, view};
use crate::support::{NEW_THREAD, Scene, check};

fn agent(id: &str, installed: bool) -> AgentInfo {
    AgentInfo {
        id: id.into(),
        title: id.to_uppercase(),
        source: "config",
        installed,
        is_set_up: installed,
        is_default: false,
        runs: None,
        reason: None,
        version: None,
        description: None,
        installs_by: None,
        installing: None,
    }
}

fn agents() -> Reply {
    Reply::Agents(vec![
        agent("missing", false),
        agent("alpha", true),
        agent("beta", true),
    ])
}

pub fn live() -> Live {
    let mut live = Live::new(NEW_THREAD);
    live.summary = Summary {
        agent: "alpha".into(),
        cwd: "/w".into(),
        created_at: 5_000,
        updated_at: 7_000,
        ..Summary::default()
    };
    live
}

fn turn(id: u32) -> Reply {
    Reply::Turn(TurnView {
        id: TurnId(id),
        status: None,
        queued: false,
        started_at: Some(9_000),
    })
}

fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text, "text_elements": [] }])
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_default()
}

#[test]
fn the_handshake_comes_first_and_once() {
    let mut client = Client::of(Role::Owner);
    assert_eq!(
        code(&client.ask("model/list", &json!({}))),
        ErrorCode::Handshake.rpc()
    );
    let mut client = Client::ready(Role::Owner);
    let again = client.ask("initialize", &json!({ "clientInfo": { "name": "x" } }));
    assert_eq!(code(&again), ErrorCode::Handshake.rpc());
    client.says(&json!({ "jsonrpc": "2.0", "method": "initialized" }));
    assert_eq!(code(&client.ask("thread/goal/get", &json!({}))), -32601);
    assert_eq!(
        code(&client.ask("thread/read", &json!({ "threadId": "x" }))),
        -32602
    );
}

#[test]
fn an_id_in_progress_is_refused_and_its_request_is_still_answered() {
    let mut client = Client::ready(Role::Owner);
    let id = client.request("thread/read", &json!({ "threadId": NEW_THREAD }));
    let again = json!({ "id": id, "method": "hooks/list", "params": {} });
    client.says(&again);
    assert_eq!(code(&client.response(id)), ErrorCode::InvalidRequest.rpc());
    client.got.clear();
    client.reply(Ok(view(&live(), None)));
    assert_eq!(client.response(id)["result"]["thread"]["id"], json!(NEW_THREAD));
    client.got.clear();
    client.says(&again);
    assert_eq!(client.response(id)["result"], json!({ "data": [] }));
}

#[test]
fn methods_that_only_codex_needs_have_minimal_results() {
    let mut client = Client::ready(Role::Observer);
    let result = |client: &mut Client, method: &str| client.ask(method, &Value::Null)["result"].clone();
    assert_eq!(result(&mut client, "account/read")["requiresOpenaiAuth"], false);
    assert_eq!(result(&mut client, "hooks/list"), json!({ "data": [] }));
    let config = client.ask("config/read", &json!({ "cwd": "/w" }));
    assert_eq!(
        config["result"]["config"]["projects"]["/w"]["trust_level"],
        "trusted"
    );
    assert_eq!(result(&mut client, "permissionProfile/list")["data"], json!([]));
    assert!(client.asked.is_empty());
}

#[test]
fn the_model_of_a_new_thread_names_its_agent() {
    for (model, agent, warns) in [
        (json!(null), "alpha", false),
        (json!("beta"), "beta", false),
        (json!("beta/large"), "beta", false),
        (json!("gpt-5"), "alpha", false),
        (json!("gamma"), "alpha", true),
    ] {
        let mut client = Client::ready(Role::Owner);
        let id = client.request("thread/start", &json!({ "model": model, "cwd": "/w" }));
        assert_eq!(client.reply(Ok(agents())), Request::ListAgents);
        let Request::StartThread(start) = client.peek().clone() else {
            panic!("{:?}", client.asked);
        };
        assert_eq!((start.agent.as_deref(), start.cwd.as_str()), (Some(agent), "/w"));
        assert_eq!(client.params("warning").len(), usize::from(warns), "{model}");
        client.reply(Ok(opened(&live(), None)));
        let open = client.response(id)["result"].take();
        assert_eq!(open["thread"]["id"], json!(NEW_THREAD));
        assert_eq!((&open["model"], &open["cwd"]), (&json!("alpha"), &json!("/w")));
        assert_eq!(open["thread"]["createdAt"], 5);
    }
    let mut client = Client::ready(Role::Owner);
    let id = client.request("thread/start", &json!({ "cwd": "/w" }));
    client.reply(Ok(Reply::Agents(vec![agent("missing", false)])));
    let message = client.response(id)["error"]["message"].to_string();
    assert!(message.contains("acpd agents install"), "{message}");
    let ephemeral = client.ask("thread/start", &json!({ "ephemeral": true }));
    assert_eq!(code(&ephemeral), ErrorCode::Unsupported.rpc());
}

#[test]
fn the_models_are_the_agents_and_those_of_their_newest_threads() {
    let mut client = Client::ready(Role::Observer);
    let id = client.request("model/list", &json!({}));
    client.reply(Ok(agents()));
    let listed = ListedThread {
        thread: NEW_THREAD,
        summary: live().summary,
        seen_at: None,
    };
    let page = vec![listed];
    client.reply(Ok(Reply::Threads(ListPage { page, next: None })));
    let read = Request::ReadThread {
        thread: NEW_THREAD,
        turns: None,
    };
    assert_eq!(client.reply(Ok(view(&super::settings::rich(), None))), read);
    let data = client.response(id)["result"]["data"].take();
    let ids: Vec<&str> = data
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["alpha/small", "alpha/large", "beta"]);
    assert_eq!(data[0]["supportedReasoningEfforts"][1]["reasoningEffort"], "high");
    // A thread that cannot be read does not hide the others.
    let id = client.request("model/list", &json!({}));
    client.reply(Ok(agents()));
    let listed = ListedThread {
        thread: NEW_THREAD,
        summary: live().summary,
        seen_at: None,
    };
    let page = vec![listed];
    client.reply(Ok(Reply::Threads(ListPage { page, next: None })));
    client.reply(Err(Failure::not_found("the thread")));
    assert_eq!(client.response(id)["result"]["data"].as_array().unwrap().len(), 2);
}

#[test]
fn a_turns_notifications_follow_its_response() {
    let mut seen = 0;
    let scene = check(|scene| {
        scene.open_session();
        seen = scene.log.len();
        scene.prompt("hello");
    });
    let mut before = Live::new(scene.id);
    for event in &scene.log[..seen] {
        before.fold(event);
    }
    let mut client = Client::following(&before);
    let params = json!({ "threadId": scene.id, "clientUserMessageId": "own", "input": text("hello") });
    client.request("turn/start", &params);
    let start = StartTurn {
        thread: scene.id,
        input: vec![acpd_proto::projection::text_block("hello")],
        meta: None,
        client_turn_id: Some("own".into()),
        replaces: None,
    };
    assert_eq!(*client.peek(), Request::StartTurn(start));
    client.deliver(scene.id, &scene.log[seen..]);
    assert_eq!(client.methods(), Vec::<String>::new());
    client.reply(Ok(turn(1)));
    let methods = client.methods();
    assert_eq!(methods[0], "response");
    assert!(methods.contains(&"turn/started".to_owned()), "{methods:?}");
    // The next ones are not held.
    client.deliver(scene.id, &scene.log[seen..=seen]);
    assert_eq!(client.methods().len(), 1);
}

/// A response that takes long must not make the connection keep all that happens meanwhile.
#[test]
fn requests_that_wait_for_a_response_are_bounded() {
    let scene = check(|scene| {
        scene.open_turn();
        scene.chunk("x");
        scene.later(1_000);
    });
    let chunk = scene
        .log
        .iter()
        .rfind(|event| {
            matches!(
                event.kind,
                acpd_model::EventKind::Item(acpd_model::ItemEvent::Delta { .. })
            )
        })
        .expect("a chunk");
    let mut client = Client::following(&live());
    let params = json!({ "threadId": NEW_THREAD, "input": text("hello") });
    client.request("turn/start", &params);
    let many = vec![chunk.clone(); 4096];
    client.deliver(NEW_THREAD, &many[1..]);
    assert!(client.methods().is_empty());
    client.deliver(NEW_THREAD, &many[..1]);
    assert_eq!(client.methods().len(), 4096);
    client.deliver(NEW_THREAD, &many[..1]);
    assert_eq!(client.methods().len(), 1);
    client.reply(Ok(turn(1)));
    assert_eq!(client.methods(), ["response"]);
}

/// The daemon takes room for an answer before it reads the turns, so it must know how many a client wants.
#[test]
fn turns_are_read_with_one_request() {
    let mut client = Client::ready(Role::Observer);
    for (method, extent) in [
        ("thread/read", Extent::WholeThread),
        ("thread/turns/list", Extent::WholeTurns),
        ("thread/items/list", Extent::WholeTurns),
    ] {
        let params = json!({ "threadId": NEW_THREAD, "includeTurns": true });
        let id = client.request(method, &params);
        let page = TurnsPage {
            turns: Vec::new(),
            older: Some("9".parse().unwrap()),
        };
        let Request::ReadThread {
            turns: Some(wanted), ..
        } = client.reply(Ok(view(&live(), Some(page))))
        else {
            panic!("{method} reads no thread");
        };
        assert_eq!(wanted.extent, extent, "{method}");
        assert!(client.response(id)["result"].is_object(), "{method}");
        assert!(client.asked.is_empty(), "{method}");
    }
}

#[test]
fn a_prompt_has_the_clients_own_id() {
    let mut seen = 0;
    let scene = check(|scene| {
        scene.open_session();
        seen = scene.log.len();
        scene
            .start_turn(vec![acpd_proto::projection::text_block("hello")], Some("own"))
            .unwrap();
    });
    let mut before = Live::new(scene.id);
    for event in &scene.log[..seen] {
        before.fold(event);
    }
    let mut client = Client::following(&before);
    client.deliver(scene.id, &scene.log[seen..]);
    let item = &client.params("item/completed")[0]["item"];
    assert_eq!(
        (&item["type"], &item["clientId"]),
        (&json!("userMessage"), &json!("own"))
    );
    assert_eq!(item["content"], text("hello"));
    assert_eq!(client.params("item/completed").len(), 1);
}

#[test]
fn a_prompt_that_a_client_may_repeat_has_its_key() {
    let key = json!({ "acpd": { "idempotencyKey": "key" } });
    for (own, meta, name) in [
        (json!(null), key.clone(), Some("key")),
        (json!("own"), key, Some("own")),
        (json!(null), json!({ "acpd": {} }), None),
    ] {
        let mut client = Client::following(&live());
        let params = json!({
            "threadId": NEW_THREAD, "input": text("x"), "clientUserMessageId": own, "_meta": meta,
        });
        client.request("turn/start", &params);
        let Request::StartTurn(start) = client.peek() else {
            panic!("{:?}", client.asked);
        };
        assert_eq!(start.client_turn_id.as_deref(), name);
    }
    let mut client = Client::following(&live());
    let wrong = json!({ "acpd": { "idempotencyKey": 7 } });
    let params = json!({ "threadId": NEW_THREAD, "input": text("x"), "_meta": wrong });
    assert_eq!(code(&client.ask("turn/start", &params)), -32602);
}

#[test]
fn a_review_is_a_turn_that_asks_for_one() {
    for (target, words) in [
        (json!({ "type": "uncommittedChanges" }), "uncommitted changes"),
        (
            json!({ "type": "baseBranch", "branch": "main" }),
            "the branch main",
        ),
        (
            json!({ "type": "commit", "sha": "abc", "title": null }),
            "commit abc",
        ),
        (
            json!({ "type": "custom", "instructions": "the tests" }),
            "Review the tests",
        ),
    ] {
        let mut client = Client::following(&live());
        let params = json!({ "threadId": NEW_THREAD, "target": target, "delivery": "inline" });
        let id = client.request("review/start", &params);
        let Request::StartTurn(start) = client.reply(Ok(turn(2))) else {
            panic!("no turn");
        };
        assert!(start.input[0].get().contains(words), "{:?}", start.input);
        let result = client.response(id)["result"].take();
        assert_eq!(
            (&result["turn"]["id"], &result["reviewThreadId"]),
            (&json!(turn_id(2)), &json!(NEW_THREAD))
        );
    }
}

#[test]
fn steering_and_interrupting_name_the_turn() {
    let mut client = Client::following(&live());
    let id = client.request(
        "turn/steer",
        &json!({
            "threadId": NEW_THREAD, "expectedTurnId": turn_id(3), "input": text("more"), "clientUserMessageId": "m-1",
        }),
    );
    let steered = Reply::Steered(Steered {
        turn: TurnId(3),
        delivery: SteerDelivery::Steered,
    });
    let Request::SteerTurn {
        turn: Some(TurnId(3)),
        client_turn_id,
        ..
    } = client.reply(Ok(steered))
    else {
        panic!("not steered");
    };
    assert_eq!(client_turn_id.as_deref(), Some("m-1"));
    assert_eq!(client.response(id)["result"], json!({ "turnId": turn_id(3) }));
    client.request(
        "turn/interrupt",
        &json!({ "threadId": NEW_THREAD, "turnId": turn_id(3) }),
    );
    let interrupt = Request::Interrupt {
        thread: NEW_THREAD,
        turn: Some(TurnId(3)),
        options: InterruptOptions::default(),
    };
    assert_eq!(client.take(), interrupt);
}

#[test]
fn images_and_mentions_become_blocks_of_acp() {
    let mut client = Client::following(&live());
    let input = json!([
        { "type": "image", "url": "data:image/png;base64,AAAA" },
        { "type": "mention", "name": "a.rs", "path": "/w/a.rs" },
        { "type": "localImage", "path": "/w/b.png" },
    ]);
    client.request("turn/start", &json!({ "threadId": NEW_THREAD, "input": input }));
    let Request::StartTurn(start) = client.reply(Ok(turn(1))) else {
        panic!("no turn");
    };
    let blocks: Vec<Value> = start.input.iter().map(|block| block.read().unwrap()).collect();
    assert_eq!(
        blocks[0],
        json!({ "type": "image", "mimeType": "image/png", "data": "AAAA" })
    );
    assert_eq!(
        blocks[1],
        json!({ "type": "resource_link", "name": "a.rs", "uri": "file:///w/a.rs" })
    );
    assert_eq!(blocks[2]["uri"], "file:///w/b.png");
    for input in [json!([]), json!([{ "type": "audio", "url": "x" }])] {
        let refused = client.ask("turn/start", &json!({ "threadId": NEW_THREAD, "input": input }));
        assert!(refused["error"].is_object(), "{refused}");
    }
}

#[test]
fn a_role_limits_what_a_client_may_do() {
    let mut client = Client::following_as(Role::Observer, &live());
    let refused = client.ask(
        "turn/start",
        &json!({ "threadId": NEW_THREAD, "input": text("x") }),
    );
    assert_eq!(code(&refused), ErrorCode::Forbidden.rpc());
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("operator") && message.contains("observer"),
        "{message}"
    );
    // An error of this request would end the TUI.
    let named = client.ask("thread/name/set", &json!({ "threadId": NEW_THREAD, "name": "x" }));
    assert_eq!(named["result"], json!({}));
    assert_eq!(client.params("warning").len(), 1);
    assert!(client.asked.is_empty());
}

#[test]
fn a_resumed_thread_has_its_turns_unless_the_client_excludes_them() {
    let scene = check(|scene| {
        scene.open_turn();
        scene.chunk("hi");
        scene.stops_with("end_turn");
    });
    let mut transcript = Transcript::new(scene.id);
    let mut live = Live::new(scene.id);
    for event in &scene.log {
        transcript.fold(event);
        live.fold(event);
    }
    let turns = transcript.into_turns();
    // acpd cuts a page within a turn; Codex's turns are whole.
    let (mut first, mut second) = (turns.clone(), turns);
    let at = first[0].items.len() - 1;
    second[0].items = first[0].items.split_off(at);
    let mut page = TurnsPage {
        turns: second,
        older: Some("1.3".parse().unwrap()),
    };
    page.prepend(TurnsPage {
        turns: first,
        older: None,
    });
    assert_eq!(page.older, None);
    let items = |mut response: Value| {
        let turns = response["result"]["thread"]["turns"].take();
        assert_eq!(turns.as_array().unwrap().len(), 1);
        let items = turns[0]["items"].as_array().unwrap().iter();
        let types = items.map(|item| item["type"].as_str().unwrap().to_owned());
        types.collect::<Vec<_>>()
    };
    let mut client = Client::ready(Role::Owner);
    let id = client.request("thread/resume", &json!({ "threadId": scene.id }));
    let Request::OpenThread(open) = client.reply(Ok(opened(&live, Some(page.clone())))) else {
        panic!("not opened");
    };
    let OpenThread {
        from,
        starts_agent,
        turns,
        ..
    } = *open;
    assert_eq!((from, starts_agent), (FollowFrom::Latest, false));
    assert_eq!(turns.unwrap().extent, Extent::WholeThread);
    assert_eq!(items(client.response(id)), ["userMessage", "agentMessage"]);
    // The turns of a fork are read once it exists.
    let mut client = Client::ready(Role::Owner);
    let id = client.request("thread/fork", &json!({ "threadId": scene.id }));
    client.reply(Ok(opened(&live, None)));
    // What happens meanwhile follows the response.
    client.deliver(scene.id, &scene.log[scene.log.len() - 1..]);
    client.reply(Ok(view(&live, Some(page))));
    assert_eq!(items(client.response(id)), ["userMessage", "agentMessage"]);
    let methods = client.methods();
    let response = methods.iter().position(|method| method == "response").unwrap();
    assert!(response < methods.len() - 1, "{methods:?}");
}

#[test]
fn reverting_and_forking_keep_the_turns_before() {
    let turns = |ids: &[u32]| {
        let scene = check(|scene| {
            scene.open_turn();
            scene.stops_with("end_turn");
        });
        let template = scene.transcript().turns[0].clone();
        let turn = |id: &u32| acpd_proto::projection::Turn {
            id: Some(TurnId(*id)),
            ..template.clone()
        };
        Some(TurnsPage {
            turns: ids.iter().map(turn).collect(),
            older: None,
        })
    };
    for (before, kept) in [(vec![2], Some(TurnId(2))), (vec![], None)] {
        let mut client = Client::following(&live());
        let id = client.request(
            "thread/revert",
            &json!({ "threadId": NEW_THREAD, "beforeTurnId": turn_id(4) }),
        );
        let Request::ReadThread {
            turns: Some(wanted), ..
        } = client.reply(Ok(view(&live(), turns(&before))))
        else {
            panic!("not read");
        };
        assert_eq!(wanted.before.unwrap().to_string(), "4");
        let roll_back = Request::RollBack {
            thread: NEW_THREAD,
            last_kept: kept,
        };
        assert_eq!(client.reply(Ok(Reply::RolledBack(Fidelity::Exact))), roll_back);
        client.reply(Ok(view(&live(), None)));
        assert_eq!(client.response(id)["result"]["thread"]["id"], json!(NEW_THREAD));
    }
    let mut client = Client::following(&live());
    let params = json!({ "threadId": NEW_THREAD, "beforeTurnId": "turn_4", "excludeTurns": true });
    let id = client.request("thread/fork", &params);
    client.reply(Ok(view(&live(), turns(&[3]))));
    let Request::ForkThread(fork) = client.reply(Ok(opened(&live(), None))) else {
        panic!("not forked");
    };
    assert_eq!(fork.turn, Some(TurnId(3)));
    assert_eq!(
        client.response(id)["result"]["thread"]["forkedFromId"],
        json!(NEW_THREAD)
    );
    let id = client.request("thread/fork", &params);
    client.reply(Ok(view(&live(), turns(&[]))));
    assert_eq!(code(&client.response(id)), ErrorCode::Conflict.rpc());
}

#[test]
fn the_list_is_filtered_by_what_acpd_knows() {
    let mut client = Client::ready(Role::Observer);
    let params =
        json!({ "cwd": ["/w"], "archived": true, "searchTerm": "x", "limit": 7, "sourceKinds": ["cli"] });
    let id = client.request("thread/list", &params);
    let listed = |cwd: &str| ListedThread {
        thread: NEW_THREAD,
        summary: Summary {
            cwd: cwd.into(),
            ..live().summary
        },
        seen_at: None,
    };
    let page = vec![listed("/w"), listed("/other")];
    let wanted = client.reply(Ok(Reply::Threads(ListPage {
        page,
        next: Some("c".into()),
    })));
    let list = ListThreads {
        cwd: Some("/w".into()),
        archived: Some(true),
        search: Some("x".into()),
        limit: Some(7),
        ..ListThreads::default()
    };
    assert_eq!(wanted, Request::ListThreads(list));
    let result = client.response(id)["result"].take();
    assert_eq!(result["data"].as_array().unwrap().len(), 1);
    assert_eq!(result["nextCursor"], "c");
    for foreign in [
        json!({ "sectionId": "s" }),
        json!({ "sourceKinds": ["subAgent"] }),
    ] {
        assert_eq!(client.ask("thread/list", &foreign)["result"]["data"], json!([]));
    }
    client.request("thread/loaded/list", &json!({}));
    let Request::ListThreads(list) = client.take() else {
        panic!("not listed");
    };
    assert_eq!(list.status, Some(ListedStatus::Active));
}

#[test]
fn a_search_lists_each_thread_with_its_first_match() {
    let other = ThreadId(Uuid::from_u128(5));
    let hit = |thread, text: &str| acpd_model::SearchHit {
        thread,
        name: None,
        seq: 1,
        at: 0,
        turn: None,
        item: None,
        kind: acpd_model::search::TextKind::UserMessage,
        snippet: vec![acpd_model::search::SnippetPiece {
            text: text.into(),
            hit: true,
        }],
    };
    let page = vec![
        hit(NEW_THREAD, "one"),
        hit(NEW_THREAD, "two"),
        hit(other, "three"),
    ];
    let mut client = Client::ready(Role::Observer);
    let id = client.request("thread/search", &json!({ "searchTerm": "x" }));
    client.reply(Ok(Reply::Hits(ListPage {
        page,
        next: Some("c".into()),
    })));
    client.reply(Ok(view(&live(), None)));
    // Deleted in the meantime.
    client.reply(Err(Failure::not_found("the thread")));
    let result = client.response(id)["result"].take();
    let data = result["data"].as_array().unwrap();
    assert_eq!((data.len(), &data[0]["snippet"]), (1, &json!("one")));
    assert_eq!(
        (&data[0]["thread"]["id"], &result["nextCursor"]),
        (&json!(NEW_THREAD), &json!("c"))
    );
    assert_eq!(code(&client.ask("thread/search", &json!({}))), -32602);
}

#[test]
fn changes_of_the_list_reach_clients_that_do_not_follow_the_thread() {
    let mut client = Client::ready(Role::Observer);
    client.got.clear();
    let thread = ThreadId(Uuid::from_u128(5));
    let told = |client: &mut Client, summary: Option<&Summary>| {
        client.list(Source::Listed {
            thread,
            at: 0,
            summary,
            with_metadata: false,
        });
        client.methods()
    };
    let mut summary = live().summary;
    let first = told(&mut client, Some(&summary));
    assert_eq!(
        first,
        ["thread/started", "thread/status/changed", "thread/name/updated"]
    );
    assert!(told(&mut client, Some(&summary)).is_empty());
    summary.status = ThreadStatus::Running;
    assert_eq!(told(&mut client, Some(&summary)), ["thread/status/changed"]);
    summary.name = Some("new".into());
    assert_eq!(told(&mut client, Some(&summary)), ["thread/name/updated"]);
    summary.archived = true;
    assert_eq!(told(&mut client, Some(&summary)), ["thread/archived"]);
    assert_eq!(told(&mut client, None), ["thread/deleted"]);
    // A client that follows the thread learns it from the thread's events.
    let mut client = Client::following(&live());
    let source = Source::Listed {
        thread: NEW_THREAD,
        at: 0,
        summary: Some(&summary),
        with_metadata: false,
    };
    client.list(source);
    assert_eq!(client.methods(), ["thread/started"]);
}

#[test]
fn a_turn_that_the_daemon_ended_has_failed() {
    let scene = check(|scene| {
        scene.open_turn();
        scene.exits("killed by signal 9");
    });
    assert!(scene.settled_turns().contains(&TurnStatus::Failed));
    let mut first = Live::new(scene.id);
    first.fold(&scene.log[0]);
    let mut client = Client::following(&first);
    client.deliver(scene.id, &scene.log[1..]);
    let completed = client.params("turn/completed")[0]["turn"].clone();
    assert_eq!(completed["status"], "failed");
    let error = &client.params("error")[0];
    assert_eq!(error["error"], completed["error"]);
    assert_eq!(error["willRetry"], false);
}

#[test]
fn an_agent_without_a_command_for_it_is_not_compacted() {
    let mut client = Client::following(&live());
    let id = client.request("thread/compact/start", &json!({ "threadId": NEW_THREAD }));
    client.reply(Ok(view(&live(), None)));
    assert_eq!(client.response(id)["result"], json!({}));
    let failed = client.params("turn/completed")[0]["turn"].clone();
    assert_eq!(failed["status"], "failed");
    let mut able = live();
    let commands = json!({ "availableCommands": [{ "name": "help" }, { "name": "compress" }] });
    able.commands = Some(commands.into());
    let id = client.request("thread/compact/start", &json!({ "threadId": NEW_THREAD }));
    client.reply(Ok(view(&able, None)));
    let Request::StartTurn(start) = client.reply(Ok(turn(2))) else {
        panic!("no turn");
    };
    assert_eq!(start.input, [acpd_proto::projection::text_block("/compress")]);
    assert_eq!(client.response(id)["result"], json!({}));
}

#[test]
fn turns_of_other_threads_are_not_found() {
    let other = format!("turn_3_{}", ThreadId(Uuid::from_u128(98)));
    let input = text("more");
    for (method, params) in [
        ("turn/interrupt", json!({ "turnId": other })),
        ("turn/steer", json!({ "expectedTurnId": other, "input": input })),
        ("thread/revert", json!({ "beforeTurnId": other })),
        ("thread/fork", json!({ "lastTurnId": other })),
        ("thread/fork", json!({ "beforeTurnId": other })),
        ("thread/items/list", json!({ "turnId": other })),
        ("thread/queue/delete", json!({ "queuedSubmissionId": other })),
        (
            "thread/queue/reorder",
            json!({ "queuedSubmissionIds": [turn_id(3), other] }),
        ),
    ] {
        let mut client = Client::following(&live());
        let mut params = params;
        params["threadId"] = json!(NEW_THREAD);
        let id = client.request(method, &params);
        let error = client.response(id)["error"]["message"].take();
        let error = error.as_str().unwrap_or_default();
        assert!(error.contains("is a turn of the thread"), "{method}: {error}");
    }
}

#[test]
fn queued_messages_are_turns_that_wait() {
    let mut client = Client::following(&live());
    let params = json!({ "threadId": NEW_THREAD, "clientUserMessageId": "q", "input": text("later") });
    let id = client.request("thread/queue/add", &params);
    client.reply(Ok(turn(4)));
    assert_eq!(
        client.response(id)["result"]["queuedSubmission"]["id"],
        json!(turn_id(4))
    );
    let mut scene = Scene::new();
    scene.open_turn();
    scene
        .start_turn(vec![acpd_proto::projection::text_block("later")], Some("q"))
        .unwrap();
    let mut live = Live::new(scene.id);
    for event in &scene.log {
        live.fold(event);
    }
    let id = client.request("thread/queue/list", &json!({ "threadId": scene.id }));
    client.reply(Ok(view(&live, None)));
    let queue = client.response(id)["result"]["data"].take();
    assert_eq!(
        queue,
        json!([{ "id": format!("turn_2_{}", scene.id), "clientUserMessageId": "q", "input": text("later") }])
    );
}
