//! Every message of the daemon, against the JSON Schema that the installed Codex generates.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::time::Instant;

use jsonschema::Validator;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

use crate::support::{Daemon, PATIENCE};

/// The schemas of messages and results.
struct Schemas {
    /// Notifications and requests, by method.
    messages: BTreeMap<String, Value>,
    /// The definitions that messages refer to.
    definitions: Value,
    /// The definitions of results, by name.
    results: Value,
    compiled: RefCell<BTreeMap<String, Rc<Validator>>>,
}

impl Schemas {
    /// Generates the schemas in `folder`.
    fn generate(program: &Path, folder: &Path) -> Self {
        let status = Command::new(program)
            .args(["app-server", "generate-json-schema", "--experimental", "--out"])
            .arg(folder)
            .env("HOME", folder)
            .status();
        assert!(status.expect("Codex runs").success());
        let read = |name: &str| -> Value {
            let text = std::fs::read_to_string(folder.join(name)).expect("it was generated");
            serde_json::from_str(&text).expect("JSON")
        };
        let (mut messages, mut definitions) = (BTreeMap::new(), json!({}));
        for name in ["ServerNotification.json", "ServerRequest.json"] {
            let schema = read(name);
            for one in schema["oneOf"].as_array().expect("a list") {
                let method = one["properties"]["method"]["enum"][0].as_str().expect("a method");
                messages.insert(method.to_owned(), one.clone());
            }
            for (name, definition) in schema["definitions"].as_object().expect("an object") {
                definitions[name] = definition.clone();
            }
        }
        let all = read("codex_app_server_protocol.schemas.json");
        Self {
            messages,
            definitions,
            results: all["definitions"].clone(),
            compiled: RefCell::default(),
        }
    }

    fn check(&self, message: &Value) {
        let method = message["method"].as_str().expect("a method");
        let schema = self.messages.get(method);
        let schema = schema.unwrap_or_else(|| panic!("Codex does not know {method}"));
        self.validate(method, schema, &self.definitions, message);
    }

    fn check_result(&self, name: &str, result: &Value) {
        let found = self.results["v2"].get(name).or_else(|| self.results.get(name));
        let schema = found.unwrap_or_else(|| panic!("Codex has no {name}"));
        self.validate(name, schema, &self.results, result);
    }

    fn validate(&self, name: &str, schema: &Value, definitions: &Value, value: &Value) {
        let compile = || Rc::new(compile(schema, definitions));
        let validator = Rc::clone(
            self.compiled
                .borrow_mut()
                .entry(name.to_owned())
                .or_insert_with(compile),
        );
        let errors: Vec<String> = validator
            .iter_errors(value)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{name}: {value}\n{}", errors.join("\n"));
    }
}

/// Compiles a schema with the definitions that it needs: there are a thousand.
fn compile(schema: &Value, definitions: &Value) -> Validator {
    let mut needed = BTreeSet::new();
    collect_references(schema, definitions, &mut needed);
    let mut own = json!({});
    for pointer in needed {
        let mut place = &mut own;
        for part in pointer.split('/') {
            place = &mut place[part];
        }
        *place = definitions
            .pointer(&format!("/{pointer}"))
            .cloned()
            .unwrap_or_default();
    }
    let mut schema = schema.clone();
    schema["definitions"] = own;
    jsonschema::draft7::new(&schema).expect("Codex generates valid schemas")
}

/// Collects the definitions that a schema refers to, each as its path.
fn collect_references(schema: &Value, definitions: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            let pointer = reference.and_then(|reference| reference.strip_prefix("#/definitions/"));
            if let Some(pointer) = pointer
                && found.insert(pointer.to_owned())
            {
                let definition = definitions.pointer(&format!("/{pointer}"));
                collect_references(definition.unwrap_or(&Value::Null), definitions, found);
            }
            members
                .values()
                .for_each(|member| collect_references(member, definitions, found));
        }
        Value::Array(values) => values
            .iter()
            .for_each(|value| collect_references(value, definitions, found)),
        _ => {}
    }
}

/// A client that checks what it receives.
struct Wire<'s> {
    socket: WebSocket<TcpStream>,
    schemas: &'s Schemas,
    next_id: u64,
    /// Notifications and requests of the daemon.
    got: Vec<Value>,
    /// The methods of all of them.
    methods: BTreeSet<String>,
}

impl<'s> Wire<'s> {
    fn connect(daemon: &Daemon, schemas: &'s Schemas) -> Self {
        let stream = TcpStream::connect(daemon.address()).expect("the daemon listens");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket takes options");
        let mut request = format!("ws://{}/", daemon.address())
            .into_client_request()
            .expect("a URL");
        let token = format!("Bearer {}", daemon.place.token());
        request
            .headers_mut()
            .insert("authorization", token.parse().expect("a header"));
        let (socket, _) = client(request, stream).expect("the daemon lets us in");
        Self {
            socket,
            schemas,
            next_id: 0,
            got: Vec::new(),
            methods: BTreeSet::new(),
        }
    }

    fn send(&mut self, message: &Value) {
        let text = Message::text(message.to_string());
        self.socket.send(text).expect("the daemon reads");
    }

