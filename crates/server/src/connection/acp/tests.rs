//! An editor, a daemon and an agent over an in-memory stream.

mod slow_editor;

use std::collections::BTreeMap;
use std::sync::Arc;

use acpd_model::{Limits, Role};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split};
use tokio_util::sync::CancellationToken;

use crate::auth::identity::EditorIdentity;
use crate::connection::acp::setup::ConnectionSetup;
use crate::transport::lines::Lines as Ndjson;
use acpd_proto::surface::contract::Lane;
use acpd_proto::surface::reply::Reply;
use acpd_proto::surface::request::{ForkThread, Request};
use acpd_runtime::agent::config::AgentConfig;
use acpd_runtime::agent::sandbox::{Mode, SandboxSettings};
use acpd_runtime::service::{Caller, Defaults, Service};
use acpd_runtime::test_context::context;
use acpd_runtime::thread::directory::Directory;

/// An agent with fixed responses to each line: the handshake, a session, a prompt.
const AGENT: &str = r#"
read line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"sh","version":"1"}}}'
read line; echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s","_meta":{"n":1.10}}}'
read line
echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"hologram","n":1.10}}}'
echo '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}'
cat > /dev/null
"#;

/// An agent that asks its client to write a file during the turn, and ends the turn with the result.
const WRITER: &str = r#"
read line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
read line; echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}'
read line
echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"w"}}}'
echo '{"jsonrpc":"2.0","id":"w","method":"fs/write_text_file","params":{"sessionId":"s","path":"/none/a","content":"x","_meta":{"n":1.10}}}'
read line
printf '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","_meta":{"heard":%s}}}\n' "$line"
cat > /dev/null
"#;

/// An agent that records each of its starts and what it is offered then, and responds by method. If its working directory has the file `wants-sign-in`,
/// it requires a sign-in before it opens a session.
const LASTING: &str = r#"
echo start >> "$STARTS"
[ -e "$STARTS.sign-in" ] && locked=yes
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  result=
  case "$line" in
    *'"method":"initialize"'*) printf '%s\n' "$line" >> "$STARTS.hello"; result='{"protocolVersion":1,"authMethods":[{"id":"key","name":"Key"}],"agentCapabilities":{"auth":{"logout":{}},"providers":{},"loadSession":true}}';;
    *'"method":"authenticate"'*) locked=; result='{"_meta":{"n":1.10}}';;
    *'"method":"logout"'*) result='{}';;
    *'"method":"providers/list"'*) result='{"providers":[{"n":1.10}]}';;
    *'"method":"session/new"'*) [ -n "$locked" ] || result='{"sessionId":"s"}';;
    *'"method":"session/load"'*) result='{}';;
    *'"method":"session/prompt"'*) result='{"stopReason":"end_turn"}';;
    *'"method":"_known"'*) result='{"known":1.10}';;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?","data":{"n":1.10}}}\n' "$id"; continue;;
    *) continue;;
  esac
  if [ -n "$result" ]; then printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
  else printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"sign in"}}\n' "$id"; fi
done
"#;

async fn daemon(data_dir: &std::path::Path) -> Service {
    daemon_with(data_dir, AGENT).await
}

async fn daemon_with(data_dir: &std::path::Path, script: &str) -> Service {
    daemon_within(data_dir, script, Limits::default()).await
}

async fn daemon_within(data_dir: &std::path::Path, script: &str, limits: Limits) -> Service {
    let agent = AgentConfig {
        command: "sh".into(),
        args: vec!["-c".into(), script.into()],
        env: BTreeMap::from([("STARTS".to_owned(), starts_file(data_dir).display().to_string())]),
        // A process that has a signed-in user opens sessions in any directory, so it has no sandbox.
        sandbox: SandboxSettings {
            mode: Some(Mode::Off),
            ..SandboxSettings::default()
        },
        ..AgentConfig::default()
    };
    let agents = BTreeMap::from([("sh".to_owned(), agent)]);
    let context = context(data_dir, agents, limits);
    let directory = Directory::open(context.clone()).await.unwrap();
    Service::new(directory, context)
}

/// Returns the file in which an agent records its starts.
fn starts_file(data_dir: &std::path::Path) -> std::path::PathBuf {
    data_dir.join("starts")
}

/// Returns how often the agent was started.
fn starts(data_dir: &std::path::Path) -> usize {
    let noted = std::fs::read_to_string(starts_file(data_dir)).unwrap_or_default();
    noted.lines().count()
}

/// Returns the modes of elicitation that each process of the agent was offered.
fn offers(data_dir: &std::path::Path) -> Vec<Value> {
    let noted = std::fs::read_to_string(data_dir.join("starts.hello")).unwrap_or_default();
    let offered = |line: &str| {
        let mut hello: Value = serde_json::from_str(line).unwrap();
        hello["params"]["clientCapabilities"]["elicitation"].take()
    };
    noted.lines().map(offered).collect()
}

