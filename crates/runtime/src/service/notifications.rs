//! Targets of notifications.

use acpd_model::Failure;
use acpd_proto::surface::reply::{TargetInfo, TargetTest};

use crate::service::Service;

impl Service {
    pub(super) async fn list_notification_targets(&self) -> Result<Vec<TargetInfo>, Failure> {
        let states = self.context.notifications.states().await?;
        let targets = states.into_iter().map(|(state, kind)| TargetInfo {
            name: state.name,
            kind: kind.to_owned(),
            principal: state.owner,
            waiting: state.waiting,
            failures: state.failures,
            error: state.error,
        });
        Ok(targets.collect())
    }

    pub(super) async fn test_notifications(
        &self,
        target: Option<String>,
    ) -> Result<Vec<TargetTest>, Failure> {
        let tests = self.context.notifications.test(target).await?;
        let tests = tests.into_iter().map(|test| TargetTest {
            name: test.target,
            error: test.error,
        });
        Ok(tests.collect())
    }
}
