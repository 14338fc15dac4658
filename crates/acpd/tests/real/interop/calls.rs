//! A program that makes a test's calls through its SDK.

use std::collections::HashMap;
use std::io::Write;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use super::part::Way;
use super::programs::Program;
use crate::support::{Daemon, PATIENCE, check_acp, lines_of};

/// A client of the daemon, with any number of connections. Every received frame is checked against the schema.
pub struct Calls {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Receiver<String>,
    last_id: u64,
    answers: HashMap<u64, Result<Value, Value>>,
    /// Methods of pending requests, by connection and the SDK's own id.
    asked: HashMap<(String, String), String>,
    /// All frames so far: `{"on", "sent"}` and `{"on", "got"}`.
    pub frames: Vec<Value>,
}

/// The number of a connection.
pub type On = u64;

impl Calls {
    /// Starts a client of `agent` over `way`.
    pub fn start(program: Program, daemon: &Daemon, way: Way, agent: &str) -> Self {
        Self::spawn(program, daemon, agent, |acpd| way.told(daemon, agent, acpd))
    }

    /// Starts a client that has an address and no token.
    pub fn with_address(program: Program, daemon: &Daemon, url: &str) -> Self {
        Self::spawn(
            program,
            daemon,
            "fake",
            |_| json!({ "way": "http", "url": url, "token": null }),
        )
    }

    fn spawn(
        program: Program,
        daemon: &Daemon,
        agent: &str,
        instructions: impl FnOnce(&[String]) -> Value,
    ) -> Self {
        let (mut command, acpd) = program.calls(daemon, agent);
        let mut child = command
            .env("INTEROP", instructions(&acpd).to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        Self {
            stdin: child.stdin.take(),
            lines: lines_of(child.stdout.take().expect("it is piped")),
            stderr: lines_of(child.stderr.take().expect("it is piped")),
            child,
            last_id: 0,
            answers: HashMap::new(),
            asked: HashMap::new(),
            frames: Vec::new(),
        }
    }

    fn write(&mut self, line: &Value) {
        let stdin = self.stdin.as_mut().expect("it is open");
        writeln!(stdin, "{line}").expect("the program reads");
    }

    /// Sends a request; returns its number.
    pub fn request(&mut self, on: On, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&json!({ "on": on, "id": id, "call": method, "params": params }));
        id
    }

    /// Sends a notification.
    pub fn notify(&mut self, on: On, method: &str, params: &Value) {
        self.write(&json!({ "on": on, "call": method, "params": params }));
    }

    /// Waits for the response to a request, as the SDK returns it.
    pub fn answer(&mut self, id: u64) -> Result<Value, Value> {
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            self.read();
        }
    }

    /// Makes a request that must not fail.
    pub fn call(&mut self, on: On, method: &str, params: &Value) -> Value {
        let id = self.request(on, method, params);
        self.answer(id)
            .unwrap_or_else(|error| panic!("{method} {params} failed: {error}"))
    }

    /// Makes a request that must fail.
    pub fn refused(&mut self, on: On, method: &str, params: &Value) -> Value {
        let id = self.request(on, method, params);
        match self.answer(id) {
            Ok(result) => panic!("{method} {params} was answered with {result}"),
            Err(error) => error,
        }
    }

    /// Runs the handshake with this client name.
    pub fn greet(&mut self, on: On, name: &str) -> Value {
        self.call(on, "initialize", &hello(name))
    }

    /// Opens a session; `more` are further members of the request.
    pub fn open(&mut self, on: On, daemon: &Daemon, more: &Value) -> String {
        let mut params = json!({ "cwd": daemon.place.work(), "mcpServers": [] });
        for (name, value) in more.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        let made = self.call(on, "session/new", &params);
        let session = made["sessionId"].as_str();
        session.expect("a session has an id").to_owned()
    }

    /// Sends a prompt; returns its request's number.
    pub fn prompt(&mut self, on: On, session: &str, text: &str) -> u64 {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.request(
            on,
            "session/prompt",
            &json!({ "sessionId": session, "prompt": prompt }),
        )
    }

    /// Returns the updates of one kind that a connection has received.
    pub fn updates(&self, on: On, kind: &str) -> Vec<&Value> {
        let got = self.frames.iter().filter(|line| line["on"] == on);
        let updates = got.map(|line| &line["got"]["params"]["update"]);
        updates.filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// Waits until a connection has received an update of this kind with this text.
    pub fn wait_for(&mut self, on: On, kind: &str, text: &str) {
        while !self
            .updates(on, kind)
            .iter()
            .any(|update| update["content"]["text"] == text)
        {
            self.read();
        }
    }

    /// Stops the program; fails if its exit code is not 0 or it wrote to standard error.
    pub fn end(mut self) {
        self.stdin = None;
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.take(&line);
        }
        let status = self.child.wait().expect("it can be waited for");
        let complaints: Vec<_> = self.stderr.iter().collect();
        assert_eq!((status.code(), complaints), (Some(0), vec![]));
    }

    /// Reads one line.
    fn read(&mut self) {
        let Ok(line) = self.lines.recv_timeout(PATIENCE) else {
            let stderr: Vec<_> = self.stderr.try_iter().collect();
            panic!("waited in vain; stderr: {stderr:#?}; frames: {:#?}", self.frames);
        };
        self.take(&line);
    }

    fn take(&mut self, line: &str) {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        if let Some(id) = line["answer"].as_u64() {
            let answer = match line.get("error") {
                Some(error) => Err(error.clone()),
                None => Ok(line["result"].clone()),
            };
            self.answers.insert(id, answer);
        } else if line.get("on").is_some() {
            self.check(&line);
            self.frames.push(line);
        }
    }

    fn check(&mut self, line: &Value) {
        let key = |frame: &Value| (line["on"].to_string(), frame["id"].to_string());
        if let Some(frame) = line.get("sent") {
            if let Some(method) = frame["method"].as_str().filter(|_| frame.get("id").is_some()) {
                self.asked.insert(key(frame), method.to_owned());
            }
        } else if line["got"].get("method").is_some() {
            check_acp(&line["got"], None);
        } else {
            let method = self.asked.remove(&key(&line["got"]));
            let method = method.unwrap_or_else(|| panic!("it was never asked: {line}"));
            check_acp(&line["got"], Some(&method));
        }
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the params of `initialize` for a client with this name.
pub fn hello(name: &str) -> Value {
    json!({
        "protocolVersion": 1,
        "clientInfo": { "name": name, "version": "1" },
        "clientCapabilities": {},
    })
}
