//! Pages of a thread's turns, read from the events that describe them.

use std::sync::Arc;

use acpd_log::{LogError, SharedLog, TurnsWanted};
use acpd_model::Failure;
use acpd_model::limits::{TURNS_PAGE, TURNS_PAGE_BYTES};
use acpd_proto::projection::{Live, Transcript, TurnsPage};
use acpd_proto::surface::request::Turns;

use crate::service::Service;
use crate::thread::directory::log_failure;
use crate::thread::indexing::{find_turns, look_up};

/// Maximum number of unfinished items whose notes are on a page.
const OPEN_NOTED: usize = 64;

impl Service {
    /// Returns a page of a thread's turns at the event of `live`.
    pub async fn turns_page(&self, live: &Arc<Live>, wanted: Turns) -> Result<TurnsPage, Failure> {
        let live = Arc::clone(live);
        let page = self.context.read_log(|log| read_page(log, live, wanted)).await;
        page.map_err(|error| log_failure(&error))
    }
}

async fn read_page(log: SharedLog, live: Arc<Live>, wanted: Turns) -> Result<TurnsPage, LogError> {
    let Turns { before, limit } = wanted;
    let wanted = TurnsWanted {
        before,
        turns: limit.unwrap_or(TURNS_PAGE),
        bytes: TURNS_PAGE_BYTES,
        until: live.last_seq,
        dropped: live.dropped.runs().collect(),
        open: match before {
            None => live.items.keys().copied().take(OPEN_NOTED).collect(),
            Some(_) => Vec::new(),
        },
    };
    let found = find_turns(&log, live.thread, wanted).await?;
    let older = found.older;
    let events = look_up(&log, live.thread, found.seqs().into_iter().collect()).await?;
    let mut page = Transcript::new(live.thread);
    for event in &events {
        page.fold(event);
    }
    page.add_open(&live, older, before);
    for (item, notes) in found.open {
        page.add_notes(item, look_up(&log, live.thread, notes).await?);
    }
    page.add_queued(&live);
    Ok(TurnsPage {
        turns: page.into_turns(),
        older,
    })
}
