//! What a turn that changes many files costs: in the log, and on the way to each client.

use crate::support::{Client, Daemon};

const FILES: u32 = 400;
const BYTES: u32 = 6000;

/// What a turn stored and sent, as multiples of the size of its files.
struct Cost {
    stored: f64,
    sent: f64,
}

/// Runs a turn in a daemon of its own, and measures the files of the log and the messages to one client.
fn cost(script: &str) -> Cost {
    let mut daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.turn(&thread, script);
    assert_eq!(turn.status(), "completed", "{:?}", turn.end);
    assert_eq!(turn.said(), format!("changed {FILES} files"));
    let sent: usize = turn
        .messages
        .iter()
        .map(|message| message.params.to_string().len())
        .sum();
    let diffs = turn.of("turn/diff/updated");
    let live = diffs.iter().filter(|diff| diff.is_live()).count();
    assert_eq!(diffs.len() - live, 1, "{script}: one diff is stored");
    assert!(daemon.stop().success());
    let data = daemon.place.data();
    let files = ["log.db", "log.db-wal"].map(|name| std::fs::metadata(data.join(name)));
    let stored: u64 = files.into_iter().flatten().map(|file| file.len()).sum();
    assert!(stored > 0);
    let files = f64::from(FILES * BYTES);
    #[allow(clippy::cast_precision_loss, reason = "sizes of a few megabytes")]
    let cost = Cost {
        stored: stored as f64 / files,
        sent: sent as f64 / files,
    };
    println!(
        "{script}: log {:.2}, client {:.2}, {live} live diffs",
        cost.stored, cost.sent
    );
    cost
}

/// The turn's diff was stored and sent after each change: 141 times the files.
#[test]
fn a_turn_of_many_files_costs_a_few_times_its_files() {
    for by in ["write", "tool", "both"] {
        let script = format!("files n={FILES} bytes={BYTES} by={by}");
        let Cost { stored, sent } = cost(&script);
        assert!(
            stored <= 4.0,
            "{script}: {stored:.2} times the files are in the log"
        );
        assert!(sent <= 6.0, "{script}: {sent:.2} times the files were sent");
    }
}
