//! An editor that starts an agent through `acpd acp`, runs its terminals, and has MCP servers of its own.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};

use super::agents::Guards;
use super::bench::{Bench, option};
use crate::support::{Client, Editor, Incoming, Turn, wait_until};

/// An editor, and the `acpd acp` process that it started.
struct Desk {
    editor: Editor,
    acpd: Child,
}

/// The editor's side: terminals, and a user.
struct World {
    /// The kind of the option that the user chooses.
    answer: &'static str,
    outputs: HashMap<String, (String, Value)>,
}

impl Desk {
    /// Starts `acpd acp` and initializes the connection.
    fn start(bench: &Bench) -> Self {
        let mut command = bench.daemon.place.command(&["acp", "--agent", bench.agent.name]);
        let mut acpd = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("acpd starts");
        let (stdin, stdout) = (acpd.stdin.take(), acpd.stdout.take());
        let (stdin, stdout) = (stdin.expect("it is piped"), stdout.expect("it is piped"));
        let mut editor = Editor::lines(stdout, stdin);
        let hello = json!({
            "protocolVersion": 1,
            "clientInfo": { "name": "test-editor", "version": "1" },
            "clientCapabilities": { "terminal": true },
        });
        editor.call("initialize", &hello);
        Self { editor, acpd }
    }

    /// Runs a turn to its end; returns all received messages.
    fn turn(&mut self, session: &str, text: &str, world: &mut World) -> Vec<Value> {
        let prompt = self.editor.prompt(session, text);
        let (came, answer) = self.editor.serve(prompt, |request| world.serve(request));
        answer.unwrap_or_else(|error| panic!("{text} failed: {error}"));
        came
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.acpd.kill();
        let _ = self.acpd.wait();
    }
}

impl World {
    fn serve(&mut self, request: &Value) -> Value {
        let params = &request["params"];
        let terminal = params["terminalId"].as_str().unwrap_or_default();
        match request["method"].as_str().unwrap_or_default() {
            "session/request_permission" => {
                let option = option(&params["options"], self.answer).expect("the agent offers it");
                json!({ "outcome": { "outcome": "selected", "optionId": option } })
            }
            "terminal/create" => self.run(params),
            "terminal/output" => {
                let (output, exit) = &self.outputs[terminal];
                json!({ "output": output, "truncated": false, "exitStatus": exit })
            }
            "terminal/wait_for_exit" => self.outputs[terminal].1.clone(),
            "terminal/kill" | "terminal/release" => json!({}),
            method => panic!("the editor does not offer {method}"),
        }
    }

    /// Runs a command to its end.
    fn run(&mut self, params: &Value) -> Value {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut command = Command::new(text(&params["command"]));
        command.args(params["args"].as_array().into_iter().flatten().map(text));
        if let Some(path) = params["cwd"].as_str() {
            command.current_dir(path);
        }
        let ran = command.output().expect("the command can be run");
        let output = String::from_utf8_lossy(&ran.stdout).into_owned();
        let name = format!("editor-{}", self.outputs.len());
        let exit = json!({ "exitCode": ran.status.code() });
        self.outputs.insert(name.clone(), (output, exit));
        json!({ "terminalId": name })
    }
}

