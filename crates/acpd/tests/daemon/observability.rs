//! What leaves the daemon for operators: its log, its metrics, traces and recordings. Only recordings contain content.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::{Value, json};

use crate::support::{Client, Daemon, Editor, Place, acpd, ask, wait_until};

/// The head and the body of a request.
type Received = (String, Vec<u8>);

/// A collector that keeps everything that it receives.
struct Collector {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut reader = BufReader::new(stream);
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
                let length = head.lines().find_map(|line| {
                    line.to_ascii_lowercase()
                        .strip_prefix("content-length: ")?
                        .parse()
                        .ok()
                });
                let mut body = vec![0; length.unwrap_or(0)];
                let _ = reader.read_exact(&mut body);
                kept.lock().unwrap().push((head, body));
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                let _ = reader.get_mut().write_all(answer);
            }
        });
        Self { address, received }
    }

    fn config(&self) -> String {
        format!("[traces]\nendpoint = \"http://{}\"\n", self.address)
    }

    fn heads(&self) -> String {
        let received = self.received.lock().unwrap();
        received.iter().map(|(head, _)| head.as_str()).collect()
    }

    fn bodies(&self) -> Vec<u8> {
        let received = self.received.lock().unwrap();
        received.iter().flat_map(|(_, body)| body.clone()).collect()
    }

    fn requests(&self) -> Vec<ExportTraceServiceRequest> {
        let received = self.received.lock().unwrap();
        let decode = |body: &Vec<u8>| ExportTraceServiceRequest::decode(&body[..]).expect("it is OTLP");
        received.iter().map(|(_, body)| decode(body)).collect()
    }

    fn spans(&self) -> Vec<Span> {
        let resources = self
            .requests()
            .into_iter()
            .flat_map(|request| request.resource_spans);
        let scopes = resources.flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    /// Returns the only span with this name.
    #[track_caller]
    fn one(&self, name: &str) -> Span {
        let mut spans = self.spans();
        spans.retain(|span| span.name == name);
        assert_eq!(spans.len(), 1, "{name}: {spans:#?}");
        spans.remove(0)
    }
}

