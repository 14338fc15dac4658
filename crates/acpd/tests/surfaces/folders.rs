//! Folders of the host over the app protocol.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Turn, acpd};

#[test]
fn a_client_chooses_a_folder_creates_one_and_works_there() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let home = daemon.place.home().canonicalize().unwrap();
    for folder in ["code/app/.git", "code/lib", "code/.cache"] {
        std::fs::create_dir_all(home.join(folder)).unwrap();
    }
    let mut list = |path: &str| client.call("folder/list", &json!({ "path": path }));
    let code = list("~/code");
    assert_eq!(
        code["folders"],
        json!([
            { "name": ".cache", "repository": false },
            { "name": "app", "repository": true },
            { "name": "lib", "repository": false },
        ])
    );
    assert_eq!(
        code["path"].as_str().unwrap(),
        format!("{}/code", code["home"].as_str().unwrap())
    );
    assert_eq!(
        (&code["parent"], &code["truncated"]),
        (&code["home"], &json!(false))
    );
    assert!(!code["host"].as_str().unwrap().is_empty());
    assert_eq!(list("/")["parent"], Value::Null);

    let mut create = |path: &str| client.try_call("folder/create", &json!({ "path": path }));
    let made = create("~/code/new").unwrap();
    assert_eq!(create("~/code/new").unwrap_err()["data"]["code"], "conflict");
    assert_eq!(create("~/nowhere/new").unwrap_err()["data"]["code"], "not_found");
    assert_eq!(create("relative").unwrap_err()["data"]["code"], "invalid_params");
    let thread = client.call(
        "thread/start",
        &json!({ "agentType": "fake", "cwd": made["path"] }),
    );
    assert_eq!(thread["thread"]["cwd"], made["path"]);

    let refused = |client: &mut Client, path: &str| {
        let refused = client.refused("folder/list", &json!({ "path": path }));
        refused["data"]["code"].as_str().unwrap().to_owned()
    };
    assert_eq!(refused(&mut client, "~/code/none"), "not_found");
    let locked = home.join("locked");
    std::fs::create_dir(&locked).unwrap();
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads everything.
    if std::fs::read_dir(&locked).is_err() {
        assert_eq!(refused(&mut client, "~/locked"), "forbidden");
    }
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_thread_follows_its_folder() {
    let mut daemon = Daemon::start();
    let work = daemon.place.work().canonicalize().unwrap();
    let (old, new) = (work.join("old"), work.join("new"));
    std::fs::create_dir_all(old.join("docs")).unwrap();
    let mut client = Client::new(&daemon);
    let start = json!({ "agentType": "fake", "cwd": old, "additionalDirectories": [old.join("docs")] });
    let thread = client.call("thread/start", &start)["thread"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    client.turn(&thread, "say one");
    daemon.stop();
    std::fs::rename(&old, &new).unwrap();
    daemon.restart();
    let mut client = Client::new(&daemon);
    client.resume(&thread, 0);
    let failed = client.turn(&thread, "say two");
    let said = format!("{failed:?}");
    assert!(
        said.contains("is gone") && said.contains(&format!("acpd move {thread} DIRECTORY")),
        "{said}"
    );

    let nowhere = json!({ "threadId": thread, "cwd": daemon.place.work().join("none") });
    let refused = client.refused("thread/directories/set", &nowhere);
    assert_eq!(refused["data"]["code"], "invalid_params");
    let moved = acpd(&daemon.place, &["move", &thread, new.to_str().unwrap()]);
    assert_eq!(moved.code, Some(0), "{}", moved.stderr);
    assert!(
        moved.stdout.contains(&format!("works in {}", new.display())),
        "{}",
        moved.stdout
    );
    client.wait_for("thread/updated");
    let turn = client.turn(&thread, "terminal pwd; terminal ls");
    assert_eq!(turn.end["status"], "completed", "{turn:?}");
    let shown = format!("{turn:?}");
    assert!(shown.contains(new.to_str().unwrap()), "{shown}");
    let read = client.call("thread/read", &json!({ "threadId": thread }))["thread"].take();
    assert_eq!(read["cwd"], json!(new));
    assert_eq!(read["additionalDirectories"], json!([new.join("docs")]));
    let mut found = |cwd: &std::path::Path| {
        let found = client.call("thread/list", &json!({ "cwd": cwd }));
        found["data"].as_array().unwrap().len()
    };
    assert_eq!((found(&new), found(&old)), (1, 0));
}

#[test]
fn further_directories_of_a_moved_thread_are_named_or_left_out() {
    let daemon = Daemon::start();
    let work = daemon.place.work().canonicalize().unwrap();
    let (old, new) = (work.join("old"), work.join("new"));
    std::fs::create_dir_all(old.join("docs")).unwrap();
    let mut client = Client::new(&daemon);
    let start = json!({ "agentType": "fake", "cwd": old, "additionalDirectories": [old.join("docs")] });
    let thread = client.call("thread/start", &start)["thread"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    // An agent may do this, too.
    std::fs::rename(&old, &new).unwrap();
    std::fs::remove_dir(new.join("docs")).unwrap();
    std::os::unix::fs::symlink(&work, new.join("docs")).unwrap();
    let to = |more: &[&str]| {
        let mut args = vec!["move", &thread, new.to_str().unwrap(), "--json"];
        args.extend(more);
        acpd(&daemon.place, &args)
    };
    let refused = to(&[]);
    assert_ne!(refused.code, Some(0), "{}", refused.stdout);
    for advice in ["acpd move --add-dir", "acpd move --only"] {
        assert!(refused.stderr.contains(advice), "{}", refused.stderr);
    }
    let more = work.join("more");
    std::fs::create_dir(&more).unwrap();
    let more = more.to_str().unwrap();
    for (args, expected) in [
        (&["--add-dir", more][..], json!([more])),
        (&["--only"], json!([])),
    ] {
        let moved = to(args);
        assert_eq!(moved.code, Some(0), "{}", moved.stderr);
        let moved: Value = serde_json::from_str(&moved.stdout).unwrap();
        let listed = moved["additionalDirectories"].as_array().cloned();
        assert_eq!(json!(listed.unwrap_or_default()), expected, "{moved}");
        assert_eq!(moved["cwd"], json!(new));
    }
    let both = to(&["--only", "--add-dir", more]);
    assert_eq!(both.code, Some(2), "{}", both.stderr);
}

/// Starts a thread in a new directory below the workspace.
fn thread_in(client: &mut Client, directory: &Path) -> String {
    std::fs::create_dir(directory).unwrap();
    let started = client.call("thread/start", &json!({ "agentType": "fake", "cwd": directory }));
    started["thread"]["id"].as_str().unwrap().to_owned()
}

/// Returns the notice that the directory is gone, which is looked up beside the turn.
fn notice_of(client: &mut Client, turn: &Turn) -> Value {
    let mut seen = turn.messages.iter();
    let seen = seen.find(|message| message.method == "thread/notice").cloned();
    let notice = seen.unwrap_or_else(|| client.wait_for("thread/notice"));
    assert_eq!(notice.params["code"], "directoryGone", "{}", notice.params);
    notice.params.clone()
}

#[test]
fn a_folder_that_is_moved_while_its_agent_runs_is_said() {
    let daemon = Daemon::start();
    let (old, new) = (daemon.place.work().join("old"), daemon.place.work().join("new"));
    let mut client = Client::new(&daemon);
    let thread = thread_in(&mut client, &old);
    client.turn(&thread, "say one");
    std::fs::rename(&old, &new).unwrap();
    let turn = client.turn(&thread, "say two");
    let said = notice_of(&mut client, &turn).to_string();
    for part in [
        old.to_str().unwrap(),
        "is gone",
        &format!("acpd move {thread} DIRECTORY"),
        "Change folder…",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let moved = acpd(&daemon.place, &["move", &thread, new.to_str().unwrap()]);
    assert_eq!(moved.code, Some(0), "{}", moved.stderr);
    client.wait_for("thread/updated");
    let turn = client.turn(&thread, "terminal pwd");
    assert_eq!(turn.status(), "completed", "{turn:?}");
    assert!(!format!("{turn:?}").contains("directoryGone"), "{turn:?}");
}

#[test]
fn a_folder_that_is_removed_in_a_turn_is_said_when_a_file_is_missing() {
    let daemon = Daemon::start();
    let place = daemon.place.work().join("place");
    let mut client = Client::new(&daemon);
    let thread = thread_in(&mut client, &place);
    let turn = client.start(&thread, "permission; read path=a.txt; read path=b.txt");
    let question = client.question();
    std::fs::remove_dir(&place).unwrap();
    client.respond(&question, &json!({ "decision": "accept" }));
    let turn = client.finish(&thread, &turn);
    notice_of(&mut client, &turn);
    let read = client.call(
        "thread/read",
        &json!({ "threadId": thread, "includeTurns": true }),
    );
    let notices = read.to_string().matches("directoryGone").count();
    assert_eq!(notices, 1, "{read}");
}
