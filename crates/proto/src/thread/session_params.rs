//! What a client that opens the thread wants of the agent's session: kept for each time that the session is opened, and
//! given to an agent that runs by opening its session once more, as soon as it does nothing.

use acpd_model::event::Level;
use acpd_model::{By, EventKind, Failure};

use super::command::Reply;
use super::steps::{AgentState, Thread};
use crate::projection::{Chunks, SessionChange};

impl Thread {
    pub(super) fn set_session_params(&mut self, by: By, change: SessionChange) -> Result<Reply, Failure> {
        self.check_takes_turns()?;
        if let (Some(capabilities), Some(servers)) = (&self.capabilities, &change.mcp_servers) {
            capabilities.check_mcp_servers(servers)?;
        }
        let params = self.live.spec.with(change);
        if params == self.live.spec.params {
            return Ok(Reply::Done);
        }
        let opened_the_same = {
            let spec = &self.live.spec;
            let before = (
                spec.session_cwd().to_owned(),
                spec.session_mcp_servers(),
                spec.session_members(),
            );
            let kind = EventKind::SessionParamsSet(Box::new(params));
            self.emit(self.current_turn(), by, kind, None);
            let spec = &self.live.spec;
            (before.0.as_str(), before.1, before.2)
                == (
                    spec.session_cwd(),
                    spec.session_mcp_servers(),
                    spec.session_members(),
                )
        };
        if opened_the_same || !self.has_agent() || self.agent == AgentState::Stopping {
            return Ok(Reply::Done);
        }
        if self.would_forget() {
            self.notice(
                Level::Info,
                "sessionParamsLater",
                "The agent cannot go on with its session in another process: MCP servers, directory and other \
                 members of the request reach it when it is next started.",
            );
        } else {
            self.reopens = true;
            self.reopen_if_idle();
        }
        Ok(Reply::Done)
    }

    /// Opens the session once more, in another process, if that is wanted and nothing is lost by it.
    pub(super) fn reopen_if_idle(&mut self) {
        let is_idle = self.agent == AgentState::Ready && self.prompted.is_none() && self.asks.is_empty();
        if is_idle && std::mem::take(&mut self.reopens) {
            self.wanted = true;
            self.stop_agent();
        }
    }

    /// Whether each chunk of the agent's text is recorded by itself: as a client said, else as the configuration does.
    pub(super) fn keeps_chunks_apart(&self) -> bool {
        let said = self.live.spec.chunks;
        said.map_or(self.single_chunks, |chunks| chunks == Chunks::Single)
    }

    /// How chunks are recorded where no client says so.
    pub fn set_single_chunks(&mut self, single: bool) {
        self.single_chunks = single;
    }
}
