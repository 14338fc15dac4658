//! Reads a thread to its end.

use acpd_model::{Event, Seq, ThreadId};

use crate::SharedLog;

/// Returns all events of a thread after `after`, page by page. Checks each page.
pub async fn read_all(log: &SharedLog, thread: ThreadId, after: Seq) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let cursor = events.last().map_or(after, |event| event.seq);
        let page = log.read(thread, cursor).await.expect("a thread can be read");
        for (event, seq) in page.events.iter().zip(cursor + 1..) {
            assert_eq!(event.seq, seq, "numbers have no gaps");
        }
        assert!(
            page.at_end || !page.events.is_empty(),
            "a page before the end has an event"
        );
        events.extend(page.events);
        if page.at_end {
            return events;
        }
    }
}