/// Runs the case; a failure of one part does not hide those of the next.
pub fn play(bench: &mut Bench) -> Result<String, String> {
    bench.restart();
    std::fs::write(&bench.setting.starts, "").expect("it can be written");
    let mut desk = Desk::start(bench);
    let session = desk.editor.open(&bench.daemon);
    let mut world = World {
        answer: "allow_once",
        outputs: HashMap::new(),
    };
    let mut faults = Vec::new();
    let mut check = |holds: bool, fault: &dyn Fn() -> String| {
        if !holds {
            faults.push(fault());
        }
    };
    let starts = std::fs::read_to_string(&bench.setting.starts).unwrap_or_default();
    let starts = starts.lines().count();
    check(starts == 1, &|| {
        format!("the agent was started {starts} times for one session")
    });

    let (refused, allowed) = (bench.file("refused-to-editor"), bench.file("allowed-by-editor"));
    let prompts = [
        "run printf %s-%s shell 42".to_owned(),
        bench.agent.guarded(&refused),
        bench.agent.guarded(&allowed),
    ];
    let mut came = desk.turn(&session, &prompts[0], &mut world);
    let turn = record(bench, &session);
    check(turn.said().contains("shell-42"), &|| {
        format!("the model saw no output: {:?}", turn.said())
    });
    let delegated = !world.outputs.is_empty();
    let commands = turn.of("item/terminalCommand/completed");
    let output = |text: &str| {
        commands
            .iter()
            .any(|command| command.text("output").contains(text))
    };
    check(!delegated || output("shell-42"), &|| {
        format!("the output of the editor's terminal is not in the record: {commands:?}")
    });
    let said = turn.of("item/userMessage");
    let said = said.iter().filter(|said| said.text("text") == prompts[0]).count();
    check(said == 1, &|| format!("the prompt is {said} times in the record"));

    world.answer = "reject_once";
    came.extend(desk.turn(&session, &prompts[1], &mut world));
    world.answer = "allow_once";
    came.extend(desk.turn(&session, &prompts[2], &mut world));
    let asks = !matches!(bench.agent.guards, Guards::Nothing);
    check(!asks || !refused.exists(), &|| {
        "it did what was refused".to_owned()
    });
    check(allowed.exists(), &|| "it did not do what was allowed".to_owned());
    for (call, status) in statuses(&came) {
        let ended = matches!(status, "completed" | "failed");
        check(ended, &|| {
            format!("for the editor the call {call} is still {status}")
        });
    }

    let mut again = Desk::start(bench);
    let load = json!({ "sessionId": session, "cwd": bench.setting.work, "mcpServers": [] });
    again.editor.call("session/load", &load);
    let told = again.editor.chunks("user_message_chunk");
    for prompt in prompts {
        let times = told.matches(&prompt).count();
        check(times == 1, &|| {
            format!("session/load sends the prompt {prompt:?} {times} times")
        });
    }
    if !faults.is_empty() {
        return Err(faults.join("; "));
    }
    let where_run = if delegated {
        "runs commands in its terminal"
    } else {
        "runs commands itself"
    };
    Ok(where_run.to_owned())
}

/// Where Zed keeps the servers of its extensions.
const EXTENSION: &str = ".local/share/zed/extensions/work/lantern";

/// Runs the case of an MCP server that lies in the editor's data directory: the agent must start it and ask for its tools.
pub fn name_a_server(bench: &mut Bench) {
    let folder = bench.setting.home.join(EXTENSION);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let program = folder.join("server.py");
    std::fs::write(&program, include_str!("server.py")).expect("a file can be written");
    // The server runs in the agent's sandbox, which can write the workspace.
    let methods = bench.file("methods-of-the-server");
    let mut desk = Desk::start(bench);
    let server = json!({ "name": "lantern", "command": python(), "args": [program, methods], "env": [] });
    let params = json!({ "cwd": bench.setting.work, "mcpServers": [server] });
    let opened = desk.editor.call("session/new", &params);
    let session = opened["sessionId"].as_str().expect("a session has an id");
    let mut world = World {
        answer: "allow_once",
        outputs: HashMap::new(),
    };
    // Some agents start servers only once there is a prompt, and beside it.
    desk.turn(session, "say Hello.", &mut world);
    wait_until("the agent asks the editor's server for its tools", || {
        let methods = std::fs::read_to_string(&methods).unwrap_or_default();
        methods.lines().any(|method| method == "tools/list")
    });
}

/// Returns the path of Python: ACP wants absolute ones.
fn python() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut programs = std::env::split_paths(&path).map(|folder| folder.join("python3"));
    programs
        .find(|program| program.is_file())
        .expect("the tests need Python")
}

/// Returns a thread up to the end of its first turn with a prompt, as other clients can read it. Some agents say something
/// when their session begins.
fn record(bench: &Bench, thread: &str) -> Turn {
    let mut client = Client::observer(&bench.daemon);
    client.resume(thread, 0);
    let mut messages: Vec<Arc<Incoming>> = Vec::new();
    while !messages
        .iter()
        .any(|message| message.method == "item/userMessage")
    {
        messages.extend(client.until(|message| message.method == "turn/completed"));
    }
    let end = messages.last().expect("it ended").params["turn"].clone();
    Turn { messages, end }
}

/// Returns the last status of each tool call for which the editor received a permission request.
fn statuses(came: &[Value]) -> BTreeMap<&str, &str> {
    let mut statuses = BTreeMap::new();
    for params in came.iter().map(|message| &message["params"]) {
        if let Some(id) = params["toolCall"]["toolCallId"].as_str() {
            statuses.entry(id).or_insert("pending");
        }
        let update = &params["update"];
        if let (Some(id), Some(status)) = (update["toolCallId"].as_str(), update["status"].as_str()) {
            statuses.entry(id).and_modify(|known| *known = status);
        }
    }
    statuses
}
