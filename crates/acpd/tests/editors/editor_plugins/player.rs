//! Plays the steps of a fixture against a process of acpd that is started as the plugin starts it.
//!
//! Every message of acpd is checked: against the official schema, for methods that the plugin does not handle, and for
//! a `null` where the plugin fails on one.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::OsString;
use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Receiver;

use rustix::process::Signal;
use serde_json::{Map, Value, json};

use super::fixture::{Answer, Environment, Expected, File, Fixture, Step};
use crate::support::{PATIENCE, Place, built, check_acp, copy_surroundings, lines_of, signal, wait_until};

/// Variables that name the scratch directories and the daemon. They are what `env` in the settings is for.
const OWN: [&str; 3] = ["ACPD_CONFIG", "ACPD_DATA_DIR", "ACPD_LISTEN"];

pub struct Player<'a> {
    place: &'a Place,
    fixture: &'a Fixture,
    line: Vec<String>,
    /// The values of the placeholders.
    names: BTreeMap<String, String>,
    process: Option<Process>,
    steps: usize,
}

/// A process of acpd, and what it has sent.
struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Its messages to the user: every plugin reads them, and drops them.
    _stderr: Receiver<String>,
    /// The methods of open requests of the plugin.
    asked: HashMap<u64, String>,
    answers: HashMap<u64, Value>,
    requests: VecDeque<Value>,
    /// The request that the next answer is for.
    open: Option<Value>,
    /// What the agent has said since the last request of the plugin.
    said: String,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have exited already; a failed test must not leave a process behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl<'a> Player<'a> {
    pub fn new(place: &'a Place, fixture: &'a Fixture, line: Vec<String>) -> Self {
        let cwd = place.work().display().to_string();
        Self {
            place,
            fixture,
            line,
            names: BTreeMap::from([("$CWD".to_owned(), cwd)]),
            process: None,
            steps: 0,
        }
    }

    /// Plays one step.
    pub fn play(&mut self, step: &Step) {
        self.steps += 1;
        match step {
            Step::Start {} => self.start(),
            Step::Send(message) => self.send(message),
            Step::Expect(expected) => self.expect(expected),
            Step::Asked(asked) => {
                let request = self.request(&asked.method);
                self.check(&request, &asked.has);
                self.process().open = Some(request);
            }
            Step::Answer(answer) => self.answer(answer),
            Step::Says(text) => {
                let text = filled_text(text, &self.names);
                while !self.process().said.contains(&text) {
                    self.receive();
                }
            }
            Step::File(file) => self.check_file(file),
            Step::End(signals) => self.end(signals),
        }
    }

    /// Returns where it is, for messages of failures.
    fn at(&self) -> String {
        format!("{}, step {}", self.fixture.plugin, self.steps)
    }

    fn process(&mut self) -> &mut Process {
        self.process.as_mut().expect("a process was started")
    }

    /// Returns the command, which `PATH` leads to, as in an editor.
    fn command(&self) -> Command {
        let ours = self.place.command(&[]);
        let mut command = Command::new(&self.line[0]);
        command.args(&self.line[1..]);
        match self.fixture.environment {
            Environment::Inherited => copy_surroundings(&ours, &mut command),
            Environment::PathOnly => {
                command.env_clear().current_dir(self.place.work());
                for (name, value) in ours.get_envs() {
                    if let Some(value) = value.filter(|_| OWN.iter().any(|own| name == *own)) {
                        command.env(name, value);
                    }
                }
            }
        }
        let program = built("acpd");
        let mut path = OsString::from(program.parent().expect("it is in a directory"));
        path.push(":/usr/bin:/bin");
        command.env("PATH", path);
        command
    }

    fn start(&mut self) {
        let mut child = self
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("acpd starts");
        self.process = Some(Process {
            stdin: child.stdin.take(),
            lines: lines_of(child.stdout.take().expect("it is piped")),
            _stderr: lines_of(child.stderr.take().expect("it is piped")),
            child,
            asked: HashMap::new(),
            answers: HashMap::new(),
            requests: VecDeque::new(),
            open: None,
            said: String::new(),
        });
    }

    fn send(&mut self, message: &Value) {
        let message = filled(message, &self.names);
        if let Some(id) = message["id"].as_u64() {
            let method = message["method"].as_str().expect("a request has a method");
            let process = self.process();
            process.asked.insert(id, method.to_owned());
            process.said.clear();
        }
        self.write(&message);
    }

    fn write(&mut self, message: &Value) {
        let at = self.at();
        let stdin = self.process().stdin.as_mut().expect("it is piped");
        let written = writeln!(stdin, "{message}").and_then(|()| stdin.flush());
        written.unwrap_or_else(|error| panic!("{at}: {error}"));
    }

    fn expect(&mut self, expected: &Expected) {
        let message = loop {
            if let Some(message) = self.process().answers.remove(&expected.id) {
                break message;
            }
            let unread = self.process().requests.front().cloned();
            assert!(
                unread.is_none(),
                "{}: the agent requests more: {unread:?}",
                self.at()
            );
            self.receive();
        };
        let at = self.at();
        assert!(message.get("error").is_none(), "{at}: {message}");
        self.check(&message, &expected.has);
        for (name, pointer) in &expected.keep {
            let value = message.pointer(pointer).and_then(Value::as_str);
            let value = value.unwrap_or_else(|| panic!("{at}: no text at {pointer}: {message}"));
            self.names.insert(name.clone(), value.to_owned());
        }
        let said = &self.process().said;
        if let Some(text) = &expected.said {
            assert!(said.contains(text), "{at}: the agent said {said:?}");
        }
        if let Some(text) = &expected.never_said {
            assert!(!said.contains(text), "{at}: the agent said {said:?}");
        }
    }

    /// Waits for the next request of the agent.
    fn request(&mut self, method: &str) -> Value {
        let request = loop {
            if let Some(request) = self.process().requests.pop_front() {
                break request;
            }
            let ended = self.process().answers.values().next().cloned();
            assert!(
                ended.is_none(),
                "{}: a response came before {method}: {ended:?}",
                self.at()
            );
            self.receive();
        };
        assert_eq!(request["method"], method, "{}: {request}", self.at());
        request
    }

    /// Answers a request, and does what the plugin does.
    fn answer(&mut self, answer: &Answer) {
        let request = match self.process().open.take() {
            Some(open) => open,
            None => self.request(&answer.method),
        };
        let at = self.at();
        assert_eq!(request["method"], answer.method.as_str(), "{at}");
        self.check(&request, &answer.has);
        let params = &request["params"];
        let mut names = self.names.clone();
        for option in params["options"].as_array().into_iter().flatten() {
            let (kind, id) = (option["kind"].as_str(), option["optionId"].as_str());
            let (kind, id) = kind.zip(id).unwrap_or_else(|| panic!("{at}: {request}"));
            names.insert(format!("${}", kind.to_uppercase()), id.to_owned());
        }
        let path = params["path"].as_str().unwrap_or_default();
        if answer.method == "fs/read_text_file"
            && let Ok(content) = std::fs::read_to_string(path)
        {
            names.insert("$CONTENT".to_owned(), content);
        }
        let mut message = json!({ "jsonrpc": "2.0", "id": request["id"] });
        if let Some(error) = &answer.error {
            message["error"] = filled(error, &names);
        } else {
            message["result"] = filled(&answer.result, &names);
            if answer.method == "fs/write_text_file" && answer.result.is_null() {
                let content = params["content"].as_str().expect("it has content");
                std::fs::write(path, content).unwrap_or_else(|error| panic!("{at}: {path}: {error}"));
            }
        }
        self.write(&message);
    }

    fn check_file(&self, file: &File) {
        let path = self.place.work().join(&file.path);
        let content = std::fs::read_to_string(&path).ok();
        assert_eq!(content, file.content, "{}: {}", self.at(), path.display());
    }

    fn end(&mut self, signals: &[String]) {
        let mut process = self.process.take().expect("a process was started");
        for name in signals {
            let sent = match name.as_str() {
                "TERM" => Signal::TERM,
                "KILL" => Signal::KILL,
                other => panic!("no signal of a fixture: {other}"),
            };
            signal(process.child.id(), sent);
        }
        process.stdin = None;
        wait_until("the process ends", || {
            let ended = process.child.try_wait().expect("it can be waited for");
            ended.is_some()
        });
    }

    /// Checks values of a message.
    fn check(&self, message: &Value, has: &Map<String, Value>) {
        for (pointer, expected) in has {
            let at = self.at();
            let found = message.pointer(pointer);
            if expected == "present" {
                assert!(
                    found.is_some_and(|found| !found.is_null()),
                    "{at}: nothing at {pointer}: {message}"
                );
            } else {
                let expected = filled(expected, &self.names);
                assert_eq!(found, Some(&expected), "{at}: {pointer}: {message}");
            }
        }
    }

    /// Receives one message.
    fn receive(&mut self) {
        let at = self.at();
        let said = self.process().said.clone();
        let line = self.process().lines.recv_timeout(PATIENCE);
        let line = line.unwrap_or_else(|error| panic!("{at}: {error}; the agent said {said:?}"));
        let message: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{at}: no JSON: {error}: {line}"));
        for pointer in &self.fixture.never_null {
            let path: Vec<&str> = pointer.split('/').skip(1).collect();
            assert!(!has_null(&message, &path), "{at}: null at {pointer}: {message}");
        }
        let id = message.get("id").cloned();
        let Some(method) = message["method"].as_str().map(str::to_owned) else {
            return self.respond(id, message);
        };
        check_acp(&message, None);
        let fixture = self.fixture;
        if id.is_none() && fixture.ignores.contains(&method) {
            return;
        }
        assert!(
            fixture.knows.contains(&method),
            "{at}: the plugin does not handle {message}"
        );
        if id.is_some() {
            self.process().requests.push_back(message);
            return;
        }
        let update = &message["params"]["update"];
        if update["sessionUpdate"] == "agent_message_chunk" {
            let text = update["content"]["text"].as_str().unwrap_or_default();
            self.process().said.push_str(text);
        }
    }

    /// Receives a response.
    fn respond(&mut self, id: Option<Value>, message: Value) {
        let at = self.at();
        let id = id.and_then(|id| id.as_u64());
        let id = id.unwrap_or_else(|| panic!("{at}: a response to nothing: {message}"));
        let method = self.process().asked.remove(&id);
        let method = method.unwrap_or_else(|| panic!("{at}: {id} is not open: {message}"));
        check_acp(&message, Some(method.as_str()));
        self.process().answers.insert(id, message);
    }
}

