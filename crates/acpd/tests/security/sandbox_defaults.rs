//! What agents that acpd does not know, and what editors bring along, can reach in the sandbox without a setting.

#![cfg(target_os = "linux")]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Client, Daemon, Place, Turn, acpd, record_not_tested};

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("it is in a directory")).expect("it can be made");
    std::fs::write(path, text).expect("it can be written");
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("it can be executed");
}

/// Returns a script of an agent that runs a line of `sh` when prompted, and sends the outcome as text.
fn script(interpreter: &str, line: &str) -> String {
    format!(
        r#"#!{interpreter}
read -r line; echo '{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":1}}}}'
read -r new; echo '{{"jsonrpc":"2.0","id":1,"result":{{"sessionId":"s"}}}}'
read -r prompt
said=$( ({line}) >/dev/null 2>&1; echo $?)
echo '{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"'$said'"}}}}}}}}'
echo '{{"jsonrpc":"2.0","id":2,"result":{{"stopReason":"end_turn"}}}}'
cat >/dev/null
"#
    )
}

/// Returns the outcome of `line` in an agent whose program is `program`.
fn outcome_in(place: Place, program: &Path) -> String {
    let config = std::fs::read_to_string(place.config()).expect("it is there");
    let program = program.display().to_string();
    place.configure(&format!("{config}\n[agents.tried]\ncommand = {program:?}\n"));
    let daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let params = json!({ "agentType": "tried", "cwd": daemon.place.work() });
    let started = client.call("thread/start", &params);
    let thread = started["thread"]["id"].as_str().expect("it has an id").to_owned();
    client.turn(&thread, "go").said().clone()
}

/// Returns the outcome of `line` in an agent whose program has a name.
fn named(name: &str, line: &str) -> String {
    let place = Place::away("");
    write(&place.home().join(".ssh/key"), "key");
    let program = place.home().join("tools").join(name);
    write(&program, &script("/bin/sh", line));
    outcome_in(place, &program)
}

#[test]
fn an_unknown_agent_writes_the_directories_that_bear_its_name() {
    let line = "mkdir -p ~/.thing/data/sessions && echo x > ~/.thing/data/file && mkdir ~/.cache/thing/x \
        && echo x > ~/.config/thing/x && echo x > ~/.local/share/thing-acp/x && ! mkdir ~/.other && ! cat ~/.ssh/key";
    assert_eq!(named("thing-acp", line), "0");
}

#[test]
fn no_name_of_a_program_leads_to_keys() {
    for name in ["ssh", "ssh-acp", "ssh-agent"] {
        assert_eq!(
            named(name, "! cat ~/.ssh/key && ! echo x > ~/.ssh/new"),
            "0",
            "{name}"
        );
    }
}

/// A virtual environment whose Python is elsewhere: its interpreter is a link out of it, and loads files of its installation.
#[test]
fn an_interpreter_elsewhere_runs_with_its_library() {
    let place = Place::away_without_blanks("");
    let home = place.home().to_owned();
    let shell = Path::new("/bin/sh").canonicalize().expect("there is a shell");
    let python = home.join("away/bin/python3.13");
    write(&python, "");
    std::fs::copy(shell, &python).expect("it can be copied");
    write(&home.join("away/lib/python3.13/os.py"), "");
    write(&home.join("away/notes"), "mine");
    symlink(&python, home.join("away/bin/python3")).expect("it can be linked");
    let program = home.join("venv/bin/agent");
    let line = "cat ~/away/lib/python3.13/os.py && ! cat ~/away/notes";
    write(
        &program,
        &script(&home.join("venv/bin/python3").display().to_string(), line),
    );
    symlink(home.join("away/bin/python3"), home.join("venv/bin/python3")).expect("it can be linked");
    write(&home.join("venv/pyvenv.cfg"), "version = 3.13\n");
    assert_eq!(outcome_in(place, &program), "0");
}

