//! A small client that starts the binary, writes lines and reads lines. Every wait is a blocking read.

#![expect(
    clippy::needless_pass_by_value,
    reason = "calls with json! read better without a reference"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use serde_json::{Value, json};

/// The result of a request.
pub type RpcResult = Result<Value, Value>;

/// The agent process, and the client's end of its pipes.
pub struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next: u64,
}

/// The messages between a prompt and its response.
pub struct Turn {
    /// The agent's messages, in order.
    pub messages: Vec<Value>,
    /// The response to the prompt.
    pub answer: RpcResult,
}

impl Agent {
    /// Starts the agent without a handshake.
    pub fn bare(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_acpd-fake-agent"))
            .args(args)
            .env_remove("FAKE_AGENT_STATE")
            .env("FAKE_AGENT_TEST", "from outside")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().expect("stdout is piped"));
        Self {
            child,
            stdin,
            stdout: BufReader::new(stdout),
            next: 0,
        }
    }

    /// Starts and initializes the agent.
    pub fn start(args: &[&str]) -> Self {
        let mut agent = Self::bare(args);
        let answer = agent.request(
            "initialize",
            json!({
                "protocolVersion": 1,
                "clientCapabilities": {
                    "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true,
                    "session": { "configOptions": { "boolean": {} } },
                },
            }),
        );
        assert_eq!(answer.expect("initialize is answered")["protocolVersion"], 1);
        agent
    }

    /// Starts and initializes the agent, and creates a session in `/w`.
    pub fn with_session(args: &[&str]) -> (Self, String) {
        let mut agent = Self::start(args);
        let id = agent.session();
        (agent, id)
    }

    /// Creates a session in `/w`.
    pub fn session(&mut self) -> String {
        let answer = self.request("session/new", json!({ "cwd": "/w", "mcpServers": [] }));
        answer.expect("a session is made")["sessionId"]
            .as_str()
            .expect("it has an id")
            .to_owned()
    }

    /// Writes one message.
    pub fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin
            .write_all(format!("{message}\n").as_bytes())
            .expect("the agent reads");
    }

    /// Writes a request and returns its id.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }));
        self.next
    }

    /// Writes a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Responds to one of the agent's requests.
    pub fn reply(&mut self, request: &Value, answer: RpcResult) {
        let mut message = json!({ "jsonrpc": "2.0", "id": request["id"] });
        match answer {
            Ok(result) => message["result"] = result,
            Err(error) => message["error"] = error,
        }
        self.send(&message);
    }

    /// Reads the next line without its newline; empty at the end of the agent's output.
    pub fn line(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        self.stdout
            .read_until(b'\n', &mut line)
            .expect("stdout can be read");
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        line
    }

    /// Reads the next message.
    pub fn message(&mut self) -> Value {
        let line = self.line();
        serde_json::from_slice(&line)
            .unwrap_or_else(|error| panic!("{error}: {:?}", String::from_utf8_lossy(&line)))
    }

    /// Reads up to the response to a request; responds to the agent's own requests meanwhile.
    pub fn finish(&mut self, id: u64, mut client: impl FnMut(&str, &Value) -> RpcResult) -> Turn {
        let mut messages = Vec::new();
        loop {
            let message = self.message();
            match (message.get("method").and_then(Value::as_str), message.get("id")) {
                (Some(method), Some(_)) => {
                    let answer = client(method, &message["params"]);
                    self.reply(&message, answer);
                    messages.push(message);
                }
                (None, Some(answered)) if *answered == id => {
                    return Turn {
                        messages,
                        answer: outcome(&message),
                    };
                }
                _ => messages.push(message),
            }
        }
    }

    /// Sends a request, and discards all messages before its response.
    pub fn request(&mut self, method: &str, params: Value) -> RpcResult {
        let id = self.ask(method, params);
        self.finish(id, nothing).answer
    }

    /// Sends a prompt with one text block.
    pub fn start_turn(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.ask(
            "session/prompt",
            json!({ "sessionId": session, "prompt": prompt }),
        )
    }

    /// Runs a prompt with one text block, and rejects the agent's requests.
    pub fn prompt(&mut self, session: &str, text: &str) -> Turn {
        self.prompt_with(session, text, nothing)
    }

    /// Runs a prompt with one text block.
    pub fn prompt_with(
        &mut self,
        session: &str,
        text: &str,
        client: impl FnMut(&str, &Value) -> RpcResult,
    ) -> Turn {
        let id = self.start_turn(session, text);
        self.finish(id, client)
    }

    /// Closes stdin.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// Waits until the process exits; returns its status and stderr.
    pub fn wait(mut self) -> (ExitStatus, String) {
        let mut text = String::new();
        let mut stderr = self.child.stderr.take().expect("stderr is piped");
        stderr.read_to_string(&mut text).expect("stderr can be read");
        (self.child.wait().expect("it can be waited for"), text)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Turn {
    /// Returns the updates of the turn.
    pub fn updates(&self) -> impl Iterator<Item = &Value> {
        self.messages
            .iter()
            .filter(|m| m["method"] == "session/update")
            .map(|m| &m["params"]["update"])
    }

    /// Returns the updates of one kind.
    pub fn of(&self, kind: &str) -> Vec<&Value> {
        self.updates()
            .filter(|update| update["sessionUpdate"] == kind)
            .collect()
    }

    /// Returns the text of all message chunks.
    pub fn said(&self) -> String {
        self.of("agent_message_chunk")
            .iter()
            .filter_map(|update| update["content"]["text"].as_str())
            .collect()
    }

    /// Returns the stop reason.
    pub fn stop(&self) -> &str {
        let answer = self
            .answer
            .as_ref()
            .unwrap_or_else(|error| panic!("answered with {error}"));
        answer["stopReason"].as_str().expect("a stop reason is text")
    }

    /// Returns the code of the error.
    pub fn error(&self) -> i64 {
        code(&self.answer)
    }

    /// Returns the statuses of all tool calls, in order.
    pub fn statuses(&self) -> Vec<&str> {
        self.updates()
            .filter(|update| update.get("toolCallId").is_some())
            .filter_map(|update| update["status"].as_str())
            .collect()
    }

    /// Returns the methods of the agent's requests.
    pub fn asked(&self) -> Vec<&str> {
        self.messages
            .iter()
            .filter(|m| m.get("id").is_some())
            .filter_map(|m| m["method"].as_str())
            .collect()
    }
}

/// Rejects every request, as a client without capabilities does.
pub fn nothing(_: &str, _: &Value) -> RpcResult {
    Err(json!({ "code": -32601, "message": "cannot" }))
}

/// Returns the code of an error.
pub fn code(answer: &RpcResult) -> i64 {
    match answer {
        Ok(result) => panic!("answered with {result}"),
        Err(error) => error["code"].as_i64().expect("a code is a number"),
    }
}

fn outcome(message: &Value) -> RpcResult {
    match (message.get("result"), message.get("error")) {
        (Some(result), None) => Ok(result.clone()),
        (None, Some(error)) => Err(error.clone()),
        _ => panic!("neither result nor error: {message}"),
    }
}
