//! Configured permission policies: the output of "acpd policy test", and reloads in a running daemon.

use serde_json::{Value, json};

use crate::support::{self, Client, Daemon, Place, acpd};

const POLICY: &str = "[policy]\nask = [\"Bash\"]\nallow = [\"Bash(git *)\"]\ndeny = [\"Bash(rm *)\"]\n";

#[test]
fn the_policies_of_the_configuration_can_be_read() {
    let daemon = Daemon::with(
        "[policy]\nbase = \"readonly\"\n[agents.careful]\ncommand = \"true\"\n[agents.careful.policy]\ndeny = [\"Bash(rm:*)\"]\n",
    );
    let mut client = Client::new(&daemon);
    let read = client.call("policy/read", &json!({ "agentType": "careful" }));
    assert_eq!(
        (&read["daemon"]["base"], &read["agent"]["deny"]),
        (&json!("readonly"), &json!(["Bash(rm:*)"]))
    );
    assert_eq!(client.call("policy/read", &json!({}))["agent"], Value::Null);
}

#[test]
fn policy_test_names_the_rule_that_decides() {
    let place = Place::new(POLICY);
    for (line, code, words) in [
        ("git push", 0, ["allow", "Bash(git *)"]),
        ("cargo test", 10, ["ask", "Bash"]),
        ("git status && rm -rf x", 11, ["deny", "Bash(rm *)"]),
    ] {
        let run = acpd(&place, &["policy", "test", "--bash", line]);
        assert_eq!(run.code, Some(code), "{line}: {}{}", run.stdout, run.stderr);
        assert!(
            words.iter().all(|word| run.stdout.contains(word)),
            "{}",
            run.stdout
        );
    }
    let run = acpd(&place, &["policy", "test", "--json", "--bash", "git push"]);
    let explanation: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(explanation["decision"]["rule"], "Bash(git *)");
    let nobody = acpd(&place, &["policy", "test", "--agent", "nobody", "--bash", "ls"]);
    assert_eq!(nobody.code, Some(5));
    assert!(
        nobody.stderr.contains("agent \"nobody\" does not exist"),
        "{}",
        nobody.stderr
    );
    let nothing = acpd(&place, &["policy", "test"]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.stderr);
}

#[test]
fn policy_test_looks_up_where_a_program_is() {
    let place = Place::new("[policy]\nallow = [\"Bash(./tool *)\", \"Bash(./link *)\", \"Bash(./bin/*)\"]\n");
    std::fs::write(place.work().join("tool"), "").unwrap();
    std::fs::create_dir(place.work().join("bin")).unwrap();
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, place.work().join(name)).unwrap();
    link("tool", "link");
    link("/usr/bin/env", "bin/out");
    link("round", "round");
    link("/usr/bin", "dir");
    let work = place.work().display().to_string();
    for (line, code) in [
        ("./tool a", 0),
        ("./link a", 0),
        ("bin/../tool a", 0),
        ("bin/out", 10),
        ("./round a", 10),
        ("dir/../tool a", 10),
    ] {
        let run = acpd(&place, &["policy", "test", "--cwd", &work, "--bash", line]);
        assert_eq!(run.code, Some(code), "{line}: {}{}", run.stdout, run.stderr);
    }
}

#[test]
fn policy_test_says_which_files_are_reserved() {
    let place = Place::new("[policy]\nbase = \"permissive\"\n");
    let data = place.data();
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(data.join("token"), "x").unwrap();
    std::os::unix::fs::symlink(&data, place.work().join("link")).unwrap();
    let work = place.work().display().to_string();
    for path in [
        data.join("token"),
        data.join("new"),
        data.clone(),
        place.work().join("link/token"),
        place.config(),
    ] {
        let path = path.display().to_string();
        for what in ["--read", "--write"] {
            let run = acpd(&place, &["policy", "test", "--cwd", &work, what, &path]);
            assert_eq!(run.code, Some(11), "{path}: {}{}", run.stdout, run.stderr);
            assert!(run.stdout.contains("reserved"), "{}", run.stdout);
        }
    }
    let beside = place.work().join("a").display().to_string();
    assert_eq!(
        acpd(&place, &["policy", "test", "--write", &beside]).code,
        Some(0)
    );
}

