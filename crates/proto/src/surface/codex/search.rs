//! The search of threads: the threads of the matching texts, each with its first match.

use std::collections::VecDeque;

use acpd_model::{SearchHit, ThreadId};

use super::thread::write_listed;
use crate::projection::Live;
use crate::surface::contract::{DaemonRequest, request};
use crate::surface::reply::ThreadView;
use crate::wire::{Object, write_json};

/// The results of a search that are being read.
#[derive(Debug)]
pub(super) struct SearchResults {
    /// Threads to read, each with its snippet.
    unread: VecDeque<(ThreadId, String)>,
    next: Option<String>,
    /// The results so far, as JSON.
    out: Vec<u8>,
}

impl SearchResults {
    /// Creates the results of a page of matches.
    pub fn new(page: &[SearchHit], next: Option<String>) -> Self {
        let mut unread: VecDeque<(ThreadId, String)> = VecDeque::new();
        for hit in page {
            if unread.iter().all(|(thread, _)| *thread != hit.thread) {
                let pieces = hit.snippet.iter().map(|piece| piece.text.as_str());
                unread.push_back((hit.thread, pieces.collect()));
            }
        }
        Self {
            unread,
            next,
            out: Vec::new(),
        }
    }

    /// Returns the request for the next thread.
    pub fn next(&self) -> Option<DaemonRequest<Box<ThreadView>>> {
        let thread = self.unread.front()?.0;
        Some(request!(ReadThread { thread, turns: None }))
    }

    /// Adds the thread that was read; `None` if it is gone.
    pub fn add(&mut self, live: Option<&Live>) {
        let Some((thread, snippet)) = self.unread.pop_front() else {
            return;
        };
        let Some(live) = live else { return };
        if !self.out.is_empty() {
            self.out.push(b',');
        }
        let mut result = Object::open(&mut self.out);
        result.with("thread", |out| write_listed(out, thread, &live.summary));
        result.put("snippet", &snippet);
        result.close();
    }

    /// Writes the result.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut result = Object::open(out);
        result.with("data", |out| {
            out.push(b'[');
            out.extend_from_slice(&self.out);
            out.push(b']');
        });
        result.with("nextCursor", |out| write_json(out, &self.next));
        result.raw("backwardsCursor", "null");
        result.close();
    }
}
