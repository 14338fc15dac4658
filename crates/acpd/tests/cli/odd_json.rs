//! JSON that many readers refuse, and that agents and clients write: halves of surrogate pairs (JavaScript), numbers of any
//! size (Python), any nesting, and keys that occur twice. The daemon passes it on, and every command reads and prints it.

use serde_json::Value;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Client, Daemon, Place, acpd, outcome, wait_until, without_terminal};

/// Members of an object that no typed reader takes.
fn odd_members() -> String {
    format!(
        r#""half":"a \ud83d b","big":1e999,"long":{},"deep":{}{}"#,
        "9".repeat(400),
        "[".repeat(200),
        "]".repeat(200)
    )
}

/// Keys that occur twice, of which readers take the first or the last one. In a request of an agent, acpd refuses them.
const TWICE: &str = r#""twice":"first","twice":{"again":1,"again":[]}"#;

/// Returns a recording of an agent that writes such JSON wherever it can, in two turns with a question each.
fn recording() -> String {
    let odd = odd_members();
    let call = format!(
        r#""toolCallId":"t \ud83d","title":"look \ud83d here","kind":"execute","status":"in_progress","rawInput":{{"command":"ls \ud83d",{odd}}},"_meta":{{"claudeCode":{{"toolName":"Ba\ud83dsh"}},{odd}}}"#
    );
    let done = format!(
        r#""toolCallId":"t \ud83d","status":"completed","content":[{{"type":"content","content":{{"type":"text","text":"found \ud83d it"}}}}],"rawOutput":{{{odd},{TWICE}}}"#
    );
    let plan = r#""entries":[{"content":"step \ud83d one","priority":"low","status":"pending"}]"#;
    let chunk = |text: &str| {
        format!(
            r#""sessionUpdate":"agent_message_chunk","messageId":"m \ud83d {text}","content":{{"type":"text","text":"{text} \ud83d jar"}},"_meta":{{{odd},{TWICE}}}"#
        )
    };
    let update = |members: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s-1","update":{{{members}}}}}}}"#
        )
    };
    let question = |id: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"session/request_permission","params":{{"sessionId":"s-1","toolCall":{{"toolCallId":"q{id} \ud83d","title":"rm \ud83d x","kind":"execute","rawInput":{{"command":"rm \ud83d x",{odd}}}}},"options":[{{"optionId":"yes","name":"Yes \ud83d","kind":"allow_once","_meta":{{{odd}}}}},{{"optionId":"no","name":"No","kind":"reject_once"}}],"_meta":{{{odd}}}}}}}"#
        )
    };
    let asked = |id: u32, method: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
    let answer = |id: u32, result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    let lines = [
        ("c2a", asked(0, "initialize")),
        (
            "a2c",
            answer(0, r#"{"protocolVersion":1,"agentCapabilities":{}}"#),
        ),
        ("c2a", asked(1, "session/new")),
        ("a2c", answer(1, r#"{"sessionId":"s-1"}"#)),
        ("c2a", asked(2, "session/prompt")),
        ("a2c", update(&chunk("quince"))),
        (
            "a2c",
            update(&format!(
                r#""sessionUpdate":"session_info_update","title":"Larder \ud83d shelf","_meta":{{{odd}}}"#
            )),
        ),
        ("a2c", update(&format!(r#""sessionUpdate":"tool_call",{call}"#))),
        (
            "a2c",
            update(&format!(r#""sessionUpdate":"tool_call_update",{done}"#)),
        ),
        ("a2c", update(&format!(r#""sessionUpdate":"plan",{plan}"#))),
        (
            "a2c",
            update(r#""sessionUpdate":"usage_update","used":1e999,"size":1"#),
        ),
        ("a2c", update(r#""sessionUpdate":"\ud83d""#)),
        (
            "a2c",
            format!(r#"{{"jsonrpc":"2.0","method":"_odd/note","params":{{{odd},{TWICE}}}}}"#),
        ),
        ("a2c", question(90)),
        ("c2a", answer(90, "{}")),
        ("a2c", answer(2, r#"{"stopReason":"end_turn"}"#)),
        ("c2a", asked(3, "session/prompt")),
        ("a2c", question(91)),
        ("c2a", answer(91, "{}")),
        ("a2c", update(&chunk("pear"))),
        ("a2c", answer(3, r#"{"stopReason":"end_turn"}"#)),
    ];
    lines
        .iter()
        .map(|(from, message)| format!("{{\"t\":0,\"proc\":1,\"dir\":\"{from}\",\"msg\":{message}}}\n"))
        .collect()
}

/// Starts a daemon with the agent `odd`.
fn with_odd_agent() -> Daemon {
    let place = Place::new("");
    let file = place.home().join("recording.jsonl");
    std::fs::write(&file, recording()).expect("it can be written");
    let file = file.display().to_string();
    let agent = place.agent("odd", &["--play", &file], &[]);
    let (agent, _) = agent.split_once("sandbox = ").expect("it has a sandbox");
    place.configure(&format!("{agent}sandbox = \"off\"\n"));
    Daemon::at(place)
}

/// Runs a command that must succeed and print each of these parts; returns what it prints.
fn printed(daemon: &Daemon, args: &[&str], parts: &[&str]) -> String {
    let done = outcome(&mut without_terminal(&daemon.place.command(args)));
    assert_eq!(done.code, Some(0), "{args:?}: {}", done.stderr);
    for part in parts {
        assert!(
            done.stdout.contains(part),
            "{args:?}: {part:?} is missing: {}",
            done.stdout
        );
    }
    done.stdout
}

/// Sets metadata of a thread that no typed reader takes.
fn set_metadata(daemon: &Daemon, thread: &str) {
    let odd = odd_members();
    let mut client = Client::observer(daemon);
    let request = format!(
        r#"{{"jsonrpc":"2.0","id":1000,"method":"thread/metadata/set","params":{{"threadId":"{thread}","metadata":{{{odd}}}}}}}"#
    );
    client.send(Message::text(request)).expect("the daemon reads it");
    client.answer(1000).expect("it is set");
}

#[test]
fn every_command_prints_what_typed_readers_refuse() {
    let daemon = with_odd_agent();
    let run = acpd(
        &daemon.place,
        &["run", "--agent", "odd", "--permissions", "allow", "hello"],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("quince \u{fffd} jar"), "{}", run.stdout);
    assert!(run.stderr.contains("look \u{fffd} here"), "{}", run.stderr);
    let thread = run.stderr.lines().find_map(|line| line.strip_prefix("thread "));
    let thread = thread.expect("it prints the thread");
    set_metadata(&daemon, thread);

    printed(&daemon, &["threads"], &["Larder \u{fffd} shelf"]);
    let shown = ["quince \u{fffd} jar", "look \u{fffd} here", "found \u{fffd} it"];
    printed(&daemon, &["show", thread], &shown);
    printed(&daemon, &["search", "quince"], &["quince"]);
    printed(&daemon, &["export", thread], &["quince"]);
    for format in ["md", "html"] {
        let export = ["export", thread, "--format", format];
        printed(&daemon, &export, &["quince \u{fffd} jar", "look \u{fffd} here"]);
    }
    for (args, part) in [
        (&["threads", "--json"][..], "Larder \u{fffd} shelf"),
        (&["show", thread, "--json"], "quince \u{fffd} jar"),
        (&["search", "quince", "--json"], "quince"),
    ] {
        for line in printed(&daemon, args, &[part]).lines() {
            let read = serde_json::from_str::<Value>(line);
            assert!(read.is_ok(), "{args:?}: {read:?}");
        }
    }
}

#[test]
fn a_question_of_what_typed_readers_refuse_is_shown_and_answered() {
    let daemon = with_odd_agent();
    let run = acpd(
        &daemon.place,
        &["run", "--agent", "odd", "--permissions", "deny", "hello"],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    printed(&daemon, &["send", "@last", "again"], &["turn_2 started"]);
    let has_status = |status: &str| {
        let listed = acpd(&daemon.place, &["threads", "--status", status]);
        listed.stdout.contains("Larder")
    };
    wait_until("the agent asks", || has_status("waiting"));
    printed(&daemon, &["show", "@last"], &["rm \u{fffd} x", "acpd answer"]);
    printed(&daemon, &["answer", "@last"], &["rm \u{fffd} x", "1) Allow"]);
    let question = printed(&daemon, &["answer", "@last", "--json"], &["rm \u{fffd} x"]);
    let read = serde_json::from_str::<Value>(&question);
    assert!(read.is_ok(), "{read:?}");
    let answered = printed(&daemon, &["answer", "@last", "allow"], &[]);
    assert_eq!(answered, "answered\n");
    wait_until("the turn ends", || has_status("idle"));
    printed(&daemon, &["show", "@last"], &["pear \u{fffd} jar"]);
}
