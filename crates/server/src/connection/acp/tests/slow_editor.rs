//! An editor that reads little or nothing while its agent writes much.

use std::path::Path;
use std::time::Duration;

use acpd_model::Limits;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Editor, close, daemon_within, starts_file};
use crate::connection::acp::setup::ConnectionSetup;

/// Updates that the agent writes, of a thousand letters each: more than any queue on the way holds.
const UPDATES: usize = 6000;

/// An agent that first writes `asks`, then its updates, and then notes the line that it reads and ends its turn.
fn flooding(asks: &str) -> String {
    let letters = "x".repeat(1000);
    format!(
        r#"
read line; echo '{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":1}}}}'
read line; echo '{{"jsonrpc":"2.0","id":1,"result":{{"sessionId":"s"}}}}'
read line
{asks}
i=0
while [ $i -lt {UPDATES} ]; do
echo '{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{letters}"}}}}}}}}'
i=$((i+1))
done
touch "$STARTS.flooded"
read -r line; printf '%s' "$line" > "$STARTS.heard"
echo '{{"jsonrpc":"2.0","id":2,"result":{{"stopReason":"cancelled"}}}}'
cat > /dev/null
"#
    )
}

/// Waits, but not for ever, until the agent has made a file; answers what is in it.
async fn noted(data_dir: &Path, name: &str) -> String {
    let path = starts_file(data_dir).with_extension(name);
    let there = async {
        loop {
            match std::fs::read_to_string(&path) {
                Ok(text) => return text,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    let noted = tokio::time::timeout(Duration::from_secs(10), there).await;
    noted.unwrap_or_else(|_| panic!("the agent did not note {name}"))
}

/// The letters of the updates up to the answer to the prompt, and that answer.
async fn rest(editor: &mut Editor) -> (usize, String) {
    let mut letters = 0;
    loop {
        let line = editor.hear().await;
        if line.contains(r#""id":"p""#) {
            return (letters, line);
        }
        let message: Value = serde_json::from_str(&line).unwrap();
        let update = &message["params"]["update"];
        if update["sessionUpdate"] == "agent_message_chunk" {
            letters += update["content"]["text"].as_str().map_or(0, str::len);
        }
    }
}

/// The daemon with such an agent, its editor, and the session in which the editor has sent a prompt. The daemon waits long
/// for an editor that takes nothing.
async fn prompted(data_dir: &Path, asks: &str) -> (acpd_runtime::service::Service, Editor, Value) {
    std::fs::create_dir_all(data_dir).unwrap();
    let limits = Limits {
        write_secs: 600,
        ..Limits::default()
    };
    let service = daemon_within(data_dir, &flooding(asks), limits).await;
    let setup = ConnectionSetup::open(service.clone(), None, CancellationToken::new());
    let mut editor = Editor::connect(&setup);
    let able = json!({ "protocolVersion": 1, "clientCapabilities": { "fs": { "writeTextFile": true } } });
    editor.ask("initialize", able).await;
    let made = editor
        .ask("session/new", json!({ "cwd": data_dir, "mcpServers": [] }))
        .await;
    let session = serde_json::from_str::<Value>(&made[0]).unwrap()["result"]["sessionId"].take();
    let params = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "do it" }] });
    let prompt = json!({ "jsonrpc": "2.0", "id": "p", "method": "session/prompt", "params": params });
    editor.say(&prompt).await;
    (service, editor, session)
}

#[tokio::test]
async fn a_cancel_is_read_while_updates_wait() {
    let data_dir = std::env::temp_dir().join(format!("acpd-slow-{}", uuid::Uuid::now_v7()));
    let (service, mut editor, session) = prompted(&data_dir, "").await;
    noted(&data_dir, "flooded").await;
    let params = json!({ "sessionId": session });
    editor
        .say(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }))
        .await;
    let heard = noted(&data_dir, "heard").await;
    assert!(heard.contains(r#""method":"session/cancel""#), "{heard}");
    let (letters, end) = rest(&mut editor).await;
    assert_eq!(letters, UPDATES * 1000);
    assert!(end.contains(r#""stopReason":"cancelled""#), "{end}");
    close(service, &data_dir).await;
}

#[tokio::test]
async fn answers_are_read_while_updates_wait() {
    let call = r#"echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"w"}}}'"#;
    let permission = r#"echo '{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t","title":"w"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}}'"#;
    let write = r#"echo '{"jsonrpc":"2.0","id":"q","method":"fs/write_text_file","params":{"sessionId":"s","path":"/none/a","content":"y"}}'"#;
    let allowed = json!({ "outcome": { "outcome": "selected", "optionId": "1" } });
    for (question, method, answer) in [
        (permission, "session/request_permission", allowed),
        (write, "fs/write_text_file", json!({ "_meta": { "n": 7 } })),
    ] {
        let data_dir = std::env::temp_dir().join(format!("acpd-slow-{}", uuid::Uuid::now_v7()));
        let (service, mut editor, _) = prompted(&data_dir, &format!("{call}\n{question}")).await;
        let asked = loop {
            let line = editor.hear().await;
            if line.contains(method) {
                break serde_json::from_str::<Value>(&line).unwrap()["id"].take();
            }
        };
        noted(&data_dir, "flooded").await;
        editor
            .say(&json!({ "jsonrpc": "2.0", "id": asked, "result": answer }))
            .await;
        let heard = noted(&data_dir, "heard").await;
        assert!(
            heard.contains(r#""id":"q""#) && heard.contains("result"),
            "{heard}"
        );
        let (letters, _) = rest(&mut editor).await;
        assert_eq!(letters, UPDATES * 1000);
        close(service, &data_dir).await;
    }
}
