//! Prompts that a connection continues for a lost one.

use acpd_model::{ErrorCode, Failure, ThreadId};

use super::encode::frames;
use super::frame::FrameKind;
use super::peer::{Peer, Prompt};
use super::start::PendingPrompt;
use super::version::Version;
use crate::surface::contract::Steps;
use crate::surface::reply::ClaimedPrompt;

impl Peer {
    /// Returns the turn ids of the prompts in `thread` that this connection must answer.
    pub(super) fn claims(&self, thread: ThreadId) -> Vec<String> {
        let prompts = self.start.prompts.iter();
        prompts
            .filter(|prompt| prompt.thread == thread)
            .map(|prompt| prompt.client_turn_id.clone())
            .collect()
    }

    /// Adopts the prompts of `thread`, which is open now, and answers them when their turns end. Prompts whose turns
    /// have ended are answered immediately. Prompts that never reached the thread fail.
    pub(super) fn take_over(&mut self, thread: ThreadId, mut claimed: Vec<ClaimedPrompt>) {
        let mut lost = Vec::new();
        for claim in &claimed {
            let meant = |prompt: &mut PendingPrompt| {
                prompt.thread == thread && prompt.client_turn_id == claim.client_turn_id
            };
            for PendingPrompt { id, .. } in self.start.prompts.extract_if(.., meant) {
                let request = self.exchange.adopt("session/prompt", id);
                match claim.turn {
                    None => lost.push(request),
                    turn => {
                        self.prompts_so_far += 1;
                        self.prompts.push(Prompt {
                            request: Some(request),
                            thread,
                            number: self.prompts_so_far,
                            name: claim.client_turn_id.clone(),
                            turn,
                            cancelled: false,
                        });
                    }
                }
            }
        }
        claimed.sort_by_key(|claim| claim.settled.as_ref().map(|event| event.seq));
        for event in claimed.iter().filter_map(|claim| claim.settled.as_deref()) {
            for frame in frames(&thread.to_string(), std::slice::from_ref(event)) {
                if let FrameKind::Ended(result) = &frame.kind {
                    self.turn_ended(thread, frame.turn, result);
                }
            }
        }
        if self.client.version == Version::Two {
            let running = claimed.iter().filter(|claim| claim.settled.is_none());
            for turn in running.filter_map(|claim| claim.turn) {
                self.take_over_running(thread, turn);
            }
        }
        let message = "the prompt did not reach its thread before the daemon stopped: send it again";
        for request in lost {
            self.refuse(request, &Failure::new(ErrorCode::Overloaded, message));
        }
    }
}
