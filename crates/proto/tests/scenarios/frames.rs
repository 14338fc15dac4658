//! The exact encoding of each kind of event on each surface. A change of these snapshots is a change of the wire format.

use std::fmt::Write as _;

use acpd_model::{Event, ThreadId};
use acpd_proto::surface::{acp, app};
use serde_json::Value;
use uuid::Uuid;

use crate::codex::client::Client;
use crate::codex::connection::live;
use crate::support::NEW_THREAD;
use crate::support::app_schema::check_sent;
use crate::support::samples::samples;

const THREAD: ThreadId = ThreadId(Uuid::from_u128(0x0192_f0c1_c5d7_7c0a_a5e5_f8d9_a1b2_c3d4));

/// Compares the encoding of each sample, under its line number and kind, with the stored snapshot.
fn compare(surface: &str, encode: impl Fn(&[Event]) -> Vec<String>) {
    let samples = samples();
    let (mut golden, mut alone) = (String::new(), Vec::new());
    for (line, sample) in (1..).zip(&samples) {
        let frames = encode(std::slice::from_ref(&sample.event));
        writeln!(golden, "# {line} {}", sample.kind).unwrap();
        for frame in &frames {
            writeln!(golden, "{frame}").unwrap();
        }
        if frames.is_empty() {
            golden.push_str("no frame\n");
        }
        golden.push('\n');
        alone.extend(frames);
    }
    let events: Vec<_> = samples.into_iter().map(|sample| sample.event).collect();
    assert_eq!(encode(&events), alone, "a batch is its events, one after another");
    store(&format!("frames-{surface}"), &golden);
}

/// Compares a text with the stored snapshot.
fn store(name: &str, golden: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, golden));
}

/// Checks that a message has one line, and parses it.
fn read(message: &[u8]) -> (&str, Value) {
    let text = std::str::from_utf8(message).unwrap();
    assert!(!text.contains(['\n', '\r']), "not one line: {text:?}");
    (text, serde_json::from_str(text).unwrap())
}

/// Checks a message against the schema of the app protocol.
fn read_app<'a>(method: &str, message: &'a [u8]) -> &'a str {
    let (text, message) = read(message);
    assert_eq!(message["method"], method);
    check_sent(method, &message["params"], message.get("id").is_some());
    text
}

#[test]
fn the_app_surface_sends_one_frame_for_each_kind() {
    compare("app", |events| {
        let frames = app::frames(&THREAD.to_string(), events);
        assert_eq!(frames.len(), events.len(), "every kind has its frame");
        let shown = frames.iter().map(|frame| {
            let method = frame.method;
            let mut shown = format!("{method}\n{}", read_app(method, &frame.text));
            if let Some(ask) = &frame.ask {
                let (id, text) = (ask.0, read_app(method, &ask.1));
                write!(shown, "\nto clients that answer, as request {id}:\n{text}").unwrap();
            }
            shown
        });
        shown.collect()
    });
}

#[test]
fn the_acp_surface_sends_the_same_frames_for_each_kind() {
    compare("acp", |events| {
        let frames = acp::frames(&THREAD.to_string(), events);
        let shown = frames.iter().map(|frame| {
            let message = frame.text.as_ref();
            let message = message.map_or("no message", |message| read(message).0);
            format!("{:?}\n{message}", frame.kind)
        });
        shown.collect()
    });
}

/// What a client receives can depend on what it has received before: each sample is for a new connection here.
#[test]
fn the_codex_surface_sends_the_same_messages_for_each_kind() {
    let mut golden = String::new();
    for (line, sample) in (1..).zip(samples()) {
        writeln!(golden, "# {line} {}", sample.kind).unwrap();
        let mut client = Client::following(&live());
        client.deliver(NEW_THREAD, std::slice::from_ref(&sample.event));
        for message in &client.got {
            writeln!(golden, "{message}").unwrap();
        }
        for (_, request) in &client.asked {
            writeln!(golden, "asks the daemon: {request:?}").unwrap();
        }
        if client.got.is_empty() && client.asked.is_empty() {
            golden.push_str("no message\n");
        }
        golden.push('\n');
    }
    store("frames-codex", &golden);
}

#[test]
fn a_kind_of_a_newer_daemon_makes_no_frame() {
    let newer = br#"{"seq":1,"at":2,"by":"daemon","kind":{"moonLanded":{"by":"eagle"}},"raw":{"n":1}}"#;
    let event = Event::decode(newer).unwrap();
    let thread = THREAD.to_string();
    assert!(app::frames(&thread, std::slice::from_ref(&event)).is_empty());
    assert!(acp::frames(&thread, &[event]).is_empty());
}
