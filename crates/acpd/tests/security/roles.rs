//! Permissions by role: every request of every surface, with the least role that may make it, against the real daemon. Also
//! whether a reader of a shared thread may make it.
//!
//! The table is complete. A method, a route or a client request that is missing in it fails the test.

use std::collections::BTreeSet;
use std::os::unix::net::UnixStream;

use acpd_model::Role;
use acpd_proto::surface::{acp, app};
use serde_json::json;

use crate::support::{Client, Daemon, Door, Editor, PATIENCE, Place, acpd, exchange, send};

/// Surface, request, least role. `anyone` requires no credentials. `shared` requests are permitted with a link, too, about
/// its thread. A link permits no others.
const TABLE: &str = "
    app    agent/list                      observer
    app    agent/running                   observer
    app    agent/doctor                    operator
    app    agent/options                   operator
    app    agent/install                   owner
    app    agent/authenticate              owner
    app    agent/authenticate/read         owner
    app    agent/authenticate/cancel       owner
    app    agent/logout                    owner
    app    agent/session/list              operator
    app    agent/session/delete            operator
    app    agent/request                   operator
    app    agent/notify                    operator
    app    folder/list                     operator
    app    folder/create                   operator
    app    thread/start                    operator
    app    thread/resume                   observer shared
    app    thread/list                     observer shared
    app    thread/list/watch               observer shared
    app    thread/list/unwatch             observer shared
    app    thread/seen/set                 observer
    app    user/present                    observer
    app    usage/read                      observer
    app    thread/read                     observer shared
    app    thread/lanes                    observer shared
    app    thread/search                   observer shared
    app    thread/unsubscribe              observer shared
    app    thread/name/set                 operator
    app    thread/metadata/set             operator
    app    thread/pin/set                  operator
    app    thread/directories/set          operator
    app    thread/directories/add          operator
    app    thread/archive                  operator
    app    thread/unarchive                operator
    app    retention/run                   owner
    app    thread/delete                   owner
    app    thread/rollback                 operator
    app    thread/fork                     operator
    app    thread/share/create             operator
    app    thread/share/list               operator
    app    thread/share/revoke             operator
    app    thread/mode/set                 operator
    app    thread/config/set               operator
    app    thread/policy/set               owner
    app    turn/start                      operator
    app    turn/steer                      operator
    app    turn/diff/read                  observer shared
    app    turn/interrupt                  operator
    app    thread/command/run              operator
    app    thread/terminal/write           operator
    app    thread/terminal/kill            operator
    app    turn/queue/arrange              operator
    app    turn/queue/edit                 operator
    app    turn/queue/steer                operator
    app    item/approve                    approver
    app    item/answer                     approver
    app    policy/explain                  observer
    app    policy/read                     observer
    app    config/agent/set                owner
    app    config/policy/set               owner
    app    config/folder/add               owner
    app    notification/list               owner
    app    notification/test               owner
    app    policy/remembered/list          observer
    app    policy/remembered/revoke        approver
    app    agent/remembered/list           owner
    app    agent/remembered/revoke         owner

    answer to-a-question                   approver

    acp    initialize                      observer shared
    acp    session/load                    observer shared
    acp    session/resume                  observer shared
    acp    session/list                    observer shared
    acp    session/close                   observer shared
    acp    session/new                     operator
    acp    session/fork                    operator
    acp    session/delete                  owner
    acp    session/set_title               operator
    acp    session/prompt                  operator
    acp    session/set_mode                operator
    acp    session/set_model               operator
    acp    session/set_config_option       operator
    acp    session/options                 operator
    acp    auth/status                     operator
    acp    providers/list                  operator
    acp    providers/set                   owner
    acp    providers/disable               owner
    acp    authenticate                    owner
    acp    logout                          owner
    acp    _acpd/lease/acquire             operator
    acp    _acpd/lease/release             operator
    acp    _any/extension                  operator

    notice session/cancel                  operator

    http   GET /healthz                    anyone shared
    http   GET /readyz                     anyone shared
    http   GET /                           anyone shared
    http   GET /rpc                        anyone shared
    http   GET /ws                         observer shared
    http   GET /metrics                    observer
    http   GET /api/threads/{thread}/export observer shared
    http   GET /api/blobs/{id}             observer shared
    http   PUT /api/threads/{thread}/attachments/{name} operator
    http   POST /api/tickets               observer
    http   POST /api/tickets/used          observer
    http   POST /api/pairings              approver
    http   DELETE /api/pairings            approver
    http   POST /api/pairings/wait         approver
    http   GET /api/devices                observer
    http   PUT /api/devices                observer
    http   DELETE /api/devices             observer
    http   GET /api/push                   observer
    http   PUT /api/push                   observer
    http   DELETE /api/push                observer
    http   POST /api/push/test             observer
    http   GET /api/session                observer shared
    http   POST /api/session               observer shared
    http   DELETE /api/session             observer shared
    http   POST /api/tokens/reload         owner
    http   GET /acp                        observer shared
    http   POST /acp                       observer shared
    http   DELETE /acp                     observer shared
