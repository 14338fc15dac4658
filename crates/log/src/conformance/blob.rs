//! How content is kept.

use acpd_model::BlobId;

use crate::{SharedLog, blob_id};

pub(super) async fn content_has_one_name(log: &SharedLog) {
    for content in [Vec::new(), b"\0one\xff".to_vec(), vec![7; 1 << 20]] {
        let id = log.put_blob(content.clone()).await.unwrap();
        assert_eq!(id, blob_id(&content));
        assert_eq!(log.put_blob(content.clone()).await, Ok(id));
        assert_eq!(log.blob(id).await, Ok(Some(content)));
    }
    assert_eq!(log.blob(BlobId([9; 32])).await, Ok(None));
}
