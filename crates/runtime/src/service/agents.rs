//! Requests about agents: the available agents, the running agents, and the agent of a thread.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use acpd_catalog::{InstallMethod, LaunchMethod};
use acpd_model::event::{Directories, LeaseHolder};
use acpd_model::limits::AGENT_STATE_BYTES;
use acpd_model::{AccessScope, ErrorCode, Failure, Origin, RawJson, Role, ThreadId};
use acpd_proto::agent::{AgentRequest, ElicitationModes, check_extension, with_session};
use acpd_proto::surface::reply::{AgentHello, AgentInfo, AgentReport, AgentSandbox, RunningProcess};
use acpd_proto::surface::request::Permissions;
use acpd_proto::thread::Command;
use futures_util::FutureExt;

use crate::agent::probe::{InitializeResult, anywhere, probe};
use crate::agent::registry::ListedAgent;
use crate::agent::sandbox::Confinement;
use crate::host::blocking;
use crate::service::caller::{Caller, Defaults};
use crate::service::directories::find_directories;
use crate::service::{Dispatched, Service};
use crate::standby::initialize_cache::CachedInitialize;
use crate::standby::process::Standby;

impl Service {
    pub(super) fn list_agents(&self) -> Vec<AgentInfo> {
        let agents = self.context.agents.list();
        agents.into_iter().map(|agent| self.agent_info(agent)).collect()
    }

    fn agent_info(&self, agent: ListedAgent) -> AgentInfo {
        AgentInfo {
            installing: self.context.agents.installs.progress(&agent.id),
            id: agent.id,
            title: agent.title,
            source: agent.source.name(),
            installed: agent.installed,
            is_set_up: agent.is_set_up,
            is_default: agent.is_default,
            runs: agent.runs.map(LaunchMethod::name),
            reason: agent.reason,
            version: agent.version,
            description: agent.description,
            installs_by: agent.installs_by.map(InstallMethod::name),
        }
    }

    /// Installs an agent.
    pub(super) async fn install_agent(&self, agent: String) -> Result<Box<AgentInfo>, Failure> {
        let agents = &self.context.agents;
        let reserved = &self.context.reserved;
        agents.installs.install(agents, reserved, &agent).await?;
        let found = agents.list().into_iter().find(|listed| listed.id == agent);
        let found = found.ok_or_else(|| Failure::not_found(format!("agent {agent:?}")))?;
        Ok(Box::new(self.agent_info(found)))
    }

    pub(super) async fn list_running_agents(&self) -> Result<Vec<RunningProcess>, Failure> {
        self.context.processes.list().await
    }

    /// Starts an agent to check whether it works.
    pub(super) async fn examine_agent(&self, agent: String) -> Result<Box<AgentReport>, Failure> {
        let found = self.context.agents.find(&agent)?;
        let _turn = self.context.processes.turn_to_start(&agent).await?;
        let report = probe(
            &found.config,
            &self.context.reserved,
            anywhere(),
            &self.context.limits.now(),
        )
        .await;
        Ok(Box::new(AgentReport {
            agent,
            hello: report.hello.map(agent_hello),
            error: report.error,
            millis: u64::try_from(report.millis).unwrap_or(u64::MAX),
            stderr: report.stderr,
            stray_lines: report.stray_lines,
            sandbox: agent_sandbox(report.sandbox),
        }))
    }

    /// Returns the modes and options with which a session of an agent would begin in a directory. The process that is asked opens no
    /// session, and ends.
    pub(super) async fn read_session_options(
        &self,
        caller: &Caller,
        agent: String,
        cwd: String,
        additional_directories: Vec<String>,
    ) -> Result<RawJson, Failure> {
        let found = self.context.agents.find(&agent)?;
        let look = move || find_directories(cwd, additional_directories);
        let Directories {
            cwd,
            additional_directories,
            ..
        } = blocking(&*self.context.host, look).await?;
        let place = PathBuf::from(&cwd);
        let started = Standby::start(&self.context, &agent, &found.config, &place, caller.elicitation());
        let (_, mut standby) = started.await?;
        let request = AgentRequest::SessionOptions {
            cwd,
            additional_directories,
            of_session: false,
        };
        let answer = standby.ask_once(request).await?;
        let bytes = answer.get().len();
        if bytes > AGENT_STATE_BYTES {
            return Err(Failure::agent(format!(
                "the agent's answer to session/options has {bytes} bytes, and at most {AGENT_STATE_BYTES} are possible"
            )));
        }
        Ok(answer)
    }