/// Returns the parameters of `initialize` for an editor that declares these modes of elicitation.
fn showing(elicitation: &Value) -> Value {
    json!({ "protocolVersion": 1, "clientCapabilities": { "elicitation": elicitation } })
}

/// Stops the daemon, and removes its data directory.
async fn close(service: Service, data_dir: &std::path::Path) {
    let directory = service.directory;
    directory.close_within(std::time::Duration::from_secs(10)).await;
    std::fs::remove_dir_all(data_dir).unwrap();
}

struct Editor {
    read: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
}

impl Editor {
    fn connect(setup: &ConnectionSetup) -> Self {
        Self::connect_as(setup, Role::Owner)
    }

    fn connect_as(setup: &ConnectionSetup, role: Role) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let identity = EditorIdentity {
            principal: "owner".into(),
            user: "owner".into(),
            permissions: role.into(),
            ends: CancellationToken::new(),
        };
        let (reader, writer) = split(theirs);
        let transport = Ndjson::new(reader, writer, &setup.service.context.limits.now());
        let setup = setup.clone();
        tokio::spawn(async move { setup.serve(transport, identity, None).await });
        let (read, write) = split(ours);
        let read = BufReader::new(read).lines();
        Self { read, write }
    }

    /// Receives the next message.
    async fn hear(&mut self) -> String {
        self.read.next_line().await.unwrap().expect("the daemon stays")
    }

    /// Sends a message.
    async fn say(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.write.write_all(line.as_bytes()).await.unwrap();
    }

    /// Sends a request, and returns all messages up to its response.
    async fn ask(&mut self, method: &str, params: Value) -> Vec<String> {
        let request = json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params });
        self.say(&request).await;
        let mut heard = Vec::new();
        loop {
            let line = self.hear().await;
            let is_answer = line.contains(&format!("\"id\":\"{method}\""));
            heard.push(line);
            if is_answer {
                return heard;
            }
        }
    }
}

