//! `acpd acp` as an editor runs it, while the daemon stops and restarts.

use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{self, Client, Daemon, Editor, Place, lines_of, wait_until};

/// The pipe, and the editor that started it.
pub struct Pipe {
    pub editor: Editor,
    child: Child,
    /// Its messages to the user.
    said: std::sync::mpsc::Receiver<String>,
}

impl Pipe {
    pub fn start(place: &Place, args: &[&str]) -> Self {
        let mut command: Command = place.command(args);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("acpd starts");
        let (stdin, stdout) = (
            child.stdin.take().expect("it is piped"),
            child.stdout.take().expect("it is piped"),
        );
        let stderr: ChildStderr = child.stderr.take().expect("it is piped");
        Self {
            editor: Editor::lines(stdout, stdin),
            child,
            said: lines_of(stderr),
        }
    }

    fn greeted(place: &Place, args: &[&str]) -> Self {
        let mut pipe = Self::start(place, args);
        pipe.editor.greet();
        pipe
    }

    /// Waits until it prints a text for the user.
    fn wait_for(&self, text: &str) {
        loop {
            let line = self.said.recv_timeout(support::PATIENCE);
            if line.expect("it says something").contains(text) {
                return;
            }
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn without_a_daemon_it_starts_one_and_ends_with_its_editor() {
    let place = Place::new("");
    let mut pipe = Pipe::start(&place, &["acp", "--agent", "fake"]);
    pipe.wait_for("starting one in the background");
    pipe.editor.greet();
    let _daemon = place.background();
    let params = json!({ "cwd": ".", "mcpServers": [] });
    let session = pipe.editor.call("session/new", &params)["sessionId"].clone();
    assert_eq!(
        pipe.editor.turn(session.as_str().unwrap(), "say hello").0,
        "hello"
    );
    // Closes its standard input.
    let Pipe { editor, child, .. } = &mut pipe;
    *editor = Editor::lines(std::io::empty(), std::io::sink());
    assert!(child.wait().unwrap().success());
}

#[test]
fn an_agent_that_is_not_there_is_an_error_to_the_editor() {
    let daemon = Daemon::start();
    let mut pipe = Pipe::start(&daemon.place, &["acp", "--agent", "nobody"]);
    let error = pipe
        .editor
        .refused("initialize", &json!({ "protocolVersion": 1 }));
    assert!(error["message"].as_str().unwrap().contains("nobody"), "{error}");
    let refused = support::acpd(&daemon.place, &["acp", "--thread", "x"]);
    assert!(
        refused.code == Some(5) && refused.stdout.is_empty(),
        "{}",
        refused.stdout
    );
}

#[test]
fn a_daemon_killed_during_a_turn_loses_only_that_turn() {
    let mut daemon = Daemon::start();
    let mut pipe = Pipe::greeted(&daemon.place, &["acp"]);
    let session = pipe.editor.open(&daemon);
    assert_eq!(pipe.editor.turn(&session, "say before").0, "before");
    let prompt = pipe.editor.prompt(&session, "say begun; slow ms=600000");
    pipe.editor.wait_for_text("begun");
    pipe.editor.take();
    daemon.kill();
    daemon.restart();
    let error = pipe.editor.answer(prompt).unwrap_err();
    assert!(
        error["message"].as_str().unwrap().contains("acpd was restarted"),
        "{error}"
    );
    let (said, end) = pipe.editor.turn(&session, "say after");
    assert_eq!((said.as_str(), &end["stopReason"]), ("after", &json!("end_turn")));
    // Nothing was shown twice: neither the agent's messages nor the editor's own prompts.
    let shown = pipe.editor.take();
    assert!(
        !shown.iter().any(|message| message.to_string().contains("begun")),
        "{shown:#?}"
    );
}

#[test]
fn a_prompt_that_waits_while_the_daemon_is_killed_is_answered_by_the_next_one() {
    let mut daemon = Daemon::start();
    let mut pipe = Pipe::greeted(&daemon.place, &["acp"]);
    let session = pipe.editor.open(&daemon);
    let mut other = Client::new(&daemon);
    other.resume(&session, 0);
    other.start(&session, "say first; slow ms=600000");
    pipe.editor.wait_for_text("first");
    let prompt = pipe.editor.prompt(&session, "say later");
    other.wait_for("turn/queued");
    daemon.kill();
    pipe.wait_for("daemon lost");
    daemon.restart();
    let end = pipe.editor.answer(prompt).unwrap();
    assert_eq!(end["stopReason"], "end_turn");
    assert_eq!(pipe.editor.said(), "later");
    // The next connection is a new one, and has the same state.
    daemon.stop();
    daemon.restart();
    assert_eq!(pipe.editor.turn(&session, "say on").0, "on");
}

#[test]
fn missed_updates_are_shown_once_and_ended_questions_withdrawn() {
    let mut daemon = Daemon::start();
    let mut pipe = Pipe::greeted(&daemon.place, &["acp"]);
    let session = pipe.editor.open(&daemon);
    let prompt = pipe.editor.prompt(&session, "say one; permission");
    let question = pipe.editor.wait_for("session/request_permission");
    daemon.kill();
    pipe.wait_for("daemon lost");
    daemon.restart();
    let cancelled = pipe.editor.wait_for("$/cancel_request");
    assert_eq!(cancelled["params"]["requestId"], question["id"]);
    assert!(pipe.editor.answer(prompt).is_err());
    let mut other = Client::new(&daemon);
    let latest = other.call("thread/read", &json!({ "threadId": session }));
    other.resume(&session, latest["thread"]["latestSeq"].as_u64().unwrap());
    assert_eq!(other.turn(&session, "say two").said(), "two");
    pipe.editor.wait_for_text("two");
    assert_eq!(pipe.editor.turn(&session, "say three").0, "three");
}

/// A recording of an agent that asks a question before it opens a session, which has modes.
const ASKS_FIRST: &str = r#"{"t":0,"proc":1,"dir":"c2a","msg":{"jsonrpc":"2.0","id":0,"method":"initialize"}}
{"t":0,"proc":1,"dir":"a2c","msg":{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{}}}}
{"t":0,"proc":1,"dir":"c2a","msg":{"jsonrpc":"2.0","id":1,"method":"session/new"}}
{"t":0,"proc":1,"dir":"a2c","msg":{"jsonrpc":"2.0","id":90,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"trust","title":"Trust this folder?"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}}
{"t":0,"proc":1,"dir":"c2a","msg":{"jsonrpc":"2.0","id":90,"result":{}}}
{"t":0,"proc":1,"dir":"a2c","msg":{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s-1","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"plan","name":"Plan"}]}}}}
"#;

