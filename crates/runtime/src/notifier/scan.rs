//! Finds facts in the log that the outbox has not considered: those that a crash, or a full channel, kept from it.
//!
//! In: the log, and up to which event each thread was considered. Out: facts with the summaries of their threads. Never:
//! reads a whole thread, or a thread without changes.

use std::collections::BTreeMap;

use acpd_log::{Filter, ListCursor, LogError, SharedLog, TurnsWanted};
use acpd_model::limits::LIST_PAGE;
use acpd_model::{Millis, Seq, Summary, ThreadId, ThreadStatus, TurnPosition};
use acpd_proto::notify::{Fact, Subject, Trigger, TriggerKind, facts};

use crate::stored::turns::{find_turns, look_up};

/// Turns that are looked up at a time.
const TURNS: usize = 16;
/// Bytes of their items. Only the ends of the turns are of interest.
const TURNS_BYTES: u64 = 16 << 10;

/// Which facts to find.
#[derive(Debug)]
pub struct Wanted {
    /// Ends of turns before this time are of no interest.
    pub since: Millis,
    /// The last event of a thread that was considered.
    pub considered: BTreeMap<ThreadId, Seq>,
}

/// Returns the facts that were not considered, with the summary of each thread.
pub async fn scan(log: SharedLog, wanted: Wanted) -> Result<Vec<(Summary, Fact)>, LogError> {
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        // Newest first, by when a turn last started or ended.
        let page = log.list(Filter::default(), cursor, LIST_PAGE).await?;
        for listed in &page {
            if listed.summary.updated_at < wanted.since {
                return Ok(found);
            }
            match of_thread(&log, listed.thread, &listed.summary, &wanted).await {
                Ok(facts) => found.extend(facts.into_iter().map(|fact| (listed.summary.clone(), fact))),
                // Deleted meanwhile, or damaged. The others are found all the same.
                Err(error @ (LogError::NoSuchThread(_) | LogError::DamagedEvents { .. })) => {
                    tracing::warn!(thread = %listed.thread, %error, "notifications about a thread are missing");
                }
                Err(error) => return Err(error),
            }
        }
        let (Some(last), true) = (page.last(), page.len() == LIST_PAGE) else {
            return Ok(found);
        };
        cursor = Some(ListCursor {
            updated_at: last.summary.updated_at,
            thread: last.thread,
        });
    }
}

async fn of_thread(
    log: &SharedLog,
    thread: ThreadId,
    summary: &Summary,
    wanted: &Wanted,
) -> Result<Vec<Fact>, LogError> {
    let considered = wanted.considered.get(&thread).copied().unwrap_or(0);
    let until = log.last_seq(thread).await?;
    let mut found = Vec::new();
    let mut before = None;
    loop {
        let page = TurnsWanted {
            before,
            turns: TURNS,
            bytes: TURNS_BYTES,
            until,
            dropped: Vec::new(),
            open: Vec::new(),
        };
        let page = find_turns(log, thread, page).await?;
        let ends: Vec<Seq> = page.turns.iter().filter_map(|turn| turn.settled).collect();
        let mut new: Vec<Seq> = ends.iter().copied().filter(|&seq| seq > considered).collect();
        new.sort_unstable();
        let mut events = look_up(log, thread, new).await?;
        // Events that a fork inherited are older than the fork.
        events.retain(|event| event.at >= wanted.since && event.at > summary.created_at);
        let is_last = events.len() < ends.len() || page.older.is_none();
        found.splice(0..0, facts(thread, &events));
        // Continues before the first turn of the page, of which some items may be missing.
        before = page
            .turns
            .first()
            .and_then(|turn| turn.turn)
            .map(|turn| TurnPosition {
                turn: turn.0,
                item: None,
            });
        if is_last || before.is_none() {
            break;
        }
    }
    if summary.status == ThreadStatus::Waiting
        && let Some(question) = &summary.question
    {
        found.push(Fact::Asked(Trigger {
            thread,
            kind: TriggerKind::Waiting,
            subject: Subject::Question(question.request_id),
            // The event is not known. While the question is open, the summary describes it.
            seq: until,
            at: summary.updated_at,
        }));
    }
    Ok(found)
}