#[tokio::test]
async fn an_editor_works_and_another_one_loads_what_it_did() {
    let data_dir = std::env::temp_dir().join(format!("acpd-acp-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir_all(&data_dir).unwrap();
    let service = daemon(&data_dir).await;
    let setup = ConnectionSetup::open(service.clone(), CancellationToken::new());
    let mut first = Editor::connect(&setup);
    let hello = first.ask("initialize", json!({ "protocolVersion": 1 })).await;
    assert!(
        hello[0].contains(r#""agentInfo":{"name":"sh","version":"1"}"#),
        "{hello:?}"
    );
    assert!(hello[0].contains(r#""loadSession":true"#), "{hello:?}");
    let made = first
        .ask("session/new", json!({ "cwd": "/", "mcpServers": [] }))
        .await;
    assert!(made[0].contains(r#""n":1.10"#), "{made:?}");
    let session = serde_json::from_str::<Value>(&made[0]).unwrap()["result"]["sessionId"].take();
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "do it" }] });
    let turn = first.ask("session/prompt", prompt).await;
    let update = format!(r#"{{"sessionId":{session},"update":{{"sessionUpdate":"hologram","n":1.10}}}}"#);
    assert!(turn[0].contains(&update), "{turn:?}");
    assert!(
        turn[1].contains(r#""result":{"stopReason":"end_turn"}"#),
        "{turn:?}"
    );

    let mut second = Editor::connect(&setup);
    second.ask("initialize", json!({ "protocolVersion": 1 })).await;
    let listed = second.ask("session/list", json!({})).await;
    assert!(listed[0].contains(&session.to_string()), "{listed:?}");
    let load = json!({ "sessionId": session, "cwd": "/", "mcpServers": [] });
    let loaded = second.ask("session/load", load).await;
    assert_eq!(loaded.len(), 3, "{loaded:?}");
    assert!(
        loaded[0].contains("user_message_chunk") && loaded[1].contains(&update),
        "{loaded:?}"
    );
    close(service, &data_dir).await;
}

/// Returns the parameters of `initialize` for an editor that can write files.
fn able() -> Value {
    let info = json!({ "name": "editor", "version": "1" });
    json!({ "protocolVersion": 1, "clientInfo": info, "clientCapabilities": { "fs": { "writeTextFile": true } } })
}

/// Returns a daemon with the agent that writes, and two editors in one session. The first editor holds the lease.
async fn two(data_dir: &std::path::Path) -> (Service, Editor, Editor, Value) {
    std::fs::create_dir_all(data_dir).unwrap();
    let service = daemon_with(data_dir, WRITER).await;
    let setup = ConnectionSetup::open(service.clone(), CancellationToken::new());
    let mut first = Editor::connect(&setup);
    first.ask("initialize", able()).await;
    let made = first
        .ask("session/new", json!({ "cwd": data_dir, "mcpServers": [] }))
        .await;
    let acpd = serde_json::from_str::<Value>(&made[0]).unwrap()["result"]["_meta"]["acpd"].take();
    assert_eq!(
        (&acpd["lease"]["principal"], &acpd["lease"]["client"]),
        (&json!("owner"), &json!("editor"))
    );
    let session = serde_json::from_str::<Value>(&made[0]).unwrap()["result"]["sessionId"].take();
    let mut second = Editor::connect(&setup);
    second.ask("initialize", able()).await;
    let resume = json!({ "sessionId": session, "cwd": data_dir });
    second.ask("session/resume", resume).await;
    (service, first, second, session)
}

/// The second editor sends the prompt. The first editor receives the agent's earlier messages, and then the request.
async fn write_is_asked(first: &mut Editor, second: &mut Editor, session: &Value) -> Value {
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "do it" }] });
    let request = json!({ "jsonrpc": "2.0", "id": "p", "method": "session/prompt", "params": prompt });
    second.say(&request).await;
    let mut heard = Vec::new();
    loop {
        let line = first.hear().await;
        if line.contains("fs/write_text_file") {
            assert!(
                heard.iter().any(|line: &String| line.contains(r#""tool_call""#)),
                "{heard:?}"
            );
            let params =
                format!(r#"{{"sessionId":{session},"path":"/none/a","content":"x","_meta":{{"n":1.10}}}}"#);
            assert!(line.contains(&params), "{line}");
            return serde_json::from_str::<Value>(&line).unwrap()["id"].take();
        }
        heard.push(line);
    }
}

/// Returns the messages before the response to the second editor's prompt, and the response, which contains the agent's
/// input.
async fn heard_by_agent(second: &mut Editor) -> (Vec<String>, String) {
    let mut before = Vec::new();
    loop {
        let line = second.hear().await;
        if line.contains(r#""id":"p""#) {
            return (before, line);
        }
        before.push(line);
    }
}

#[tokio::test]
async fn the_holder_of_the_lease_answers_the_agent() {
    let data_dir = std::env::temp_dir().join(format!("acpd-lease-{}", uuid::Uuid::now_v7()));
    let (service, mut first, mut second, session) = two(&data_dir).await;
    let id = write_is_asked(&mut first, &mut second, &session).await;
    let answer = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32002, "message": "read only" } });
    first.say(&answer).await;
    let (_, end) = heard_by_agent(&mut second).await;
    assert!(
        end.contains(r#""error":{"code":-32002,"message":"read only"}"#),
        "{end}"
    );
    close(service, &data_dir).await;
}

#[tokio::test]
async fn a_connection_that_is_dropped_gives_the_lease_and_its_work_up() {
    let data_dir = std::env::temp_dir().join(format!("acpd-lease-{}", uuid::Uuid::now_v7()));
    let (service, mut first, mut second, session) = two(&data_dir).await;
    write_is_asked(&mut first, &mut second, &session).await;
    drop(first);
    let (before, end) = heard_by_agent(&mut second).await;
    let moved = before.iter().find(|line| line.contains("_acpd/lease/moved"));
    let moved = moved.unwrap_or_else(|| panic!("{before:?}"));
    assert!(
        moved.contains(r#""lease":{"principal":"owner","client":"editor","connection":"#)
            && moved.contains(r#""why":"left""#),
        "{moved}"
    );
    assert!(
        end.contains("it is not known whether /none/a was written"),
        "{end}"
    );
    close(service, &data_dir).await;
}

/// If a command still runs after its turn, it has ended in the fork, and the fork has all of its output.
#[tokio::test]
async fn a_fork_leaves_out_the_running_command_of_its_origin() {
    use acpd_model::event::{ThreadCreated, TurnStatus};
    use acpd_model::{
        Event, EventKind, Extract, HostEvent, ItemEvent, ItemId, ItemStart, Origin, Summary, ThreadEvent,
        ThreadId, TurnEvent, TurnId,
    };
    use acpd_proto::projection::{extract, marks_of};

    let data_dir = std::env::temp_dir().join(format!("acpd-acp-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir_all(&data_dir).unwrap();
    let service = daemon(&data_dir).await;
    let (thread, terminal_id) = (ThreadId(uuid::Uuid::now_v7()), "term_1".to_owned());
    let written = "0123456789".repeat(10_000);
    let made = ThreadCreated {
        agent: "sh".into(),
        cwd: "/".into(),
        name: None,
        project_id: None,
        metadata: None,
        additional_directories: Vec::new(),
        real_directories: Vec::new(),
        mcp_servers: Vec::new(),
        meta: None,
        members: None,
        system_prompt: None,
        session_id: None,
    };
    let kinds = [
        EventKind::Thread(ThreadEvent::Created(Box::new(made))),
        EventKind::Turn(TurnEvent::Started {
            client_turn_id: None,
            imported: false,
        }),
        EventKind::Item(ItemEvent::Started {
            item: ItemId(1),
            parent: None,
            start: ItemStart::TerminalCommand {
                terminal_id: terminal_id.clone(),
                command: "serve".into(),
                args: Box::default(),
                cwd: "/".into(),
                output_bytes: Some(1 << 20),
                requested_by: None,
            },
        }),
        EventKind::Host(HostEvent::TerminalOutput {
            item: ItemId(1),
            terminal_id,
            text: written.clone(),
        }),
        EventKind::Turn(TurnEvent::Settled {
            status: TurnStatus::Completed,
            stop_reason: None,
            error: None,
            started_at: None,
            usage: None,
            changes: None,
            plan: None,
            plans: None,
            permitted: 0,
            waited_ms: 0,
        }),
    ];
    let events: Vec<Event> = (1..)
        .zip(kinds)
        .map(|(seq, kind)| Event {
            seq,
            at: 1,
            turn: (seq > 1).then_some(TurnId(1)),
            by: Origin::Agent,
            kind,
            raw: None,
            raw_params: None,
            repeats_id: false,
            translated: false,
            lane: None,
        })
        .collect();
    let log = Arc::clone(&service.context.log);
    let extract = Extract {
        marks: marks_of(thread, &events),
        ..extract(&events)
    };
    log.append_with(thread, &events, Some(&Summary::default()), &extract)
        .await
        .unwrap();
    let caller = Caller::new(Origin::Daemon, Role::Owner, Lane::App, Defaults::none());
    let fork = ForkThread {
        thread,
        turn: None,
        name: None,
        session: None,
    };
    let forked = service.call(&caller, Request::ForkThread(Box::new(fork))).await;
    let Reply::Opened(opened) = forked.answer.await.unwrap().reply else {
        panic!("no thread was opened")
    };
    let new = opened.live.thread;
    let blob = log.blob(acpd_log::blob_id(written.as_bytes())).await.unwrap();
    assert_eq!(blob.as_deref(), Some(written.as_bytes()));
    // The blob belongs to the new thread.
    log.delete(thread).await.unwrap();
    let kept = log.blob(acpd_log::blob_id(&blob.unwrap())).await.unwrap();
    assert!(kept.is_some() && log.last_seq(new).await.unwrap() > 5);
    close(service, &data_dir).await;
}

/// Returns a daemon with the agent that responds by method, and an editor's connection. The agent's pipe is in its
/// directory.
async fn lasting(name: &str) -> (std::path::PathBuf, Service, Editor) {
    let data_dir = std::env::temp_dir().join(format!("acpd-{name}-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir_all(data_dir.join("other")).unwrap();
    let service = daemon_with(&data_dir, LASTING).await;
    let setup = ConnectionSetup::open(service.clone(), CancellationToken::new());
    let mut editor = Editor::connect(&setup);
    editor.say(&json!({ "acpd": { "cwd": data_dir } })).await;
    (data_dir, service, editor)
}

fn answer(heard: &[String]) -> Value {
    serde_json::from_str(heard.last().unwrap()).unwrap()
}

#[tokio::test]
async fn the_process_that_said_hello_takes_the_first_session_in_its_directory() {
    let (data_dir, service, mut editor) = lasting("once").await;
    editor.ask("initialize", json!({ "protocolVersion": 1 })).await;
    let open = |cwd: &std::path::Path| json!({ "cwd": cwd, "mcpServers": [] });
    let made = answer(&editor.ask("session/new", open(&data_dir)).await);
    assert!(made["result"]["sessionId"].is_string(), "{made}");
    assert_eq!(starts(&data_dir), 1);
    editor.ask("session/new", open(&data_dir)).await;
    assert_eq!(starts(&data_dir), 2, "each session has a process of its own");
    close(service, &data_dir).await;
}

#[tokio::test]
async fn an_agent_is_offered_the_questions_that_its_editor_can_show() {
    for shown in [
        Value::Null,
        json!({ "form": {} }),
        json!({ "url": {} }),
        json!({ "form": {}, "url": {} }),
    ] {
        let (data_dir, service, mut editor) = lasting("offers").await;
        editor.ask("initialize", showing(&shown)).await;
        let open = json!({ "cwd": data_dir, "mcpServers": [] });
        editor.ask("session/new", open.clone()).await;
        assert_eq!(
            offers(&data_dir),
            std::slice::from_ref(&shown),
            "one process, of the right kind"
        );
        editor.ask("session/new", open).await;
        assert_eq!(offers(&data_dir), [shown.clone(), shown]);
        close(service, &data_dir).await;
    }
}

/// What an agent declares is known from the first editor. Another one is told the same, and waits for one process.
#[tokio::test]
async fn editors_that_show_different_questions_are_told_the_same_about_their_agent() {
    let (data_dir, service, mut editor) = lasting("kinds").await;
    let forms = json!({ "form": {} });
    let first = editor.ask("initialize", showing(&forms)).await;
    let setup = ConnectionSetup::open(service.clone(), CancellationToken::new());
    let mut other = Editor::connect(&setup);
    other.say(&json!({ "acpd": { "cwd": data_dir } })).await;
    assert_eq!(other.ask("initialize", showing(&Value::Null)).await, first);
    assert_eq!(offers(&data_dir), std::slice::from_ref(&forms));
    let open = json!({ "cwd": data_dir, "mcpServers": [] });
    let made = answer(&other.ask("session/new", open.clone()).await);
    assert!(made["result"]["sessionId"].is_string(), "{made}");
    assert_eq!(offers(&data_dir), [forms.clone(), Value::Null]);
    editor.ask("session/new", open).await;
    assert_eq!(offers(&data_dir), [forms, Value::Null], "its process has waited");
    close(service, &data_dir).await;
}

#[tokio::test]
async fn the_editors_that_have_a_session_open_decide_what_its_next_process_is_offered() {
    let (data_dir, service, mut able) = lasting("open").await;
    let forms = json!({ "form": {} });
    able.ask("initialize", showing(&forms)).await;
    let open = json!({ "cwd": data_dir, "mcpServers": [] });
    let session = answer(&able.ask("session/new", open).await)["result"]["sessionId"].take();
    let thread = session.as_str().unwrap().parse().unwrap();
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "continue" }] });
    able.ask("session/prompt", prompt.clone()).await;
    let setup = ConnectionSetup::open(service.clone(), CancellationToken::new());
    let mut simple = Editor::connect(&setup);
    simple.ask("initialize", showing(&Value::Null)).await;
    simple
        .ask("session/resume", json!({ "sessionId": session, "cwd": data_dir }))
        .await;
    rest(&service, thread).await;
    simple.ask("session/prompt", prompt.clone()).await;
    assert_eq!(
        offers(&data_dir),
        [forms.clone(), forms.clone()],
        "one of them can"
    );
    able.ask("session/close", json!({ "sessionId": session })).await;
    rest(&service, thread).await;
    simple.ask("session/prompt", prompt).await;
    assert_eq!(offers(&data_dir), [forms.clone(), forms, Value::Null]);
    close(service, &data_dir).await;
}

/// Stops the agent of an idle thread.
async fn rest(service: &Service, thread: acpd_model::ThreadId) {
    use acpd_model::Origin;
    use acpd_proto::thread::Command;

    let done = service
        .directory
        .command(thread, Origin::Daemon, Command::Rest)
        .await;
    done.unwrap().await.unwrap().unwrap();
    let uses = |one: &acpd_proto::surface::reply::RunningProcess| one.threads.contains(&thread);
    let left = async {
        while service.context.processes.list().await.unwrap().iter().any(uses) {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(std::time::Duration::from_secs(10), left).await;
    assert!(waited.is_ok(), "the process of {thread} never ended");
}

/// The client is a subscriber only once its request is answered.
#[tokio::test]
async fn a_client_that_starts_the_agent_counts_before_it_follows_the_thread() {
    use acpd_model::Origin;
    use acpd_proto::agent::ElicitationModes;
    use acpd_proto::surface::request::{FollowFrom, OpenThread};

    let (data_dir, service, mut simple) = lasting("wakes").await;
    simple.ask("initialize", showing(&Value::Null)).await;
    let open = json!({ "cwd": data_dir, "mcpServers": [] });
    let session = answer(&simple.ask("session/new", open).await)["result"]["sessionId"].take();
    let thread = session.as_str().unwrap().parse().unwrap();
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "continue" }] });
    simple.ask("session/prompt", prompt.clone()).await;
    for (shows, offered) in [
        (ElicitationModes::ALL, json!({ "form": {}, "url": {} })),
        (ElicitationModes::NONE, Value::Null),
    ] {
        rest(&service, thread).await;
        let caller = Caller {
            shows,
            ..Caller::new(Origin::Daemon, Role::Owner, Lane::App, Defaults::none())
        };
        let open = OpenThread {
            thread,
            from: FollowFrom::Latest,
            turns: None,
            session: None,
            claims: Vec::new(),
            starts_agent: true,
        };
        drop(service.call(&caller, Request::OpenThread(Box::new(open))).await);
        simple.ask("session/prompt", prompt.clone()).await;
        assert_eq!(offers(&data_dir).last(), Some(&offered));
    }
    close(service, &data_dir).await;
}

#[tokio::test]
async fn a_session_elsewhere_has_a_process_there() {
    let (data_dir, service, mut editor) = lasting("elsewhere").await;
    editor.ask("initialize", json!({ "protocolVersion": 1 })).await;
    let other = json!({ "cwd": data_dir.join("other"), "mcpServers": [] });
    editor.ask("session/new", other).await;
    assert_eq!(starts(&data_dir), 2);
    // The first process still waits for a session in its own directory.
    editor
        .ask("session/new", json!({ "cwd": ".", "mcpServers": [] }))
        .await;
    assert_eq!(starts(&data_dir), 2);
    close(service, &data_dir).await;
}

#[tokio::test]
async fn signing_in_comes_before_any_session_and_holds_for_the_first() {
    let (data_dir, service, mut editor) = lasting("sign-in").await;
    std::fs::write(data_dir.join("starts.sign-in"), "").unwrap();
    editor.ask("initialize", json!({ "protocolVersion": 1 })).await;
    let signed_in = answer(&editor.ask("authenticate", json!({ "methodId": "key" })).await);
    assert_eq!(signed_in["result"]["_meta"]["n"], 1.1, "{signed_in}");
    let made = json!({ "cwd": data_dir.join("other"), "mcpServers": [] });
    let made = answer(&editor.ask("session/new", made).await);
    assert!(made["result"]["sessionId"].is_string(), "{made}");
    assert_eq!(starts(&data_dir), 1, "another process would not know of it");
    close(service, &data_dir).await;
}

#[tokio::test]
async fn requests_without_a_session_need_none() {
    let (data_dir, service, mut editor) = lasting("sessionless").await;
    editor.ask("initialize", json!({ "protocolVersion": 1 })).await;
    let open = json!({ "cwd": data_dir, "mcpServers": [] });
    for sessions in 0..=2 {
        assert_eq!(
            answer(&editor.ask("logout", json!({})).await)["result"],
            json!({})
        );
        let known = answer(&editor.ask("_known", json!({})).await);
        assert_eq!(known["result"], json!({ "known": 1.1 }));
        let listed = answer(&editor.ask("providers/list", json!({})).await);
        assert_eq!(listed["result"]["providers"][0]["n"], 1.1, "{listed}");
        let unknown = answer(&editor.ask("_unknown", json!({})).await);
        let expected = json!({ "code": -32601, "message": "what?", "data": { "n": 1.1 } });
        assert_eq!(unknown["error"], expected, "with {sessions} sessions");
        let not_declared = answer(&editor.ask("auth/status", json!({})).await);
        assert_eq!(not_declared["error"]["code"], -32601, "{not_declared}");
        editor.ask("session/new", open.clone()).await;
    }
    // The daemon knows the agent's properties by now. It starts a process only for requests that need one.
    let before = starts(&data_dir);
    let setup = ConnectionSetup::open(service.clone(), CancellationToken::new());
    let mut late = Editor::connect(&setup);
    late.ask("initialize", json!({ "protocolVersion": 1 })).await;
    late.ask("session/list", json!({})).await;
    assert_eq!(starts(&data_dir), before);
    let unknown = answer(&late.ask("_unknown", json!({})).await);
    assert_eq!(unknown["error"]["code"], -32601);
    assert_eq!(starts(&data_dir), before + 1);
    close(service, &data_dir).await;
}

#[tokio::test]
async fn a_session_is_opened_with_what_its_editor_wants_and_only_in_its_directories() {
    let (data_dir, service, mut editor) = lasting("params").await;
    editor.ask("initialize", json!({ "protocolVersion": 1 })).await;
    let made = json!({ "cwd": data_dir.join("other"), "mcpServers": [] });
    let session = answer(&editor.ask("session/new", made).await)["result"]["sessionId"].take();
    let inner = data_dir.join("other/inner");
    std::fs::create_dir(&inner).unwrap();
    std::os::unix::fs::symlink(&data_dir, data_dir.join("other/out")).unwrap();
    let load = |cwd: std::path::PathBuf| json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    for outside in [
        data_dir.clone(),
        data_dir.join("other/../.."),
        data_dir.join("other/inner/../../.."),
        data_dir.join("other/out"),
        data_dir.join("other/none/../.."),
        "/".into(),
    ] {
        let refused = answer(&editor.ask("session/load", load(outside.clone())).await);
        let message = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(
            message.contains("outside of this session's directories"),
            "{refused}"
        );
    }
    let forked = answer(&editor.ask("session/fork", load(data_dir.clone())).await);
    assert!(forked["error"].is_object(), "{forked}");
    let all = acpd_log::Filter::default();
    let stored = service.context.log.list(all, None, 10).await.unwrap();
    assert_eq!(stored.len(), 1, "nothing was forked");
    // A thread reports its own directory, whatever path the client used.
    std::os::unix::fs::symlink(data_dir.join("other"), data_dir.join("alias")).unwrap();
    let thread = session.as_str().unwrap().parse().unwrap();
    for name in ["other/inner", "other/inner/../inner", "alias/inner"] {
        let loaded = answer(&editor.ask("session/load", load(data_dir.join(name))).await);
        assert!(loaded["result"].is_object(), "{loaded}");
        let live = service.directory.look(thread).await.unwrap();
        assert_eq!(live.spec.session_cwd(), inner.to_str().unwrap());
        assert_eq!(live.spec.cwd, data_dir.join("other").to_str().unwrap());
    }
    // If the directory is gone, the agent starts in the thread's own directory.
    run_on(&service).await;
    std::fs::remove_dir(&inner).unwrap();
    editor.ask("session/close", json!({ "sessionId": session })).await;
    let uses = |one: &acpd_proto::surface::reply::RunningProcess| !one.threads.is_empty();
    while service.context.processes.list().await.unwrap().iter().any(uses) {
        tokio::task::yield_now().await;
    }
    editor
        .ask("session/resume", json!({ "sessionId": session }))
        .await;
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "continue" }] });
    let ended = answer(&editor.ask("session/prompt", prompt).await);
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    let live = service.directory.look(thread).await.unwrap();
    assert_eq!(live.spec.session_cwd(), live.spec.cwd);
    close(service, &data_dir).await;
}