    /// Returns what the connection's agent declares. The connection's first session may use the process that this starts.
    pub(super) fn initialize(&self, caller: &Caller) -> Dispatched<RawJson> {
        let service = self.clone();
        let (permissions, defaults, connections) = (
            caller.permissions,
            Arc::clone(&caller.defaults),
            caller.standby.clone(),
        );
        let elicitation = caller.elicitation();
        Dispatched::answer(async move {
            let CachedInitialize { hello, standby } =
                service.declared(permissions, &defaults, elicitation).await?;
            if let (Some(standby), Some(connections)) = (standby, connections) {
                connections.put(Box::new(standby));
            }
            Ok(hello)
        })
    }

    async fn declared(
        &self,
        permissions: Permissions,
        defaults: &Defaults,
        elicitation: ElicitationModes,
    ) -> Result<CachedInitialize, Failure> {
        // What an agent declares, such as its ways to sign in, is no part of a thread.
        if permissions.scope != AccessScope::Everything {
            return Ok(CachedInitialize::unknown());
        }
        let agent = defaults.agent.clone()?;
        let runnable = self.context.agents.find(&agent)?;
        let cwd = directory_of(&defaults.cwd);
        // Clients without the operator role must not cause an agent to start by naming it.
        let cwd = permissions.role.may(Role::Operator).then_some(&*cwd);
        let cache = &self.state.initialize_cache;
        match cache.of(&agent, runnable.config, cwd, elicitation).await {
            // There is no capacity for another process now. The client can still list and read existing threads.
            Err(failure) if failure.code == ErrorCode::Overloaded => Ok(CachedInitialize::unknown()),
            declared => declared,
        }
    }

    /// Forwards a request to the agent and returns the agent's answer.
    pub(super) async fn ask_agent(
        &self,
        caller: &Caller,
        thread: Option<ThreadId>,
        mut request: AgentRequest,
        names_thread: bool,
    ) -> Result<Dispatched<RawJson>, Failure> {
        if let AgentRequest::Extension { method, .. } = &request {
            check_extension(method)?;
        }
        let Some(thread) = thread.or_else(|| caller.thread_for(&request)) else {
            return ask_standby(caller, request);
        };
        if let AgentRequest::Extension { params, .. } = &mut request
            && names_thread
        {
            *params = self.for_agent(thread, params.take()).await?;
        }
        self.command(caller.by.clone(), thread, Command::AgentRequest(request))
            .await
    }

    pub(super) async fn notify_agent(
        &self,
        by: Origin,
        thread: ThreadId,
        method: String,
        mut params: Option<RawJson>,
        names_thread: bool,
    ) -> Result<Dispatched<()>, Failure> {
        check_extension(&method)?;
        if names_thread {
            params = self.for_agent(thread, params).await?;
        }
        self.command(by, thread, Command::Notify { method, params }).await
    }

    /// Replaces the thread id in `sessionId` with the agent's own session id.
    async fn for_agent(&self, thread: ThreadId, params: Option<RawJson>) -> Result<Option<RawJson>, Failure> {
        let Some(params) = params else { return Ok(None) };
        let live = self.directory.look(thread).await?;
        Ok(Some(match &live.summary.session_id {
            Some(session) => with_session(&params, session),
            None => params,
        }))
    }

    pub(super) async fn move_lease(
        &self,
        caller: &Caller,
        thread: ThreadId,
        take: bool,
    ) -> Result<Dispatched<Option<LeaseHolder>>, Failure> {
        let Some(delegate) = &caller.delegate else {
            let message = "this client cannot hold a lease: it does not answer what agents ask";
            return Err(Failure::new(ErrorCode::Unsupported, message));
        };
        let connection = delegate.connection.to_string();
        let command = if take {
            Command::AcquireLease { connection }
        } else {
            Command::ReleaseLease { connection }
        };
        self.command(caller.by.clone(), thread, command).await
    }
}

/// Sends the request to the standby process, because the connection has no session yet.
fn ask_standby(caller: &Caller, request: AgentRequest) -> Result<Dispatched<RawJson>, Failure> {
    let standby = caller.standby.clone();
    let standby = standby.ok_or_else(|| Failure::invalid_params("no agent was named"))?;
    let elicitation = caller.elicitation();
    let mut answer = Box::pin(async move { standby.ask(request, elicitation).await });
    // The request takes its place in the order of the connection's requests now.
    match (&mut answer).now_or_never() {
        Some(reply) => Ok(Dispatched::now(reply)),
        None => Ok(Dispatched::answer(answer)),
    }
}

/// Returns the directory in which to start an agent for a connection that has not named a session yet.
fn directory_of(cwd: &Path) -> PathBuf {
    if cwd.is_dir() { cwd.to_owned() } else { anywhere() }
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