#[test]
fn an_explanation_reveals_nothing_of_the_disk_without_the_role() {
    let daemon = Daemon::start();
    let mut owner = Client::new(&daemon);
    let thread = owner.thread(&daemon);
    let work = daemon.place.work();
    std::fs::write(work.join("a"), "").unwrap();
    std::os::unix::fs::symlink("a", work.join("in")).unwrap();
    std::os::unix::fs::symlink("/usr/bin/env", work.join("out")).unwrap();
    std::os::unix::fs::symlink("/no/such/file", work.join("broken")).unwrap();
    let explained = |client: &mut Client, path: &str| {
        let call = json!({ "kind": "read", "rawInput": { "path": path } });
        let explanation = client.call("policy/explain", &json!({ "threadId": thread, "toolCall": call }));
        let subjects = explanation["subjects"].as_array().unwrap();
        let subjects = subjects
            .iter()
            .map(|subject| subject["decision"]["subject"].as_str().unwrap());
        subjects
            .map(|subject| subject.replace(path, "PATH"))
            .collect::<Vec<_>>()
    };
    for role in ["observer", "approver", "operator"] {
        let made = acpd(
            &daemon.place,
            &["token", "create", "--name", role, "--role", role],
        );
        let mut client = Client::with_token(&daemon, made.stdout.trim());
        let is_told = role == "operator";
        // A client without file details must not learn where these paths lead, or whether they exist.
        for path in [
            "/proc/self/exe",
            "/proc/self/cwd",
            "/usr/bin/sh",
            "/no/such/file",
            &daemon.place.data().join("token").display().to_string(),
            &work.join("out").display().to_string(),
            &work.join("broken").display().to_string(),
            &work.join("../elsewhere").display().to_string(),
        ] {
            let subjects = explained(&mut client, path);
            let nothing = subjects.len() == 2 && subjects[1] == "reading an unknown file";
            assert!(nothing || is_told, "{role} {path}: {subjects:?}");
        }
        let inside = explained(&mut client, &work.join("in").display().to_string());
        assert_eq!(
            inside[1],
            format!("reading {}", work.join("a").display()),
            "{role}"
        );
    }
    assert!(explained(&mut owner, "/proc/self/exe")[1].contains("/acpd"));
}

#[test]
fn a_wrong_rule_is_named_and_the_daemon_does_not_start() {
    let place = Place::new("[policy]\nallow = [\"Bash(git\"]\n");
    let run = acpd(&place, &["policy", "test", "--bash", "ls"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("Bash(git"), "{}", run.stderr);
}

#[test]
fn a_running_daemon_takes_another_policy() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let call = json!({ "kind": "execute", "rawInput": { "command": "ls" } });
    let params = json!({ "threadId": thread, "toolCall": call });
    let effect = |client: &mut Client| client.call("policy/explain", &params)["decision"]["effect"].clone();
    assert_eq!(effect(&mut client), "ask");
    let config = std::fs::read_to_string(daemon.place.config()).unwrap();
    std::fs::write(daemon.place.config(), format!("policy = \"readonly\"\n{config}")).unwrap();
    support::wait_until("the new policy is taken", || {
        daemon.log().contains("reloaded policies")
    });
    assert_eq!(effect(&mut client), "deny");
    // An invalid file changes nothing.
    std::fs::write(
        daemon.place.config(),
        format!("policy = \"permissive\nx\n{config}"),
    )
    .unwrap();
    support::wait_until("the daemon has looked", || {
        daemon.log().contains("configuration not reloaded")
    });
    assert_eq!(effect(&mut client), "deny");
    let own = json!({ "threadId": thread, "policy": { "base": "permissive" } });
    client.call("thread/policy/set", &own);
    assert_eq!(
        effect(&mut client),
        "deny",
        "a thread cannot undo a deny of the daemon"
    );
}

