//! Starts a thread's agent.
//!
//! In: what the state machine requested. Out: a running agent with its callbacks, or the reason why there is none. Owns:
//! nothing. Never: blocks the thread's task on the disk.

use std::path::Path;
use std::sync::Arc;

use acpd_host::{Reserved, Sandbox, Workspace};
use acpd_model::{Failure, ThreadId};
use acpd_proto::agent::{AcpVersion, PromptSource, Start};
use acpd_proto::projection::{Chunks, Spec};
use acpd_proto::thread::{AgentExit, Input};

use crate::agent::config::AgentConfig;
use crate::agent::mcp;
use crate::agent::process::AgentHandle;
use crate::agent::registry::{Agents, Runnable};
use crate::agent::running::ProcessUse;
use crate::agent::sandbox::SandboxState;
use crate::attachments::Attachments;
use crate::host::callbacks::{self, Callbacks};
use crate::host::{Host, blocking, paths};
use crate::standby::process::Standby;
use crate::standby::start::start_agent;
use crate::thread::actor::ThreadActor;
use crate::thread::actor::folder::if_gone;

/// Everything that is needed to start an agent, or a command in its place.
pub(super) struct Prepared {
    pub config: AgentConfig,
    pub sandbox: Option<Sandbox>,
    /// The thread's directories and the agent's folders, without reserved files and without other agents' own directories.
    pub workspace: Workspace,
}

/// The files of a thread's prompts.
struct Files {
    attachments: Attachments,
    /// Whether a standby process is offered to the thread, which can be used only if its sandbox is the thread's own.
    is_for_standby: bool,
}

/// Finds a thread's agent, prepares its sandbox and opens its workspace. Blocks on the disk.
fn prepare(
    agents: &Agents,
    reserved: &Reserved,
    thread: ThreadId,
    spec: &Spec,
    files: &Files,
) -> Result<Prepared, Failure> {
    if let Some(gone) = if_gone(thread, &spec.cwd) {
        return Err(gone);
    }
    let Runnable { config, .. } = agents.find(&spec.agent)?;
    let servers = mcp::commands(&spec.session_mcp_servers());
    // The rules of a sandbox name what exists. A process that waits for a thread was confined without this thread's directory.
    let makes = !files.is_for_standby || !matches!(config.sandbox_state(), SandboxState::Confined(_));
    let attached = files.attachments.directories(thread, makes);
    let confined =
        config.confine_with_folders(reserved, &callbacks::directories(spec), &servers, &attached)?;
    let (sandbox, folders) = confined.unzip();
    let workspace = paths::open(spec, sandbox.as_ref())?;
    let folders = folders.unwrap_or_default();
    let workspace = folders
        .iter()
        .fold(workspace, |workspace, folder| workspace.and_granted(folder));
    let directories: Vec<_> = workspace.real_directories().map(Path::to_owned).collect();
    let reserved = reserved.and(config.homes_of_others(), &directories);
    let workspace = workspace.without(Arc::new(reserved));
    Ok(Prepared {
        workspace: files.attachments.open_in(workspace, thread, &attached),
        config,
        sandbox,
    })
}

impl ThreadActor {
    /// Starts the thread's agent. If that fails, the machine receives the reason as the agent's exit.
    pub(super) async fn start_agent(&mut self, start: Start) {
        match self.try_start_agent(start).await {
            Ok((handle, using)) => (self.agent, self.using) = (Some(handle), Some(using)),
            Err(failure) => {
                let gone = AgentExit {
                    reason: failure.message,
                    stderr: failure.detail.unwrap_or_default(),
                };
                self.machine
                    .handle(Input::AgentExited(gone), self.context.clock.now());
            }
        }
    }

