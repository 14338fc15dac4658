//! The program reads its own daemon's messages through the types of `crates/client`: a member that is renamed is then an error of the
//! compiler, and not an empty column. What reads members by their names is listed here, with the program that writes them.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

use std::fs;
use std::path::Path;

use crate::names::{list, workspace};

/// Files that read what other programs or users write.
const FOREIGN: &[(&str, &str)] = &[
    ("crates/acpd/src/acp/pipe.rs", "the `initialize` of the editor"),
    ("crates/acpd/src/config/edit.rs", "the configuration file"),
    ("crates/acpd/src/config/paths.rs", "the configuration file"),
    ("crates/acpd/src/editors/known.rs", "settings of editors"),
    ("crates/acpd/src/pair/mod.rs", "the configuration file"),
    ("crates/acpd/src/pair/tailscale.rs", "Tailscale's own JSON"),
    (
        "crates/acpd/src/terminal/items/acp.rs",
        "ACP's own objects, as the agent wrote them",
    ),
    (
        "crates/acpd/src/terminal/questions/field.rs",
        "an agent's JSON Schema",
    ),
];

/// Methods that read a member of an object.
const READS: [&str; 5] = [
    ".get(\"",
    ".get_mut(\"",
    ".pointer(\"",
    ".pointer_mut(\"",
    ".remove(\"",
];

/// Returns whether a line reads a member by its name. What is only written, as in `line["unread"] = …`, is this program's own output.
fn reads_by_name(line: &str) -> bool {
    let code = line.trim_start();
    !code.starts_with("//")
        && (READS.iter().any(|read| code.contains(read))
            || code
                .match_indices('[')
                .any(|(at, _)| is_read(&code[..at], &code[at + 1..])))
}

/// Returns whether a bracket is the index of a member that is read. `name[key]` is that of a function that reads several.
fn is_read(before: &str, after: &str) -> bool {
    let is_index = before.ends_with(|last: char| last.is_ascii_alphanumeric() || "_)]?".contains(last));
    let is_key = |name: &str| {
        let name = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
        name.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
    };
    let Some((name, behind)) = after.split_once(']').filter(|_| is_index) else {
        return false;
    };
    let behind = behind.trim_start();
    let is_written = behind.starts_with('=') && !behind.starts_with("==");
    (name == "key" || is_key(name)) && !is_written
}

#[test]
fn messages_of_the_daemon_are_read_with_their_types() {
    let mut files = Vec::new();
    list("crates/acpd/src", &mut files);
    let is_product = |file: &&String| {
        Path::new(file)
            .extension()
            .is_some_and(|extension| extension == "rs")
            && !file.contains("/tests/")
            && !file.ends_with("/tests.rs")
            && !file.ends_with("/fixtures.rs")
    };
    let reads = |file: &&String| {
        let text = fs::read_to_string(workspace().join(file)).unwrap();
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        product.lines().any(reads_by_name)
    };
    let mut found: Vec<&str> = files
        .iter()
        .filter(is_product)
        .filter(reads)
        .map(String::as_str)
        .collect();
    found.sort_unstable();
    let mut listed: Vec<&str> = FOREIGN.iter().map(|(file, _)| *file).collect();
    listed.sort_unstable();
    assert_eq!(
        found, listed,
        "use acpd_client::protocol, with client::whole for --json; what reads members of other programs is listed in this test"
    );
}

#[test]
fn only_reads_are_found() {
    for line in [
        "let id = thread[\"id\"].as_str();",
        "report(&answer?[\"agent\"])",
        "found.get(\"data\")",
        "|name: &str| row[key].as_str()",
        "if turn[\"status\"] == \"queued\" {",
        "    error[\"message\"]",
        "thread[\"a\"][\"b\"] = value[\"c\"].take();",
    ] {
        assert!(reads_by_name(line), "{line}");
    }
    for line in [
        "line[\"unread\"] = json!(unread);",
        "table([\"ID\", \"STATUS\"], &rows);",
        "let names = [\"id\"];",
        "/// Reads `thread[\"id\"]`.",
        "#[arg(long, value_names = [\"NAME\"])]",
        "text[3..].get(1)",
        "print(\"[\\\"a\\\"]\")",
        "text(\"members[id]\")",
    ] {
        assert!(!reads_by_name(line), "{line}");
    }
}
