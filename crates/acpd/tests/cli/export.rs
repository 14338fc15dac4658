//! Export of threads, by the daemon and by the command.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Place, acpd, ask, outcome, unread};

const NOBODY: &str = "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4";

/// Starts a daemon with a thread that contains every kind of item.
fn with_thread() -> (Daemon, String) {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.start(
        &thread,
        "think n=1 text=hm; say 'The <b>answer</b>.'; plan; tool; terminal echo hi; permission",
    );
    let question = client.question();
    client.respond(&question, &json!({ "decision": "accept" }));
    client.finish(&thread, &turn);
    client.turn(&thread, "error message=broken");
    (daemon, thread)
}

/// Lists a directory, including hidden files.
fn files(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("the directory can be read");
    let names = entries.map(|entry| entry.expect("it can be read on").file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_thread_is_written_as_lines() {
    let (daemon, thread) = with_thread();
    let written = acpd(&daemon.place, &["export", &thread]);
    assert_eq!((written.code, &written.stderr[..]), (Some(0), ""));
    let lines: Vec<Value> = written
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    for (line, seq) in lines.iter().zip(1..) {
        assert_eq!((&line["seq"], &line["threadId"]), (&json!(seq), &json!(thread)));
    }
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    for expected in [
        "thread:create",
        "agent:bound",
        "turn:start",
        "prompt:sent",
        "thought:chunk",
        "message:chunk",
        "plan:update",
        "tool:call",
        "tool:result",
        "terminal:create",
        "terminal:exit",
        "permission:request",
        "permission:result",
        "message:complete",
        "turn:end",
    ] {
        assert!(types.contains(&expected), "{expected} is missing: {types:?}");
    }
    let answer = lines
        .iter()
        .find(|line| line["type"] == "permission:result")
        .unwrap();
    assert_eq!(
        (&answer["allowed"], &answer["by"]["principal"]),
        (&json!(true), &json!("owner"))
    );

    let mut client = Client::observer(&daemon);
    let read = client.call("thread/read", &json!({ "threadId": thread }));
    assert_eq!(read["thread"]["latestSeq"], lines.len(), "the log is whole");
    let end = &thread[thread.len() - 6..];
    assert_eq!(
        acpd(&daemon.place, &["export", "--format", "jsonl", end]).stdout,
        written.stdout
    );
    assert_eq!(
        acpd(&daemon.place, &["export", &thread.to_uppercase(), "-o", "-"]).stdout,
        written.stdout
    );
}

#[test]
fn a_thread_is_written_as_documents() {
    let (daemon, thread) = with_thread();
    let md = acpd(&daemon.place, &["export", &thread, "--format", "md"]);
    let html = acpd(&daemon.place, &["export", &thread, "--format", "html"]);
    assert_eq!(
        (md.code, html.code),
        (Some(0), Some(0)),
        "{} {}",
        md.stderr,
        html.stderr
    );
    for expected in [
        "## Turn 1",
        "## Turn 2",
        "> The &lt;b>answer&lt;/b>.",
        "<summary>Thought</summary>",
        "```diff\n",
        "**Command: `echo hi`**",
        "\nAllowed: ",
        "**Turn 2 failed**",
    ] {
        assert!(md.stdout.contains(expected), "{expected:?}: {}", md.stdout);
    }
    for expected in [
        "<!DOCTYPE html>",
        "<h2>Turn 2</h2>",
        "The &lt;b&gt;answer&lt;/b&gt;.",
        "<details><summary>Thought",
        "<ins>+",
        "Allowed: ",
        "broken",
    ] {
        assert!(html.stdout.contains(expected), "{expected:?}: {}", html.stdout);
    }
    assert!(html.stdout.ends_with("</html>\n"));
}

#[test]
fn a_file_is_there_whole_or_as_it_was() {
    let (daemon, thread) = with_thread();
    let work = daemon.place.work();
    let before = files(&work);
    let whole = acpd(&daemon.place, &["export", &thread]).stdout;

    let made = acpd(&daemon.place, &["export", &thread, "-o", "new.jsonl"]);
    assert_eq!((made.code, &made.stdout[..], &made.stderr[..]), (Some(0), "", ""));
    assert_eq!(std::fs::read_to_string(work.join("new.jsonl")).unwrap(), whole);

    let old = work.join("old.jsonl");
    std::fs::write(&old, "old").unwrap();
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("old.jsonl", work.join("link.jsonl")).unwrap();
    let refused = acpd(&daemon.place, &["export", NOBODY, "-o", "link.jsonl"]);
    assert_eq!(refused.code, Some(5));
    assert!(refused.stderr.contains("does not exist"), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "old");
    assert_eq!(
        acpd(&daemon.place, &["export", &thread, "-o", "link.jsonl"]).code,
        Some(0)
    );
    assert_eq!(std::fs::read_to_string(&old).unwrap(), whole);
    assert_eq!(
        std::fs::metadata(&old).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert!(work.join("link.jsonl").is_symlink());

    for (place, message) in [("none/x.jsonl", "No such file"), (".", "directory")] {
        let refused = acpd(&daemon.place, &["export", &thread, "-o", place]);
        assert_eq!(refused.code, Some(1), "{place}");
        assert!(
            refused.stderr.contains("cannot be written") && refused.stderr.contains(message),
            "{place}: {}",
            refused.stderr
        );
    }
    let straight = acpd(&daemon.place, &["export", &thread, "-o", "/dev/null"]);
    assert_eq!(straight.code, Some(0), "{}", straight.stderr);
    let mut expected = before;
    expected.extend(["link.jsonl", "new.jsonl", "old.jsonl"].map(str::to_owned));
    expected.sort();
    assert_eq!(files(&work), expected, "nothing else is left");
}

#[test]
fn exports_over_http_require_the_token_and_return_errors_as_json() {
    let (daemon, thread) = with_thread();
    let host = daemon.address().to_string();
    let bearer = format!("Bearer {}", daemon.place.token());
    let path = format!("/api/threads/{thread}/export");
    let md = format!("{path}?format=md");
    let html = format!("{path}?format=html");
    let pdf = format!("{path}?format=pdf");
    let nobody = format!("/api/threads/{NOBODY}/export");
    for (path, shown, status, message) in [
        (&path[..], None, 401, "\"unauthenticated\""),
        (&path, Some("Bearer wrong"), 401, "\"unauthenticated\""),
        (&nobody, None, 401, "\"unauthenticated\""),
        (&nobody, Some(&bearer[..]), 404, "\"not_found\""),
        ("/api/threads/x/export", Some(&bearer), 400, "\"invalid_params\""),
        (
            "/api/threads/%ff/export",
            Some(&bearer),
            400,
            "\"invalid_params\"",
        ),
        (&pdf, Some(&bearer), 400, "\"invalid_params\""),
        (
            &path,
            Some(&bearer),
            200,
            "content-type: application/x-ndjson\r\n",
        ),
        (
            &md,
            Some(&bearer),
            200,
            "content-type: text/markdown; charset=utf-8\r\n",
        ),
        (
            &html,
            Some(&bearer),
            200,
            "content-type: text/html; charset=utf-8\r\n",
        ),
        (
            &html,
            Some(&bearer),
            200,
            "content-disposition: attachment; filename=\"",
        ),
    ] {
        let mut headers = vec![("Host", &host[..])];
        headers.extend(shown.map(|shown| ("Authorization", shown)));
        let (got, answer) = ask(daemon.address(), path, &headers);
        assert_eq!(got, status, "{path}: {answer}");
        assert!(answer.contains(message), "{path}: {answer}");
        if status != 200 {
            let (_, body) = answer.split_once("\r\n\r\n").unwrap();
            let error: Value = serde_json::from_str(body).unwrap();
            assert!(error["error"]["message"].is_string(), "{body}");
        }
    }
    let foreign = [
        ("Host", &host[..]),
        ("Authorization", &bearer[..]),
        ("Origin", "http://evil.example"),
    ];
    assert_eq!(ask(daemon.address(), &path, &foreign).0, 403);
    let wrong = outcome(
        daemon
            .place
            .command(&["export", &thread])
            .env("ACPD_TOKEN", "not-the-right-token"),
    );
    assert_eq!(wrong.code, Some(7));
    assert!(
        wrong.stderr.contains("does not accept this access token"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn a_reader_that_closes_the_pipe_causes_no_error() {
    let (daemon, thread) = with_thread();
    let left = unread(&mut daemon.place.command(&["export", &thread]));
    assert_eq!((left.code, &left.stderr[..]), (Some(0), ""));
}

#[test]
fn a_daemon_is_started_for_it() {
    let (mut daemon, thread) = with_thread();
    let before = acpd(&daemon.place, &["export", &thread]).stdout;
    daemon.stop();
    let written = acpd(&daemon.place, &["export", &thread]);
    let _guard = daemon.place.background();
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    assert!(
        written.stdout.starts_with(&before),
        "what was logged stays as it was"
    );
}

/// A daemon that dies during its response must not leave a file that looks complete.
#[test]
fn partial_exports_are_removed() {
    let place = Place::new("");
    place.make_data();
    let listener = UnixListener::bind(place.data().join("acpd.sock")).unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = String::new();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
        }
        let answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\n{\"a\":1\r\n";
        stream.write_all(answer.as_bytes()).unwrap();
        head
    });
    let broken = acpd(&place, &["export", NOBODY, "--format", "html", "-o", "x.html"]);
    let head = server.join().unwrap();
    assert!(
        head.starts_with(&format!(
            "GET /api/threads/{NOBODY}/export?format=html HTTP/1.1\r\n"
        )),
        "{head}"
    );
    assert_eq!(broken.code, Some(1));
    assert!(broken.stderr.contains("not whole"), "{}", broken.stderr);
    assert_eq!(files(&place.work()), [""; 0]);
}
