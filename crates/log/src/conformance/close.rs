//! How a log closes.

use acpd_model::BlobId;

use super::sample;
use crate::{Filter, LogError, SharedLog};

pub(super) async fn everything_is_stored_then_refused(log: &SharedLog) {
    let thread = sample::new_thread();
    let summary = sample::summary("closing", 1);
    let appends: Vec<_> = (1..=50)
        .map(|seq| log.append(thread, &[sample::event(seq, 10)], Some(&summary)))
        .collect();
    let close = log.close();
    for append in appends {
        assert_eq!(append.await, Ok(()));
    }
    assert_eq!(close.await, Ok(()));

    let closed = LogError::Closed;
    let append = log.append(thread, &[sample::event(51, 10)], None);
    assert_eq!(append.await, Err(closed.clone()));
    assert_eq!(log.read(thread, 0).await, Err(closed.clone()));
    assert_eq!(log.last_seq(thread).await, Err(closed.clone()));
    assert_eq!(log.summary(thread).await, Err(closed.clone()));
    assert_eq!(log.list(Filter::default(), None, 1).await, Err(closed.clone()));
    assert_eq!(log.put_blob(thread, vec![1]).await, Err(closed.clone()));
    let search = crate::Search::default();
    assert_eq!(log.search(search, None, 1).await, Err(closed.clone()));
    assert_eq!(log.delete(thread).await, Err(closed.clone()));
    assert_eq!(log.blob(BlobId([0; 32])).await, Err(closed.clone()));
    assert_eq!(log.close().await, Err(closed));
}
