//! Files that clients attach to threads: what the agent can do with them, who may attach, and what the daemon refuses.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Editor, PATIENCE, Place, acpd, body, send, wait_until};

/// Attaches a file with a token; returns the status and the response.
fn put(daemon: &Daemon, token: &str, path: &str, more: &[(&str, &str)], content: &str) -> (u16, String) {
    let (host, bearer) = (daemon.address().to_string(), format!("Bearer {token}"));
    let mut headers = vec![("Host", &*host), ("Authorization", &*bearer)];
    headers.extend(more);
    send(daemon.address(), "PUT", path, &headers, content)
}

/// Attaches a file as the owner; returns its content block.
fn attach(daemon: &Daemon, thread: &str, name: &str, content: &str) -> Value {
    let path = format!("/api/threads/{thread}/attachments/{name}");
    let kind = [("Content-Type", "text/plain")];
    let (status, answer) = put(daemon, &daemon.place.token(), &path, &kind, content);
    assert_eq!(status, 200, "{answer}");
    body(&answer)["block"].clone()
}

/// Returns the path that a block links to. The paths of these tests need no escapes.
fn path_of(block: &Value) -> PathBuf {
    let uri = block["uri"].as_str().expect("a link has a URI");
    uri.strip_prefix("file://").expect("it is a file").into()
}

/// Returns all files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = directory.read_dir().into_iter().flatten().flatten();
    let below = entries.flat_map(|entry| match entry.path() {
        path if path.is_dir() => files(&path),
        path => vec![path],
    });
    below.collect()
}

fn turn(client: &mut Client, thread: &str, text: &str, block: &Value) -> String {
    let params = json!({ "threadId": thread, "text": text, "input": [block] });
    let started = client.call("turn/start", &params);
    let turn = started["turn"]["id"].as_str().expect("it has an id").to_owned();
    client.finish(thread, &turn).said()
}

