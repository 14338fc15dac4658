//! `acpd codex`: the program that it becomes, the pipe for clients that start Codex, and the daemon's address for them.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use crate::support::{
    self, Client, Daemon, Outcome, PATIENCE, Place, acpd, ask, lines_of, outcome, upgrade, wait_until,
};

/// A client that has started acpd in the place of Codex's app server.
struct Pipe {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    said: Receiver<String>,
    inbox: VecDeque<Value>,
    next_id: u64,
}

impl Pipe {
    fn start(place: &Place, args: &[&str]) -> Self {
        let mut child = place
            .command(&[&["codex"], args].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("acpd starts");
        Self {
            stdin: child.stdin.take(),
            lines: lines_of(child.stdout.take().expect("it is piped")),
            said: lines_of(child.stderr.take().expect("it is piped")),
            child,
            inbox: VecDeque::new(),
            next_id: 0,
        }
    }

    /// Starts a pipe and runs the handshake.
    fn greeted(place: &Place) -> Self {
        let mut pipe = Self::start(place, &["app-server"]);
        pipe.greet();
        pipe
    }

    fn greet(&mut self) -> Value {
        let info = json!({ "name": "test", "title": null, "version": "1" });
        let welcome = self.call("initialize", &json!({ "clientInfo": info }));
        self.send(&json!({ "method": "initialized" }));
        welcome
    }

    fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("it is open");
        writeln!(stdin, "{message}").expect("the pipe reads");
    }

    fn read(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("the daemon sends");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Makes a request that must not fail.
    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.next_id += 1;
        let id = json!(self.next_id);
        self.send(&json!({ "id": id, "method": method, "params": params }));
        loop {
            let mut message = self.read();
            if message["id"] != id || message.get("method").is_some() {
                self.inbox.push_back(message);
                continue;
            }
            assert!(message.get("error").is_none(), "{method}: {message}");
            return message["result"].take();
        }
    }