/// A request that is pipelined behind an `initialize` whose response is cached.
#[tokio::test]
async fn a_session_waits_for_an_earlier_sign_in() {
    let (data_dir, service, mut first) = lasting("pipelined").await;
    std::fs::write(data_dir.join("starts.sign-in"), "").unwrap();
    let setup = ConnectionSetup::open(service.clone(), CancellationToken::new());
    let mut known = Editor::connect(&setup);
    known.ask("initialize", json!({ "protocolVersion": 1 })).await;
    drop((known, std::mem::replace(&mut first, Editor::connect(&setup))));
    let before = starts(&data_dir);
    for (id, method, params) in [
        ("hello", "initialize", json!({ "protocolVersion": 1 })),
        ("_known", "_known", json!({})),
        ("authenticate", "authenticate", json!({ "methodId": "key" })),
        ("new", "session/new", json!({ "cwd": data_dir, "mcpServers": [] })),
    ] {
        first
            .say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
    }
    for id in ["hello", "_known", "authenticate", "new"] {
        let line: Value = serde_json::from_str(&first.hear().await).unwrap();
        assert!(line["id"] == id && line["result"].is_object(), "{line}");
    }
    assert_eq!(starts(&data_dir), before + 1, "one process did all of it");
    close(service, &data_dir).await;
}

