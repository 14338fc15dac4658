//! How the session of an agent that runs already was opened.

use std::time::Duration;

use crate::agent::{AcpVersion, AgentNames, ElicitationModes, PromptSource, Quirks, Start};
use crate::thread::journal::Journal;

/// Returns the parameters of the thread's session. Those that only matter while a session is opened have no content.
pub(in crate::thread) fn session_start(journal: &Journal) -> Start {
    let live = journal.live();
    Start {
        names: Box::new(AgentNames::from(&*live.spec.agent)),
        cwd: live.spec.session_cwd().to_owned(),
        additional_directories: live.spec.additional_directories.clone(),
        mcp_servers: live.spec.session_mcp_servers(),
        meta: live.spec.session_meta().cloned(),
        members: live.spec.session_members(),
        pending_session: false,
        system_prompt: live.spec.session_system_prompt().cloned(),
        prompt_source: PromptSource::default(),
        config_options: Vec::new(),
        bound: live.bound,
        earlier_session: live.summary.session_id.clone(),
        is_copy: live.is_copy,
        leave_out: Vec::new(),
        foreign: false,
        patience: Duration::from_secs(journal.limits().agent_start_secs),
        quirks: Quirks::default(),
        mode: None,
        elicitation: ElicitationModes::ALL,
        acp: AcpVersion::default(),
    }
}