fn token(place: &Place, role: &str) -> String {
    let made = acpd(place, &["token", "create", "--name", role, "--role", role]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    made.stdout.trim().to_owned()
}

#[test]
fn the_agent_of_a_thread_reads_what_is_attached_to_it_and_no_other() {
    let daemon = Daemon::at(Place::away_without_blanks(""));
    let mut client = Client::new(&daemon);
    let (thread, other) = (client.thread(&daemon), client.thread(&daemon));
    // Both agents run already.
    let block = attach(&daemon, &thread, "a.txt", "hello");
    assert_eq!(
        (&block["type"], &block["name"], &block["mimeType"], &block["size"]),
        (
            &json!("resource_link"),
            &json!("a.txt"),
            &json!("text/plain"),
            &json!(5)
        )
    );
    let path = path_of(&block);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "hello");
    let shown = path.display();
    let said = turn(&mut client, &thread, &format!("read path={shown}"), &block);
    assert!(said.contains("read 5 bytes: hello"), "{said}");
    let script = daemon.place.work().join(".script");
    let mut shell = |thread: &str, line: String| {
        std::fs::write(&script, line).unwrap();
        client.turn(thread, "terminal sh .script").said()
    };
    let said = shell(&thread, format!("cat {shown}"));
    assert!(said.starts_with("exit 0") && said.contains("hello"), "{said}");
    // Nobody writes there, nor sees what else acpd has.
    for line in [
        format!("echo x > {shown}.new"),
        format!("rm -f {shown}"),
        format!("cat {}", daemon.place.data().join("token").display()),
        format!("ls {}", daemon.place.data().join("attachments").display()),
    ] {
        let said = shell(&thread, line.clone());
        assert!(!said.starts_with("exit 0"), "{line}: {said}");
    }
    let said = shell(&other, format!("cat {shown}"));
    assert!(!said.starts_with("exit 0"), "{said}");
    let said = client.turn(&thread, &format!("write path={shown} text=x")).said();
    assert!(said.contains("may only be read"), "{said}");
    let said = client.turn(&other, &format!("read path={shown}")).said();
    assert!(!said.contains("hello"), "{said}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "hello");
    // The files go with their thread.
    client.call("thread/delete", &json!({ "threadId": thread }));
    wait_until("the files are removed", || !path.exists());
}

#[test]
fn the_agent_of_a_fork_reads_what_its_copied_turns_name_also_when_the_origin_is_gone() {
    let daemon = Daemon::at(Place::away_without_blanks(""));
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let copied = attach(&daemon, &thread, "a.txt", "hello");
    turn(&mut client, &thread, "say one", &copied);
    let later = attach(&daemon, &thread, "b.txt", "secret");
    turn(&mut client, &thread, "say two", &later);
    let forked = client.call("thread/fork", &json!({ "threadId": thread, "turnId": "turn_1" }));
    let fork = forked["thread"]["id"].as_str().unwrap().to_owned();
    let script = daemon.place.work().join(".script");
    let mut reads = |block: &Value| {
        let shown = path_of(block).display().to_string();
        std::fs::write(&script, format!("cat {shown}")).unwrap();
        let by_acpd = client.turn(&fork, &format!("read path={shown}")).said();
        let by_command = client.turn(&fork, "terminal sh .script").said();
        (by_acpd, by_command)
    };
    let (by_acpd, by_command) = reads(&copied);
    assert!(by_acpd.contains("read 5 bytes: hello"), "{by_acpd}");
    assert!(
        by_command.starts_with("exit 0") && by_command.contains("hello"),
        "{by_command}"
    );
    let (by_acpd, by_command) = reads(&later);
    assert!(!by_acpd.contains("secret"), "{by_acpd}");
    assert!(!by_command.starts_with("exit 0"), "{by_command}");
    // It is sent again as it is.
    turn(&mut client, &fork, "say three", &copied);
    let error = client.refused("turn/start", &json!({ "threadId": fork, "input": [later] }));
    assert!(
        error["message"]
            .as_str()
            .unwrap_or_default()
            .contains("attached to another thread"),
        "{error}"
    );
    client.call("thread/delete", &json!({ "threadId": thread }));
    wait_until("the other file is removed", || !path_of(&later).exists());
    let said = client
        .turn(&fork, &format!("read path={}", path_of(&copied).display()))
        .said();
    assert!(said.contains("read 5 bytes: hello"), "{said}");
    client.call("thread/delete", &json!({ "threadId": fork }));
    wait_until("the file goes with the last thread that has it", || {
        !path_of(&copied).exists()
    });
}

/// The process that starts when an editor connects is confined to one folder, and does not fit a session of two.
#[test]
fn the_agent_of_an_editor_reads_what_is_attached_if_it_starts_for_its_session() {
    let daemon = Daemon::at(Place::away_without_blanks(""));
    let more = daemon.place.home().join("more");
    std::fs::create_dir(&more).unwrap();
    let mut pipe = daemon
        .place
        .command(&["acp", "--agent", "fake"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (stdin, stdout) = (pipe.stdin.take().unwrap(), pipe.stdout.take().unwrap());
    let mut editor = Editor::lines(stdout, stdin);
    editor.greet();
    let params = json!({ "cwd": ".", "additionalDirectories": [more], "mcpServers": [] });
    let opened = editor.call("session/new", &params);
    let session = opened["sessionId"].as_str().unwrap();
    let path = path_of(&attach(&daemon, session, "a.txt", "hello"));
    std::fs::write(
        daemon.place.work().join(".script"),
        format!("cat {}", path.display()),
    )
    .unwrap();
    let (said, _) = editor.turn(session, "terminal sh .script");
    assert!(said.contains("exit 0") && said.contains("hello"), "{said}");
    let (said, _) = editor.turn(session, &format!("read path={}", path.display()));
    assert!(said.contains("read 5 bytes: hello"), "{said}");
    drop(editor);
    assert!(pipe.wait().unwrap().success());
}

#[test]
fn a_prompt_takes_no_file_of_another_thread() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let (thread, other) = (client.thread(&daemon), client.thread(&daemon));
    let block = attach(&daemon, &other, "a.txt", "hello");
    for (method, params) in [
        ("turn/start", json!({ "threadId": thread, "input": [block] })),
        ("turn/steer", json!({ "threadId": thread, "content": [block] })),
        (
            "thread/start",
            json!({ "agentType": "fake", "cwd": daemon.place.work(), "input": [block] }),
        ),
    ] {
        let error = client.refused(method, &params);
        let message = error["message"].as_str().unwrap_or_default();
        assert!(
            message.contains("attached to another thread"),
            "{method}: {error}"
        );
    }
    let mut gone = block.clone();
    gone["uri"] = json!(block["uri"].as_str().unwrap().replace("a.txt", "b.txt"));
    let params = json!({ "threadId": other, "input": [gone] });
    let error = client.refused("turn/start", &params);
    assert!(
        error["message"].as_str().unwrap().contains("attach it again"),
        "{error}"
    );
}

#[test]
fn roles_that_prompt_may_attach_files() {
    let place = Place::new("");
    let tokens = ["observer", "approver", "operator"].map(|role| (role, token(&place, role)));
    let observer = tokens[0].1.clone();
    let daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let path = format!("/api/threads/{thread}/attachments/a.txt");
    for (role, token) in tokens {
        let (status, answer) = put(&daemon, &token, &path, &[], "x");
        assert_eq!(
            status,
            if role == "operator" { 200 } else { 403 },
            "{role}: {answer}"
        );
    }
    let (status, answer) = put(&daemon, "wrong", &path, &[], "x");
    assert_eq!(status, 401, "{answer}");
    // A client that sends a large file has to be able to read why it is refused.
    let large = "x".repeat(32 << 20);
    let refused = [("wrong", 401), (&*observer, 403)];
    for (token, expected) in refused {
        let (status, answer) = put(&daemon, token, &path, &[], &large);
        assert_eq!(status, expected, "{answer}");
    }
    // Nobody downloads them: a page could be made to run one.
    let (host, bearer) = (
        daemon.address().to_string(),
        format!("Bearer {}", daemon.place.token()),
    );
    let headers = [("Host", &*host), ("Authorization", &*bearer)];
    assert_eq!(send(daemon.address(), "GET", &path, &headers, "").0, 405);
}

type Headers<'a> = &'a [(&'a str, &'a str)];

#[test]
fn files_outside_of_the_thread_are_refused() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let owner = daemon.place.token();
    let stored = || files(&daemon.place.data().join("attachments"));
    let unknown = "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4";
    let at = |thread: &str, name: &str| format!("/api/threads/{thread}/attachments/{name}");
    // The client waits for the answer before it sends the file.
    let size = [("Content-Length", "52428801"), ("Expect", "100-continue")];
    let cases: [(String, Headers<'_>, &str, u16); 6] = [
        (at(unknown, "a"), &[], "x", 404),
        (at("x", "a"), &[], "x", 400),
        (at(&thread, "%ff"), &[], "x", 400),
        (at(&thread, "a"), &[], "", 411),
        (at(&thread, "a"), &size, "", 413),
        (at("..", "a"), &[], "x", 400),
    ];
    for (path, headers, content, expected) in cases {
        let (status, answer) = put(&daemon, &owner, &path, headers, content);
        assert_eq!(status, expected, "{path}: {answer}");
        assert_eq!(stored(), [] as [PathBuf; 0], "{path}");
    }
    // A client that breaks off leaves nothing.
    let mut stream = TcpStream::connect(daemon.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let (address, path) = (daemon.address(), at(&thread, "a"));
    let head = format!(
        "PUT {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {owner}\r\nContent-Length: 10\r\n\r\nabc"
    );
    stream.write_all(head.as_bytes()).unwrap();
    wait_until("the file arrives", || !stored().is_empty());
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    // The daemon may close the connection without a word.
    let _ = stream.read_to_end(&mut answer);
    wait_until("the part is removed", || stored().is_empty());
    // A name is no path.
    let token = std::fs::read(daemon.place.data().join("token")).unwrap();
    let block = attach(&daemon, &thread, "..%2F..%2F..%2Ftoken", "x");
    assert_eq!(block["name"], "token");
    let block = attach(&daemon, &thread, "a%0Ab%E2%80%AEfdp.exe", "x");
    assert_eq!(block["name"], "a_b_fdp.exe");
    assert_eq!(stored().len(), 2);
    assert_eq!(std::fs::read(daemon.place.data().join("token")).unwrap(), token);
}