/// An observer cannot stop a process, and neither can an editor that has not opened the session.
#[tokio::test]
async fn only_a_connection_with_the_session_releases_its_process() {
    let (data_dir, service, mut editor) = lasting("looks").await;
    editor.ask("initialize", json!({ "protocolVersion": 1 })).await;
    let open = json!({ "cwd": data_dir, "mcpServers": [] });
    let session = answer(&editor.ask("session/new", open).await)["result"]["sessionId"].take();
    drop(editor);
    let setup = ConnectionSetup::open(service.clone(), CancellationToken::new());
    let close_it = json!({ "sessionId": session });
    for role in [Role::Observer, Role::Owner] {
        let mut other = Editor::connect_as(&setup, role);
        other.ask("initialize", json!({ "protocolVersion": 1 })).await;
        if role == Role::Observer {
            let resume = json!({ "sessionId": session, "cwd": "/", "mcpServers": [{ "name": "x" }] });
            other.ask("session/resume", resume).await;
        }
        other.ask("session/close", close_it.clone()).await;
    }
    let thread = session.as_str().unwrap().parse().unwrap();
    let live = service.directory.look(thread).await.unwrap();
    assert!(live.spec.session_mcp_servers().is_empty());
    let listed = service.context.processes.list().await.unwrap();
    let of_thread = listed.iter().filter(|one| one.threads == [thread]).count();
    assert_eq!(of_thread, 1, "{listed:?}");
    close(service, &data_dir).await;
}

