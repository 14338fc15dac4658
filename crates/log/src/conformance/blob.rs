//! How blobs are stored, and how long they are kept.

use acpd_model::{BlobId, Extract, ThreadId};

use super::sample;
use crate::{LogError, SharedLog, blob_id};

async fn create(log: &SharedLog) -> ThreadId {
    let thread = sample::new_thread();
    let summary = sample::summary("blobs", 1);
    log.append(thread, &sample::run(1..=1, 10), Some(&summary))
        .await
        .unwrap();
    thread
}

pub(super) async fn content_has_one_name(log: &SharedLog) {
    let thread = create(log).await;
    for content in [Vec::new(), b"\0one\xff".to_vec(), vec![7; 1 << 20]] {
        let id = log.put_blob(thread, content.clone()).await.unwrap();
        assert_eq!(id, blob_id(&content));
        assert_eq!(log.put_blob(thread, content.clone()).await, Ok(id));
        assert_eq!(log.blob(id).await, Ok(Some(content)));
    }
    assert_eq!(log.blob(BlobId([9; 32])).await, Ok(None));
    let other_thread = sample::new_thread();
    let answer = log.put_blob(other_thread, vec![1]).await;
    assert_eq!(answer, Err(LogError::NoSuchThread(other_thread)));
}

pub(super) async fn content_stays_as_long_as_someone_needs_it(log: &SharedLog) {
    let content = |thread: ThreadId, name: &str| format!("{thread} {name}").into_bytes();
    let (one, other, named) = (create(log).await, create(log).await, create(log).await);
    let own = log.put_blob(one, content(one, "own")).await.unwrap();
    let both = log.put_blob(one, content(one, "both")).await.unwrap();
    assert_eq!(log.put_blob(other, content(one, "both")).await, Ok(both));
    let referenced = log.put_blob(one, content(one, "told")).await.unwrap();
    let extract = Extract {
        blobs: vec![referenced],
        ..Extract::default()
    };
    log.append_with(named, &sample::run(2..=2, 10), None, &extract)
        .await
        .unwrap();
    // A refused append keeps no blob.
    let refused = Extract {
        blobs: vec![own],
        ..Extract::default()
    };
    log.append_with(named, &sample::run(2..=2, 10), None, &refused)
        .await
        .unwrap_err();
    for (thread, blob, is_its) in [
        (one, own, true),
        (one, both, true),
        (one, referenced, true),
        (other, own, false),
        (other, both, true),
        (other, referenced, false),
        (named, own, false),
        (named, both, false),
        (named, referenced, true),
        (sample::new_thread(), both, false),
    ] {
        let found = log.blob_part(Some(thread), blob, 0, 0).await.unwrap();
        assert_eq!(found.is_some(), is_its, "{blob} of {thread}");
    }

    log.delete(one).await.unwrap();
    assert_eq!(log.blob(own).await, Ok(None));
    let of_one = log.blob_part(Some(one), both, 0, 0).await;
    assert_eq!(of_one, Ok(None), "its thread is deleted");
    assert_eq!(log.blob(both).await, Ok(Some(content(one, "both"))));
    assert_eq!(log.blob(referenced).await, Ok(Some(content(one, "told"))));
    log.delete(other).await.unwrap();
    assert_eq!(log.blob(both).await, Ok(None));
    log.delete(named).await.unwrap();
    assert_eq!(log.blob(referenced).await, Ok(None));
}

pub(super) async fn content_is_read_in_parts(log: &SharedLog) {
    let thread = create(log).await;
    let content: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let id = log.put_blob(thread, content.clone()).await.unwrap();
    let whole = content.len();
    for (from, most) in [
        (0, 0),
        (0, 1),
        (0, whole),
        (0, usize::MAX),
        (70_000, 10_000),
        (99_999, 2),
        (100_000, 1),
        (u64::MAX, usize::MAX),
    ] {
        for of in [None, Some(thread)] {
            let part = log.blob_part(of, id, from, most).await.unwrap().unwrap();
            let start = usize::try_from(from).unwrap_or(whole).min(whole);
            let end = start.saturating_add(most).min(whole);
            assert_eq!(part.content, content[start..end], "{most} bytes from {from}");
            assert_eq!(part.total, whole as u64);
        }
    }
    let empty = log.put_blob(thread, Vec::new()).await.unwrap();
    let part = log.blob_part(None, empty, 0, usize::MAX).await.unwrap().unwrap();
    assert_eq!((part.content, part.total), (Vec::new(), 0));
}