fn attributes(span: &Span) -> BTreeMap<&str, String> {
    let text = |value: &AnyValue| match value {
        AnyValue::StringValue(text) => text.clone(),
        AnyValue::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let of = |entry| -> Option<(&str, String)> {
        let entry: &opentelemetry_proto::tonic::common::v1::KeyValue = entry;
        Some((entry.key.as_str(), text(entry.value.as_ref()?.value.as_ref()?)))
    };
    span.attributes.iter().filter_map(of).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn metrics(daemon: &Daemon) -> String {
    let host = daemon.address().to_string();
    let bearer = format!("Bearer {}", daemon.place.token());
    let headers = [("Host", host.as_str()), ("Authorization", &bearer)];
    let (status, answer) = ask(daemon.address(), "/metrics", &headers);
    assert_eq!(status, 200, "{answer}");
    answer
}

/// Returns the lines of the daemon's JSON log.
fn log_lines(daemon: &Daemon) -> Vec<Value> {
    let log = daemon.log();
    let lines = log.lines().filter(|line| line.starts_with('{'));
    lines
        .map(|line| serde_json::from_str(line).expect("it is JSON"))
        .collect()
}

/// Accepts all questions of a turn. Returns its status.
fn accept_until_end(client: &mut Client, turn: &str) -> String {
    loop {
        let message = client.next();
        // A question that the policy has answered has no id.
        if message.is_question() && message.id.is_some() {
            client.respond(&message, &json!({ "decision": "accept" }));
        } else if message.method == "turn/completed" && message.params["turn"]["id"] == turn {
            return message.params["turn"]["status"].as_str().unwrap().to_owned();
        }
    }
}

/// The words that must not leave the daemon, and where they are planted.
const PLANTED: [&str; 12] = [
    "plantedprompt",
    "plantedanswer",
    "plantedthought",
    "plantedfile",
    "plantedoutput",
    "plantedtitle",
    "plantedcommand",
    "plantedstderr",
    "plantederror",
    "plantedelicited",
    "plantedvariable",
    "plantedstate",
];

/// A token that nobody has.
const WRONG_TOKEN: &str = "plantedtoken-plantedtoken-plantedtoken";

/// Also with the debug output of every crate.
#[test]
fn logs_metrics_and_traces_contain_no_content() {
    let collector = Collector::start();
    let place = Place::new("").with_env("ACPD_LOG", "debug");
    let agent = place.agent("fake", &["--pace", "0"], &[("SECRET", "plantedvariable")]);
    place.configure(&format!("{agent}\n{}", collector.config()));
    let daemon = Daemon::serving(place, &["--log-format", "json"]);
    let mut client = Client::named(&daemon, "plantedprompt", &json!({ "approvals": true }));
    let thread = client.thread(&daemon);
    let file = daemon.place.work().join("plantedfile");
    let script = format!(
        "think text=plantedthought; say plantedanswer; write path={file} text=plantedfile; read path={file}; \
         terminal echo plantedoutput; tool title=plantedtitle path=/plantedfile; title plantedtitle; env SECRET; \
         permission command=plantedcommand; elicit; stderr plantedstderr; stop reason=plantedstate",
        file = file.display()
    );
    let turn = client.start(&thread, &script);
    let question = client.question();
    client.respond(&question, &json!({ "decision": "accept" }));
    let question = client.question();
    assert_eq!(question.method, "item/tool/requestUserInput");
    client.respond(&question, &json!({ "answers": { "name": "plantedelicited" } }));
    client.finish(&thread, &turn);
    for (script, status) in [
        ("error message=plantederror", "failed"),
        ("stderr plantedstderr; say plantedprompt; crash code=3", "failed"),
        // It is no script, so the agent answers as in the demo.
        ("plantedprompt", "completed"),
    ] {
        let meta = json!({ "tracestate": "plantedstate=1", "plantedstate": "plantedstate" });
        let params = json!({ "threadId": thread, "text": script, "_meta": meta });
        let started = client.call("turn/start", &params);
        let turn = started["turn"]["id"].as_str().unwrap().to_owned();
        assert_eq!(accept_until_end(&mut client, &turn), status, "{script}");
    }
    let host = daemon.address().to_string();
    let wrong = format!("Bearer {WRONG_TOKEN}");
    let headers = [("Host", host.as_str()), ("Authorization", &wrong)];
    assert_eq!(ask(daemon.address(), "/metrics", &headers).0, 401);
    let exported = acpd(&daemon.place, &["export", &thread, "--format", "jsonl"]).stdout;
    let token = daemon.place.token();
    let metrics = metrics(&daemon);
    let mut daemon = daemon;
    assert!(daemon.stop().success());
    let log = daemon.log();
    let sent = String::from_utf8_lossy(&collector.bodies()).into_owned();
    for word in PLANTED {
        assert!(exported.contains(word), "{word} was not planted:\n{exported}");
    }
    for word in PLANTED.into_iter().chain([WRONG_TOKEN, token.trim()]) {
        for (place, text) in [
            ("the log", &log),
            ("the metrics", &metrics),
            ("the traces", &sent),
            ("the requests to the collector", &collector.heads()),
        ] {
            assert!(!text.contains(word), "{word} is in {place}:\n{text}");
        }
    }
    // All of them are about this thread.
    assert!(log.contains(&thread) && sent.contains(&thread));
    assert!(
        metrics.contains("acpd_turn_seconds_count{status=\"failed\"} 2"),
        "{metrics}"
    );
    assert!(collector.spans().len() > 10, "{:#?}", collector.spans());
}

#[test]
fn lines_of_the_log_name_their_thread_turn_and_agent() {
    let place = Place::new("");
    let daemon = Daemon::serving(place, &["--log-format", "json"]);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, "say a; crash code=3");
    assert_eq!(turn.status(), "failed");
    let line_with = |message: &str| {
        let lines = log_lines(&daemon);
        let mut found = lines
            .into_iter()
            .filter(|line| line["message"].as_str() == Some(message));
        found.next()
    };
    wait_until("the failure is logged", || line_with("a turn failed").is_some());
    for message in [
        "the agent is ready",
        "the agent exited unexpectedly; its thread has the end of its stderr",
        "a turn failed",
    ] {
        let line = line_with(message).unwrap_or_else(|| panic!("{message}:\n{}", daemon.log()));
        assert_eq!(line["thread"], thread.as_str(), "{line}");
        assert_eq!(line["agent"], "fake", "{line}");
        if message != "the agent is ready" {
            assert_eq!(line["turn"], turn.end["id"], "{line}");
        }
    }
}

#[test]
fn durations_are_in_the_metrics() {
    let daemon = Daemon::with("[policy]\nallow = [\"Bash(ls)\"]\n");
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.start(&thread, "say a; permission command=ls; permission command=make");
    assert_eq!(accept_until_end(&mut client, &turn), "completed");
    let mut editor = Editor::socket(&daemon.place);
    editor.greet();
    let session = editor.open(&daemon);
    editor.turn(&session, "say hello");
    for line in [
        "acpd_turn_seconds_count{status=\"completed\"} 2",
        "acpd_turn_seconds_count{status=\"failed\"} 0",
        "acpd_turn_first_update_seconds_count 2",
        "acpd_approval_wait_seconds_count{by=\"policy\"} 1",
        "acpd_approval_wait_seconds_count{by=\"person\"} 1",
        "acpd_approval_wait_seconds_count{by=\"none\"} 0",
        "acpd_agent_start_seconds_count{result=\"ready\"} 2",
        "acpd_agent_start_seconds_count{result=\"failed\"} 0",
        "acpd_request_seconds_count{group=\"turn\"} 1",
        "acpd_request_seconds_count{group=\"prompt\"} 1",
    ] {
        wait_until(line, || metrics(&daemon).contains(&format!("\n{line}\n")));
    }
    wait_until("a delivery is measured", || {
        !metrics(&daemon).contains("\nacpd_delivery_seconds_count 0\n")
    });
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CLIENT_SPAN: &str = "b7ad6b7169203331";

/// Returns `_meta` of the prompts that the agent received, from the recording of its process.
fn received_meta(directory: &Path) -> Vec<Value> {
    let lines = recorded(directory, "agent-");
    let prompts = lines
        .iter()
        .filter(|line| line["msg"]["method"] == "session/prompt");
    prompts
        .map(|line| line["msg"]["params"]["_meta"].clone())
        .collect()
}

/// Returns the lines of all recordings whose names begin like this.
fn recorded(directory: &Path, kind: &str) -> Vec<Value> {
    let mut lines = Vec::new();
    for entry in directory.read_dir().unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_str().unwrap().starts_with(kind) {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            lines.extend(
                text.lines()
                    .map(|line| serde_json::from_str::<Value>(line).unwrap()),
            );
        }
    }
    lines
}

#[test]
fn a_turn_is_a_trace_that_continues_the_clients_and_reaches_the_agent() {
    let collector = Collector::start();
    let place = Place::new(&format!(
        "{}[policy]\nallow = [\"Bash(ls)\"]\n",
        collector.config()
    ))
    .with_env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20collector")
    .with_env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test");
    let wire = place.home().join("wire");
    let mut daemon = Daemon::serving(place, &["--record-wire", wire.to_str().unwrap()]);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let file = daemon.place.work().join("f");
    let script = format!(
        "tool kind=execute; write path='{}' text=x; terminal true; permission command=ls; permission command=make",
        file.display()
    );
    let parent = format!("00-{TRACE}-{CLIENT_SPAN}-01");
    let meta = json!({ "traceparent": parent, "tracestate": "vendor=1", "own": { "n": 1 } });
    let started = client.call(
        "turn/start",
        &json!({ "threadId": thread, "text": script, "_meta": meta }),
    );
    let turn = started["turn"]["id"].as_str().unwrap().to_owned();
    assert_eq!(accept_until_end(&mut client, &turn), "completed");
    assert!(daemon.stop().success());

    let root = collector.one("turn");
    assert_eq!(
        (hex(&root.trace_id), hex(&root.parent_span_id)),
        (TRACE.into(), CLIENT_SPAN.into())
    );
    assert_eq!(root.trace_state, "vendor=1");
    let about = attributes(&root);
    assert_eq!(
        (about["acpd.thread.id"].as_str(), about["acpd.turn.id"].as_str()),
        (&*thread, &*turn)
    );
    assert_eq!(
        (&*about["acpd.turn.status"], &*about["gen_ai.agent.name"]),
        ("completed", "fake")
    );
    let spans = collector.spans();
    let of_turn: Vec<_> = spans.iter().filter(|span| hex(&span.trace_id) == TRACE).collect();
    for span in &of_turn {
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano, "{span:?}");
        assert_eq!(attributes(span)["acpd.turn.id"], turn);
        assert!(span.events.is_empty() && span.links.is_empty());
    }
    let tool_of = |kind: &str| {
        let is_it = |span: &&&Span| span.name == "tool" && attributes(span)["acpd.tool.kind"] == kind;
        of_turn
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("no tool {kind}: {spans:#?}"))
    };
    assert_eq!(tool_of("execute").parent_span_id, root.span_id);
    let words: Vec<String> = of_turn
        .iter()
        .filter(|span| span.name == "callback")
        .map(|span| attributes(span)["acpd.callback"].clone())
        .collect();
    assert!(
        words.contains(&"write_file".into()) && words.contains(&"create_terminal".into()),
        "{words:?}"
    );
    let terminal = collector.one("terminal");
    assert_eq!(attributes(&terminal)["process.exit.code"], "0");
    let answered: Vec<String> = of_turn
        .iter()
        .filter(|span| span.name == "approval")
        .map(|span| {
            let about = attributes(span);
            format!(
                "{} {}",
                about["acpd.approval.answered_by"], about["acpd.approval.outcome"]
            )
        })
        .collect();
    assert!(
        answered.contains(&"policy allowed".into()) && answered.contains(&"person allowed".into()),
        "{answered:?}"
    );
    // Before the turn, so it is a trace of its own.
    let start = collector.one("agent start");
    assert_ne!(hex(&start.trace_id), TRACE);

    let heads = collector.heads().to_ascii_lowercase();
    assert!(
        heads.contains("post /v1/traces ") && heads.contains("authorization: bearer collector"),
        "{heads}"
    );
    let sent = String::from_utf8_lossy(&collector.bodies()).into_owned();
    assert!(sent.contains("deployment.environment") && sent.contains("service.name"));

    let span = hex(&root.span_id);
    let expected = json!({
        "traceparent": format!("00-{TRACE}-{span}-01"), "tracestate": "vendor=1", "own": { "n": 1 },
    });
    assert_eq!(received_meta(&wire), [expected]);
}

