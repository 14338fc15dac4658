//! What the agent is asked as a part of something greater: words into a running turn, a copy of its session, the end of
//! its session. Whatever it answers, and if it answers nothing, the greater thing goes on from here.

use acpd_model::event::{Fidelity, SessionDeleted, ThreadForked};
use acpd_model::{Failure, Origin, RawJson, TurnId};
use serde::Deserialize;

use super::command::Reply;
use super::thread::{AgentState, Thread};
use crate::agent::{AgentCommand, AgentRequest};

/// What goes on once the agent has answered.
#[derive(Debug)]
pub(super) enum Continuation {
    /// Words for the turn.
    Steer {
        by: Origin,
        turn: TurnId,
        input: Vec<RawJson>,
    },
    /// Another thread is split off.
    Fork(ThreadForked),
    /// The thread is deleted.
    Delete { by: Origin },
}

impl Thread {
    /// Takes the agent's answer to the command `call`, or why there is none. Hands it back if nothing greater waits
    /// for it.
    pub(super) fn run_continuation(
        &mut self,
        call: u64,
        answer: Result<RawJson, Failure>,
    ) -> Option<Result<RawJson, Failure>> {
        let Some(continuation) = self.continuations.remove(&call) else {
            return Some(answer);
        };
        match continuation {
            Continuation::Steer { by, turn, input } => self.steer_answered(call, by, turn, input, answer),
            Continuation::Fork(point) => self.fork_answered(call, point, answer.ok().as_ref()),
            Continuation::Delete { by } => {
                let session = match answer {
                    Ok(_) => SessionDeleted::Deleted,
                    Err(_) => SessionDeleted::Failed,
                };
                self.finish_deletion(call, by, session);
            }
        }
        None
    }

    /// The daemon stops: nothing greater goes on.
    pub(super) fn fail_continuations(&mut self, reason: &str) {
        for call in std::mem::take(&mut self.continuations).into_keys() {
            self.drop_agent_request(call);
            self.journal.reply(call, Err(Failure::agent(reason)));
        }
    }

    fn fork_answered(&mut self, call: u64, mut point: ThreadForked, answer: Option<&RawJson>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Forked {
            session_id: String,
        }
        let forked = answer.and_then(|answer| answer.read::<Forked>().ok());
        // An agent that had to begin anew has forked what knows nothing.
        let exact = forked.filter(|_| !self.journal.live().forgotten);
        if let Some(Forked { session_id }) = exact {
            self.close_session(call, session_id.clone());
            (point.session_id, point.fidelity) = (Some(session_id), Fidelity::Exact);
        } else {
            match self.history_fidelity() {
                Ok(fidelity) => point.fidelity = fidelity,
                Err(failure) => return self.journal.reply(call, Err(failure)),
            }
        }
        let point = self.fork_point(point);
        self.journal.reply(call, Ok(Reply::Fork(Box::new(point))));
    }

    /// The other thread's process opens the session again; this one is not to hold it.
    fn close_session(&mut self, ask: u64, session_id: String) {
        let closes = self.capabilities.as_ref().is_some_and(|c| c.close);
        if closes && self.agent == AgentState::Ready {
            let request = AgentRequest::CloseSession { session_id };
            self.journal.send_to_agent(AgentCommand::Request { ask, request });
        }
    }
}
