//! `acpd attach`, as a person at a terminal sees it.

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Client, Daemon, Place, Screen, acpd, on_terminal, outcome, signal, wait_until};

const ENTER: &str = "\r";
const HOME: &str = "\u{1b}[H";
const CTRL_D: &str = "\u{4}";
const ALT_1: &str = "\u{1b}1";

fn attached(place: &Place, thread: &str) -> Screen {
    let screen = Screen::start(&place.command(&["attach", thread]), 80, 24);
    screen.wait_for("Prompt");
    screen
}

/// Types a prompt and sends it.
fn send(screen: &Screen, text: &str) {
    screen.press(text);
    screen.wait_for(text);
    screen.press(ENTER);
}

#[test]
fn a_thread_is_followed_answered_prompted_and_interrupted() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say the beginning");
    let screen = attached(&daemon.place, &thread[28..]);
    screen.wait_for("the beginning");
    assert!(screen.has_colors());

    // The answer of another client's turn, piece by piece.
    client.start(&thread, "steered\nsay never");
    screen.wait_for("● running");
    send(&screen, "say queued");
    screen.wait_for("queued: say queued");
    screen.press("\u{1b}");
    screen.wait_for("Esc again interrupts");
    screen.press("\u{1b}");
    screen.wait_for("── interrupted");
    screen.wait_until("the queued turn", |text| {
        text.contains("\nqueued\n") && text.contains("○ idle")
    });

    // A question, answered here.
    send(&screen, "permission command=\"rm -r x\"");
    screen.wait_for("$ rm -r x");
    screen.wait_for("1) Allow once");
    // Alt with a digit, which a terminal may also send for Esc and the digit, only chooses.
    screen.press(ALT_1);
    screen.wait_for("› 1) Allow once");
    screen.wait_until("the answer", |text| {
        // The key counts only after the question was in sight for a moment.
        screen.press(ENTER);
        text.contains("allowed (allow_once)")
    });
    screen.wait_for("✓ allowed by owner (acpd-cli)");

    // And one, answered elsewhere.
    send(&screen, "permission command=\"rm -r y\"");
    screen.wait_for("$ rm -r y");
    let read = client.call("thread/read", &json!({ "threadId": thread }));
    let open = &read["thread"]["pendingRequestIds"][0];
    client.call("item/approve", &json!({ "requestId": open, "approved": false }));
    screen.wait_for("✗ declined by owner");
    screen.wait_until("no question", |text| !text.contains("─ Question"));

    // Detaching leaves the turn running.
    send(&screen, "wait ms=60000");
    screen.wait_for("● running");
    screen.press(CTRL_D);
    let (status, text) = screen.finish();
    assert_eq!(status.code(), Some(0), "{text}");
    // The command to come back names the data directory, and may take two lines.
    let said = text.replace('\n', "");
    assert!(
        said.contains("detached; the turn keeps running; come back: acpd attach")
            && said.contains(&thread[28..]),
        "{text}"
    );
    let read = client.call("thread/read", &json!({ "threadId": thread }));
    assert_eq!(read["thread"]["status"], "running");
}

#[test]
fn a_question_from_before_is_shown_and_answered() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.start(&thread, "permission command=\"rm -r z\"");
    wait_until("the agent asks", || {
        let read = client.call("thread/read", &json!({ "threadId": thread }));
        read["thread"]["pendingRequestIds"][0].is_string()
    });
    let screen = attached(&daemon.place, &thread);
    screen.wait_for("$ rm -r z");
    screen.press(ALT_1);
    screen.wait_for("› 1) Allow once");
    screen.wait_until("the answer", |text| {
        // The key counts only after the question was in sight for a moment.
        screen.press(ENTER);
        text.contains("allowed (allow_once)")
    });
    screen.wait_for("✓ allowed by owner (acpd-cli)");
    screen.press(CTRL_D);
    assert_eq!(screen.finish().0.code(), Some(0));
}

