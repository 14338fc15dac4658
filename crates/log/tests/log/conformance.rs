//! Both backends pass the conformance suite.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use acpd_log::{Durability, Memory, SharedLog, Sqlite, conformance};

fn memory() -> SharedLog {
    Arc::new(Memory::new())
}

fn sqlite(path: &Path, durability: Durability) -> SharedLog {
    Arc::new(Sqlite::open(path, durability).unwrap())
}

/// Returns a function that opens a separate database at each call.
fn databases() -> impl AsyncFn() -> SharedLog {
    let directory = tempfile::tempdir().unwrap();
    let count = AtomicU32::new(0);
    async move || {
        let name = format!("{}.db", count.fetch_add(1, Ordering::Relaxed));
        sqlite(&directory.path().join(name), Durability::Process)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_keeps_its_promises() {
    conformance::check(async || memory()).await;
    conformance::check_close(async || memory()).await;
    let one = memory();
    conformance::check(async || Arc::clone(&one)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_keeps_its_promises() {
    conformance::check(databases()).await;
    conformance::check_close(databases()).await;
}

#[tokio::test]
async fn one_database_keeps_them_on_one_thread() {
    let one = databases()().await;
    conformance::check(async || Arc::clone(&one)).await;
}

#[tokio::test]
async fn sqlite_remembers() {
    for durability in [Durability::Process, Durability::Power] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.db");
        conformance::check_reopen(async || sqlite(&path, durability)).await;
    }
}