/// An invalid context is ignored; a turn without one is a trace of its own. Editors' prompts are treated alike.
#[test]
fn each_turn_has_a_trace_of_its_own_without_a_valid_context() {
    let collector = Collector::start();
    let place = Place::new(&collector.config());
    let wire = place.home().join("wire");
    let mut daemon = Daemon::serving(place, &["--record-wire", wire.to_str().unwrap()]);
    let mut editor = Editor::socket(&daemon.place);
    editor.greet();
    let session = editor.open(&daemon);
    for meta in [
        json!({}),
        json!({ "traceparent": "00-0-0-01", "tracestate": "a=b", "kept": 1 }),
        json!({ "traceparent": format!("00-{TRACE}-{CLIENT_SPAN}-01") }),
        // The client does not record this one.
        json!({ "traceparent": format!("00-{TRACE}-{CLIENT_SPAN}-00") }),
    ] {
        let prompt = json!([{ "type": "text", "text": "say hello" }]);
        let params = json!({ "sessionId": session, "prompt": prompt, "_meta": meta });
        editor.call("session/prompt", &params);
    }
    assert!(daemon.stop().success());
    let mut turns = collector.spans();
    turns.retain(|span| span.name == "turn");
    assert_eq!(turns.len(), 3, "{turns:#?}");
    let traces: Vec<_> = turns.iter().map(|turn| hex(&turn.trace_id)).collect();
    assert!(traces[0] != traces[1] && traces[0] != TRACE && traces[1] != TRACE && traces[2] == TRACE);
    assert_eq!(
        (turns[0].parent_span_id.len(), turns[1].parent_span_id.len()),
        (0, 0)
    );
    let parent = |turn: &Span| format!("00-{}-{}-01", hex(&turn.trace_id), hex(&turn.span_id));
    let expected = [
        json!({ "traceparent": parent(&turns[0]) }),
        json!({ "traceparent": parent(&turns[1]), "kept": 1 }),
        json!({ "traceparent": parent(&turns[2]) }),
        json!({ "traceparent": format!("00-{TRACE}-{CLIENT_SPAN}-00") }),
    ];
    assert_eq!(received_meta(&wire), expected);
}

