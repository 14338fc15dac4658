//! Collects a thread's conversation from the log: for an agent that has lost it, or to compare it with an agent's replay.

use std::collections::BTreeSet;
use std::path::PathBuf;

use acpd_log::{LogError, SharedLog, TurnsWanted};
use acpd_model::limits::{ATTACHMENTS_OF_THREAD, TURNS_PAGE, TURNS_PAGE_BYTES};
use acpd_model::{
    Event, EventKind, Failure, ItemEnd, ItemEvent, MessageType, RawJson, Seq, ThreadId, TurnId,
};
use acpd_proto::projection::{DroppedTurns, Exchanges, HistoryText};
use acpd_proto::thread::Input;
use futures_util::future::BoxFuture;

use crate::context::Context;
use crate::stored::log_failure;
use crate::stored::turns::{find_turns, look_up};

/// Collects the end of the conversation, as [`collect_history`] does, for a thread that handles other inputs meanwhile.
pub fn history_input(
    context: &Context,
    thread: ThreadId,
    except: TurnId,
    dropped: DroppedTurns,
    bytes: usize,
) -> BoxFuture<'static, Input> {
    let context = context.clone();
    Box::pin(async move {
        let collecting = context
            .read_log(|log| async move { collect_history(&log, thread, except, dropped, bytes).await });
        let history = collecting.await;
        Input::HistoryCollected(history.map_err(|error| unread(thread, &error)))
    })
}

/// Collects the conversation as exchanges, as [`collect_exchanges`] does, for a thread that handles other inputs meanwhile.
pub fn exchanges_input(
    context: &Context,
    thread: ThreadId,
    except: Option<TurnId>,
    dropped: DroppedTurns,
) -> BoxFuture<'static, Input> {
    let context = context.clone();
    Box::pin(async move {
        let collecting =
            context.read_log(|log| async move { collect_exchanges(&log, thread, except, dropped).await });
        let known = collecting.await;
        Input::ExchangesCollected(known.map_err(|error| unread(thread, &error)))
    })
}

/// Most links that [`linked_files`] returns: a thread has no more files, and those that it has taken along are of threads with as many.
const LINKS: usize = 4 * ATTACHMENTS_OF_THREAD;

/// Returns the files to which messages of users link, in the turns up to the event `until` but without dropped turns. `link` returns the
/// file of a content block. An agent may have imported such a message, so a link proves nothing.
pub async fn linked_files(
    log: &SharedLog,
    thread: ThreadId,
    until: Seq,
    dropped: DroppedTurns,
    link: impl Fn(&RawJson) -> Option<PathBuf>,
) -> Result<BTreeSet<PathBuf>, LogError> {
    let mut files = BTreeSet::new();
    let mut wanted = TurnsWanted {
        before: None,
        turns: TURNS_PAGE,
        bytes: TURNS_PAGE_BYTES,
        until,
        dropped: dropped.runs().collect(),
        open: Vec::new(),
    };
    loop {
        let found = find_turns(log, thread, wanted.clone()).await?;
        let items = found.turns.iter().flat_map(|turn| &turn.items);
        let mut ends: Vec<Seq> = items.map(|item| item.last).collect();
        ends.sort_unstable();
        let events = look_up(log, thread, ends).await?;
        files.extend(events.iter().flat_map(sent_blocks).filter_map(&link));
        if files.len() >= LINKS || found.older.is_none() {
            return Ok(files);
        }
        wanted.before = found.older;
    }
}

/// Returns the content blocks of a user's message, if an event completes one.
fn sent_blocks(event: &Event) -> &[RawJson] {
    match &event.kind {
        EventKind::Item(ItemEvent::Completed {
            end:
                ItemEnd::Message {
                    role: MessageType::UserMessage,
                    content,
                },
            ..
        }) => content,
        _ => &[],
    }
}

fn unread(thread: ThreadId, error: &LogError) -> Failure {
    tracing::error!(%thread, %error, "the conversation so far cannot be read");
    log_failure(error)
}

/// Returns the end of the conversation in at most `bytes` bytes, without the turn `except` and without dropped turns.
/// Returns an error rather than a part of the text: the end matters most, and it is read first.
async fn collect_history(
    log: &SharedLog,
    thread: ThreadId,
    except: TurnId,
    dropped: DroppedTurns,
    bytes: usize,
) -> Result<String, LogError> {
    let mut text = HistoryText::new(bytes);
    let mut wanted = TurnsWanted {
        before: None,
        turns: TURNS_PAGE,
        bytes: TURNS_PAGE_BYTES,
        until: Seq::MAX,
        dropped: dropped.runs().collect(),
        open: Vec::new(),
    };
    loop {
        let found = find_turns(log, thread, wanted.clone()).await?;
        let turns = found.turns.iter().filter(|turn| turn.turn != Some(except));
        let mut ends: Vec<Seq> = turns
            .flat_map(|turn| turn.items.iter().map(|item| item.last))
            .collect();
        ends.sort_unstable();
        let events = look_up(log, thread, ends).await?;
        let has_room = events.iter().rev().all(|event| text.prepend(event));
        if !has_room || found.older.is_none() {
            return Ok(text.finish());
        }
        wanted.before = found.older;
    }
}