#[test]
fn a_restart_of_the_daemon_loses_nothing_and_repeats_nothing() {
    let mut daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say first");
    let screen = attached(&daemon.place, &thread);
    send(&screen, "say second");
    screen.wait_until("the answer", |text| {
        text.contains("\nsecond\n") && text.contains("○ idle")
    });
    drop(client);
    daemon.kill();
    screen.wait_for("reconnecting…");
    screen.press("say kept");
    screen.wait_for("say kept");
    screen.press(ENTER);
    daemon.restart();
    let mut client = Client::new(&daemon);
    client.resume(&thread, 0);
    client.turn(&thread, "say third");
    screen.wait_until("the third answer", |text| {
        text.contains("\nthird\n") && !text.contains("reconnecting")
    });
    let text = screen.text();
    for once in ["\nfirst\n", "\nsecond\n", "\nthird\n", "> say third"] {
        assert_eq!(text.matches(once).count(), 1, "{once:?}:\n{text}");
    }
    // A prompt that was not sent is still there.
    assert!(text.contains("\nsay kept\n"), "{text}");
    screen.press(ENTER);
    screen.wait_for("> say kept");
    screen.press("\u{3}");
    screen.press("\u{3}");
    assert_eq!(screen.finish().0.code(), Some(0));
}

#[test]
fn older_turns_are_loaded_as_the_user_scrolls_up() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    for number in 1..=50 {
        client.turn(&thread, &format!("say number-{number}."));
    }
    let screen = attached(&daemon.place, &thread);
    screen.wait_for("number-50.");
    assert!(!screen.text().contains("number-30."));
    screen.press("\u{6}number-7.");
    screen.wait_for("─ Search");
    screen.press(ENTER);
    screen.wait_for("> say number-7.");
    screen.press("\u{1b}");
    screen.wait_for("Ctrl+F search");
    screen.press(HOME);
    screen.wait_for("> say number-1.");
    screen.press("\u{1b}[F");
    screen.wait_for("number-50.");
    // The window changes its size.
    screen.resize(50, 12);
    screen.wait_until("a narrow picture", |text| {
        text.lines().all(|line| line.chars().count() <= 50) && text.contains("number-50.")
    });
    screen.resize(30, 5);
    screen.wait_for("too small");
    screen.press(CTRL_D);
    screen.finish();
}

#[test]
fn the_terminal_is_given_back_whatever_happens() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say hello");
    let screen = attached(&daemon.place, &thread);
    assert!(!screen.is_restored());
    signal(screen.pid(), Signal::TSTP);
    wait_until("it gives the terminal back to a shell", || screen.is_restored());
    signal(screen.pid(), Signal::CONT);
    wait_until("it takes the terminal again", || !screen.is_restored());
    screen.wait_for("hello");
    signal(screen.pid(), Signal::TERM);
    let (status, text) = screen.finish();
    assert_eq!(status.code(), Some(0), "{text}");
    assert!(text.contains("detached"), "{text}");

    // A thread that is deleted, and one that does not exist.
    let screen = attached(&daemon.place, &thread);
    client.call("thread/delete", &json!({ "threadId": thread }));
    screen.wait_for("✗ deleted");
    screen.press(CTRL_D);
    assert_eq!(screen.finish().0.code(), Some(0));
    let screen = Screen::start(&daemon.place.command(&["attach", &thread]), 80, 24);
    let (status, text) = screen.finish();
    assert_eq!(status.code(), Some(5), "{text}");
}

#[test]
fn a_remote_daemon_is_followed_like_an_own_one() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say hello");
    let url = format!("http://{}", daemon.address());
    let elsewhere = Place::new("");
    let mut command = elsewhere.command(&["attach", &thread, "--connect", &url]);
    command.env("ACPD_TOKEN", daemon.place.token());
    let screen = Screen::start(&command, 80, 24);
    screen.wait_for("hello");
    send(&screen, "say far");
    screen.wait_until("the answer", |text| text.contains("\nfar\n"));
    screen.press(CTRL_D);
    let (_, text) = screen.finish();
    assert!(
        text.replace('\n', "").contains(&format!("--connect {url}")),
        "{text}"
    );
}

