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

async fn daemon(data_dir: &std::path::Path) -> Calls {
    let limits = Arc::new(Limits::default());
    let clock = Clock::new();
    let agent = AgentConfig {
        command: "sh".into(),
        args: vec!["-c".into(), AGENT.into()],
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
    };
    let directory = Directory::open(around.clone()).await.unwrap();
    Calls { directory, around }
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

    /// Makes a request, and gives what comes up to its answer.
    async fn ask(&mut self, method: &str, params: Value) -> Vec<String> {
        let request = json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params });
        self.write
            .write_all(format!("{request}\n").as_bytes())
            .await
            .unwrap();
        let mut heard = Vec::new();
        loop {
            let line = self.read.next_line().await.unwrap().expect("the daemon stays");
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
    calls
        .directory
        .clone()
        .close_within(std::time::Duration::from_secs(10))
        .await;
    std::fs::remove_dir_all(&data_dir).unwrap();
}