/// Returns the running agents, after the stopped ones have exited.
async fn run_on(service: &Service) -> Vec<acpd_proto::surface::reply::RunningProcess> {
    loop {
        let listed = service.context.processes.list().await.unwrap();
        if listed
            .iter()
            .all(|one| one.state != acpd_proto::surface::reply::ProcessState::Leaving)
        {
            return listed;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_idle_agent_makes_room_for_another_and_comes_back_with_its_session() {
    let data_dir = std::env::temp_dir().join(format!("acpd-room-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir_all(&data_dir).unwrap();
    let limits = Limits {
        agents: 1,
        ..Limits::default()
    };
    let service = daemon_within(&data_dir, LASTING, limits).await;
    let setup = ConnectionSetup::open(service.clone(), CancellationToken::new());
    let mut editor = Editor::connect(&setup);
    editor.say(&json!({ "acpd": { "cwd": data_dir } })).await;
    editor.ask("initialize", json!({ "protocolVersion": 1 })).await;
    let open = json!({ "cwd": data_dir, "mcpServers": [] });
    let first = answer(&editor.ask("session/new", open.clone()).await)["result"]["sessionId"].take();
    // The editor follows both threads, and neither has a turn.
    let second = answer(&editor.ask("session/new", open).await)["result"]["sessionId"].take();
    let listed = run_on(&service).await;
    let threads: Vec<_> = listed
        .iter()
        .flat_map(|one| &one.threads)
        .map(ToString::to_string)
        .collect();
    assert_eq!(threads, [second.as_str().unwrap()]);
    let prompt = json!({ "sessionId": first, "prompt": [{ "type": "text", "text": "continue" }] });
    let ended = answer(&editor.ask("session/prompt", prompt).await);
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    assert_eq!(starts(&data_dir), 3);
    close(service, &data_dir).await;
}

#[tokio::test]
async fn a_closed_session_releases_its_process_without_other_followers() {
    let (data_dir, service, mut editor) = lasting("closed").await;
    editor.ask("initialize", json!({ "protocolVersion": 1 })).await;
    let open = json!({ "cwd": data_dir, "mcpServers": [] });
    let session = answer(&editor.ask("session/new", open.clone()).await)["result"]["sessionId"].take();
    let thread = session.as_str().unwrap().parse().unwrap();
    let watches = service.directory.subscribe(thread, Lane::App).await.unwrap();
    editor.ask("session/close", json!({ "sessionId": session })).await;
    assert_eq!(
        service.context.processes.list().await.unwrap().len(),
        1,
        "somebody follows"
    );
    drop(watches);
    while !service.context.processes.list().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    close(service, &data_dir).await;
}

/// An editor may disconnect as soon as it has sent its prompt.
#[tokio::test]
async fn a_prompt_that_was_received_before_its_editor_disconnects_runs() {
    let (data_dir, service, mut editor) = lasting("disconnected").await;
    editor.ask("initialize", json!({ "protocolVersion": 1 })).await;
    let open = json!({ "cwd": data_dir, "mcpServers": [] });
    let session = answer(&editor.ask("session/new", open).await)["result"]["sessionId"].take();
    let thread = session.as_str().unwrap().parse().unwrap();
    let params = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] });
    let prompt = json!({ "jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": params });
    editor.say(&prompt).await;
    drop(editor);
    let ended = async {
        while service.directory.look(thread).await.unwrap().summary.turns == 0 {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(std::time::Duration::from_secs(10), ended).await;
    assert!(waited.is_ok(), "the turn never began");
    close(service, &data_dir).await;
}

/// An editor may close a session before it is open. The session stays closed.
#[tokio::test]
async fn a_session_that_is_closed_while_it_opens_stays_closed() {
    let (data_dir, service, mut editor) = lasting("hasty").await;
    editor.ask("initialize", json!({ "protocolVersion": 1 })).await;
    let open = json!({ "cwd": data_dir, "mcpServers": [] });
    let session = answer(&editor.ask("session/new", open.clone()).await)["result"]["sessionId"].take();
    editor.ask("session/close", json!({ "sessionId": session })).await;
    let named = json!({ "sessionId": session, "cwd": data_dir, "mcpServers": [] });
    for (id, method, params) in [
        ("load", "session/load", named),
        ("close", "session/close", json!({ "sessionId": session })),
    ] {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        editor.say(&request).await;
    }
    let mut answers = std::collections::BTreeMap::new();
    while answers.len() < 2 {
        let message: Value = serde_json::from_str(&editor.hear().await).unwrap();
        if let Some(id) = message["id"].as_str() {
            answers.insert(id.to_owned(), message.clone());
        }
    }
    assert!(answers["close"]["result"].is_object(), "{answers:?}");
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] });
    let refused = answer(&editor.ask("session/prompt", prompt).await)["error"].take();
    assert!(
        refused["message"].as_str().unwrap().contains("is not open"),
        "{refused}"
    );
    close(service, &data_dir).await;
}