    async fn try_start_agent(&mut self, mut start: Start) -> Result<(AgentHandle, Arc<ProcessUse>), Failure> {
        if let Some(cwd) = self.machine.live().spec.params.cwd.clone()
            && !is_directory(&*self.context.host, cwd).await
            && is_directory(&*self.context.host, self.machine.live().spec.cwd.clone()).await
        {
            start.cwd = self.machine.session_directory_gone(self.context.clock.now());
        }
        let agent = self.machine.live().spec.agent.clone();
        let Prepared {
            config,
            mut sandbox,
            mut workspace,
        } = self.prepare().await?;
        start.quirks = config.quirks;
        start.mode.clone_from(&config.mode);
        start.acp = config.acp;
        if let Some(prompt) = &config.system_prompt
            && !self.machine.live().spec.has_system_prompt()
        {
            start.system_prompt = Some(prompt.to_acp()?);
            start.prompt_source = PromptSource::Configuration;
        }
        // Beside the editors, the other clients that follow the thread now.
        let followers = self.context.subscribers.elicitation(self.id);
        start.elicitation = config.offered(start.elicitation.or(followers));
        if let Some(title) = &config.title {
            start.names.title.clone_from(title);
        }
        start.mcp_servers = mcp::servers(start.mcp_servers, &config.mcp_servers);
        if config.acp == AcpVersion::Two {
            let servers = std::mem::take(&mut start.mcp_servers);
            let (search, cwd) = (config.search_path(), start.cwd.clone());
            let find = move || Ok(mcp::with_paths(&servers, &search, Path::new(&cwd)));
            start.mcp_servers = blocking(&*self.context.host, find).await?;
        }
        let single = config.chunks == Some(Chunks::Single);
        self.machine.set_single_chunks(single);
        let opened = match self.standby.take() {
            Some(standby) => match self.open_standby(standby, &config, sandbox.as_ref(), start).await {
                Err(start) => {
                    // The sandbox was that of the standby process. A process of the thread's own can read what is attached later.
                    Prepared {
                        sandbox,
                        workspace,
                        ..
                    } = self.prepare().await?;
                    Err(start)
                }
                opened => opened,
            },
            None => Err(start),
        };
        let mut handle = match opened {
            Ok(handle) => handle,
            Err(start) => start_agent(&self.context, &agent, &config, sandbox.clone(), start).await?,
        };
        handle.thread = Some(self.id);
        self.host = Some(Callbacks::new(
            Arc::clone(&self.context.host),
            workspace,
            Box::new(move || config.environment()),
            sandbox,
            self.host_tx.clone(),
            handle.process.budget().clone(),
            Arc::clone(&self.context.metrics),
        ));
        let process = Arc::clone(&handle.process);
        let using = self.context.processes.join(process, Some(self.id)).await?;
        Ok((handle, using))
    }

    /// Finds the thread's agent, prepares its sandbox and opens its workspace.
    pub(super) async fn prepare(&mut self) -> Result<Prepared, Failure> {
        let (thread, spec) = (self.id, self.machine.live().spec.clone());
        let (agents, reserved) = (
            Arc::clone(&self.context.agents),
            Arc::clone(&self.context.reserved),
        );
        let files = Files {
            attachments: self.context.attachments.clone(),
            is_for_standby: self.standby.is_some(),
        };
        blocking(&*self.context.host, move || {
            prepare(&agents, &reserved, thread, &spec, &files)
        })
        .await
    }

    /// Opens the session in the offered standby process, unless it does not fit. Handles events that it has already sent.
    async fn open_standby(
        &mut self,
        standby: Box<Standby>,
        config: &AgentConfig,
        sandbox: Option<&Sandbox>,
        start: Start,
    ) -> Result<AgentHandle, Start> {
        let (handle, early) = standby.open(config, sandbox, start).await?;
        let now = self.context.clock.now();
        for event in early {
            self.machine.handle(Input::Agent(event), now);
        }
        Ok(handle)
    }
}

async fn is_directory(host: &dyn Host, path: String) -> bool {
    let look = move || Ok(Path::new(&path).is_dir());
    blocking(host, look).await.unwrap_or(false)
}
