//! Commands that an editor runs: the thread records their output.

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Editor, acpd};

/// Serves terminal requests in an editor until the turn ends. Returns the requested methods in order.
fn serve(editor: &mut Editor, session: &str, prompt: &str) -> Vec<String> {
    let id = editor.prompt(session, &format!("{prompt}; permission command=last"));
    let mut asked = Vec::new();
    loop {
        let message = editor.until(|_| true).pop().expect("it came");
        let method = message["method"].as_str().expect("a method").to_owned();
        let answer = match &*method {
            "terminal/create" => json!({ "terminalId": "theirs" }),
            "terminal/wait_for_exit" => json!({ "exitCode": 0 }),
            "terminal/output" => json!({ "output": "value-42\n", "truncated": false }),
            "terminal/release" => json!({}),
            "session/request_permission" => {
                editor.pick(&message, "allow_once");
                break;
            }
            _ => continue,
        };
        assert!(method == "terminal/create" || message["params"]["terminalId"] == "theirs");
        editor.respond(&message, &answer);
        asked.push(method);
    }
    editor.answer(id).expect("the turn ends well");
    asked
}

fn terminals(client: &mut Client, thread: &str) -> Vec<Value> {
    let params = json!({ "threadId": thread, "includeTurns": true });
    let thread = client.call("thread/read", &params)["thread"].take();
    let turns = thread["turns"]
        .as_array()
        .expect("its turns were asked for")
        .iter();
    let items = turns.flat_map(|turn| turn["items"].as_array().expect("a turn has items"));
    items
        .filter(|item| item["type"] == "terminalCommand")
        .cloned()
        .collect()
}

#[test]
fn the_output_of_a_command_in_an_editor_is_recorded_whether_the_agent_reads_it_or_not() {
    let daemon = Daemon::start();
    let mut editor = Editor::socket(&daemon.place);
    let info = json!({ "name": "runs-commands", "version": "1" });
    let hello =
        json!({ "protocolVersion": 1, "clientInfo": info, "clientCapabilities": { "terminal": true } });
    editor.call("initialize", &hello);
    let session = editor.open(&daemon);
    let usual = ["create", "wait_for_exit", "output", "release"].map(|verb| format!("terminal/{verb}"));
    for step in ["terminal echo hi", "terminal-unread echo hi"] {
        assert_eq!(serve(&mut editor, &session, step), usual, "{step}");
    }
    let mut client = Client::new(&daemon);
    let ended = terminals(&mut client, &session);
    assert_eq!(ended.len(), 2);
    for end in ended {
        assert_eq!(
            (
                &end["output"],
                &end["truncated"],
                &end["outcome"],
                &end["exitCode"]
            ),
            (
                &json!("value-42\n"),
                &json!(false),
                &json!("completed"),
                &json!(0)
            ),
            "{end}"
        );
    }
    let shown = acpd(&daemon.place, &["show", &session]);
    assert_eq!(
        shown.stdout.matches("$ echo hi\nvalue-42\n").count(),
        2,
        "{}",
        shown.stdout
    );
}