/// Returns the conversation as exchanges, without the turn `except` and without dropped turns, for comparison
/// with the agent's replay.
async fn collect_exchanges(
    log: &SharedLog,
    thread: ThreadId,
    except: Option<TurnId>,
    dropped: DroppedTurns,
) -> Result<Exchanges, LogError> {
    let mut rounds = Exchanges::known(except, dropped);
    fold(log, thread, |event| rounds.fold(event)).await?;
    Ok(rounds)
}

async fn fold(log: &SharedLog, thread: ThreadId, mut take: impl FnMut(&Event)) -> Result<(), LogError> {
    let mut after = 0;
    loop {
        let page = log.read(thread, after).await?;
        page.events.iter().for_each(&mut take);
        after = page.events.last().map_or(after, |event| event.seq);
        if page.at_end {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use acpd_log::{EventLog, Fault, Memory};
    use acpd_model::{
        EventKind, Extract, ItemEnd, ItemEvent, ItemId, ItemMark, ItemOutcome, MessageType, Origin, Summary,
        TurnMark, TurnStep,
    };
    use acpd_proto::projection::text_block;

    use super::*;

    fn message_event(seq: u64, text: &str) -> Event {
        let role = MessageType::AgentMessage;
        let content = vec![text_block(text)];
        let end = ItemEnd::Message { role, content };
        Event {
            seq,
            at: 0,
            turn: Some(TurnId(1)),
            by: Origin::Agent,
            kind: EventKind::Item(ItemEvent::Completed {
                item: ItemId(u32::try_from(seq).unwrap()),
                outcome: ItemOutcome::Completed,
                end,
            }),
            raw: None,
            raw_params: None,
            repeats_id: false,
            translated: false,
            lane: None,
        }
    }

    /// Returns a log with three messages, of which two fit on a page.
    async fn three_messages(thread: ThreadId) -> Arc<Memory> {
        let log = Arc::new(Memory::new());
        for seq in 1..=3 {
            let events = [message_event(seq, &format!("{}{seq}", "x".repeat(100)))];
            let mut extract = Extract::default();
            extract.marks.items.push(ItemMark {
                item: ItemId(u32::try_from(seq).unwrap()),
                turn: Some(TurnId(1)),
                first: seq,
                last: seq,
                bytes: TURNS_PAGE_BYTES / 3,
            });
            if seq == 1 {
                extract.marks.turns.push(TurnMark {
                    turn: TurnId(1),
                    step: TurnStep::Started,
                    seq,
                });
            }
            log.append_with(thread, &events, Some(&Summary::default()), &extract)
                .await
                .unwrap();
        }
        log
    }

    #[tokio::test]
    async fn the_end_of_a_conversation_is_read_from_its_end() {
        let thread = ThreadId(uuid::Uuid::nil());
        let log = three_messages(thread).await;
        let shared: SharedLog = log.clone();
        let collect = async |bytes| {
            let collected = collect_history(&shared, thread, TurnId(2), DroppedTurns::default(), bytes).await;
            collected.unwrap()
        };
        let all = collect(1000).await;
        let at: Vec<_> = ["x1", "x2", "x3"]
            .iter()
            .map(|text| all.find(text).unwrap())
            .collect();
        assert!(at.is_sorted() && !all.contains("left out"), "{all}");
        let some = collect(300).await;
        assert!(
            some.starts_with("(the beginning is left out)") && some.contains("x2"),
            "{some}"
        );
        assert!(!some.contains("x1"), "{some}");
        let end = collect(10).await;
        assert!(end.ends_with("xxx3\n") && end.len() < 50, "{end}");
        // The earlier page is not read.
        log.inject(Fault::FailRead { after: 1 });
        assert_eq!(collect(10).await, end);
    }

    #[tokio::test]
    async fn a_log_that_fails_in_the_middle_gives_nothing_rather_than_a_part() {
        let thread = ThreadId(uuid::Uuid::nil());
        for after in 0..2 {
            let log = three_messages(thread).await;
            log.inject(Fault::FailRead { after });
            let shared: SharedLog = log.clone();
            let collected = collect_history(&shared, thread, TurnId(2), DroppedTurns::default(), 1000).await;
            assert!(
                matches!(collected, Err(LogError::Storage(_))),
                "{after}: {collected:?}"
            );
        }
    }
}
