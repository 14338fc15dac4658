//! What a client that opens the thread wants of the agent's session: kept for each time that the session is opened, and
//! given to an agent that runs by opening its session once more, as soon as it does nothing.

use std::path::Path;

use acpd_model::event::{Level, SessionParams};
use acpd_model::{EventKind, Failure, Origin, RawJson};

use super::command::Reply;
use super::thread::{AgentState, Thread};
use crate::agent::Capabilities;
use crate::projection::SessionChange;
use crate::time::Now;

impl Thread {
    pub(super) fn set_session_params(&mut self, by: Origin, change: SessionChange) -> Result<Reply, Failure> {
        // What was put away, or is about to vanish, is only looked at.
        if self.check_accepts_turns().is_err() {
            return Ok(Reply::Done);
        }
        if let Some(servers) = &change.mcp_servers {
            self.check_mcp_servers(servers)?;
        }
        let params = self.journal.live().spec.with(change);
        if params == self.journal.live().spec.params {
            return Ok(Reply::Done);
        }
        let before = self.journal.live().spec.clone();
        let kind = EventKind::SessionParamsSet(Box::new(params));
        self.journal.emit(by, kind, None);
        if self.journal.live().spec.opens_like(&before)
            || !self.has_agent()
            || self.agent == AgentState::Stopping
        {
            return Ok(Reply::Done);
        }
        if self.would_forget() {
            self.journal.notice(
                Level::Info,
                "sessionParamsLater",
                "The agent cannot go on with its session in another process: MCP servers, directory and other \
                 members of the request reach it when it is next started.",
            );
        } else {
            self.reopen_requested = true;
            self.reopen_if_idle();
        }
        Ok(Reply::Done)
    }

    /// Refuses servers that the agent cannot reach, by what it declared when it was last started.
    fn check_mcp_servers(&self, servers: &[RawJson]) -> Result<(), Failure> {
        let declared = self.journal.live().declared;
        let last = || Capabilities {
            mcp_http: declared.mcp_http,
            mcp_sse: declared.mcp_sse,
            ..Capabilities::default()
        };
        match &self.capabilities {
            Some(capabilities) => capabilities.check_mcp_servers(servers),
            None if self.journal.live().bound => last().check_mcp_servers(servers),
            // It is not known yet.
            None => Ok(()),
        }
    }

    /// The directory that a client wanted for the session is not there any more: the thread's own is used again, which is
    /// the answer.
    pub fn session_directory_gone(&mut self, now: Now) -> String {
        self.journal.set_now(now);
        let spec = &self.journal.live().spec;
        let message = format!(
            "The session's directory {} is gone: the agent is started in {}.",
            spec.session_cwd(),
            spec.cwd
        );
        let params = SessionParams {
            cwd: None,
            ..spec.params.clone()
        };
        self.journal.emit(
            Origin::Daemon,
            EventKind::SessionParamsSet(Box::new(params)),
            None,
        );
        self.journal
            .notice(Level::Warning, "sessionDirectoryGone", &message);
        self.journal.live().spec.cwd.clone()
    }

    /// Says where directories of the workspace lead that are links, or below links: an agent may have made them.
    pub(super) fn name_linked_directories(&mut self) {
        let linked = self.journal.live().spec.real_names();
        let linked = linked.filter(|(given, real)| Path::new(given) != Path::new(real));
        let messages: Vec<_> = linked
            .map(|(given, real)| {
                format!("The workspace directory {given} is a link: the agent works in {real}.")
            })
            .collect();
        for message in messages {
            self.journal.notice(Level::Info, "linkedDirectory", &message);
        }
    }

    /// Opens the session once more, in another process, if that is wanted and nothing is lost by it.
    pub(super) fn reopen_if_idle(&mut self) {
        let is_idle =
            self.agent == AgentState::Ready && self.prompted.is_none() && self.agent_requests.is_empty();
        if is_idle && std::mem::take(&mut self.reopen_requested) {
            self.restart_wanted = true;
            self.stop_agent();
        }
    }

    /// How chunks are recorded where no client says so.
    pub fn set_single_chunks(&mut self, single: bool) {
        self.journal.set_single_chunks(single);
    }
}