";

/// The least role of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Least {
    Anyone,
    Role(Role),
}

impl Least {
    fn admits(self, role: Option<Role>) -> bool {
        match (self, role) {
            (Self::Anyone, _) => true,
            (Self::Role(least), Some(role)) => role.may(least),
            (Self::Role(_), None) => false,
        }
    }
}

/// Returns the requests of one surface, each with its least role.
fn rows(surface: &str) -> Vec<(&'static str, Least)> {
    let rows = TABLE.lines().map(str::trim).filter(|row| !row.is_empty());
    let rows = rows.filter_map(|row| {
        let (of, rest) = row.split_once(' ')?;
        let rest = rest.strip_suffix(" shared").unwrap_or(rest);
        let (request, least) = rest.rsplit_once(' ')?;
        let least = match least {
            "anyone" => Least::Anyone,
            role => Least::Role(
                *Role::ALL
                    .iter()
                    .find(|known| known.name() == role)
                    .unwrap_or_else(|| panic!("no role: {row}")),
            ),
        };
        (of == surface).then_some((request.trim(), least))
    });
    rows.collect()
}

/// Returns whether a link to a shared thread permits a request.
fn is_shared(surface: &str, request: &str) -> bool {
    let mut rows = TABLE.lines().filter_map(|row| row.trim().strip_suffix(" shared"));
    rows.any(|row| {
        let mut words = row.split_whitespace();
        let of = words.next();
        let mut words: Vec<_> = words.collect();
        words.pop();
        of == Some(surface) && words.join(" ") == request
    })
}

/// Number of requests that one connection sends. There are more methods than a connection may call in ten seconds.
const REQUESTS: usize = 50;

fn named(surface: &str) -> BTreeSet<&'static str> {
    rows(surface).into_iter().map(|(request, _)| request).collect()
}

/// Starts a daemon with a token of each role.
fn daemon() -> (Daemon, Vec<(Role, String)>) {
    let place = Place::new("");
    let tokens = Role::ALL.iter().map(|role| {
        let name = format!("{role}-1");
        let made = acpd(
            &place,
            &["token", "create", "--name", &name, "--role", role.name()],
        );
        (*role, made.stdout.trim().to_owned())
    });
    let tokens = tokens.collect();
    (Daemon::at(place), tokens)
}

/// Shares a thread. Returns the thread, and the link's secret.
fn share(daemon: &Daemon) -> (String, String) {
    let mut owner = Client::new(daemon);
    let thread = owner.thread(daemon);
    let created = owner.call("thread/share/create", &json!({ "threadId": thread }));
    let secret = created["secret"].as_str().expect("a secret").to_owned();
    (thread, secret)
}

