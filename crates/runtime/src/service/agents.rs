//! Agents: those that can be started, those that run, and the agent of a thread.

use std::path::PathBuf;

use acpd_catalog::LaunchMethod;
use acpd_model::{Failure, Origin, RawJson, ThreadId};
use acpd_proto::agent::{AgentRequest, check_extension};
use acpd_proto::surface::reply::{AgentHello, AgentInfo, AgentReport, AgentSandbox, Reply};
use acpd_proto::thread::Command;

use crate::agent::probe::{InitializeResult, anywhere, probe};
use crate::agent::registry::ListedAgent;
use crate::sandbox::Confinement;
use crate::service::{Dispatched, Service};

impl Service {
    pub(super) fn list_agents(&self) -> Reply {
        let agents = self.context.agents.list();
        Reply::Agents(agents.into_iter().map(agent_info).collect())
    }

    pub(super) async fn list_running_agents(&self) -> Result<Reply, Failure> {
        Ok(Reply::RunningAgents(self.context.processes.list().await?))
    }

    /// Starts an agent to see whether it works.
    pub(super) async fn examine_agent(&self, agent: String) -> Result<Reply, Failure> {
        let found = self.context.agents.find(&agent)?;
        let report = probe(
            &found.config,
            &self.context.reserved,
            anywhere(),
            &self.context.limits,
        )
        .await;
        Ok(Reply::AgentReport(Box::new(AgentReport {
            agent,
            hello: report.hello.map(agent_hello),
            error: report.error,
            millis: u64::try_from(report.millis).unwrap_or(u64::MAX),
            stderr: report.stderr,
            stray_lines: report.stray_lines,
            sandbox: agent_sandbox(report.sandbox),
        })))
    }

    /// Has the agent do something; what it says is the answer.
    pub(super) async fn ask_agent(
        &self,
        by: Origin,
        thread: ThreadId,
        request: AgentRequest,
    ) -> Result<Dispatched, Failure> {
        if let AgentRequest::Extension { method, .. } = &request {
            check_extension(method)?;
        }
        self.command(by, thread, Command::AgentRequest(request)).await
    }

    pub(super) async fn notify_agent(
        &self,
        by: Origin,
        thread: ThreadId,
        method: String,
        params: Option<RawJson>,
    ) -> Result<Dispatched, Failure> {
        check_extension(&method)?;
        self.command(by, thread, Command::Notify { method, params }).await
    }
}

fn agent_info(agent: ListedAgent) -> AgentInfo {
    AgentInfo {
        id: agent.id,
        title: agent.title,
        source: agent.source.name(),
        installed: agent.installed,
        runs: agent.runs.map(LaunchMethod::name),
        reason: agent.reason,
        version: agent.version,
        description: agent.description,
    }
}

fn agent_hello(hello: InitializeResult) -> AgentHello {
    AgentHello {
        protocol_version: hello.protocol_version,
        agent_info: hello.agent_info,
        agent_capabilities: hello.agent_capabilities,
        auth_methods: hello.auth_methods,
    }
}

fn agent_sandbox(confinement: Confinement) -> AgentSandbox {
    let shown = |paths: Vec<PathBuf>| paths.iter().map(|path| path.display().to_string()).collect();
    AgentSandbox {
        mode: confinement.mode,
        reason: confinement.reason,
        gaps: confinement.gaps,
        read: shown(confinement.read),
        write: shown(confinement.write),
        network: confinement.network,
        missing: confinement.missing,
        closed: shown(confinement.closed),
    }
}
