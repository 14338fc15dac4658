//! Notifications of the real daemon: what real receivers get, also when they are down, or the daemon is killed.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::{Value, json};

use crate::support::{Client, Daemon, Place, Posted, Receiver, acpd, free_port, wait_until};

const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// In the title of a thread, which is the beginning of its prompt.
const PLANTED: &str = "say planted-prompt";

/// Verifies the signature as a receiver does.
fn is_signed(posted: &Posted) -> bool {
    let key = STANDARD
        .decode(KEY.strip_prefix("whsec_").expect("it has a prefix"))
        .expect("it is base64");
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let mut signed = format!(
        "{}.{}.",
        posted.header("webhook-id"),
        posted.header("webhook-timestamp")
    )
    .into_bytes();
    signed.extend_from_slice(&posted.body);
    let signature = posted.header("webhook-signature").strip_prefix("v1,");
    let signature = signature.and_then(|text| STANDARD.decode(text).ok());
    signature.is_some_and(|signature| hmac::verify(&key, &signed, &signature).is_ok())
}

fn webhook(name: &str, address: SocketAddr, more: &str) -> String {
    format!(
        "[notifications.targets.{name}]\ntype = \"webhook\"\nurl = \"http://{address}/hook\"\nsecret = \"{KEY}\"\n{more}\n"
    )
}

fn waits_at_once(targets: &str) -> String {
    format!("[notifications]\nwaiting_secs = 0\n{targets}")
}

#[test]
fn a_webhook_is_signed_and_has_ids_and_outcomes_and_nothing_of_the_thread() {
    let receiver = Receiver::start();
    let daemon = Daemon::with(&waits_at_once(&webhook("box", receiver.address, "")));
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, PLANTED);
    let [done] = receiver.wait_for(1).try_into().expect("one request");
    assert!(is_signed(&done), "{done:?}");
    let id = format!("ntf_{}_turn_1_done_box", thread.replace('-', ""));
    assert_eq!((&*done.path, done.header("webhook-id")), ("/hook", &*id));
    let json = done.json();
    assert_eq!(json["type"], "done");
    assert_eq!(
        json["data"],
        json!({
            "id": id,
            "url": format!("http://{}/threads/{thread}", daemon.address()),
            "threadId": thread,
            "agentType": "fake",
            "turnId": "turn_1",
            "status": "completed",
            "stopReason": "end_turn",
        })
    );

    client.turn(&thread, "error message=planted-error");
    let failed = receiver.wait_for(2)[1].json();
    assert_eq!(
        (&failed["type"], &failed["data"]["status"]),
        (&json!("failed"), &json!("failed"))
    );

    let turn = client.start(&thread, "permission");
    let question = client.question();
    let waiting = receiver.wait_for(3)[2].json();
    assert_eq!(waiting["type"], "waiting");
    assert_eq!(waiting["data"]["requestId"], question.params["requestId"]);
    client.call("turn/interrupt", &json!({ "threadId": thread, "turnId": turn }));
    client.finish(&thread, &turn);

    // A turn that a client interrupts is no news to anyone; the next one is.
    client.turn(&thread, "say end");
    let all = receiver.wait_for(4);
    assert_eq!(all[3].json()["data"]["turnId"], "turn_4");
    for posted in &all {
        assert!(is_signed(posted));
        let text = String::from_utf8_lossy(&posted.body);
        let work = daemon.place.work().display().to_string();
        assert!(!text.contains("planted") && !text.contains(&work), "{text}");
    }
    wait_until("the last result has arrived", || {
        let status = acpd(&daemon.place, &["status"]).stdout;
        status.contains("notifications: 1 target, 0 waiting\n")
    });
}

#[test]
fn a_receiver_on_this_host_is_not_reached_through_a_proxy() {
    let receiver = Receiver::start();
    let nobody = format!("http://{}", free_port());
    let place = Place::new(&webhook("box", receiver.address, ""))
        .with_env("ALL_PROXY", &nobody)
        .with_env("HTTP_PROXY", &nobody);
    let daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say end");
    assert_eq!(receiver.wait_for(1)[0].json()["data"]["threadId"], thread);
}

#[test]
fn a_receiver_that_was_down_gets_each_notification_once_also_after_kill() {
    let address = free_port();
    let mut daemon = Daemon::with(&webhook("box", address, ""));
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say one");
    // With the notification in the file, or still on its way there: the log has the turn in both cases.
    daemon.kill();
    daemon.restart();
    let mut client = Client::new(&daemon);
    client.resume(&thread, 0);
    client.turn(&thread, "say two");
    wait_until("the daemon has noticed", || {
        daemon.log().contains("was not delivered")
    });
    daemon.kill();

    let receiver = Receiver::at(address);
    daemon.restart();
    let mut turns: Vec<_> = receiver
        .wait_for(2)
        .iter()
        .map(|posted| posted.json()["data"]["turnId"].clone())
        .collect();
    turns.sort_by_key(Value::to_string);
    assert_eq!(turns, ["turn_1", "turn_2"]);
    // Another start delivers nothing again.
    daemon.stop();
    daemon.restart();
    let mut client = Client::new(&daemon);
    client.resume(&thread, 0);
    client.turn(&thread, "say three");
    assert_eq!(receiver.wait_for(3)[2].json()["data"]["turnId"], "turn_3");
}

