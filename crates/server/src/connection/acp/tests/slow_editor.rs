//! An editor that reads nothing while its agent sends many updates.

use std::path::Path;
use std::time::Duration;

use acpd_model::Limits;
use acpd_model::limits::UNREAD_ANSWERS;
use acpd_runtime::service::Service;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio_util::sync::CancellationToken;

use super::{Editor, close, daemon_within, starts_file};
use crate::connection::acp::setup::ConnectionSetup;

/// Updates of 1000 letters each: more than all queues between the agent and the editor hold.
const UPDATES: usize = 6000;

/// Returns an agent that runs `asks`, sends its updates, writes the next line that it receives to a file, and ends its turn.
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
read -r line && echo '{{"jsonrpc":"2.0","id":3,"result":{{"stopReason":"cancelled"}}}}'
cat > /dev/null
"#
    )
}

/// Waits until the agent has written a file, and returns its text.
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

/// Reads up to the response to this prompt. Returns the letters of the updates before it, and the response.
async fn rest(editor: &mut Editor, prompt: &str) -> (usize, String) {
    let mut letters = 0;
    loop {
        let line = editor.hear().await;
        if line.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":"{prompt}""#)) {
            return (letters, line);
        }
        let message: Value = serde_json::from_str(&line).unwrap();
        let update = &message["params"]["update"];
        if update["sessionUpdate"] == "agent_message_chunk" {
            letters += update["content"]["text"].as_str().map_or(0, str::len);
        }
    }
}

/// Sends a prompt.
async fn prompt(editor: &mut Editor, id: &str, session: &Value) {
    let params = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "do it" }] });
    let prompt = json!({ "jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params });
    editor.say(&prompt).await;
}

/// Cancels the session's turn.
async fn cancel(editor: &mut Editor, session: &Value) {
    let params = json!({ "sessionId": session });
    editor
        .say(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }))
        .await;
}

/// Returns a daemon with this agent, an editor, and the session in which the editor has sent a prompt. The daemon does not
/// disconnect the editor for reading nothing. With `marks`, the editor receives the names of its prompts.
async fn prompted(data_dir: &Path, asks: &str, marks: bool) -> (Service, Editor, Value) {
    std::fs::create_dir_all(data_dir).unwrap();
    let limits = Limits {
        write_secs: 600,
        ..Limits::default()
    };
    let service = daemon_within(data_dir, &flooding(asks), limits).await;
    let setup = ConnectionSetup::open(service.clone(), CancellationToken::new());
    let mut editor = Editor::connect(&setup);
    if marks {
        editor.say(&json!({ "acpd": { "marks": true } })).await;
    }
    let able = json!({ "protocolVersion": 1, "clientCapabilities": { "fs": { "writeTextFile": true } } });
    editor.ask("initialize", able).await;
    let made = editor
        .ask("session/new", json!({ "cwd": data_dir, "mcpServers": [] }))
        .await;
    let made: Value = serde_json::from_str(made.last().unwrap()).unwrap();
    let session = made["result"]["sessionId"].clone();
    prompt(&mut editor, "p", &session).await;
    (service, editor, session)
}

#[tokio::test]
async fn a_cancel_is_read_while_updates_wait() {
    let data_dir = std::env::temp_dir().join(format!("acpd-slow-{}", uuid::Uuid::now_v7()));
    let (service, mut editor, session) = prompted(&data_dir, "", false).await;
    noted(&data_dir, "flooded").await;
    cancel(&mut editor, &session).await;
    let heard = noted(&data_dir, "heard").await;
    assert!(heard.contains(r#""method":"session/cancel""#), "{heard}");
    let (letters, end) = rest(&mut editor, "p").await;
    assert_eq!(letters, UPDATES * 1000);
    assert!(end.contains(r#""stopReason":"cancelled""#), "{end}");
    close(service, &data_dir).await;
}

#[tokio::test]
async fn a_prompt_begins_when_its_name_has_left_and_a_cancel_does_not_wait_for_that() {
    let data_dir = std::env::temp_dir().join(format!("acpd-slow-{}", uuid::Uuid::now_v7()));
    let (service, mut editor, session) = prompted(&data_dir, "", true).await;
    noted(&data_dir, "flooded").await;
    prompt(&mut editor, "second", &session).await;
    cancel(&mut editor, &session).await;
    let heard = noted(&data_dir, "heard").await;
    assert!(heard.contains(r#""method":"session/cancel""#), "{heard}");
    let thread = session.as_str().unwrap().parse().unwrap();
    let live = service.directory.look(thread).await.unwrap();
    assert_eq!(
        live.client_turns.len(),
        1,
        "the editor has not received the name of the second prompt"
    );
    // The second one has not begun, so that it ends at once; the first one ends once its message is whole.
    let mut open = vec!["p", "second"];
    while !open.is_empty() {
        let line = editor.hear().await;
        let answered = open
            .iter()
            .position(|prompt| line.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":"{prompt}""#)));
        if let Some(at) = answered {
            open.remove(at);
            assert!(line.contains(r#""stopReason":"cancelled""#), "{line}");
        }
    }
    close(service, &data_dir).await;
}

#[tokio::test]
async fn an_editor_that_floods_behind_a_blocked_prompt_is_disconnected() {
    let data_dir = std::env::temp_dir().join(format!("acpd-slow-{}", uuid::Uuid::now_v7()));
    let (service, mut editor, session) = prompted(&data_dir, "", true).await;
    noted(&data_dir, "flooded").await;
    prompt(&mut editor, "second", &session).await;
    let params = json!({ "sessionId": session });
    let line = format!(
        "{}\n",
        json!({ "jsonrpc": "2.0", "method": "_more", "params": params })
    );
    let lines = line.repeat(UNREAD_ANSWERS + 1);
    editor.write.write_all(lines.as_bytes()).await.unwrap();
    let closed = async {
        // Empty lines are ignored while the connection lasts.
        while editor.write.write_all(b"\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let closed = tokio::time::timeout(Duration::from_secs(10), closed).await;
    closed.expect("the daemon closes the connection");
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
        let (service, mut editor, _) = prompted(&data_dir, &format!("{call}\n{question}"), false).await;
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
        let (letters, _) = rest(&mut editor, "p").await;
        assert_eq!(letters, UPDATES * 1000);
        close(service, &data_dir).await;
    }
}
