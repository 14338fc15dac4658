//! Starts an agent process, or joins a shared one.

use acpd_host::Sandbox;
use acpd_model::Failure;
use acpd_proto::agent::Start;

use crate::agent::config::AgentConfig;
use crate::agent::process::{AgentHandle, spawn};
use crate::context::Context;

/// Opens a session for a thread, in a process of its own or in a shared one.
pub(crate) async fn start_agent(
    context: &Context,
    name: &str,
    config: &AgentConfig,
    sandbox: Option<Sandbox>,
    start: Start,
) -> Result<AgentHandle, Failure> {
    if config.share {
        // Boxed, so that threads with their own process reserve no space for this.
        return Box::pin(context.shared.join(name, config, start)).await;
    }
    let slot = context.processes.start(name).await?;
    let program = config.program(start.cwd.clone().into(), sandbox);
    spawn(&context.launcher(), &program, start, slot)
}