#[test]
fn a_turn_that_never_reached_the_file_is_found_in_the_log_and_a_fork_repeats_nothing() {
    let address = free_port();
    let mut daemon = Daemon::with(&webhook("box", address, ""));
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say one");
    client.turn(&thread, "say two");
    client.call("thread/fork", &json!({ "threadId": thread }));
    daemon.stop();
    // As a daemon leaves it that is killed before it has written anything.
    let file = daemon.place.data().join("notifications.json");
    let mode = file.metadata().expect("there is one").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(&file).expect("it can be read");
    assert!(text.contains("turn_1") && text.contains("turn_2"), "{text}");
    assert!(!text.contains("say"), "{text}");
    let empty = r#"{"version":1,"since":0,"threads":{},"waiting":[]}"#;
    std::fs::write(&file, empty).expect("it can be written");
    let receiver = Receiver::at(address);
    daemon.restart();
    let posted = receiver.wait_for(2);
    let turns: Vec<_> = posted
        .iter()
        .map(|posted| posted.json()["data"]["turnId"].clone())
        .collect();
    assert_eq!(turns, ["turn_1", "turn_2"]);
    // The next one is the last, so there was none of the fork in between.
    let mut client = Client::new(&daemon);
    client.resume(&thread, 0);
    client.turn(&thread, "say three");
    assert_eq!(receiver.wait_for(3)[2].json()["data"]["turnId"], "turn_3");
}

#[test]
fn a_turn_that_a_kill_interrupts_is_a_failure() {
    let receiver = Receiver::start();
    let mut daemon = Daemon::with(&webhook("box", receiver.address, "on = [\"failed\"]"));
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.start(&thread, "slow");
    client.wait_for("turn/started");
    daemon.kill();
    daemon.restart();
    let failed = receiver.wait_for(1)[0].json();
    assert_eq!(
        (&failed["type"], &failed["data"]["status"]),
        (&json!("failed"), &json!("interrupted"))
    );
}

#[test]
fn a_question_that_is_answered_in_time_is_not_sent() {
    let receiver = Receiver::start();
    let config = format!(
        "[notifications]\nwaiting_secs = 3600\n{}",
        webhook("box", receiver.address, "")
    );
    let daemon = Daemon::with(&config);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.start(&thread, "permission");
    let question = client.question();
    client.respond(&question, &json!({ "decision": "accept" }));
    client.finish(&thread, &turn);
    assert_eq!(receiver.wait_for(1)[0].json()["type"], "done");
}

#[test]
fn a_receiver_that_never_accepts_is_left_alone_and_a_wrong_one_can_be_corrected() {
    let receiver = Receiver::start();
    receiver.answers(410);
    let daemon = Daemon::with(&webhook("box", receiver.address, "on = [\"done\"]"));
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say one");
    wait_until("the daemon gives up", || {
        daemon.log().contains("gave up on a notification")
    });
    receiver.wait_for(1);
    // The path is wrong, and corrected while the daemon runs: what waited is delivered at once.
    receiver.answers(404);
    client.turn(&thread, "say two");
    receiver.wait_for(2);
    let listed = || acpd(&daemon.place, &["notifications", "list", "--json"]).stdout;
    wait_until("it fails", || {
        listed().contains("\"error\":\"the answer is 404\"")
    });
    let state: Value = serde_json::from_str(&listed()).expect("it is JSON");
    assert_eq!(
        (&state["type"], &state["waiting"]),
        (&json!("webhook"), &json!(1))
    );
    receiver.answers(200);
    let more = webhook("box", receiver.address, "on = [\"done\"]\n").replace("/hook", "/right");
    let config = std::fs::read_to_string(daemon.place.config()).expect("there is one");
    let (agents, _) = config.split_once("[notifications").expect("it has targets");
    daemon.place.configure(&format!("{agents}{more}"));
    let posted = receiver.wait_for(3);
    assert_eq!(posted[2].path, "/right");
    assert_eq!(posted[2].header("webhook-id"), posted[1].header("webhook-id"));
    let log = daemon.log();
    assert!(!log.contains("/hook") && !log.contains("MfKQ9r8"), "{log}");
}