    fn next(&mut self) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            assert!(Instant::now() < deadline, "nothing came after {:?}", self.got);
            if let Message::Text(text) = self.socket.read().expect("a message comes") {
                let message: Value = serde_json::from_str(&text).expect("JSON");
                if let Some(method) = message["method"].as_str() {
                    self.schemas.check(&message);
                    self.methods.insert(method.to_owned());
                }
                return message;
            }
        }
    }

    /// Sends a request; returns its result, which is a `name`.
    fn call(&mut self, method: &str, name: &str, params: &Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "id": id, "method": method, "params": params }));
        loop {
            let message = self.next();
            if message["id"] == id && message.get("method").is_none() {
                assert!(message.get("error").is_none(), "{method}: {message}");
                self.schemas.check_result(name, &message["result"]);
                return message["result"].clone();
            }
            self.got.push(message);
        }
    }

    /// Waits for a notification or request with this method.
    fn wait_for(&mut self, method: &str) -> Value {
        if let Some(at) = self.got.iter().position(|message| message["method"] == method) {
            return self.got.remove(at);
        }
        loop {
            let message = self.next();
            if message["method"] == method {
                return message;
            }
            self.got.push(message);
        }
    }
}

/// The messages for each kind of event are stored by a test of `acpd-proto`.
const GOLDEN: &str = include_str!("../../../../proto/tests/snapshots/frames-codex.snap");

#[test]
#[ignore = "needs Codex: make test-interop"]
fn every_message_fits_the_schema_of_the_pinned_codex() {
    let program = super::codex();
    let daemon = Daemon::demo();
    let schemas = Schemas::generate(&program, &daemon.place.home().join("schema"));
    let golden = GOLDEN.lines().filter(|line| line.starts_with('{'));
    let mut stored = 0;
    for line in golden {
        schemas.check(&serde_json::from_str(line).expect("a message on its line"));
        stored += 1;
    }
    assert!(stored > 30, "{stored} stored messages");

    let mut wire = Wire::connect(&daemon, &schemas);
    let cwd = daemon.place.work();
    let client = json!({ "clientInfo": { "name": "test", "version": "1" }, "capabilities": null });
    wire.call("initialize", "InitializeResponse", &client);
    wire.send(&json!({ "method": "initialized" }));
    let nothing = json!({});
    for (method, name) in [
        ("account/read", "GetAccountResponse"),
        ("model/list", "ModelListResponse"),
        ("hooks/list", "HooksListResponse"),
        ("skills/list", "SkillsListResponse"),
        ("configRequirements/read", "ConfigRequirementsReadResponse"),
        ("collaborationMode/list", "CollaborationModeListResponse"),
        ("plugin/installed", "PluginInstalledResponse"),
        ("permissionProfile/list", "PermissionProfileListResponse"),
        ("thread/list", "ThreadListResponse"),
        ("thread/loaded/list", "ThreadLoadedListResponse"),
    ] {
        wire.call(method, name, &nothing);
    }
    wire.call("config/read", "ConfigReadResponse", &json!({ "cwd": cwd }));
    let started = wire.call(
        "thread/start",
        "ThreadStartResponse",
        &json!({ "cwd": cwd, "model": "demo" }),
    );
    let id = started["thread"]["id"].clone();
    let of_thread = json!({ "threadId": id });
    let with = |member: &str, value: Value| {
        let mut params = of_thread.clone();
        params[member] = value;
        params
    };
    let input = json!([{ "type": "text", "text": "Greet everybody", "text_elements": [] }]);
    for _ in 0..2 {
        wire.call("turn/start", "TurnStartResponse", &with("input", input.clone()));
        let question = wire.wait_for("item/fileChange/requestApproval");
        wire.send(&json!({ "id": question["id"], "result": { "decision": "accept" } }));
        wire.wait_for("turn/completed");
    }
    wire.call(
        "thread/name/set",
        "ThreadSetNameResponse",
        &with("name", "n".into()),
    );
    wire.call(
        "permissionProfile/list",
        "PermissionProfileListResponse",
        &nothing,
    );
    let mode = with("permissions", "code".into());
    wire.call("thread/settings/update", "ThreadSettingsUpdateResponse", &mode);
    wire.wait_for("thread/settings/updated");
    wire.call(
        "thread/read",
        "ThreadReadResponse",
        &with("includeTurns", true.into()),
    );
    wire.call("thread/resume", "ThreadResumeResponse", &of_thread);
    for view in ["full", "summary", "notLoaded"] {
        let params = with("itemsView", view.into());
        wire.call("thread/turns/list", "ThreadTurnsListResponse", &params);
    }
    wire.call("thread/items/list", "ThreadItemsListResponse", &of_thread);
    wire.call("thread/queue/list", "ThreadQueueListResponse", &of_thread);
    wire.call(
        "thread/search",
        "ThreadSearchResponse",
        &json!({ "searchTerm": "greeting" }),
    );
    let forked = wire.call("thread/fork", "ThreadForkResponse", &of_thread);
    assert_ne!(forked["thread"]["id"], id);
    let reverted = wire.call(
        "thread/revert",
        "ThreadRevertResponse",
        &with("beforeTurnId", "turn_2".into()),
    );
    assert_eq!(reverted["thread"]["id"], id);
    wire.call("thread/archive", "ThreadArchiveResponse", &of_thread);
    wire.call("thread/unarchive", "ThreadUnarchiveResponse", &of_thread);
    wire.call("thread/unsubscribe", "ThreadUnsubscribeResponse", &of_thread);
    wire.call("thread/delete", "ThreadDeleteResponse", &of_thread);
    for method in [
        "thread/started",
        "thread/status/changed",
        "turn/started",
        "item/started",
        "item/completed",
        "item/agentMessage/delta",
        "item/reasoning/summaryTextDelta",
        "turn/plan/updated",
        "thread/tokenUsage/updated",
        "serverRequest/resolved",
        "thread/reverted",
        "thread/name/updated",
    ] {
        assert!(
            wire.methods.contains(method),
            "{method} was not sent: {:?}",
            wire.methods
        );
    }
}