#[test]
fn a_configuration_that_comes_later_is_taken_with_agents_that_are_new_in_it() {
    let mut daemon = Daemon::demo();
    let mut client = Client::new(&daemon);
    let start = json!({ "agentType": "demo", "cwd": daemon.place.work() });
    let thread = client.call("thread/start", &start)["thread"]["id"].clone();
    let call = json!({ "kind": "execute", "rawInput": { "command": "ls" } });
    let params = json!({ "threadId": thread, "toolCall": call });
    let decision = |client: &mut Client| client.call("policy/explain", &params)["decision"].clone();
    assert_eq!(decision(&mut client)["effect"], "ask");
    let file = daemon.place.home_config();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(
        &file,
        "[agents.demo]\ncommand = \"x\"\npolicy = { deny = [\"Bash\"] }\n",
    )
    .unwrap();
    support::wait_until("the new policy is taken", || {
        daemon.log().contains("reloaded policies")
    });
    let now = decision(&mut client);
    assert_eq!((&now["effect"], &now["scope"]), (&json!("deny"), &json!("agent")));
    daemon.stop();
}

/// Makes `work/link` a link to `work/secret/f`.
fn link(place: &Place) {
    std::fs::create_dir(place.work().join("secret")).expect("the work directory can be written");
    std::fs::write(place.work().join("secret/f"), "old").expect("the work directory can be written");
    std::os::unix::fs::symlink("secret/f", place.work().join("link"))
        .expect("the work directory can be written");
}

#[test]
fn an_answer_for_an_agent_outlives_its_threads_and_can_be_revoked() {
    let daemon = Daemon::with("[policy]\nask = [\"Bash\"]\n");
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let ask = "permission kind=execute command=\"make all\"";
    let turn = client.start(&thread, ask);
    approve(&mut client, true, "agent");
    let answer = client.wait_for("policy/remembered").params["answer"].clone();
    assert_eq!(client.finish(&thread, &turn).status(), "completed");
    client.call("thread/delete", &json!({ "threadId": thread }));
    let list =
        |client: &mut Client, params: Value| client.call("agent/remembered/list", &params)["data"].clone();
    let expected = json!([{ "agentType": "fake", "answers": [answer] }]);
    assert_eq!(list(&mut client, json!({})), expected);
    assert_eq!(list(&mut client, json!({ "agentType": "fake" })), expected);
    assert_eq!(list(&mut client, json!({ "agentType": "other" })), json!([]));
    let shown = acpd(&daemon.place, &["policy", "answers"]);
    assert!(
        ["fake", "allow", "Bash(make all)"]
            .iter()
            .all(|word| shown.stdout.contains(word)),
        "{}{}",
        shown.stdout,
        shown.stderr
    );
    let json = acpd(&daemon.place, &["policy", "answers", "--agent", "fake", "--json"]);
    let line: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&line["agentType"], &line["id"]), (&json!("fake"), &answer["id"]));
    let id = answer["id"].to_string();
    let revoke = ["policy", "revoke", "fake", &id];
    assert_eq!(acpd(&daemon.place, &revoke).code, Some(0));
    assert_eq!(list(&mut client, json!({})), json!([]));
    assert_eq!(acpd(&daemon.place, &revoke).code, Some(5), "it is gone");
    // A thread that starts now asks again.
    let thread = client.thread(&daemon);
    let turn = client.start(&thread, ask);
    approve(&mut client, false, "session");
    assert!(client.finish(&thread, &turn).said().starts_with("rejected"));
}

#[test]
fn links_do_not_bypass_deny_rules() {
    let daemon =
        Daemon::with("[policy]\ndeny = [\"Edit(secret/**)\", \"Read(secret/**)\"]\nallow = [\"Edit\"]\n");
    link(&daemon.place);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    for (text, expected) in [
        ("write path=link text=new", "not allowed here"),
        ("read path=link", "not allowed here"),
        ("permission kind=edit path=link", "rejected"),
        ("write path=free text=new", "wrote 3 bytes"),
        ("read path=free", "read 3 bytes: new"),
    ] {
        let turn = client.turn(&thread, text);
        assert!(turn.said().contains(expected), "{text}: {}", turn.said());
    }
    let secret = || std::fs::read_to_string(daemon.place.work().join("secret/f")).unwrap();
    assert_eq!(secret(), "old");
    // The target decides, not the fact that it is a link.
    std::fs::remove_file(daemon.place.work().join("link")).unwrap();
    std::os::unix::fs::symlink("free", daemon.place.work().join("link")).unwrap();
    let turn = client.turn(&thread, "write path=link text=more");
    assert_eq!(turn.said(), "wrote 4 bytes");
    assert_eq!(
        std::fs::read_to_string(daemon.place.work().join("free")).unwrap(),
        "more"
    );
    let link = daemon.place.work().join("link");
    assert!(link.is_symlink(), "the link stays");
    let call = json!({ "kind": "edit", "rawInput": { "path": "link" } });
    let explanation = client.call("policy/explain", &json!({ "threadId": thread, "toolCall": call }));
    let subjects = explanation["subjects"].as_array().unwrap();
    assert_eq!(subjects.len(), 2, "{explanation}");
}

