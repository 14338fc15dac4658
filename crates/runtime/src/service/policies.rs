//! Policies and remembered answers.

use acpd_model::{Failure, Origin, RawJson, Role, ThreadId};
use acpd_proto::surface::reply::Reply;
use acpd_proto::thread::{Command, Sight};

use crate::service::{Dispatched, Service};

impl Service {
    pub(super) fn read_policies(&self, agent: Option<&str>) -> Reply {
        let book = self.context.policies.borrow();
        let [daemon, agent] = book.layers(agent);
        Reply::Policies {
            daemon: daemon.cloned(),
            agent: agent.cloned(),
        }
    }

    pub(super) async fn set_thread_policy(
        &self,
        by: Origin,
        thread: ThreadId,
        policy: Option<RawJson>,
    ) -> Result<Dispatched, Failure> {
        self.command(by, thread, Command::SetPolicy(policy)).await
    }

    pub(super) async fn explain_policy(
        &self,
        by: Origin,
        role: Role,
        thread: ThreadId,
        tool_call: RawJson,
    ) -> Result<Dispatched, Failure> {
        // Operators can run commands and so can read the disk anyway. Other clients must not learn about files outside a thread.
        let sight = if role.may(Role::Operator) {
            Sight::Everything
        } else {
            Sight::Workspace
        };
        self.command(by, thread, Command::Explain { tool_call, sight })
            .await
    }

    pub(super) async fn list_remembered(&self, by: Origin, thread: ThreadId) -> Result<Dispatched, Failure> {
        self.command(by, thread, Command::Remembered).await
    }

    pub(super) async fn revoke_remembered(
        &self,
        by: Origin,
        thread: ThreadId,
        id: u64,
    ) -> Result<Dispatched, Failure> {
        self.command(by, thread, Command::Revoke { id }).await
    }
}
