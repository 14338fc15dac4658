//! An editor, a daemon and an agent, over a stream in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use acpd_log::Memory;
use acpd_model::{Limits, Role};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Lines as Ndjson, Lobby, Visitor};
use crate::agents::Agents;
use crate::answers::Answers;
use crate::board::Board;
use crate::calls::Calls;
use crate::clock::Clock;
use crate::config::AgentConfig;
use crate::directory::Directory;
use crate::metrics::Metrics;
use crate::policies::PolicyBook;
use crate::shared::SharedAgents;
use crate::starts::Starts;
use crate::subscribers::Subscribers;
use crate::thread::Surroundings;

/// Answers what it is sent line by line: the handshake, a session, a prompt.
const AGENT: &str = r#"
read line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"sh","version":"1"}}}'
read line; echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s","_meta":{"n":1.10}}}'
read line
echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"hologram","n":1.10}}}'
echo '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}'
cat > /dev/null
"#;

/// Has its client write a file in its turn, and ends the turn with what came of it.
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

async fn daemon(data_dir: &std::path::Path) -> Calls {
    daemon_with(data_dir, AGENT).await
}

async fn daemon_with(data_dir: &std::path::Path, script: &str) -> Calls {
    let limits = Arc::new(Limits::default());
    let clock = Clock::new();
    let agent = AgentConfig {
        command: "sh".into(),
        args: vec!["-c".into(), script.into()],
        ..AgentConfig::default()
    };
    let agents = BTreeMap::from([("sh".to_owned(), agent)]);
    let log: acpd_log::SharedLog = Arc::new(Memory::new());
    let metrics = Arc::new(Metrics::new(log.clone()));
    let around = Surroundings {
        log,
        policies: watch::channel(PolicyBook::new(None, &agents)).1,
        agents: Arc::new(Agents::new(agents, data_dir)),
        shared: SharedAgents::open(Arc::clone(&limits), clock, Arc::clone(&metrics)),
        metrics,
        limits,
        clock,
        answers: Answers::open(data_dir).unwrap(),
        board: Board::new(),
        subscribers: Subscribers::default(),
        starts: Starts::default(),
    };
    let directory = Directory::open(around.clone()).await.unwrap();
    Calls { directory, around }
}

/// Ends the daemon, and takes away what it kept.
async fn close(calls: Calls, data_dir: &std::path::Path) {
    let directory = calls.directory;
    directory.close_within(std::time::Duration::from_secs(10)).await;
    std::fs::remove_dir_all(data_dir).unwrap();
}

struct Editor {
    read: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
}

impl Editor {
    fn connect(lobby: &Lobby) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let visitor = Visitor {
            principal: "owner".into(),
            role: Role::Owner,
            ends: CancellationToken::new(),
        };
        let (reader, writer) = split(theirs);
        let transport = Ndjson::new(reader, writer, &lobby.calls.around.limits);
        let lobby = lobby.clone();
        tokio::spawn(async move { lobby.serve(transport, visitor, None).await });
        let (read, write) = split(ours);
        let read = BufReader::new(read).lines();
        Self { read, write }
    }

    /// What comes next.
    async fn hear(&mut self) -> String {
        self.read.next_line().await.unwrap().expect("the daemon stays")
    }

    /// Writes a message.
    async fn say(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.write.write_all(line.as_bytes()).await.unwrap();
    }

    /// Makes a request, and gives what comes up to its answer.
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
    let calls = daemon(&data_dir).await;
    let lobby = Lobby::open(calls.clone(), None, CancellationToken::new());
    let mut first = Editor::connect(&lobby);
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

    let mut second = Editor::connect(&lobby);
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
    close(calls, &data_dir).await;
}

/// The handshake of one that writes files.
fn able() -> Value {
    json!({ "protocolVersion": 1, "clientCapabilities": { "fs": { "writeTextFile": true } } })
}