    /// Discards messages up to the first that fits, and returns that one.
    fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.inbox.pop_front().unwrap_or_else(|| self.read());
            if fits(&message) {
                return message;
            }
        }
    }

    /// Starts a thread of the agent `fake`; returns its id.
    fn thread(&mut self, place: &Place) -> Value {
        let params = json!({ "model": "fake", "cwd": place.work() });
        self.call("thread/start", &params)["thread"]["id"].take()
    }

    fn turn(&mut self, thread: &Value, text: &str) {
        let input = json!([{ "type": "text", "text": text }]);
        self.call("turn/start", &json!({ "threadId": thread, "input": input }));
    }

    /// Waits until it exits; returns its exit code and what it said.
    fn end(&mut self) -> (Option<i32>, String) {
        self.stdin = None;
        let status = self.child.wait().expect("it can be waited for");
        let said: Vec<String> = self.said.iter().collect();
        (status.code(), said.join("\n"))
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is(method: &'static str) -> impl Fn(&Value) -> bool {
    move |message| message["method"] == method
}

#[test]
fn a_client_that_starts_an_app_server_runs_a_turn_with_a_question() {
    let place = Place::new("");
    // As the Python SDK starts it: a `--config` of Codex comes first, and is not acpd's.
    let args = ["--config", "a.b=1", "app-server", "--listen", "stdio://"];
    let mut pipe = Pipe::start(&place, &args);
    let welcome = pipe.greet();
    let _daemon = place.background();
    assert_eq!(welcome["platformFamily"], "unix", "{welcome}");
    let thread = pipe.thread(&place);
    pipe.turn(&thread, "permission");
    let question = pipe.until(|message| message.get("id").is_some() && message.get("method").is_some());
    let method = question["method"].as_str().expect("it is a request");
    assert!(method.ends_with("/requestApproval"), "{question}");
    pipe.send(&json!({ "id": question["id"], "result": { "decision": "accept" } }));
    pipe.until(|message| {
        let item = &message["params"]["item"];
        message["method"] == "item/completed" && item["text"] == "allowed (allow_once)"
    });
    let ended = pipe.until(is("turn/completed"));
    assert_eq!(ended["params"]["turn"]["status"], "completed", "{ended}");
    let (code, said) = pipe.end();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn the_pipe_ends_with_the_daemon_and_says_so() {
    let mut daemon = Daemon::start();
    let mut pipe = Pipe::greeted(&daemon.place);
    let mut other = Pipe::greeted(&daemon.place);
    let thread = other.thread(&daemon.place);
    other.turn(&thread, "slow ms=600000");
    daemon.stop();
    for pipe in [&mut pipe, &mut other] {
        let (code, said) = pipe.end();
        assert_eq!(code, Some(6), "{said}");
        assert!(said.contains("closed the connection"), "{said}");
        assert!(said.contains("acpd status"), "{said}");
    }
}

#[test]
fn a_long_line_reaches_the_daemon_whole_and_one_beyond_the_limit_costs_only_itself() {
    let daemon = Daemon::start();
    let mut pipe = Pipe::greeted(&daemon.place);
    let thread = pipe.thread(&daemon.place);
    // Larger than a message of the app protocol may be: images are part of a prompt.
    let long = "x".repeat(3 << 20);
    pipe.turn(&thread, &format!("say hi; {long}"));
    let started = pipe.until(|message| message["params"]["item"]["type"] == "userMessage");
    let shown = started["params"]["item"]["content"][0]["text"].as_str();
    assert_eq!(shown.map(str::len), Some(long.len() + 8));
    let stdin = pipe.stdin.as_mut().expect("it is open");
    let block = vec![b'y'; 1 << 20];
    for _ in 0..40 {
        stdin.write_all(&block).expect("the pipe reads");
    }
    stdin.write_all(b"\n").expect("the pipe reads");
    pipe.until(|message| message["error"]["code"].is_i64());
    assert!(pipe.call("thread/loaded/list", &json!({}))["data"].is_array());
}

/// Writes a program that prints its arguments and the variables of acpd, and has the help of Codex.
fn stub(place: &Place, help: &str) -> PathBuf {
    let path = place.home().join("bin/codex");
    std::fs::create_dir_all(path.parent().expect("it has a parent")).expect("it can be made");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *--help*) echo '{help}'; exit;; esac\nfor arg; do echo \"arg=$arg\"; done\nenv | grep ^ACPD_\nexit 42\n"
    );
    std::fs::write(&path, script).expect("it can be written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    path
}

const HELP: &str = "--remote <ADDR> ws://host:port, unix://PATH";

/// Runs `acpd codex` with the stub on `PATH`.
fn run(place: &Place, args: &[&str]) -> Outcome {
    outcome(&mut with_stub(place, args))
}

fn with_stub(place: &Place, args: &[&str]) -> Command {
    let mut command = place.command(&[&["codex"], args].concat());
    let path = format!("{}:/usr/bin:/bin", place.home().join("bin").display());
    command.env("PATH", path);
    command
}

/// Returns the arguments that the stub was run with.
fn arguments(ended: &Outcome) -> Vec<&str> {
    assert_eq!(ended.code, Some(42), "{ended:?}");
    let lines = ended.stdout.lines();
    lines.filter_map(|line| line.strip_prefix("arg=")).collect()
}

#[test]
fn codex_is_started_on_the_socket_of_the_daemon() {
    let daemon = Daemon::start();
    stub(&daemon.place, HELP);
    let socket = daemon.place.data().join("acpd.sock");
    let remote = format!("unix://{}", socket.display());
    let work = daemon.place.work().display().to_string();
    for (given, expected) in [
        (&[][..], &["--remote", &remote, "-C", &work][..]),
        (
            &["--agent", "fake", "-i", "x.png", "look"],
            &[
                "--remote", &remote, "-C", &work, "-m", "fake", "-i", "x.png", "look",
            ],
        ),
        (
            &["--agent=fake/small", "-m", "other"],
            &["--remote", &remote, "-C", &work, "-m", "other"],
        ),
        (
            &["resume", "-C", "/x", "ID"],
            &["--remote", &remote, "resume", "-C", "/x", "ID"],
        ),
        (
            &["queue", "--thread", "ID", "--message", "hi"],
            &["--remote", &remote, "queue", "--thread", "ID", "--message", "hi"],
        ),
        (&["archive", "ID"], &["--remote", &remote, "archive", "ID"]),
        (&["--version"], &["--version"]),
    ] {
        let ended = run(&daemon.place, given);
        assert_eq!(arguments(&ended), expected, "{given:?}");
        assert!(!ended.stdout.contains("ACPD_TOKEN"), "{}", ended.stdout);
    }
}

#[test]
fn a_token_is_in_codexs_environment_and_not_in_its_arguments() {
    let daemon = Daemon::start();
    let token = daemon.place.token();
    let place = &daemon.place;
    // Old versions of Codex cannot connect to a local socket.
    for (help, given) in [(HELP, true), ("--remote <ADDR> ws://host:port", false)] {
        stub(place, help);
        let mut command = with_stub(place, &["--config", "k=v"]);
        if given {
            command.env("ACPD_TOKEN", &token);
        }
        let ended = outcome(&mut command);
        let remote = format!("ws://{}", daemon.address());
        let work = place.work().display().to_string();
        let expected = [
            "--remote",
            &remote,
            "--remote-auth-token-env",
            "ACPD_TOKEN",
            "-C",
            &work,
        ];
        assert_eq!(arguments(&ended), [&expected[..], &["--config", "k=v"]].concat());
        assert!(
            ended.stdout.contains(&format!("\nACPD_TOKEN={token}\n")),
            "{}",
            ended.stdout
        );
    }
    // A daemon on another host has other directories.
    stub(place, HELP);
    let mut command = with_stub(place, &["--connect", &format!("http://{}", daemon.address())]);
    let ended = outcome(command.env("ACPD_TOKEN", &token));
    let remote = format!("ws://{}", daemon.address());
    let expected = ["--remote", &remote, "--remote-auth-token-env", "ACPD_TOKEN"];
    assert_eq!(arguments(&ended), expected);
}

#[test]
fn each_mistake_has_its_sentence_and_exit_code() {
    let daemon = Daemon::start();
    let place = &daemon.place;
    stub(place, HELP);
    let nowhere = "https://127.0.0.1:1";
    for (args, code, said) in [
        (
            &["--agent", "fkae"][..],
            5,
            "agent \"fkae\" does not exist; did you mean \"fake\"?",
        ),
        (
            &["--agent", "zzz/large"],
            5,
            "agent \"zzz\" does not exist; \"acpd agents list\" lists them",
        ),
        (
            &["--agent", "fake", "archive", "x"],
            2,
            "--agent is for new threads",
        ),
        (
            &["--agent", "fake", "app-server"],
            2,
            "the client chooses the agent",
        ),
        (&["--remote", "ws://x"], 2, "acpd codex --connect URL"),
        (&["exec", "hi"], 2, "\"codex exec\" uses no daemon"),
        (&["app-server", "--listen", "off"], 2, "serves stdio:// only"),
        (&["--codex", "/no/such"], 1, "/no/such is not a program"),
        (&["--connect", nowhere], 6, "cannot be reached"),
        (&["--connect", nowhere, "app-server"], 6, "cannot be reached"),
    ] {
        let ended = run(place, args);
        assert_eq!(ended.code, Some(code), "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{args:?}: {}", ended.stderr);
    }
    let mut denied = with_stub(place, &[]);
    let denied = outcome(denied.env("ACPD_TOKEN", "not-the-right-token"));
    assert_eq!(denied.code, Some(7), "{}", denied.stderr);
    stub(place, "nothing of interest");
    let old = run(place, &[]);
    assert_eq!(old.code, Some(1));
    assert!(
        old.stderr.contains("is too old, since it has no --remote"),
        "{}",
        old.stderr
    );
    assert!(
        old.stderr.contains("npm install -g @openai/codex"),
        "{}",
        old.stderr
    );
    std::fs::remove_file(place.home().join("bin/codex")).expect("it is there");
    let missing = run(place, &[]);
    assert_eq!(missing.code, Some(1));
    assert!(
        missing.stderr.contains("codex is not on PATH"),
        "{}",
        missing.stderr
    );
    assert!(
        missing.stderr.contains("npm install -g @openai/codex"),
        "{}",
        missing.stderr
    );
}

#[test]
fn a_wrapper_that_is_named_as_codex_does_not_start_itself() {
    let daemon = Daemon::start();
    let path = stub(&daemon.place, HELP);
    let program = support::built("acpd");
    let script = format!("#!/bin/sh\nexec '{}' codex \"$@\"\n", program.display());
    std::fs::write(path, script).expect("it can be written");
    let ended = run(&daemon.place, &[]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("has started acpd again"),
        "{}",
        ended.stderr
    );
}

/// Returns the address at which a daemon serves Codex clients alone.
fn codex_address(daemon: &Daemon) -> SocketAddr {
    wait_until("the daemon is ready", || daemon.log().contains("data_dir="));
    let log = daemon.log();
    let line = log.lines().find(|line| line.contains("ready for Codex clients"));
    let (_, address) = line
        .and_then(|line| line.split_once("address="))
        .expect("it listens");
    address.trim().parse().expect("an address")
}

#[test]
fn an_address_of_its_own_serves_codex_clients_and_nothing_else() {
    let daemon = Daemon::with("[codex]\nlisten = \"127.0.0.1:0\"\n");
    let own = codex_address(&daemon);
    let bearer = format!("Bearer {}", daemon.place.token());
    let host = own.to_string();
    let token = ("Authorization", &bearer[..]);
    for (path, headers, status) in [
        ("/", &[("Host", &host[..]), token][..], 101),
        ("/rpc", &[("Host", &host), token], 101),
        ("/", &[("Host", &host)], 401),
        ("/", &[("Host", "evil.example"), token], 403),
        (
            "/",
            &[("Host", &host), ("Origin", "http://evil.example"), token],
            403,
        ),
        ("/ws", &[("Host", &host), token], 404),
        ("/acp", &[("Host", &host), token], 404),
    ] {
        let (got, answer) = upgrade(own, path, headers);
        assert_eq!(got, status, "{path} {headers:?}: {answer}");
    }
    for (path, status) in [
        ("/healthz", 200),
        ("/readyz", 200),
        ("/", 404),
        ("/metrics", 404),
        ("/api/session", 404),
    ] {
        let (got, answer) = ask(own, path, &[("Host", &host), token]);
        assert_eq!(got, status, "{path}: {answer}");
    }
    // The main address serves Codex as well, and the web UI.
    let main = daemon.address().to_string();
    assert_eq!(upgrade(daemon.address(), "/", &[("Host", &main), token]).0, 101);
    assert_eq!(ask(daemon.address(), "/", &[("Host", &main)]).0, 200);
    // Both show the same threads.
    assert!(Client::new(&daemon).call("thread/list", &json!({}))["data"].is_array());
}

#[test]
fn a_port_of_codex_that_is_taken_is_explained() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = taken.local_addr().expect("it has an address");
    let place = Place::new(&format!("[codex]\nlisten = \"{address}\"\n"));
    let refused = acpd(&place, &["serve"]);
    assert_eq!(refused.code, Some(1));
    for said in [
        &format!("cannot listen on {address}: another program listens there"),
        "choose another address with codex.listen in",
    ] {
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
    let exposed = Place::new("[codex]\nlisten = \"0.0.0.0:0\"\n");
    let refused = acpd(&exposed, &["serve"]);
    assert!(
        refused.stderr.contains("0.0.0.0:0 is not a loopback address"),
        "{}",
        refused.stderr
    );
}