#[test]
fn policy_test_looks_where_a_link_leads() {
    let place = Place::new("[policy]\ndeny = [\"Edit(secret/**)\"]\nallow = [\"Edit\"]\n");
    link(&place);
    let run = acpd(&place, &["policy", "test", "--write", "link"]);
    assert_eq!(run.code, Some(11), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("secret/f"), "{}", run.stdout);
    let run = acpd(&place, &["policy", "test", "--write", "free"]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
}

/// Answers the next question.
fn approve(client: &mut Client, approved: bool, scope: &str) {
    let asked = client.question();
    let answer = json!({ "requestId": asked.params["requestId"], "approved": approved, "scope": scope });
    client.call("item/approve", &answer);
}

#[test]
fn an_answer_for_the_agent_holds_in_every_thread_and_after_a_restart() {
    let mut daemon = Daemon::with("[policy]\nask = [\"Bash\"]\n");
    let mut client = Client::new(&daemon);
    let (one, other) = (client.thread(&daemon), client.thread(&daemon));
    let ask = "permission kind=execute command=\"make all\"";
    let turn = client.start(&one, ask);
    approve(&mut client, true, "agent");
    let explanation = client.wait_for("policy/remembered").params["answer"].clone();
    let (id, rule) = (explanation["id"].clone(), &explanation["rule"]);
    assert_eq!(
        (&explanation["scope"], rule),
        (&json!("agent"), &json!("Bash(make all)"))
    );
    // The answer applies in the directory that the question named.
    let cwd = explanation["cwd"].as_str().expect("a directory");
    assert_eq!(
        acpd(
            &daemon.place,
            &[
                "policy", "test", "--agent", "fake", "--cwd", cwd, "--bash", "make all"
            ]
        )
        .code,
        Some(0)
    );
    assert_eq!(
        acpd(
            &daemon.place,
            &[
                "policy", "test", "--agent", "fake", "--cwd", "/", "--bash", "make all"
            ]
        )
        .code,
        Some(10)
    );
    assert_eq!(client.finish(&one, &turn).status(), "completed");
    // The other thread asks no question, and the log records why.
    let turn = client.turn(&other, ask);
    assert_eq!(turn.said(), "allowed (allow_once)");
    assert_eq!(turn.one("serverRequest/resolved").params["by"]["scope"], "agent");
    let list = |client: &mut Client, thread: &str| {
        client.call("policy/remembered/list", &json!({ "threadId": thread }))["data"].clone()
    };
    assert_eq!(list(&mut client, &other), json!([explanation]));
    let test = [
        "policy", "test", "--agent", "fake", "--cwd", cwd, "--bash", "make all",
    ];
    assert_eq!(acpd(&daemon.place, &test).code, Some(0));

    daemon.kill();
    daemon.restart();
    let mut client = Client::new(&daemon);
    let third = client.thread(&daemon);
    assert_eq!(client.turn(&third, ask).said(), "allowed (allow_once)");
    // Revoking it in a thread that did not create it removes it from all threads.
    let revoke = json!({ "threadId": third, "id": id });
    client.call("policy/remembered/revoke", &revoke);
    assert_eq!(list(&mut client, &other), json!([]));
    assert_eq!(
        client.refused("policy/remembered/revoke", &revoke)["data"]["code"],
        "not_found"
    );
    let turn = client.start(&third, ask);
    approve(&mut client, false, "thread");
    assert!(client.finish(&third, &turn).said().starts_with("rejected"));
    assert_eq!(acpd(&daemon.place, &test).code, Some(10));
}