/// The editor had its response before the session had modes. It knows them as an option only.
#[test]
fn the_options_of_an_early_session_come_again_from_the_next_daemon() {
    let place = Place::new("");
    let file = place.home().join("recording.jsonl");
    std::fs::write(&file, ASKS_FIRST).unwrap();
    let file = file.display().to_string();
    let agent = place.agent("early", &["--play", &file], &[]);
    let (agent, _) = agent.split_once("sandbox = ").expect("it has a sandbox");
    place.configure(&format!("{agent}sandbox = \"off\"\n"));
    let mut daemon = Daemon::at(place);
    let mut pipe = Pipe::greeted(&daemon.place, &["acp", "--agent", "early"]);
    pipe.editor.open(&daemon);
    let question = pipe.editor.wait_for("session/request_permission");
    pipe.editor.pick(&question, "allow_once");
    let option = |pipe: &mut Pipe| {
        let is_list =
            |message: &Value| message["params"]["update"]["sessionUpdate"] == "config_option_update";
        let list = pipe.editor.until(is_list).pop().expect("it came");
        list["params"]["update"]["configOptions"][0].clone()
    };
    let before = option(&mut pipe);
    assert_eq!(
        (&before["id"], &before["currentValue"]),
        (&json!("acpd.mode"), &json!("ask"))
    );
    daemon.kill();
    pipe.wait_for("daemon lost");
    daemon.restart();
    assert_eq!(option(&mut pipe), before);
}

#[test]
fn a_daemon_that_does_not_come_back_is_started_when_the_editor_wants_something() {
    let mut daemon = Daemon::start();
    let mut pipe = Pipe::greeted(&daemon.place, &["acp"]);
    let session = pipe.editor.open(&daemon);
    daemon.stop();
    pipe.wait_for("daemon lost");
    let prompt = pipe.editor.prompt(&session, "say hello");
    pipe.wait_for("starting one in the background");
    wait_until("the daemon is there", || daemon.place.noticed_pid().is_some());
    let _background = daemon.place.background();
    assert!(pipe.editor.answer(prompt).is_ok());
    assert_eq!(pipe.editor.said(), "hello");
}

#[test]
fn the_first_new_session_may_be_a_thread_that_is_there() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say before");
    let mut pipe = Pipe::greeted(&daemon.place, &["acp", "--thread", &thread]);
    let session = pipe.editor.open(&daemon);
    assert_eq!(session, thread);
    pipe.editor.wait_for_text("before");
    assert_eq!(pipe.editor.turn(&session, "say on").0, "on");
    assert_ne!(pipe.editor.open(&daemon), thread);
}

#[test]
fn an_agent_is_started_once_is_listed_and_goes_when_its_session_is_closed() {
    let daemon = Daemon::start();
    let place = &daemon.place;
    let mut pipe = Pipe::greeted(place, &["acp", "--agent", "fake"]);
    let greeted = place.agents();
    assert_eq!(greeted.len(), 1, "it waits for a session");
    let params = json!({ "cwd": ".", "mcpServers": [] });
    let session = pipe.editor.call("session/new", &params)["sessionId"].clone();
    assert_eq!(
        place.agents(),
        greeted,
        "the process that was greeted has the session"
    );
    let listed = place.command(&["agents", "running", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(
        (
            &listed["agentType"],
            &listed["threads"],
            &listed["state"],
            &listed["pid"]
        ),
        (
            &json!("fake"),
            &json!([session]),
            &json!("idle"),
            &json!(greeted[0])
        )
    );
    assert!(listed["memoryBytes"].as_u64().unwrap() > 1 << 16, "{listed}");
    let table = place.command(&["agents", "running"]).output().unwrap();
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(
        table.starts_with("AGENT  PID") && table.contains(" idle "),
        "{table}"
    );
    pipe.editor
        .call("session/close", &json!({ "sessionId": session }));
    place.wait_for_no_agents();
    // The daemon hears of its end a little later than the system.
    wait_until("it is listed no longer", || {
        let none = place.command(&["agents", "running"]).output().unwrap();
        none.stdout.is_empty() && String::from_utf8_lossy(&none.stderr).contains("no agent runs")
    });
}