#[test]
fn a_program_gets_the_notification_on_stdin_and_in_variables_without_a_shell() {
    let place = Place::new("");
    let script = place.home().join("notify");
    let out = place.home().join("out");
    // The arguments show that no shell reads them, and the environment that it has no more of ours than others.
    std::fs::write(
        &script,
        format!(
            "#!/bin/sh\n{{ cat; echo \"$1\"; echo \"$ACPD_NOTIFICATION_TYPE $ACPD_THREAD_ID\"; echo \"token:$ACPD_TOKEN\"; pwd; }} > {0}.new\nmv {0}.new {0}\n",
            out.display()
        ),
    )
    .expect("it can be written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).expect("it can be changed");
    let target = format!(
        "[notifications.targets.script]\ntype = \"command\"\ncommand = {:?}\nargs = [\"$(touch /tmp/x); a b\"]\non = [\"done\"]\n",
        script.display().to_string()
    );
    let config = std::fs::read_to_string(place.config()).expect("there is one");
    place.configure(&format!("{config}\n{target}"));
    let daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, PLANTED);
    wait_until("the program has run", || out.exists());
    let written = std::fs::read_to_string(&out).expect("it can be read");
    let lines: Vec<&str> = written.lines().collect();
    let json: Value = serde_json::from_str(lines[0]).expect("it is JSON");
    assert_eq!(json["data"]["threadId"], thread);
    assert_eq!(
        lines[1..],
        ["$(touch /tmp/x); a b", &format!("done {thread}"), "token:", "/"]
    );
}

#[test]
fn a_program_that_hangs_is_ended_with_all_that_it_started() {
    let mut config = String::new();
    let _ = write!(
        config,
        "[notifications.targets.hangs]\ntype = \"command\"\ncommand = \"sh\"\nargs = [\"-c\", \"sleep 1234567 & sleep \
         1234567\"]\ntimeout_secs = 1\n[notifications.targets.fails]\ntype = \"command\"\ncommand = \"false\"\n"
    );
    let daemon = Daemon::with(&config);
    let tested = acpd(&daemon.place, &["notifications", "test"]);
    assert_eq!(tested.code, Some(1), "{tested:?}");
    assert!(
        tested
            .stdout
            .contains("hangs: failed: the program did not end within 1 seconds and was terminated"),
        "{tested:?}"
    );
    assert!(
        tested.stdout.contains("fails: failed: false exited with code 1"),
        "{tested:?}"
    );
    let found = std::process::Command::new("pgrep")
        .args(["-f", "sleep 1234567"])
        .output()
        .expect("pgrep runs");
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "some process is left");
}

#[test]
fn an_ntfy_topic_gets_a_message_that_opens_the_thread() {
    let receiver = Receiver::start();
    let place = Place::new("");
    let token = place.home().join("token");
    std::fs::write(&token, "tk_planted\n").expect("it can be written");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).expect("it can be changed");
    let config = std::fs::read_to_string(place.config()).expect("there is one");
    place.configure(&format!(
        "{config}\n[notifications]\nurl = \"https://box.example:4127\"\n[notifications.targets.phone]\ntype = \
         \"ntfy\"\nurl = \"http://{}/planted-topic\"\ntoken_file = \"token\"\ncontent = \"detailed\"\n",
        receiver.address
    ));
    let daemon = Daemon::at(place);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say hello");
    let [posted] = receiver.wait_for(1).try_into().expect("one request");
    assert_eq!(
        (&*posted.path, posted.header("authorization")),
        ("/", "Bearer tk_planted")
    );
    let work = daemon.place.work().display().to_string();
    assert_eq!(
        posted.json(),
        json!({
            "topic": "planted-topic",
            "title": "fake is done",
            "message": format!("say hello\nin {work}"),
            "click": format!("https://box.example:4127/threads/{thread}"),
            "priority": 3,
            "tags": ["white_check_mark"],
        })
    );
    let tested = acpd(&daemon.place, &["notifications", "test", "phone"]);
    assert_eq!(tested.stdout, "phone: delivered\n", "{tested:?}");
    let test = receiver.wait_for(2)[1].json();
    assert_eq!(test["title"], "Test notification");
    // A file that others can read is not used, and the error names the file alone.
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).expect("it can be changed");
    let tested = acpd(&daemon.place, &["notifications", "test", "phone"]);
    assert!(tested.stdout.contains("other users can use it"), "{tested:?}");
    let unknown = acpd(&daemon.place, &["notifications", "test", "tablet"]);
    assert_eq!(unknown.code, Some(5), "{unknown:?}");
    let shown = acpd(&daemon.place, &["config", "show"]);
    assert!(!shown.stdout.contains("planted-topic"), "{}", shown.stdout);
    assert!(!daemon.log().contains("planted"), "{}", daemon.log());
}
