//! Pages of a thread's turns, read from the events that describe them.

use acpd_log::TurnsWanted;
use acpd_model::Failure;
use acpd_model::limits::{TURNS_PAGE, TURNS_PAGE_BYTES};
use acpd_proto::projection::{Live, Transcript, TurnsPage};
use acpd_proto::surface::request::Turns;

use crate::service::Service;
use crate::thread::directory::log_failure;
use crate::thread::indexing::{find_turns, look_up};

impl Service {
    /// Returns a page of a thread's turns at the event of `live`.
    pub async fn turns_page(&self, live: &Live, wanted: Turns) -> Result<TurnsPage, Failure> {
        let Turns { before, limit } = wanted;
        let wanted = TurnsWanted {
            before,
            turns: limit.unwrap_or(TURNS_PAGE),
            bytes: TURNS_PAGE_BYTES,
            until: live.last_seq,
            dropped: live.dropped.runs().collect(),
        };
        let log = &self.context.log;
        let read = async {
            let found = find_turns(log, live.thread, wanted).await?;
            let seqs = found.seqs().into_iter().collect();
            Ok((look_up(log, live.thread, seqs).await?, found.older))
        };
        let (events, older) = read.await.map_err(|error| log_failure(&error))?;
        let mut page = Transcript::default();
        for event in &events {
            page.fold(event);
        }
        page.add_open(live, older, before);
        Ok(TurnsPage {
            turns: page.turns,
            older,
        })
    }
}
