//! Each kind of event is made by a part of the thread: a kind that only surfaces know would never be stored.

use std::fs;
use std::path::Path;

use crate::support::samples::samples;

/// Appends the sources below a folder, without white space.
fn append_sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            append_sources(&path, text);
        } else {
            text.extend(fs::read_to_string(&path).unwrap().split_whitespace());
        }
    }
}

#[test]
fn every_kind_is_made_by_a_part_of_the_thread() {
    let mut sources = String::new();
    append_sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/thread"),
        &mut sources,
    );
    for sample in samples() {
        // Such as "Turn(Started { … })".
        let shown = format!("{:?}", sample.event.kind);
        let (group, rest) = shown.split_once('(').unwrap();
        let variant: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
        let made = format!("EventKind::{group}({group}Event::{variant}");
        assert!(
            sources.contains(&made),
            "{} is not made: no source below src/thread has {made}",
            sample.kind
        );
    }
}
