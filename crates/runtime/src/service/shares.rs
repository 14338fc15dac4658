//! Links with which threads are shared.

use acpd_model::{Failure, Origin, ThreadId};
use acpd_proto::surface::reply::{CreatedShare, ShareInfo};

use crate::service::Service;
use crate::share::NewShare;
use crate::stored::log_failure;

impl Service {
    pub(super) async fn create_share(
        &self,
        by: Origin,
        thread: ThreadId,
        expires_in_secs: Option<u64>,
        name: Option<String>,
    ) -> Result<Box<CreatedShare>, Failure> {
        let created_by = by
            .into_client()
            .map_or_else(String::new, |client| client.principal);
        let share = NewShare::new(thread, name, created_by, expires_in_secs)?;
        let found = self.context.log.summary(thread).await;
        found.map_err(|error| log_failure(&error))?;
        let created = self.context.shares.create(share).await?;
        Ok(Box::new(created))
    }

    pub(super) async fn list_shares(&self, thread: Option<ThreadId>) -> Result<Vec<ShareInfo>, Failure> {
        self.context.shares.list(thread).await
    }

    pub(super) async fn revoke_share(&self, share: String) -> Result<(), Failure> {
        self.context.shares.revoke(share).await
    }
}
