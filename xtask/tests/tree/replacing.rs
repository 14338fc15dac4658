//! Files are replaced in one way: by `crates/files`, which syncs them. What else renames something is listed here with its reason.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

use std::fs;
use std::path::Path;

use crate::names::{list, workspace};

/// Files that rename something else.
const OTHERS: [(&str, &str); 7] = [
    (
        "crates/acpd/src/backup/create.rs",
        "a synced archive leaves the directory of incomplete files",
    ),
    ("crates/acpd/src/backup/restore.rs", "directories"),
    ("crates/acpd/src/client/local/ssh_agent.rs", "a link"),
    (
        "crates/catalog/src/install.rs",
        "a downloaded program moves into the folder of its version",
    ),
    (
        "crates/log/src/sqlite/upgrade/copies.rs",
        "a copy that is given up gets the name of an incomplete one",
    ),
    (
        "crates/runtime/src/attachments.rs",
        "an attachment arrives in parts, and its mode says whether it was sent",
    ),
    (
        "crates/shim/src/place.rs",
        "a socket gets its name once it is bound, and none that is in use",
    ),
];

/// Crates that are no part of the daemon, or that do the renaming.
const LEFT_OUT: [&str; 4] = [
    "crates/fake-agent/",
    "crates/files/",
    "crates/fuzz/",
    "crates/loopback/",
];

/// Files that sync what they have opened by its path: no directory, which some file systems cannot sync.
const SYNC_FILES: [&str; 2] = [
    "crates/acpd/src/backup/restore.rs",
    "crates/runtime/src/attachments.rs",
];

fn product(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or_default()
}

fn renames(text: &str) -> bool {
    ["fs::rename(", "renameat(", "renameat_with("]
        .iter()
        .any(|call| product(text).contains(call))
}

fn opens_to_sync(text: &str) -> bool {
    product(text)
        .lines()
        .any(|line| line.contains("File::open(") && line.contains(".sync_all()"))
}

/// Returns the files of the daemon whose text is as asked for, in order.
fn files_with(is_it: impl Fn(&str) -> bool) -> Vec<String> {
    let mut files = Vec::new();
    list("crates", &mut files);
    let is_product = |file: &&String| {
        file.contains("/src/")
            && Path::new(file)
                .extension()
                .is_some_and(|extension| extension == "rs")
            && !file.ends_with("/tests.rs")
            && !file.contains("/tests/")
            && !LEFT_OUT.iter().any(|folder| file.starts_with(folder))
    };
    let mut found: Vec<String> = files
        .iter()
        .filter(is_product)
        .filter(|file| is_it(&fs::read_to_string(workspace().join(file)).unwrap()))
        .cloned()
        .collect();
    found.sort_unstable();
    found
}

#[test]
fn directories_are_synced_in_one_way() {
    assert_eq!(
        files_with(opens_to_sync),
        SYNC_FILES,
        "a directory is synced with acpd_files::sync_directory or acpd_files::sync_names; what syncs a file is listed in this test"
    );
}

#[test]
fn files_are_replaced_in_one_way() {
    let found = files_with(renames);
    let listed: Vec<&str> = OTHERS.iter().map(|(file, _)| *file).collect();
    assert_eq!(
        found, listed,
        "a file is replaced with acpd_files::replace or acpd_files::Draft; what renames something else is listed in this test"
    );
}
