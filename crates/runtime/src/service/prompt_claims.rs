//! Looks up the prompts of a lost connection in the log of their thread.

use acpd_model::{EventKind, Failure, Seq, ThreadId};
use acpd_proto::surface::reply::ClaimedPrompt;

use crate::service::Service;
use crate::thread::directory::log_failure;

impl Service {
    /// Finds the turns with these names in the log of `thread`. Reports how they ended only up to `cursor`: the client
    /// receives later events when it follows the thread.
    pub(super) async fn claim(
        &self,
        thread: ThreadId,
        names: Vec<String>,
        cursor: Seq,
    ) -> Result<Vec<ClaimedPrompt>, Failure> {
        let mut claimed: Vec<_> = names
            .into_iter()
            .map(|client_turn_id| ClaimedPrompt {
                client_turn_id,
                turn: None,
                settled: None,
            })
            .collect();
        if claimed.is_empty() {
            return Ok(claimed);
        }
        let mut after = 0;
        loop {
            let page = self.context.log.read(thread, after).await;
            let page = page.map_err(|error| log_failure(&error))?;
            after = page.events.last().map_or(after, |event| event.seq);
            for event in page.events {
                match &event.kind {
                    EventKind::TurnQueued { client_turn_id, .. }
                    | EventKind::TurnStarted { client_turn_id, .. } => {
                        let Some(name) = client_turn_id else { continue };
                        let claims = claimed.iter_mut();
                        for claim in claims.filter(|claim| claim.client_turn_id == *name) {
                            claim.turn = event.turn;
                        }
                    }
                    EventKind::TurnSettled { .. } if event.turn.is_some() && event.seq <= cursor => {
                        let mut claims = claimed.iter_mut();
                        if let Some(claim) = claims.find(|claim| claim.turn == event.turn) {
                            claim.settled = Some(Box::new(event));
                        }
                    }
                    _ => {}
                }
            }
            if page.at_end {
                return Ok(claimed);
            }
        }
    }
}