/// The daemon with the agent that writes, and two editors in one session: the first holds the lease.
async fn two(data_dir: &std::path::Path) -> (Calls, Editor, Editor, Value) {
    std::fs::create_dir_all(data_dir).unwrap();
    let calls = daemon_with(data_dir, WRITER).await;
    let lobby = Lobby::open(calls.clone(), None, CancellationToken::new());
    let mut first = Editor::connect(&lobby);
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
    let mut second = Editor::connect(&lobby);
    second.ask("initialize", able()).await;
    let resume = json!({ "sessionId": session, "cwd": "/" });
    second.ask("session/resume", resume).await;
    (calls, first, second, session)
}

/// The second sends the prompt; the first is asked, after it was told what the agent said before that.
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

/// What the agent heard, as the second is told with the answer to its prompt.
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
    let (calls, mut first, mut second, session) = two(&data_dir).await;
    let id = write_is_asked(&mut first, &mut second, &session).await;
    let answer = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32002, "message": "read only" } });
    first.say(&answer).await;
    let (_, end) = heard_by_agent(&mut second).await;
    assert!(
        end.contains(r#""error":{"code":-32002,"message":"read only"}"#),
        "{end}"
    );
    close(calls, &data_dir).await;
}

#[tokio::test]
async fn a_connection_that_is_dropped_gives_the_lease_and_its_work_up() {
    let data_dir = std::env::temp_dir().join(format!("acpd-lease-{}", uuid::Uuid::now_v7()));
    let (calls, mut first, mut second, session) = two(&data_dir).await;
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
    close(calls, &data_dir).await;
}

/// A command that goes on behind its turn has ended in what is split off, with all that it wrote.
#[tokio::test]
async fn a_thread_is_split_off_one_whose_command_goes_on_and_has_written_much() {
    use acpd_model::event::{ThreadCreated, TurnStatus};
    use acpd_model::{By, Event, EventKind, ItemId, ItemStart, Summary, ThreadId, TurnId};

    let data_dir = std::env::temp_dir().join(format!("acpd-acp-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir_all(&data_dir).unwrap();
    let calls = daemon(&data_dir).await;
    let (thread, terminal_id) = (ThreadId(uuid::Uuid::now_v7()), "term_1".to_owned());
    let written = "0123456789".repeat(10_000);
    let made = ThreadCreated {
        agent: "sh".into(),
        cwd: "/".into(),
        name: None,
        project_id: None,
        metadata: None,
        additional_directories: Vec::new(),
        mcp_servers: Vec::new(),
        meta: None,
        session_id: None,
    };
    let kinds = [
        EventKind::ThreadCreated(Box::new(made)),
        EventKind::TurnStarted {
            client_turn_id: None,
            imported: false,
        },
        EventKind::ItemStarted {
            item: ItemId(1),
            parent: None,
            start: ItemStart::TerminalCommand {
                terminal_id: terminal_id.clone(),
                command: "serve".into(),
                args: Vec::new(),
                cwd: "/".into(),
                output_bytes: Some(1 << 20),
            },
        },
        EventKind::TerminalOutput {
            item: ItemId(1),
            terminal_id,
            text: written.clone(),
        },
        EventKind::TurnSettled {
            status: TurnStatus::Completed,
            stop_reason: None,
            error: None,
            started_at: None,
            usage: None,
        },
    ];
    let events: Vec<Event> = (1..)
        .zip(kinds)
        .map(|(seq, kind)| Event {
            seq,
            at: 1,
            turn: (seq > 1).then_some(TurnId(1)),
            by: By::Agent,
            kind,
            raw: None,
            raw_params: None,
        })
        .collect();
    let log = Arc::clone(&calls.around.log);
    log.append(thread, &events, Some(&Summary::default()))
        .await
        .unwrap();
    let split = calls.split_off(By::Daemon, thread, None, None).await.unwrap();
    let (new, _) = split.await.unwrap();
    let blob = log.blob(acpd_log::blob_id(written.as_bytes())).await.unwrap();
    assert_eq!(blob.as_deref(), Some(written.as_bytes()));
    // It is the new thread's own.
    log.delete(thread).await.unwrap();
    let kept = log.blob(acpd_log::blob_id(&blob.unwrap())).await.unwrap();
    assert!(kept.is_some() && log.last_seq(new).await.unwrap() > 5);
    close(calls, &data_dir).await;
}
