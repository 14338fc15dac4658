//! Support for the end-to-end tests: the real daemon, a client of the app protocol, processes.
//!
//! Every wait is a blocking read, or polls a condition, and times out after [`PATIENCE`]. No test sleeps and then
//! assumes that something has happened.

#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(unused_imports, reason = "each test binary uses a part of it")]

#[path = "../../../proto/tests/scenarios/acp/schema.rs"]
#[allow(clippy::unwrap_used, reason = "it is of another crate's tests")]
mod acp_schema;
#[path = "../../../proto/tests/support/app_schema.rs"]
mod app_schema;
mod client;
mod command;
mod daemon;
mod editor;
mod events;
mod follow;
mod http;
mod location;
mod message;
#[path = "../../../host/tests/support/not_tested.rs"]
mod not_tested;
#[path = "../../../proto/tests/support/official.rs"]
#[allow(clippy::unwrap_used, reason = "it is of another crate's tests")]
mod official;
mod processes;
mod receiver;
mod recording;
mod screen;
mod small_disk;

use std::time::{Duration, Instant};

pub use acp_schema::check as check_acp;
pub use app_schema::check_message as check_app_message;
pub use client::Client;
pub use command::{
    Outcome, Running, acpd, copy_surroundings, on_terminal, on_terminal_of, outcome, outcome_with_input,
    unread, without_terminal,
};
pub use daemon::{Background, Daemon, Place, fake_agent};
pub use editor::{Editor, lines_of, picked};
pub use events::{Door, Events};
pub use http::{ask, body, exchange, header, send, upgrade};
pub use location::{built, needs_sandboxes, scratch};
pub use message::{Incoming, Turn};
pub use not_tested::{not_tested, record_not_tested};
pub use processes::{
    MARK, children_of, end, exists, peak_kib, resident_kib, signal, with_argument, with_mark,
};
pub use receiver::{Posted, Receiver, free_port};
pub use recording::Recording;
pub use screen::Screen;
pub use small_disk::{needs_mounts, on_small_disk, read_only, tiny_disk, without_network};

/// Timeout of every wait. Long, since hosts can be slow; only failures reach it.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `holds` returns true; fails with `what` after [`PATIENCE`].
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
