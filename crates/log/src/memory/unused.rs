//! Threads that were not used for long, in memory.

use acpd_model::{BlobId, Millis, ThreadId};

use super::State;
use crate::{ListCursor, Measure, Unused, UnusedPage, UnusedThread, Usage};

impl State {
    pub(super) fn unused(&self, wanted: &Unused, limit: usize) -> UnusedPage {
        let mut all: Vec<_> = self
            .threads
            .iter()
            .filter(|(thread, _)| self.is_unused(**thread, wanted.before))
            .filter(|(_, held)| {
                wanted
                    .archived
                    .is_none_or(|archived| held.summary.archived == archived)
            })
            .map(|(thread, held)| (held.summary.updated_at, *thread))
            .filter(|place| {
                wanted
                    .after
                    .is_none_or(|after| *place > (after.updated_at, after.thread))
            })
            .collect();
        all.sort_unstable();
        let mut page = UnusedPage::default();
        for (updated_at, thread) in all {
            let blobs = match wanted.measure {
                Measure::Thread => Vec::new(),
                Measure::Blobs => self.removable(thread, wanted.before),
            };
            let bytes = match wanted.measure {
                Measure::Thread => self.bytes_of(thread),
                Measure::Blobs if blobs.is_empty() => continue,
                Measure::Blobs => blobs.iter().map(|blob| self.bytes_of_blob(*blob)).sum(),
            };
            page.threads.push(UnusedThread {
                thread,
                summary: self.threads[&thread].summary.clone(),
                bytes,
                blobs: blobs.len() as u64,
            });
            if page.threads.len() >= limit {
                page.next = Some(ListCursor { updated_at, thread });
                break;
            }
        }
        page
    }

    pub(super) fn usage(&self) -> Usage {
        let events: u64 = self
            .threads
            .keys()
            .map(|thread| self.bytes_of_events(*thread))
            .sum();
        let blobs: u64 = self.blobs.values().map(|blob| blob.len() as u64).sum();
        Usage {
            bytes: events + blobs,
            erasing_bytes: 0,
        }
    }

    /// Returns the blobs of a thread which only threads need that were not used since `before`.
    pub(super) fn removable(&self, thread: ThreadId, before: Millis) -> Vec<BlobId> {
        let unused = |blob: &BlobId| self.index.needs(*blob).all(|needs| self.is_unused(needs, before));
        let mut blobs: Vec<BlobId> = self
            .index
            .blobs_of(thread)
            .filter(|blob| self.blobs.contains_key(blob) && unused(blob))
            .collect();
        blobs.sort_unstable_by_key(|blob| blob.0);
        blobs
    }

    fn is_unused(&self, thread: ThreadId, before: Millis) -> bool {
        let summary = self.threads.get(&thread).map(|held| &held.summary);
        summary.is_none_or(|summary| !summary.status.is_active() && summary.updated_at < before)
    }

    fn bytes_of(&self, thread: ThreadId) -> u64 {
        let alone = |blob: &BlobId| self.index.needs(*blob).all(|needs| needs == thread);
        let blobs = self.index.blobs_of(thread).filter(alone);
        let blobs: u64 = blobs.map(|blob| self.bytes_of_blob(blob)).sum();
        self.bytes_of_events(thread) + blobs
    }

    fn bytes_of_events(&self, thread: ThreadId) -> u64 {
        let held = self.threads.get(&thread).into_iter();
        held.flat_map(|held| held.chunks.values())
            .map(|(_, body)| body.len() as u64)
            .sum()
    }

    fn bytes_of_blob(&self, blob: BlobId) -> u64 {
        self.blobs.get(&blob).map_or(0, |body| body.len() as u64)
    }
}