#[test]
fn a_collector_that_is_down_costs_spans_and_one_line_of_the_log() {
    // Nobody listens there any more.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let place = Place::new(&format!("[traces]\nendpoint = \"http://{address}\"\n"))
        .with_env("OTEL_BSP_SCHEDULE_DELAY", "10");
    let mut daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let failures = |daemon: &Daemon| daemon.log().matches("spans cannot be sent").count();
    assert_eq!(client.turn(&thread, "say a; tool").status(), "completed");
    wait_until("the failure is logged", || failures(&daemon) > 0);
    assert_eq!(client.turn(&thread, "say a; tool").status(), "completed");
    assert!(daemon.stop().success());
    assert_eq!(failures(&daemon), 1, "{}", daemon.log());
}

#[test]
fn without_traces_the_clients_context_reaches_the_agent_as_it_is() {
    let place = Place::new("");
    let wire = place.home().join("wire");
    let mut daemon = Daemon::serving(place, &["--record-wire", wire.to_str().unwrap()]);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let meta = json!({ "traceparent": "as it came", "tracestate": "a=b", "n": 1 });
    for params in [
        json!({ "threadId": thread, "text": "say a", "_meta": meta }),
        json!({ "threadId": thread, "text": "say a" }),
        json!({ "threadId": thread, "text": "say a", "_meta": 7 }),
    ] {
        let started = client.call("turn/start", &params);
        let turn = started["turn"]["id"].as_str().unwrap().to_owned();
        client.finish(&thread, &turn);
    }
    assert!(daemon.stop().success());
    assert_eq!(received_meta(&wire), [meta, Value::Null, Value::Null]);
}

