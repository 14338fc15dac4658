//! Data stored beside events, in memory: searchable texts, and which threads need which blob.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use acpd_model::{BlobId, Extract, SearchHit, SearchableText, Seq, ThreadId, TurnsDropped};

use crate::search::{Query, Search, SearchCursor, bounded, moment, places, snippet, words};

#[derive(Default)]
pub(super) struct Index {
    /// Texts by their position in time.
    texts: BTreeMap<i64, (ThreadId, SearchableText)>,
    blobs: HashMap<BlobId, BTreeSet<ThreadId>>,
}

impl Index {
    pub(super) fn add(&mut self, thread: ThreadId, extract: Extract) {
        for mut found in extract.texts {
            found.text.truncate(bounded(&found.text).len());
            let places = places(found.at);
            let last = self.texts.range(places.clone()).next_back();
            let place = last.map_or(places.start, |(last, _)| last + 1);
            if places.contains(&place) && !words(&found.text).is_empty() {
                self.texts.insert(place, (thread, found));
            }
        }
        for blob in extract.blobs {
            self.claim(thread, blob);
        }
        for dropped in extract.dropped {
            self.drop_turns(thread, dropped);
        }
    }

    fn drop_turns(&mut self, thread: ThreadId, dropped: TurnsDropped) {
        let TurnsDropped { seq, last_kept } = dropped;
        let of_turn = |found: &SearchableText| found.seq < seq && found.turn > last_kept;
        let texts = self.texts.values().filter(|(of, _)| *of == thread);
        let Some(first) = texts
            .filter(|(_, found)| of_turn(found))
            .map(|(_, found)| found.seq)
            .min()
        else {
            return;
        };
        self.texts.retain(|_, (of, found)| {
            let between = found.turn.is_none() && (first..seq).contains(&found.seq);
            *of != thread || !(of_turn(found) || between)
        });
    }

    pub(super) fn claim(&mut self, thread: ThreadId, blob: BlobId) {
        self.blobs.entry(blob).or_default().insert(thread);
    }

    /// Returns whether a thread needs a blob.
    pub(super) fn is_needed_by(&self, blob: BlobId, thread: ThreadId) -> bool {
        self.blobs
            .get(&blob)
            .is_some_and(|threads| threads.contains(&thread))
    }

    /// Returns the threads that need a blob.
    pub(super) fn needs(&self, blob: BlobId) -> impl Iterator<Item = ThreadId> {
        self.blobs.get(&blob).into_iter().flatten().copied()
    }

    /// Returns the blobs that a thread needs.
    pub(super) fn blobs_of(&self, thread: ThreadId) -> impl Iterator<Item = BlobId> {
        let blobs = self.blobs.iter();
        blobs
            .filter(move |(_, threads)| threads.contains(&thread))
            .map(|(blob, _)| *blob)
    }

    /// Adds the texts of a thread's events up to `until` to a thread that inherits these events.
    pub(super) fn inherit(&mut self, from: ThreadId, to: ThreadId, until: Seq) {
        let texts = self.texts.values();
        let texts = texts.filter(|(of, found)| *of == from && found.seq <= until);
        let texts = texts.map(|(_, found)| found.clone()).collect();
        let blobs = self.blobs.iter();
        let blobs = blobs.filter(|(_, threads)| threads.contains(&from));
        let blobs = blobs.map(|(blob, _)| *blob).collect();
        let extract = Extract {
            texts,
            blobs,
            ..Extract::default()
        };
        self.add(to, extract);
    }

    /// Removes a thread. Returns the blobs that no thread needs any more.
    pub(super) fn forget(&mut self, thread: ThreadId) -> Vec<BlobId> {
        self.texts.retain(|_, (of, _)| *of != thread);
        let mut free = Vec::new();
        self.blobs.retain(|blob, threads| {
            threads.remove(&thread);
            if threads.is_empty() {
                free.push(*blob);
            }
            !threads.is_empty()
        });
        free
    }

    /// Returns hits without the names of their threads.
    pub(super) fn search(
        &self,
        search: &Search,
        cursor: Option<SearchCursor>,
        limit: usize,
    ) -> Vec<(SearchCursor, SearchHit)> {
        let Some(query) = Query::read(&search.text) else {
            return Vec::new();
        };
        self.texts
            .range(..cursor.map_or(i64::MAX, |cursor| cursor.0))
            .rev()
            .filter(|(_, (thread, _))| search.thread.is_none_or(|wanted| wanted == *thread))
            .filter_map(|(place, (thread, found))| {
                let places = query.find(&words(&found.text))?;
                let hit = SearchHit {
                    thread: *thread,
                    name: None,
                    seq: found.seq,
                    at: moment(*place),
                    turn: found.turn,
                    item: found.item,
                    kind: found.kind,
                    snippet: snippet(&found.text, &places),
                };
                Some((SearchCursor(*place), hit))
            })
            .take(limit)
            .collect()
    }
}
