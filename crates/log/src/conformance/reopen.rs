//! What a durable log still has after it was reopened.

use super::read_all::read_all;
use super::sample;
use crate::{Append, Carried, Filter, SharedLog};

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
        let memo = round.to_le_bytes();
        log.store(Append {
            after: last,
            cursor: Some(round),
            memo: Some(&memo),
            ..Append::new(thread, &[])
        })
        .await
        .unwrap();
        blobs.push(log.put_blob(thread, round.to_le_bytes().to_vec()).await.unwrap());
        log.close().await.unwrap();
    }

    let log = open().await;
    assert_eq!(read_all(&log, thread, 0).await, sample::run(1..=last, 40));
    assert_eq!(log.summary(thread).await.as_ref(), Ok(&summary));
    let carried = log.carried_threads().await.unwrap().into_iter();
    let carried: Vec<_> = carried.filter(|(id, _)| *id == thread).collect();
    let memo = Some(3_u64.to_le_bytes().to_vec());
    assert_eq!(
        carried,
        [(
            thread,
            Carried {
                cursor: Some(3),
                memo
            }
        )]
    );
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