#[test]
fn an_interpreter_that_is_not_readable_is_named() {
    let place = Place::away_without_blanks("");
    let home = place.home().to_owned();
    let shell = Path::new("/bin/sh").canonicalize().expect("there is a shell");
    write(&home.join("hidden/sh"), "");
    std::fs::copy(shell, home.join("hidden/sh")).expect("it can be copied");
    let tool = home.join("work/tool");
    write(&tool, &format!("#!{}\n", home.join("hidden/sh").display()));
    let daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, &format!("terminal {}", tool.display()));
    let said = turn.said();
    for part in ["acpd's sandbox", "hidden/sh", "\"read\" of its sandbox"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// Returns what a terminal reads of `file`, in a session with an MCP server whose argument is `argument`.
fn with_server(file: &Path, argument: &Path, daemon: &Daemon) -> String {
    let mut client = Client::new(daemon);
    let server = json!({ "name": "s", "command": "sh", "args": [argument], "env": [] });
    let params = json!({ "agentType": "fake", "cwd": daemon.place.work(), "mcpServers": [server] });
    let started = client.call("thread/start", &params);
    let thread = started["thread"]["id"].as_str().expect("it has an id").to_owned();
    client
        .turn(&thread, &format!("terminal cat '{}'", file.display()))
        .said()
        .clone()
}

#[test]
fn the_servers_of_a_session_are_readable_and_secrets_are_not() {
    let daemon = Daemon::at(Place::away(""));
    let home = daemon.place.home().to_owned();
    let at = |path: &str| home.join(path);
    for (path, text) in [
        ("ext/server/package.json", "{}"),
        ("ext/server/dist/index.js", "served"),
        ("ext/server/lib/part.js", "part"),
        ("ext/other", "private"),
        (".ssh/key", "key"),
        (".ssh/package.json", "{}"),
    ] {
        write(&at(path), text);
    }
    let server = at("ext/server/dist/index.js");
    assert!(with_server(&server, &server, &daemon).contains("served"));
    assert!(with_server(&at("ext/server/lib/part.js"), &server, &daemon).contains("part"));
    for (file, argument) in [
        ("ext/other", "ext/server/dist/index.js"),
        (".ssh/key", ".ssh/key"),
        (".ssh/package.json", ".ssh/key"),
        ("ext/server/dist/index.js", "ext/other"),
    ] {
        let said = with_server(&at(file), &at(argument), &daemon);
        assert!(said.contains("Permission denied"), "{file}: {said}");
    }
    let token = daemon.place.data().join("token");
    let said = with_server(&token, &token, &daemon);
    assert!(said.contains("Permission denied"), "{said}");
}

fn programs(place: &Place, name: &str) -> PathBuf {
    let program = place.home().join("tools").join(name);
    write(&program, &script("/bin/sh", "cat ~/.ssh/key"));
    program
}

#[test]
fn codex_runs_in_its_own_sandbox_unless_one_is_configured() {
    let place = Place::away("");
    let codex = programs(&place, "codex-acp");
    let config = std::fs::read_to_string(place.config()).expect("it is there");
    let doctor = |sandbox: &str| {
        place.configure(&format!(
            "{config}\n[agents.codex]\ncommand = {codex:?}\n{sandbox}\n"
        ));
        acpd(&place, &["agents", "doctor", "codex"]).stdout
    };
    let own = doctor("");
    assert!(own.contains("sandbox: off (it confines its commands"), "{own}");
    let ours = doctor("sandbox = \"workspace\"");
    assert!(ours.contains("sandbox: workspace\n"), "{ours}");
}

#[test]
fn a_denial_names_the_sandbox_the_path_and_the_setting() {
    let place = Place::away("");
    let data = place.home().join("my-data/x");
    write(&data, "x");
    let failing = place.home().join("tools/failing");
    let text = format!(
        "#!/bin/sh\necho \"Error: EACCES: permission denied, mkdir '{}'\" >&2\nexit 1\n",
        place.home().join(".unlike/sessions").display()
    );
    write(&failing, &text);
    let config = std::fs::read_to_string(place.config()).expect("it is there");
    place.configure(&format!("{config}\n[agents.failing]\ncommand = {failing:?}\n"));
    let doctor = acpd(&place, &["agents", "doctor", "failing"]).stdout;
    for part in [
        "acpd's sandbox lets this agent write only",
        ".unlike/sessions",
        "sandbox = { write = ",
    ] {
        assert!(doctor.contains(part), "{part}: {doctor}");
    }
    let daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let other = daemon.place.home().join("other-data");
    std::fs::create_dir(&other).expect("it is created");
    let says = format!("cat: '{}': Permission denied", other.display());
    let own_command = format!("tool kind=execute status=failed text=\"{says}\"");
    let terminal = format!("terminal cat '{}'", data.display());
    let keys = daemon.place.home().join(".ssh");
    std::fs::create_dir(&keys).expect("it is created");
    // A report may be made up, to have the user open this.
    let says = format!("cat: '{}/id_ed25519': Permission denied", keys.display());
    let made_up = format!("tool kind=execute status=failed text=\"{says}\"");
    let setting = "[agents.fake] sandbox = { read = ";
    for (steps, path, advice) in [
        (terminal, "my-data/x", setting),
        (own_command, "other-data", setting),
        (made_up, ".ssh/id_ed25519", "there are keys or passwords"),
    ] {
        let turn = client.turn(&thread, &steps);
        // The notice is looked up beside the turn.
        let mut seen = turn.messages.iter();
        let seen = seen.find(|message| message.method == "thread/notice").cloned();
        let notice = &seen.unwrap_or_else(|| client.wait_for("thread/notice")).params;
        assert_eq!(notice["code"], "sandboxDenied", "{notice}");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        assert!(text(&notice["message"]).contains(path), "{notice}");
        let detail = text(&notice["detail"]);
        assert!(detail.contains(advice), "{notice}");
        assert_eq!(detail.contains("sandbox = "), advice == setting, "{notice}");
    }
}

/// Returns the notice about a denied path, which is looked up beside its turn.
fn denial(client: &mut Client, turn: &Turn) -> Value {
    let mut seen = turn.messages.iter();
    let seen = seen.find(|message| message.method == "thread/notice").cloned();
    seen.unwrap_or_else(|| client.wait_for("thread/notice"))
        .params
        .clone()
}

fn is_of_system(folder: &Path) -> bool {
    folder.starts_with("/var/lib")
}

#[test]
fn a_denied_folder_is_opened_for_its_thread() {
    let mut daemon = Daemon::at(Place::away(""));
    let home = daemon.place.home().canonicalize().expect("it is there");
    let library = home.join("library");
    write(&library.join("x"), "quince");
    write(&home.join(".ssh/x"), "key");
    symlink(home.join(".ssh"), home.join("alias")).expect("it can be linked");
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let look = format!("terminal cat '{}'", library.join("x").display());
    let turn = client.turn(&thread, &look);
    let notice = denial(&mut client, &turn);
    // Directories of the system stay closed, also where the tests are in one.
    if is_of_system(&library) {
        assert_eq!(
            (&notice["code"], &notice["folder"]),
            (&json!("sandboxDenied"), &Value::Null)
        );
        let add = json!({ "threadId": thread, "directory": library });
        let closed = client.try_call("thread/directories/add", &add).unwrap_err();
        assert!(
            closed.to_string().contains("it belongs to the system"),
            "{closed}"
        );
        return;
    }
    assert_eq!(
        (&notice["code"], &notice["folder"]),
        (&json!("sandboxDenied"), &json!(library)),
        "{notice}"
    );
    let command = format!("acpd add-dir {thread} '{}'", library.display());
    assert!(
        notice["detail"]
            .as_str()
            .is_some_and(|detail| detail.contains(&command)),
        "{notice}"
    );

    let shown = acpd(&daemon.place, &["show", &thread]).stdout;
    assert!(
        shown.contains("! warning: acpd's sandbox") && shown.contains(&command),
        "{shown}"
    );

    let params = |directory: &Path| json!({ "threadId": thread, "directory": directory });
    for (closed, code) in [
        (home.clone(), "forbidden"),
        (PathBuf::from("/"), "forbidden"),
        (PathBuf::from("/etc"), "forbidden"),
        (home.join(".ssh"), "forbidden"),
        (
            daemon.place.data().canonicalize().expect("it is there"),
            "forbidden",
        ),
        (home.join("alias"), "invalid_params"),
        (library.join("../.ssh"), "invalid_params"),
        (library.join("none"), "invalid_params"),
        (library.join("x"), "invalid_params"),
    ] {
        let refused = client.refused("thread/directories/add", &params(&closed));
        assert_eq!(refused["data"]["code"], code, "{}: {refused}", closed.display());
    }
    // The command does not follow a link either, which an agent may have made.
    let alias = home.join("alias");
    let followed = acpd(
        &daemon.place,
        &["add-dir", &thread, alias.to_str().expect("it is text")],
    );
    assert_ne!(followed.code, Some(0), "{}", followed.stdout);
    assert!(followed.stderr.contains("leads to"), "{}", followed.stderr);
    let running = client.start(&thread, "wait ms=600000");
    let refused = client.refused("thread/directories/add", &params(&library));
    assert_eq!(refused["data"]["code"], "conflict", "{refused}");
    client.call("turn/interrupt", &json!({ "threadId": thread }));
    client.finish(&thread, &running);

    let added = acpd(
        &daemon.place,
        &["add-dir", &thread, library.to_str().expect("it is text")],
    );
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    assert!(
        added.stdout.contains(&format!("may use {}", library.display())),
        "{}",
        added.stdout
    );
    let again = acpd(
        &daemon.place,
        &["add-dir", &thread, library.to_str().expect("it is text")],
    );
    assert!(
        again.stdout.contains("already") && !again.stdout.contains("anew"),
        "{}",
        again.stdout
    );
    assert!(client.turn(&thread, &look).said().contains("quince"));
    let read = client.call("thread/read", &json!({ "threadId": thread }));
    assert_eq!(read["thread"]["additionalDirectories"], json!([library]));
    // Another thread of the agent has not got it.
    let other = client.thread(&daemon);
    assert!(!client.turn(&other, &look).said().contains("quince"));

    // What takes its place afterwards is not opened.
    daemon.stop();
    std::fs::rename(&library, home.join("elsewhere")).expect("it can be moved");
    symlink(home.join(".ssh"), &library).expect("it can be linked");
    daemon.restart();
    let mut client = Client::new(&daemon);
    client.resume(&thread, 0);
    let failed = client.turn(&thread, &look);
    assert_eq!((failed.status(), &*failed.said()), ("failed", ""), "{failed:?}");
    assert!(format!("{failed:?}").contains("leads to"), "{failed:?}");
}

#[test]
fn the_owner_allows_a_folder_for_all_threads_of_an_agent() {
    let free = "[agents.free]\ncommand = \"sh\"\nsandbox = \"off\"";
    let daemon = Daemon::at(Place::away(free));
    let home = daemon.place.home().canonicalize().expect("it is there");
    let library = home.join("library");
    write(&library.join("x"), "quince");
    write(&home.join(".ssh/x"), "the secret");
    symlink(home.join(".ssh"), home.join("alias")).expect("it can be linked");
    let mut client = Client::new(&daemon);
    let before = std::fs::read_to_string(daemon.place.config()).expect("it is there");
    let params = |folder: &Path| json!({ "agentType": "fake", "folder": folder });
    for (closed, code) in [
        (home.clone(), "forbidden"),
        (PathBuf::from("/"), "forbidden"),
        (PathBuf::from("/etc"), "forbidden"),
        (home.join(".ssh"), "forbidden"),
        (
            daemon.place.data().canonicalize().expect("it is there"),
            "forbidden",
        ),
        (home.join("alias"), "invalid_params"),
        (PathBuf::from("library"), "invalid_params"),
        (library.join("../.ssh"), "invalid_params"),
        (library.join("none"), "invalid_params"),
    ] {
        let refused = client.refused("config/folder/add", &params(&closed));
        assert_eq!(refused["data"]["code"], code, "{}: {refused}", closed.display());
    }
    let unknown = json!({ "agentType": "none", "folder": library });
    assert_eq!(
        client.refused("config/folder/add", &unknown)["data"]["code"],
        "not_found"
    );
    assert_eq!(
        std::fs::read_to_string(daemon.place.config()).expect("it is there"),
        before
    );
    if is_of_system(&library) {
        return record_not_tested("no folder of the system can be opened for agents");
    }

    let look = format!("terminal cat '{}'", library.join("x").display());
    let thread = client.thread(&daemon);
    assert!(!client.turn(&thread, &look).said().contains("quince"));
    let added = client.call("config/folder/add", &params(&library));
    assert_eq!(added["changed"], true, "{added}");
    assert_eq!(
        client.call("config/folder/add", &params(&library))["changed"],
        false
    );
    let after = std::fs::read_to_string(daemon.place.config()).expect("it is there");
    let entry = format!(", folders = [{:?}]", library.display().to_string());
    assert_eq!(after.replacen(&entry, "", 1), before);
    let later = client.thread(&daemon);
    assert!(client.turn(&later, &look).said().contains("quince"));
    // The agent's own calls reach it as well, and nothing around it.
    let put = |path: &Path| format!("write path='{}' text=apple", path.display());
    let said = client.turn(&later, &put(&library.join("new/y"))).said();
    assert!(said.contains("wrote 5 bytes"), "{said}");
    let said = client.turn(&later, &put(&home.join("y"))).said();
    assert!(!said.contains("wrote") && !home.join("y").exists(), "{said}");
    let said = client.turn(&thread, &put(&library.join("z"))).said();
    assert!(said.contains("outside workspace"), "{said}");

    // What takes its place afterwards is not opened.
    std::fs::rename(&library, home.join("elsewhere")).expect("it can be moved");
    symlink(home.join(".ssh"), &library).expect("it can be linked");
    let led = client.thread(&daemon);
    let said = client.turn(&led, &look).said();
    assert!(!said.contains("the secret"), "{said}");
    let said = client
        .turn(&led, &format!("read path='{}'", library.join("x").display()))
        .said();
    assert!(!said.contains("the secret"), "{said}");
    std::fs::remove_file(&library).expect("it is there");
    std::fs::rename(home.join("elsewhere"), &library).expect("it can be moved");

    // Without a sandbox, there is nothing to allow.
    let free = json!({ "agentType": "free", "folder": library });
    let refused = client.refused("config/folder/add", &free);
    assert_eq!(refused["data"]["code"], "unsupported", "{refused}");
}

#[test]
fn a_path_outside_of_the_thread_is_explained_with_its_folder() {
    let daemon = Daemon::at(Place::away(""));
    let home = daemon.place.home().canonicalize().expect("it is there");
    let library = home.join("library");
    write(&library.join("x"), "quince");
    write(&home.join(".ssh/x"), "key");
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    // Directories of the system stay closed, also where the tests are in one.
    let offered = if is_of_system(&library) {
        Value::Null
    } else {
        json!(library)
    };
    for (file, folder) in [("library/x", offered), (".ssh/x", Value::Null)] {
        let turn = client.turn(&thread, &format!("read path='{}'", home.join(file).display()));
        let seen: Vec<_> = turn
            .messages
            .iter()
            .filter(|message| {
                message.method == "thread/notice" && message.params["code"] == "outsideWorkspace"
            })
            .cloned()
            .collect();
        let notice = match seen.first() {
            Some(seen) => seen.params.clone(),
            None => loop {
                let next = client.wait_for("thread/notice").params.clone();
                if next["code"] == "outsideWorkspace" {
                    break next;
                }
            },
        };
        assert_eq!(notice["folder"], folder, "{notice}");
        assert!(
            notice
                .to_string()
                .contains("only in the directories of its thread"),
            "{notice}"
        );
    }
}