#[test]
fn colours_are_the_users_choice() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say hello");
    let mut command = daemon.place.command(&["attach", &thread]);
    for _ in 0..2 {
        command.env("NO_COLOR", "1");
        let screen = Screen::start(&command, 80, 24);
        screen.wait_for("hello");
        assert!(!screen.has_colors());
        screen.press(CTRL_D);
        screen.finish();
        command = daemon.place.command(&["attach", &thread, "--color", "never"]);
    }
}

#[test]
fn without_a_terminal_it_says_what_works_there() {
    let daemon = Daemon::start();
    let piped = acpd(&daemon.place, &["attach", "@last"]);
    assert_eq!(piped.code, Some(2));
    assert!(
        piped.stderr.contains("needs a terminal") && piped.stderr.contains("acpd show @last"),
        "{}",
        piped.stderr
    );
    let mut dumb = daemon.place.command(&["attach", "@last"]);
    dumb.env("TERM", "dumb");
    let dumb = outcome(&mut on_terminal(&dumb));
    assert_eq!(dumb.code, Some(2));
    assert!(dumb.stdout.contains("TERM says"), "{}", dumb.stdout);
}

#[test]
fn an_agent_cannot_drive_the_terminal() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say a\u{1b}]0;stolen\u{7}\u{9b}2Jb");
    let screen = attached(&daemon.place, &thread);
    screen.wait_for("stolen");
    let bytes = String::from_utf8_lossy(&screen.bytes()).into_owned();
    assert!(
        !bytes.contains("\u{1b}]0;") && !bytes.contains('\u{7}'),
        "{bytes:?}"
    );
    screen.press(CTRL_D);
    screen.finish();
}

#[test]
fn a_thread_is_picked_from_the_list() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let mut named = |name: &str| {
        let params = json!({ "agentType": "fake", "cwd": daemon.place.work(), "name": name });
        let started = client.call("thread/start", &params);
        started["thread"]["id"].as_str().expect("it has an id").to_owned()
    };
    let (first, last) = (named("the first one"), named("the last one"));
    client.turn(&first, "say over here");
    client.turn(&last, "say over there");
    let screen = Screen::start(&daemon.place.command(&["attach"]), 80, 24);
    screen.wait_for("+ New thread: fake in");
    screen.press("the first");
    screen.wait_until("one entry", |text| {
        text.contains("the first one") && !text.contains("+ New thread")
    });
    screen.press(ENTER);
    screen.wait_for("over here");
    // Shift+Tab, as terminals send it.
    screen.press("\u{1b}[Z");
    screen.wait_for("Mode: Code");
    send(&screen, "say in the first");
    screen.wait_for("\nin the first\n");
    screen.press(CTRL_D);
    let (status, text) = screen.finish();
    assert_eq!(status.code(), Some(0), "{text}");
    assert!(text.replace('\n', "").contains(&first[28..]), "{text}");
}

#[test]
fn the_first_thread_is_started_and_so_is_a_new_one() {
    let daemon = Daemon::start();
    // There is none yet.
    let screen = Screen::start(&daemon.place.command(&["attach"]), 80, 24);
    screen.wait_for("Prompt");
    send(&screen, "say the first");
    screen.wait_for("\nthe first\n");
    screen.press(CTRL_D);
    assert_eq!(screen.finish().0.code(), Some(0));

    let folder = daemon.place.work().join("shop");
    std::fs::create_dir(&folder).expect("it can be made");
    let new = ["attach", "--new", "--agent", "fake", "-C", "shop"];
    let screen = Screen::start(&daemon.place.command(&new), 80, 24);
    screen.wait_for("Prompt");
    send(&screen, "say the second");
    screen.wait_for("\nthe second\n");
    screen.press(CTRL_D);
    assert_eq!(screen.finish().0.code(), Some(0));
    let listed = acpd(&daemon.place, &["threads", "--json", "-C", "shop"]);
    assert_eq!(listed.stdout.lines().count(), 1, "{}", listed.stdout);

    let unknown = Screen::start(
        &daemon.place.command(&["attach", "--new", "--agent", "nobody"]),
        80,
        24,
    );
    let (status, text) = unknown.finish();
    assert_ne!(status.code(), Some(0));
    assert!(text.contains("nobody"), "{text}");
}
