//! The Rust client and its examples, against the real daemon.

use acpd_client::protocol::{Notification, StartThread, ThreadStatus, TurnStartParams, TurnStatus};
use acpd_client::{Client, Follow, Options, State, Subscription};

use crate::support::{Daemon, PATIENCE};

#[path = "../../../client/examples/prompt.rs"]
#[allow(dead_code, reason = "its `main` is for a terminal")]
mod prompt;
#[path = "../../../client/examples/watch.rs"]
#[allow(dead_code, reason = "its `main` is for a terminal")]
mod watch;

fn run<T>(work: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().expect("a runtime can be made");
    runtime.block_on(async {
        let ended = tokio::time::timeout(PATIENCE, work).await;
        ended.expect("it ends in time")
    })
}

fn at_socket(daemon: &Daemon) -> Options {
    Options::socket("rust", daemon.place.data().join("acpd.sock"))
}

fn thread(daemon: &Daemon, text: &str) -> StartThread {
    StartThread {
        agent_type: "fake".to_owned(),
        cwd: daemon.place.work().display().to_string(),
        text: Some(text.to_owned()),
        ..StartThread::default()
    }
}

#[test]
fn the_example_prompt_asks_and_prints_the_answer() {
    let daemon = Daemon::start();
    run(async {
        let client = Client::connect(at_socket(&daemon)).await.expect("it connects");
        for (allowed, said) in [(true, "allowed (allow_once)"), (false, "rejected (reject_once)")] {
            let mut out = Vec::new();
            let thread = thread(&daemon, "permission");
            let status = prompt::prompt(&client, &thread, |_| allowed, &mut out).await;
            let out = String::from_utf8(out).expect("it is text");
            assert_eq!(status.expect("the turn ends"), TurnStatus::Completed, "{out}");
            assert!(out.contains(said), "{out}");
        }
    });
}

#[test]
fn the_example_watch_follows_all_threads() {
    let daemon = Daemon::start();
    run(async {
        let watcher = Client::connect(at_socket(&daemon)).await.expect("it connects");
        let token = daemon.place.token();
        let url = format!("http://{}", daemon.address());
        let options = Options::url("rust", &url)
            .expect("it is an address")
            .token(&token);
        let client = Client::connect(options).await.expect("it connects");
        let mut out = Vec::new();
        let watched = watch::watch(&watcher, &mut out, |threads| {
            threads.len() == 2 && threads.values().all(|status| *status == ThreadStatus::Idle)
        });
        let started = async {
            for text in ["say one", "say two"] {
                client
                    .thread_start(&thread(&daemon, text))
                    .await
                    .expect("it starts");
            }
        };
        let (threads, ()) = tokio::join!(watched, started);
        let out = String::from_utf8(out).expect("it is text");
        for id in threads.expect("the watch ends").keys() {
            assert!(out.contains(id.as_str()), "{out}");
        }
    });
}

#[test]
fn a_subscription_survives_the_daemon() {
    let mut daemon = Daemon::start();
    run(async {
        let client = Client::connect(at_socket(&daemon)).await.expect("it connects");
        let started = client.thread_start(&thread(&daemon, "say one")).await;
        let id = started.expect("it starts").thread.id;
        let mut events = client
            .follow(&id, Follow::all())
            .await
            .expect("the thread exists");
        let mut numbers = until_completed(&mut events).await;
        daemon.kill();
        let mut state = client.state();
        let lost = state.wait_for(|state| !matches!(state, State::Open(_))).await;
        drop(lost.expect("the client lives"));
        daemon.restart();
        client.ready().await.expect("it connects again");
        let turn = TurnStartParams {
            text: Some("say two".to_owned()),
            thread_id: id,
            ..TurnStartParams::default()
        };
        client.turn_start(&turn).await.expect("it starts");
        numbers.extend(until_completed(&mut events).await);
        let all: Vec<u64> = (1..=events.cursor()).collect();
        assert_eq!(numbers, all, "each event arrives once, and in order");
    });
}

/// Returns the numbers of the events until a turn is completed.
async fn until_completed(events: &mut Subscription) -> Vec<u64> {
    let mut numbers = Vec::new();
    loop {
        let event = events.next().await.expect("it goes on").expect("it is no error");
        numbers.extend(event.seq());
        if matches!(event, Notification::TurnCompleted(_)) {
            return numbers;
        }
    }
}
