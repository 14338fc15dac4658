//! What the tests of deletion share.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use acpd_log::{Lacking, SharedLog};

/// Returns how often a word occurs in the files of a directory.
pub fn occurrences(directory: &Path, word: &str) -> usize {
    let entries = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let contents = entries.map(|path| fs::read(path).unwrap().to_ascii_lowercase());
    contents
        .map(|bytes| memchr::memmem::find_iter(&bytes, word.as_bytes()).count())
        .sum()
}

/// Waits until deleted data is erased from the files.
pub async fn erased(log: &SharedLog) {
    for _ in 0..10_000_000 {
        if !log.stats().erasing {
            return;
        }
        log.backlog(Lacking::Texts, None).await.unwrap();
    }
    panic!("deleted data is not erased");
}