/// Fails with all differences from the table.
fn agree(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_table_of_roles_is_complete() {
    let methods: BTreeSet<_> = app::METHODS.iter().map(|method| method.name).collect();
    assert_eq!(named("app"), methods);
    let mut methods: BTreeSet<_> = acp::METHODS.iter().map(|method| method.name).collect();
    methods.insert("_any/extension");
    assert_eq!(named("acp"), methods);
    // A program cannot list routes, so the test reads their source files.
    let sources = [
        include_str!("../../../server/src/http/routes.rs"),
        include_str!("../../../server/src/http/acp_stream.rs"),
    ];
    let mut routes = BTreeSet::from(["GET /".to_owned()]);
    for line in sources.iter().flat_map(|source| source.lines()) {
        let Some((path, handlers)) = line
            .split_once(".route(\"")
            .and_then(|(_, rest)| rest.split_once('"'))
        else {
            continue;
        };
        for method in ["get", "post", "put", "patch", "delete", "any"] {
            let begins = |sign: char| handlers.contains(&format!("{sign}{method}("));
            if begins(' ') || begins('.') {
                routes.insert(format!("{} {path}", method.to_uppercase()));
            }
        }
    }
    assert_eq!(named("http"), routes.iter().map(String::as_str).collect());
}

#[test]
fn a_link_permits_what_the_table_says_and_nothing_that_needs_more_than_an_observer() {
    let (daemon, _) = daemon();
    let (thread, secret) = share(&daemon);
    let mut wrong = Vec::new();
    let mut client = Client::with_token(&daemon, &secret);
    for (number, (method, least)) in rows("app").into_iter().enumerate() {
        if number % REQUESTS == REQUESTS - 1 {
            client = Client::with_token(&daemon, &secret);
        }
        let error = client.try_call(method, &json!([])).err().unwrap_or_default();
        if (error["data"]["code"] == "forbidden") == is_shared("app", method) {
            wrong.push(format!("app {method}: {error}"));
        }
        if is_shared("app", method) && !least.admits(Some(Role::Observer)) {
            wrong.push(format!("app {method} is shared, and needs more than an observer"));
        }
    }
    let id = format!("req_1_{}", thread.trim_start_matches("thread_").replace('-', ""));
    let answer = json!({ "jsonrpc": "2.0", "id": id, "result": { "decision": "accept" } });
    client.send(answer.to_string().into()).unwrap();
    let rejected = &client.wait_for("serverRequest/rejected").params;
    assert_eq!(rejected["error"]["data"]["code"], "forbidden", "{rejected}");
    let mut editor = editor(&daemon, &secret);
    for (method, _) in rows("acp") {
        if method == "initialize" {
            assert!(is_shared("acp", method), "that was the greeting");
            continue;
        }
        let error = editor.try_call(method, &json!([])).err().unwrap_or_default();
        if (error["data"]["acpd"]["code"] == "forbidden") == is_shared("acp", method) {
            wrong.push(format!("acp {method}: {error}"));
        }
    }
    let host = daemon.address().to_string();
    let bearer = format!("Bearer {secret}");
    for (route, _) in rows("http") {
        let (method, path) = route.split_once(' ').unwrap();
        let path = path
            .replace("{thread}", "x")
            .replace("{id}", "x")
            .replace("{name}", "x");
        let headers = [("Host", &host[..]), ("Authorization", &bearer)];
        let (status, answer) = send(daemon.address(), method, &path, &headers, "");
        let mut socket = UnixStream::connect(daemon.place.data().join("acpd.sock")).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        // The secret counts, instead of the user who sends it.
        let (at_socket, _) = exchange(&mut socket, method, &path, &headers, "");
        for status in [status, at_socket] {
            if matches!(status, 401 | 403) == is_shared("http", route) {
                wrong.push(format!("http {route}: {status} {answer}"));
            }
        }
    }
    agree(&wrong);
}

#[test]
fn requests_of_both_protocols_need_the_same_role() {
    let role = |surface: &str, name: &str| {
        let rows = rows(surface);
        let found = rows.iter().find(|(method, _)| *method == name);
        found.map(|(_, least)| *least).expect("it is in the table")
    };
    for (acp, app) in [
        ("session/new", "thread/start"),
        ("session/fork", "thread/fork"),
        ("session/list", "thread/list"),
        ("session/load", "thread/resume"),
        ("session/resume", "thread/resume"),
        ("session/close", "thread/unsubscribe"),
        ("session/delete", "thread/delete"),
        ("session/prompt", "turn/start"),
        ("session/set_mode", "thread/mode/set"),
        ("session/set_model", "thread/config/set"),
        ("session/set_config_option", "thread/config/set"),
        ("authenticate", "agent/authenticate"),
        ("logout", "agent/logout"),
        ("_any/extension", "agent/request"),
    ] {
        assert_eq!(role("acp", acp), role("app", app), "{acp} {app}");
    }
}

#[test]
fn each_role_may_make_the_requests_of_the_app_protocol_that_the_table_says() {
    let (daemon, tokens) = daemon();
    let thread = Client::new(&daemon).thread(&daemon);
    let mut wrong = Vec::new();
    for (role, token) in &tokens {
        let mut client = Client::with_token(&daemon, token);
        for (number, (method, least)) in rows("app").into_iter().enumerate() {
            if number % REQUESTS == REQUESTS - 1 {
                client = Client::with_token(&daemon, token);
            }
            // Params that are invalid for every method, so that nothing is done.
            let error = client.try_call(method, &json!([])).err().unwrap_or_default();
            if (error["data"]["code"] == "forbidden") == least.admits(Some(*role)) {
                wrong.push(format!("{role}: {method}: {error}"));
            }
        }
    }
    let id = format!("req_1_{}", thread.trim_start_matches("thread_").replace('-', ""));
    for (role, token) in &tokens {
        let mut client = Client::with_token(&daemon, token);
        let (_, least) = rows("answer")[0];
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": { "decision": "accept" } });
        client.send(answer.to_string().into()).unwrap();
        let rejected = &client.wait_for("serverRequest/rejected").params;
        if (rejected["error"]["data"]["code"] == "forbidden") == least.admits(Some(*role)) {
            wrong.push(format!("{role}: an answer: {rejected}"));
        }
    }
    agree(&wrong);
}

/// Connects an editor over HTTP.
fn editor(daemon: &Daemon, token: &str) -> Editor {
    let mut editor = Editor::http(&Door {
        bearer: format!("Bearer {token}"),
        ..Door::of(daemon)
    });
    editor.greet();
    editor
}

#[test]
fn each_role_may_make_the_requests_of_acp_that_the_table_says() {
    let (daemon, tokens) = daemon();
    let mut wrong = Vec::new();
    for (role, token) in &tokens {
        let mut editor = editor(&daemon, token);
        for (method, least) in rows("acp") {
            if method == "initialize" {
                assert!(least.admits(Some(*role)), "that was the greeting");
                continue;
            }
            let error = editor.try_call(method, &json!([])).err().unwrap_or_default();
            if (error["data"]["acpd"]["code"] == "forbidden") == least.admits(Some(*role)) {
                wrong.push(format!("{role}: {method}: {error}"));
            }
        }
    }
    agree(&wrong);
}

#[test]
fn each_role_may_end_a_turn_over_acp_if_the_table_says_so() {
    let (daemon, tokens) = daemon();
    let (_, least) = rows("notice")[0];
    for (role, token) in &tokens {
        let mut owner = Client::new(&daemon);
        let thread = owner.thread(&daemon);
        let turn = owner.start(&thread, "permission");
        let question = owner.question();
        let mut editor = editor(&daemon, token);
        let session = json!({ "sessionId": thread, "cwd": daemon.place.work(), "mcpServers": [] });
        editor.call("session/load", &session);
        editor.notify("session/cancel", &json!({ "sessionId": thread }));
        // A notification has no response; the response to the next request shows that it was handled.
        editor.call("session/list", &json!({}));
        if !least.admits(Some(*role)) {
            owner.respond(&question, &json!({ "decision": "accept" }));
        }
        let said = owner.finish(&thread, &turn).said();
        assert_eq!(
            said == "allowed (allow_once)",
            !least.admits(Some(*role)),
            "{role}: {said}"
        );
    }
}

#[test]
fn each_role_may_use_the_routes_that_the_table_says() {
    let (daemon, tokens) = daemon();
    let host = daemon.address().to_string();
    let mut wrong = Vec::new();
    let nobody = std::iter::once((None, String::new()));
    let shown = tokens
        .iter()
        .map(|(role, token)| (Some(*role), format!("Bearer {token}")));
    for (role, bearer) in nobody.chain(shown) {
        for (route, least) in rows("http") {
            let (method, path) = route.split_once(' ').unwrap();
            let path = path
                .replace("{thread}", "x")
                .replace("{id}", "x")
                .replace("{name}", "x");
            let mut headers = vec![("Host", &host[..])];
            if role.is_some() {
                headers.push(("Authorization", &bearer));
            }
            let (status, answer) = send(daemon.address(), method, &path, &headers, "");
            let mut all = vec![("the port", status, answer)];
            if role.is_some() {
                // At the socket, a token counts too, instead of the user who sends it.
                let mut socket = UnixStream::connect(daemon.place.data().join("acpd.sock")).unwrap();
                socket.set_read_timeout(Some(PATIENCE)).unwrap();
                let (status, answer) = exchange(&mut socket, method, &path, &headers, "");
                all.push(("the socket", status, answer));
            }
            for (place, status, answer) in all {
                if matches!(status, 401 | 403) == least.admits(role) {
                    wrong.push(format!("{role:?} at {place}: {route}: {answer}"));
                }
            }
        }
    }
    agree(&wrong);
}
