//! Looks up turns by the ids that clients gave them.

use acpd_log::LogError;
use acpd_model::{Event, EventKind, Failure, Seq, ThreadId, TurnEvent, TurnId};
use acpd_proto::surface::reply::ClaimedPrompt;
use acpd_proto::thread::TurnView;

use crate::service::Service;
use crate::service::turn_pages::end_of_turn;
use crate::stored::log_failure;
use crate::stored::turns::{client_turn, look_up};

impl Service {
    /// Finds the turns with these names in the log of `thread`. Reports how they ended only up to `cursor`: the client
    /// receives later events when it follows the thread.
    pub(super) async fn claim(
        &self,
        thread: ThreadId,
        names: Vec<String>,
        cursor: Seq,
    ) -> Result<Vec<ClaimedPrompt>, Failure> {
        let mut claimed = Vec::with_capacity(names.len());
        for client_turn_id in names {
            let found = self.named_turn(thread, &client_turn_id, cursor).await;
            let found = found.map_err(|error| log_failure(&error))?;
            let (turn, settled) = found.unzip();
            claimed.push(ClaimedPrompt {
                client_turn_id,
                turn,
                settled: settled.flatten().map(Box::new),
            });
        }
        Ok(claimed)
    }

    /// Returns the turn that a client already started with this name, if it has ended and is part of the conversation.
    /// The thread itself knows the others.
    pub(super) async fn ended_turn(&self, thread: ThreadId, name: &str) -> Result<Option<TurnView>, Failure> {
        let (id, settled) = match self.named_turn(thread, name, Seq::MAX).await {
            Ok(Some((id, Some(settled)))) => (id, settled),
            // The thread may be about to be created.
            Ok(_) | Err(LogError::NoSuchThread(_)) => return Ok(None),
            Err(error) => return Err(log_failure(&error)),
        };
        let EventKind::Turn(TurnEvent::Settled { status, .. }) = settled.kind else {
            return Ok(None);
        };
        let live = self.directory.look(thread).await?;
        let view = TurnView {
            id,
            status: Some(status),
            queued: false,
            started_at: None,
        };
        Ok(Some(view).filter(|_| !live.dropped.contains(id)))
    }

    /// Returns a turn and the event that ended it.
    async fn named_turn(
        &self,
        thread: ThreadId,
        name: &str,
        until: Seq,
    ) -> Result<Option<(TurnId, Option<Event>)>, LogError> {
        let log = &self.context.log;
        let Some(turn) = client_turn(log, thread, name).await? else {
            return Ok(None);
        };
        let settled = end_of_turn(log, thread, turn, until).await?;
        let ended = look_up(log, thread, settled.into_iter().collect()).await?.pop();
        Ok(Some((turn, ended)))
    }
}
