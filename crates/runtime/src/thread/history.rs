//! Collects a thread's conversation from the log: for an agent that has lost it, or to compare it with an agent's replay.

use acpd_log::{LogError, SharedLog};
use acpd_model::{Event, ThreadId, TurnId};
use acpd_proto::projection::{DroppedTurns, Exchanges, HistoryText};

/// Returns the end of the conversation in at most `bytes` bytes, without the turn `except` and without dropped turns.
/// Returns an error rather than a part of the text: the end matters most, and it is read last.
pub async fn collect_history(
    log: &SharedLog,
    thread: ThreadId,
    except: TurnId,
    dropped: DroppedTurns,
    bytes: usize,
) -> Result<String, LogError> {
    let mut recall = HistoryText::new(Some(except), dropped, bytes);
    fold(log, thread, |event| recall.fold(event)).await?;
    Ok(recall.finish())
}

/// Returns the conversation as exchanges, without the turn `except` and without dropped turns, for comparison
/// with the agent's replay.
pub async fn collect_exchanges(
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
    use acpd_model::limits::LOG_PAGE_BYTES;
    use acpd_model::{EventKind, ItemEnd, ItemId, ItemOutcome, MessageType, Origin, Summary};
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
            kind: EventKind::ItemCompleted {
                item: ItemId(u32::try_from(seq).unwrap()),
                outcome: ItemOutcome::Completed,
                end,
            },
            raw: None,
            raw_params: None,
        }
    }

    #[tokio::test]
    async fn a_log_that_fails_in_the_middle_gives_nothing_rather_than_a_part() {
        let log = Arc::new(Memory::new());
        let thread = ThreadId(uuid::Uuid::nil());
        for seq in 1..=3 {
            let text = format!("{}{seq}", "x".repeat(LOG_PAGE_BYTES));
            let event = [message_event(seq, &text)];
            log.append(thread, &event, Some(&Summary::default()))
                .await
                .unwrap();
        }
        let shared: SharedLog = log.clone();
        let collected = collect_history(&shared, thread, TurnId(2), DroppedTurns::default(), 10)
            .await
            .unwrap();
        assert!(collected.contains("x3"), "{collected}");
        for after in 0..3 {
            log.inject(Fault::FailRead { after });
            let collected = collect_history(&shared, thread, TurnId(2), DroppedTurns::default(), 10).await;
            assert!(
                matches!(collected, Err(LogError::Storage(_))),
                "{after}: {collected:?}"
            );
        }
    }
}
