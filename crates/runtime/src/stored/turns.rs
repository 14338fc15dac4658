//! Finds turns and events of a thread in the log.

use acpd_log::{LogError, SharedLog, TurnsFound, TurnsWanted};
use acpd_model::{Event, Seq, ThreadId, TurnId};

use super::indexing::index_turns;

/// Finds a page of turns. Indexes the thread first if it is not indexed yet.
pub async fn find_turns(
    log: &SharedLog,
    thread: ThreadId,
    wanted: TurnsWanted,
) -> Result<TurnsFound, LogError> {
    loop {
        match log.turns(thread, wanted.clone()).await? {
            Some(found) => return Ok(found),
            None => index_turns(log, thread).await?,
        }
    }
}

/// Returns the last event by which all turns up to `last` have ended, or the event before the first turn.
pub async fn end_of_turns(log: &SharedLog, thread: ThreadId, last: Option<TurnId>) -> Result<Seq, LogError> {
    loop {
        match log.end_of_turns(thread, last).await? {
            Some(end) => return Ok(end),
            None => index_turns(log, thread).await?,
        }
    }
}

/// Returns the turn to which a client gave this id.
pub async fn client_turn(log: &SharedLog, thread: ThreadId, id: &str) -> Result<Option<TurnId>, LogError> {
    index_turns(log, thread).await?;
    log.client_turn(thread, id.to_owned()).await
}

/// Returns all events with these numbers, which ascend.
pub async fn look_up(log: &SharedLog, thread: ThreadId, mut seqs: Vec<Seq>) -> Result<Vec<Event>, LogError> {
    let mut found = Vec::with_capacity(seqs.len());
    while !seqs.is_empty() {
        let events = log.events(thread, seqs.clone()).await?;
        seqs.drain(..events.len());
        found.extend(events);
    }
    Ok(found)
}
