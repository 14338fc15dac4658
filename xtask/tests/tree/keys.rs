//! The program reads its own daemon's messages through the types of `crates/client`: a member that is renamed is then an error of the
//! compiler, and not an empty column. What reads members by their names is listed here, with the program that writes them.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

use std::fs;
use std::path::Path;

use crate::names::{list, workspace};

/// Files that read what other programs or users write.
const FOREIGN: &[(&str, &str)] = &[
    ("crates/acpd/src/config/edit.rs", "the configuration file"),
    ("crates/acpd/src/config/paths.rs", "the configuration file"),
    (
        "crates/acpd/src/daemon/config.rs",
        "the configuration, to hide its secrets",
    ),
    ("crates/acpd/src/editors/known.rs", "settings of editors"),
    ("crates/acpd/src/pair/mod.rs", "the configuration file"),
    ("crates/acpd/src/pair/tailscale.rs", "Tailscale's own JSON"),
    (
        "crates/acpd/src/terminal/questions/field.rs",
        "an agent's JSON Schema",
    ),
];

/// Files that do not use the types yet. No file is added to them.
const UNTYPED: &[&str] = &[
    "crates/acpd/src/agents/default.rs",
    "crates/acpd/src/agents/far.rs",
    "crates/acpd/src/agents/mod.rs",
    "crates/acpd/src/agents/report.rs",
    "crates/acpd/src/agents/running.rs",
    "crates/acpd/src/attach/conversation/entry.rs",
    "crates/acpd/src/attach/conversation/fold.rs",
    "crates/acpd/src/attach/conversation/mod.rs",
    "crates/acpd/src/attach/mod.rs",
    "crates/acpd/src/attach/state/commands.rs",
    "crates/acpd/src/attach/state/head.rs",
    "crates/acpd/src/attach/state/messages.rs",
    "crates/acpd/src/attach/state/pages.rs",
    "crates/acpd/src/attach/state/picker.rs",
    "crates/acpd/src/attach/state/question.rs",
    "crates/acpd/src/attach/state/requests.rs",
    "crates/acpd/src/client/mod.rs",
    "crates/acpd/src/client/pairing.rs",
    "crates/acpd/src/client/refusal.rs",
    "crates/acpd/src/client/response.rs",
    "crates/acpd/src/client/ticket.rs",
    "crates/acpd/src/daemon/answers.rs",
    "crates/acpd/src/daemon/notifications.rs",
    "crates/acpd/src/daemon/status.rs",
    "crates/acpd/src/doctor/agents.rs",
    "crates/acpd/src/doctor/daemon.rs",
    "crates/acpd/src/first_run/mod.rs",
    "crates/acpd/src/terminal/items.rs",
    "crates/acpd/src/terminal/items/rejected.rs",
    "crates/acpd/src/terminal/questions.rs",
    "crates/acpd/src/terminal/questions/choice.rs",
    "crates/acpd/src/terminal/questions/wording.rs",
    "crates/acpd/src/terminal/render.rs",
    "crates/acpd/src/terminal/render/tool_calls.rs",
    "crates/acpd/src/threads/list.rs",
    "crates/acpd/src/threads/run.rs",
    "crates/acpd/src/threads/show.rs",
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
    let foreign = FOREIGN.iter().map(|(file, _)| *file);
    let mut listed: Vec<&str> = foreign.chain(UNTYPED.iter().copied()).collect();
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
