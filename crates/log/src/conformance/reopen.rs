//! What a durable log still has after it was reopened.

use super::read_all::read_all;
use super::sample;
use crate::{Filter, SharedLog};

pub(super) async fn everything_is_there(open: &impl AsyncFn() -> SharedLog) {
    let thread = sample::new_thread();
    let summary = sample::summary("lasting", 7);
    let mut last = 0;
    let mut blobs = Vec::new();
    for round in 1..=3_u64 {
        let log = open().await;
        if last > 0 {
            assert_eq!(log.last_seq(thread).await, Ok(last));
        }
        for batch in [1, 5, round] {
            let events = sample::run(last + 1..=last + batch, 40);
            log.append(thread, &events, Some(&summary)).await.unwrap();
            last += batch;
        }
        blobs.push(log.put_blob(thread, round.to_le_bytes().to_vec()).await.unwrap());
        log.close().await.unwrap();
    }

    let log = open().await;
    assert_eq!(read_all(&log, thread, 0).await, sample::run(1..=last, 40));
    assert_eq!(log.summary(thread).await.as_ref(), Ok(&summary));
    let listed = log.list(Filter::default(), None, usize::MAX).await.unwrap();
    assert!(
        listed
            .iter()
            .any(|listed| listed.thread == thread && listed.summary == summary)
    );
    for (round, blob) in (1..=3_u64).zip(blobs) {
        assert_eq!(log.blob(blob).await, Ok(Some(round.to_le_bytes().to_vec())));
    }
    log.close().await.unwrap();
}
