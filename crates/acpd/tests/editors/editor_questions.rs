//! What an agent is offered when it starts: the questions that the clients of its thread can show.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{self, Client, Daemon, Editor, Place};

/// Returns a place whose agent records what it reads, with `more` lines of its configuration.
fn recording(more: &str) -> Place {
    let place = Place::new("");
    let (program, record) = (support::fake_agent(), place.home().join("record"));
    let line = format!("tee -a \"$0\" | '{}' --pace 0", program.display());
    let agent = place.agent("fake", &["-c", &line, &record.display().to_string()], &[]);
    let (agent, _) = agent.split_once("sandbox = ").expect("it has a sandbox");
    let command = format!("command = {:?}", program.display().to_string());
    let agent = agent.replace(&command, "command = \"sh\"");
    place.configure(&format!("{agent}sandbox = \"off\"\n{more}\n"));
    place
}

/// Returns the modes of elicitation that each process of the agent was offered.
fn offers(place: &Place) -> Vec<Value> {
    let record = std::fs::read_to_string(place.home().join("record")).expect("the agent was started");
    let messages = record
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages
        .filter(|message| message["method"] == "initialize")
        .map(|message| message["params"]["clientCapabilities"]["elicitation"].clone())
        .collect()
}

/// Connects an editor that cannot show questions, in the work directory.
fn simple_editor(daemon: &Daemon) -> Editor {
    let mut editor = Editor::socket(&daemon.place);
    editor.send(&json!({ "acpd": { "cwd": daemon.place.work() } }).to_string());
    editor.greet();
    editor
}

#[test]
fn an_agent_is_offered_questions_if_a_client_of_its_thread_can_show_them() {
    let daemon = Daemon::at(recording(""));
    let mut editor = simple_editor(&daemon);
    let session = editor.open(&daemon);
    assert_eq!(editor.turn(&session, "say one").0, "one");
    assert_eq!(offers(&daemon.place), [Value::Null]);
    // A client that follows without receiving questions changes nothing.
    let mut observer = Client::observer(&daemon);
    observer.call("thread/resume", &json!({ "threadId": session }));
    let mut end_process = || {
        for pid in daemon.place.agents() {
            support::signal(pid, Signal::KILL);
        }
        observer.until(|message| message.text("code") == "agentLost");
    };
    end_process();
    assert_eq!(editor.turn(&session, "say two").0, "two");
    assert_eq!(offers(&daemon.place), [Value::Null, Value::Null]);
    // The page opens the thread: the agent learns of it at its next start.
    let mut page = Client::new(&daemon);
    page.call("thread/resume", &json!({ "threadId": session }));
    assert_eq!(page.turn(&session, "say three").said(), "three");
    assert_eq!(offers(&daemon.place).len(), 2);
    end_process();
    assert_eq!(page.turn(&session, "say four").said(), "four");
    let all = json!({ "form": {}, "url": {} });
    assert_eq!(offers(&daemon.place), [Value::Null, Value::Null, all]);
    // It goes on in the editor alone.
    page.call("thread/unsubscribe", &json!({ "threadId": session }));
    end_process();
    editor.wait_for_text("four");
    assert_eq!(editor.turn(&session, "say five").0, "five");
    assert_eq!(offers(&daemon.place)[3], Value::Null);
}

#[test]
fn a_process_of_many_threads_is_offered_questions() {
    let daemon = Daemon::at(recording("share = true"));
    let mut editor = simple_editor(&daemon);
    let session = editor.open(&daemon);
    assert_eq!(editor.turn(&session, "say one").0, "one");
    let mut page = Client::new(&daemon);
    let thread = page.thread(&daemon);
    assert_eq!(page.turn(&thread, "say two").said(), "two");
    assert_eq!(offers(&daemon.place), [json!({ "form": {}, "url": {} })]);
}
