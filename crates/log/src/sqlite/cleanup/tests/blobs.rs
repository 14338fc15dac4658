//! Blobs of deleted threads.

use acpd_model::Extract;
use rusqlite::Connection;

use super::super::erase::RELEASE;
use super::{append, blob, clean, count, noise, open, place, step, store, stored_blob};
use crate::conformance::sample;
use crate::{Lacking, blob_id};

use crate::sqlite::change::{Change, Missing};
use crate::sqlite::files;

#[test]
fn a_blob_that_is_stored_again_while_it_is_erased_is_whole() {
    let (_directory, path) = place();
    let content = noise(1, 5_000_000).into_bytes();
    let id = blob_id(&content);
    // Once before each step of the erasure, until the blob is erased first.
    for taken in 0.. {
        let mut log = open(&path);
        let reader = files::reader(&path).unwrap();
        let (gone, other) = (sample::new_thread(), sample::new_thread());
        store(&mut log, &[append(gone, 1, "", ""), append(other, 1, "", "")]);
        store(&mut log, &[blob(gone, content.clone()), Change::Delete(gone)]);
        for _ in 0..taken {
            step(&mut log);
        }
        let was_erased = count(&reader, "blob") == 0;
        store(&mut log, &[blob(other, content.clone())]);
        clean(&mut log);
        assert!(
            stored_blob(&reader, id).unwrap().as_ref() == Some(&content),
            "after {taken} steps"
        );
        store(&mut log, &[Change::Delete(other)]);
        clean(&mut log);
        assert_eq!(count(&reader, "blob"), 0);
        if was_erased {
            assert!(taken > 5, "the blob was erased in {taken} steps");
            return;
        }
    }
}

#[test]
fn a_blob_of_another_thread_is_kept() {
    let (_directory, path) = place();
    let mut log = open(&path);
    let reader = files::reader(&path).unwrap();
    let (gone, later, other) = (sample::thread(1), sample::thread(2), sample::thread(3));
    let content = b"shared".to_vec();
    for thread in [gone, later, other] {
        store(
            &mut log,
            &[append(thread, 1, "", ""), blob(thread, content.clone())],
        );
    }
    for thread in [gone, later] {
        store(&mut log, &[Change::Delete(thread)]);
    }
    clean(&mut log);
    assert_eq!(stored_blob(&reader, blob_id(&content)), Ok(Some(content.clone())));
    store(&mut log, &[Change::Delete(other)]);
    assert_eq!(stored_blob(&reader, blob_id(&content)), Ok(None));
    clean(&mut log);
    assert_eq!(count(&reader, "blob"), 0);
}

#[test]
fn a_deletion_looks_at_no_blob_of_other_threads() {
    let (_directory, path) = place();
    let mut steps = Vec::new();
    drop(open(&path));
    let database = Connection::open(&path).unwrap();
    for others in [1, 2000] {
        let mut log = open(&path);
        let (gone, other) = (sample::new_thread(), sample::new_thread());
        store(&mut log, &[append(gone, 1, "", ""), append(other, 1, "", "")]);
        let blobs: Vec<_> = (0..others)
            .map(|seed| blob(other, noise(seed, 100).into_bytes()))
            .collect();
        store(&mut log, &blobs);
        store(
            &mut log,
            &[blob(gone, noise(9999, 100).into_bytes()), Change::Delete(gone)],
        );
        let mut taken = 0;
        while count(&database, "deleted_thread") > 0 {
            step(&mut log);
            taken += 1;
        }
        steps.push(taken);
        clean(&mut log);
    }
    assert_eq!(steps[0], steps[1]);
    let plan: Vec<String> = database
        .prepare(&format!("EXPLAIN QUERY PLAN {RELEASE}"))
        .unwrap()
        .query_map([1], |row| row.get("detail"))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(
        plan[0],
        "SEARCH blob USING COVERING INDEX sqlite_autoindex_blob_1 (hash=?)"
    );
    assert!(!plan.iter().any(|step| step.starts_with("SCAN blob")), "{plan:?}");
}

#[test]
fn unclaimed_blobs_are_erased_when_the_backlog_ends() {
    let (_directory, path) = place();
    let mut log = open(&path);
    let database = Connection::open(&path).unwrap();
    let (old, gone) = (sample::thread(1), sample::thread(2));
    store(&mut log, &[append(old, 1, "", ""), append(gone, 1, "", "")]);
    for seed in 0..200 {
        store(&mut log, &[blob(gone, noise(seed, 100).into_bytes())]);
    }
    database
        .execute("INSERT INTO backlog VALUES (1, 0, 1, 0)", ())
        .unwrap();
    store(&mut log, &[Change::Delete(gone)]);
    clean(&mut log);
    assert_eq!(count(&database, "blob"), 200, "the old thread may need them");
    let mut extract = Extract::default();
    extract.blobs.push(blob_id(noise(7, 100).as_bytes()));
    store(
        &mut log,
        &[Change::CatchUp {
            thread: old,
            through: 1,
            data: Missing::new(Lacking::Texts, &extract, None),
        }],
    );
    clean(&mut log);
    assert_eq!(count(&database, "blob"), 1);
}
