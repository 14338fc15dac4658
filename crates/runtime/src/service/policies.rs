//! Policies and remembered answers.

use acpd_model::{Failure, Origin, RawJson, Role, ThreadId};
use acpd_policy::{Explanation, RememberedRule};
use acpd_proto::surface::reply::{AgentAnswers, Policies};
use acpd_proto::thread::{Command, Sight};

use crate::service::{Dispatched, Service};

impl Service {
    pub(super) fn read_policies(&self, agent: Option<&str>) -> Policies {
        let book = self.context.policies.borrow();
        let [daemon, agent] = book.layers(agent);
        Policies {
            daemon: daemon.cloned(),
            agent: agent.cloned(),
        }
    }

    pub(super) async fn set_thread_policy(
        &self,
        by: Origin,
        thread: ThreadId,
        policy: Option<RawJson>,
    ) -> Result<Dispatched<()>, Failure> {
        self.command(by, thread, Command::SetPolicy(policy)).await
    }

    pub(super) async fn explain_policy(
        &self,
        by: Origin,
        role: Role,
        thread: ThreadId,
        tool_call: RawJson,
    ) -> Result<Dispatched<Box<Explanation>>, Failure> {
        // Operators can run commands and so can read the disk anyway. Other clients must not learn about files outside a thread.
        let sight = if role.may(Role::Operator) {
            Sight::Everything
        } else {
            Sight::Workspace
        };
        self.command(by, thread, Command::Explain { tool_call, sight })
            .await
    }

    pub(super) async fn list_remembered(
        &self,
        by: Origin,
        thread: ThreadId,
    ) -> Result<Dispatched<Vec<RememberedRule>>, Failure> {
        self.command(by, thread, Command::Remembered).await
    }

    pub(super) async fn revoke_remembered(
        &self,
        by: Origin,
        thread: ThreadId,
        id: u64,
    ) -> Result<Dispatched<()>, Failure> {
        self.command(by, thread, Command::Revoke { id }).await
    }

    /// Lists the answers for agents. The file of answers has them, so an agent without threads is listed as well.
    pub(super) fn list_agent_answers(&self, agent: Option<&str>) -> Vec<AgentAnswers> {
        let wanted = |name: &str| agent.is_none_or(|agent| agent == name);
        let all = self.context.answers.all();
        let agents = all.into_iter().filter(|(name, _)| wanted(name));
        let listed = agents.map(|(agent, answers)| AgentAnswers {
            agent,
            answers: answers.iter().cloned().collect(),
        });
        listed.filter(|of| !of.answers.is_empty()).collect()
    }

    /// Revokes an answer for an agent. No thread has it in its log, so the daemon's log names the client.
    pub(super) async fn revoke_agent_answer(&self, by: Origin, agent: &str, id: u64) -> Result<(), Failure> {
        self.context.answers.revoke(agent, id).await?;
        let principal = by.into_client().map(|client| client.principal);
        tracing::info!(principal, agent, id, "a remembered answer is revoked");
        Ok(())
    }
}
