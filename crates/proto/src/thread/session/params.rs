//! A client's parameters for the agent's session. They are stored for each time that the session is opened. A running
//! agent gets them when its session is opened again, as soon as it is idle.

use std::path::Path;

use acpd_model::event::{Level, SessionParams};
use acpd_model::{EventKind, Failure, Origin, RawJson, SessionEvent};

use super::Session;
use crate::agent::Capabilities;
use crate::projection::SessionChange;
use crate::thread::journal::Journal;

impl Session {
    /// Changes the parameters of the session.
    pub fn set_params(
        &mut self,
        journal: &mut Journal,
        by: Origin,
        change: SessionChange,
    ) -> Result<(), Failure> {
        // A thread that is archived or is being deleted is open only for reading.
        if self.check_accepts_turns(journal).is_err() {
            return Ok(());
        }
        if let Some(servers) = &change.mcp_servers {
            self.check_mcp_servers(journal, servers)?;
        }
        if let Some(prompt) = &change.system_prompt {
            self.check_system_prompt(journal, prompt)?;
        }
        let params = journal.live().spec.with(change);
        if params == journal.live().spec.params {
            return Ok(());
        }
        let before = journal.live().spec.clone();
        let kind = EventKind::Session(SessionEvent::ParamsSet(Box::new(params)));
        journal.emit(by, kind, None);
        if journal.live().spec.opens_like(&before) || !self.has_agent() || self.is_stopping() {
            return Ok(());
        }
        if self.would_forget() {
            journal.notice(
                Level::Info,
                "sessionParamsLater",
                "The agent cannot resume its session in another process: MCP servers, directory and other \
                 members of the request reach it when it is next started.",
            );
        } else {
            self.reopen_requested = true;
        }
        Ok(())
    }

    /// Rejects servers that the agent cannot reach, according to the capabilities of its last start.
    fn check_mcp_servers(&self, journal: &Journal, servers: &[RawJson]) -> Result<(), Failure> {
        let declared = journal.live().declared;
        let last = || Capabilities {
            mcp_http: declared.mcp_http,
            mcp_sse: declared.mcp_sse,
            ..Capabilities::default()
        };
        match &self.capabilities {
            Some(capabilities) => capabilities.check_mcp_servers(servers),
            None if journal.live().bound => last().check_mcp_servers(servers),
            // The capabilities are not known yet.
            None => Ok(()),
        }
    }

    /// Rejects a system prompt that the agent does not take, according to the capabilities of its last start.
    fn check_system_prompt(&self, journal: &Journal, prompt: &RawJson) -> Result<(), Failure> {
        let live = journal.live();
        let declared = match &self.capabilities {
            Some(capabilities) => capabilities.system_prompt,
            None if live.bound => live.declared.system_prompt,
            // The capabilities are not known yet.
            None => return Ok(()),
        };
        declared.check(prompt, &live.spec.agent)
    }
}

/// Resets the session's directory to the thread's own, because the one that a client set no longer exists. Returns
/// the directory.
pub(in crate::thread) fn reset_directory(journal: &mut Journal) -> String {
    let spec = &journal.live().spec;
    let message = format!(
        "The session's directory {} is gone: the agent is started in {}.",
        spec.session_cwd(),
        spec.cwd
    );
    let params = SessionParams {
        cwd: None,
        ..spec.params.clone()
    };
    journal.emit(
        Origin::Daemon,
        EventKind::Session(SessionEvent::ParamsSet(Box::new(params))),
        None,
    );
    journal.notice(Level::Warning, "sessionDirectoryGone", &message);
    journal.live().spec.cwd.clone()
}

/// Records the real paths of workspace directories that are links, or below links, because an agent may have created
/// the links.
pub(in crate::thread) fn name_linked_directories(journal: &mut Journal) {
    let linked = journal.live().spec.real_names();
    let linked = linked.filter(|(given, real)| Path::new(given) != Path::new(real));
    let messages: Vec<_> = linked
        .map(|(given, real)| format!("The workspace directory {given} is a link: the agent works in {real}."))
        .collect();
    for message in messages {
        journal.notice(Level::Info, "linkedDirectory", &message);
    }
}