/// Returns whether a value is `null`. `*` stands for every element of a list.
fn has_null(value: &Value, path: &[&str]) -> bool {
    match path.split_first() {
        None => value.is_null(),
        Some((&"*", rest)) => {
            let elements = value.as_array();
            elements.is_some_and(|elements| elements.iter().any(|element| has_null(element, rest)))
        }
        Some((name, rest)) => value.get(*name).is_some_and(|inner| has_null(inner, rest)),
    }
}

/// Returns a value with the placeholders in its texts replaced.
fn filled(value: &Value, names: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) => Value::String(filled_text(text, names)),
        Value::Array(elements) => elements.iter().map(|element| filled(element, names)).collect(),
        Value::Object(members) => {
            let members = members.iter();
            let members: Map<String, Value> = members
                .map(|(name, member)| (name.clone(), filled(member, names)))
                .collect();
            Value::Object(members)
        }
        other => other.clone(),
    }
}

/// Returns a text with its placeholders replaced. A text that is only a placeholder is its value, unchanged.
fn filled_text(text: &str, names: &BTreeMap<String, String>) -> String {
    if let Some(value) = names.get(text) {
        return value.clone();
    }
    names.iter().rev().fold(text.to_owned(), |text, (name, value)| {
        text.replace(name.as_str(), value)
    })
}