#[test]
fn the_wire_is_recorded_for_replays_and_agents_cannot_read_it() {
    let place = Place::without_sandbox("");
    let wire = place.work().join("wire");
    let mut daemon = Daemon::serving(place, &["--record-wire", "wire"]);
    let log = daemon.log();
    assert!(
        log.contains("RECORDING all messages of agents and clients"),
        "{log}"
    );
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    assert_eq!(
        client.turn(&thread, "say something worth recording").status(),
        "completed"
    );
    let read = format!("read path='{}'", wire.join("x").display());
    let said = client.turn(&thread, &read).said();
    assert!(said.contains("belongs to acpd itself"), "{said}");
    client.refused(
        "thread/start",
        &json!({ "agentType": "none", "cwd": "/", "token": "plantedtoken" }),
    );
    assert!(daemon.stop().success());

    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&wire), 0o700);
    let files: Vec<PathBuf> = wire
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(files.iter().all(|file| mode(file) == 0o600));
    let of_clients = recorded(&wire, "client-app-");
    let method = |direction: &str, method: &str| {
        let is_it = |line: &&Value| line["dir"] == direction && line["msg"]["method"] == method;
        of_clients
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("no {method}: {of_clients:#?}"))
    };
    method("c2s", "initialize");
    method("s2c", "turn/completed");
    let refused = of_clients
        .iter()
        .find(|line| line["msg"]["params"]["agentType"] == "none")
        .unwrap();
    assert_eq!(refused["msg"]["params"]["token"], "[redacted]");
    let everything = format!("{of_clients:?}{:?}", recorded(&wire, "agent-"));
    assert!(!everything.contains("plantedtoken") && !everything.contains(daemon.place.token().trim()));

    // The recording is an agent that does the same.
    let is_agents = |path: &&PathBuf| {
        path.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("agent-fake-")
    };
    let recording = files.iter().find(is_agents).expect("the agent was recorded");
    let copy = daemon.place.home().join("recording.jsonl");
    std::fs::copy(recording, &copy).unwrap();
    let player = daemon
        .place
        .agent("player", &["--play", copy.to_str().unwrap(), "--speed", "0"], &[]);
    let (player, _) = player.split_once("sandbox = ").unwrap();
    daemon.place.configure(&format!("{player}sandbox = \"off\"\n"));
    daemon.restart();
    let mut client = Client::new(&daemon);
    let again = client.thread_of(&daemon, "player");
    assert_eq!(
        client.turn(&again, "whatever").said(),
        "something worth recording"
    );
}

#[test]
fn a_directory_that_others_can_read_is_not_recorded_into() {
    let place = Place::new("");
    let wire = place.home().join("wire");
    std::fs::create_dir(&wire).unwrap();
    std::fs::set_permissions(&wire, std::fs::Permissions::from_mode(0o755)).unwrap();
    let refused = acpd(&place, &["serve", "--record-wire", wire.to_str().unwrap()]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let hint = format!("run chmod 700 {}", wire.display());
    assert!(refused.stderr.contains(&hint), "{}", refused.stderr);
}

#[test]
fn a_daemon_that_cannot_start_leaves_no_directory_of_a_recording() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let place = Place::new("");
    let try_to_record = |wire: &Path| {
        let args = [
            "serve",
            "--listen",
            &address,
            "--record-wire",
            wire.to_str().unwrap(),
        ];
        let refused = acpd(&place, &args);
        assert_eq!(refused.code, Some(1), "{}", refused.stderr);
        assert!(
            refused.stderr.contains("another program listens there"),
            "{}",
            refused.stderr
        );
    };
    let old = place.home().join("old");
    std::fs::create_dir(&old).unwrap();
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o700)).unwrap();
    try_to_record(&old.join("new/newer"));
    assert!(old.is_dir(), "it existed before");
    assert_eq!(std::fs::read_dir(&old).unwrap().count(), 0);
    try_to_record(&old);
    assert!(old.is_dir(), "it existed before");
}
