//! The invariants after each step and at the end.

use std::collections::BTreeSet;
use std::time::Duration;

use acpd_log::{EventLog, LogError};
use acpd_model::{Event, EventKind, Origin, RequestEvent, ThreadId, TurnEvent};
use acpd_proto::projection::{Live, Transcript};
use acpd_proto::surface::app::frames;
use acpd_proto::surface::request::Turns;
use serde_json::json;
use tokio::time::sleep;

use super::client::Client;
use super::editor::Editor;
use super::world::World;

impl World {
    /// Checks the invariants of every step.
    pub(super) async fn check(&mut self) {
        self.read_log().await;
        for client in &self.clients {
            self.check_client(client);
        }
    }

    /// Reads the new events of all threads, and checks that their numbers have no gaps.
    async fn read_log(&mut self) {
        for thread in &self.threads {
            let thread: ThreadId = thread.parse().unwrap();
            let known = self.known.entry(thread).or_default();
            loop {
                let after = known.last().map_or(0, |event| event.seq);
                let page = match self.truth.memory.read(thread, after).await {
                    Err(LogError::NoSuchThread(_)) if self.truth.is_deleted(thread) => break,
                    page => page.unwrap(),
                };
                for event in page.events {
                    let last = known.last().map_or(0, |event| event.seq);
                    assert_eq!(event.seq, last + 1, "thread {thread}");
                    known.push(event);
                }
                if page.at_end {
                    break;
                }
            }
        }
    }

    /// Checks that a client has received each event after its cursor once, in order, with identical bytes.
    pub(super) fn check_client(&self, client: &Client) {
        let seen = client.seen();
        assert_eq!(seen.common.fault, None);
        for stream in &seen.streams {
            let events = self.known.get(&stream.thread.parse().unwrap());
            let events = events.map(Vec::as_slice).unwrap_or_default();
            // The events of the last step were not read from the log yet.
            let until = events.last().map_or(0, |event| event.seq);
            let base = usize::try_from(stream.base).unwrap().min(events.len());
            let expected = frames(&stream.thread, &events[base..]);
            let came: Vec<_> = stream
                .events
                .iter()
                .take_while(|(seq, _)| *seq <= until)
                .collect();
            assert!(
                came.len() <= expected.len(),
                "more than the log has of {}",
                stream.thread
            );
            for ((seq, text), frame) in came.into_iter().zip(expected) {
                let is_asked = frame.ask.as_ref().is_some_and(|ask| ask.1 == text.as_bytes());
                assert!(
                    *seq == frame.seq && (is_asked || frame.text == text.as_bytes()),
                    "event {} of {} came as {text}",
                    frame.seq,
                    stream.thread
                );
            }
        }
    }

    /// Lets all work end, and checks that it does.
    pub(super) async fn rest(&mut self) {
        self.daemon.log.heal();
        for client in &self.clients {
            client.read(true);
        }
        for editor in &self.editors {
            editor.read(true);
        }
        // Clients that read nothing notice that they were disconnected, and rate limits reset.
        sleep(Duration::from_mins(2)).await;
        self.leave_ended();
        while self.clients.len() > 4 {
            self.leave(0);
        }
        self.connect().await;
        self.list_threads().await;
        self.end_turns().await;
        for editor in &self.editors {
            let seen = editor.seen();
            let waiting: Vec<_> = seen.pending.values().collect();
            assert!(
                seen.common.is_closed || waiting.is_empty(),
                "an editor waits: {waiting:?}"
            );
        }
        self.catch_up().await;
        self.read_log().await;
        for client in &self.clients {
            self.check_client(client);
            self.check_end(client);
        }
        self.check_changed_history().await;
        let there = |thread: &ThreadId| !self.truth.is_deleted(*thread);
        for (thread, events) in self.known.iter().filter(|(thread, _)| there(thread)) {
            self.check_fold(*thread, events).await;
            self.check_pages(*thread, events).await;
            check_approvals(events);
        }
        while !self.clients.is_empty() {
            self.leave(0);
        }
        while !self.editors.is_empty() {
            self.leave_editor(0);
        }
        self.daemon.stop().await;
        let metrics = self.daemon.service.context.metrics.text();
        for name in [
            "acpd_threads_awake",
            "acpd_agents_running",
            "acpd_clients_connected",
        ] {
            assert!(metrics.contains(&format!("\n{name} 0\n")), "{name} is not 0");
        }
        self.count();
        self.check_history().await;
    }

    /// While one thread cannot be read, a client's requests about another one are answered.
    pub(super) async fn load_one_of_two_slowly(&mut self) {
        self.connect().await;
        for _ in 0..2 {
            let params = json!({ "agentType": "own", "cwd": std::env::temp_dir() });
            self.clients[0].request("thread/start", None, params).await;
            sleep(Duration::from_secs(5)).await;
        }
        self.restart().await;
        self.list_threads().await;
        let [slow, other] = &self.threads.clone()[..] else {
            panic!("there are other threads: {:?}", self.threads);
        };
        self.daemon.log.held.send_replace(Some(slow.parse().unwrap()));
        self.connect().await;
        let client = &mut self.clients[0];
        let waits = client
            .request("thread/resume", Some(slow), json!({ "after": 0 }))
            .await;
        let behind = client.request("turn/start", None, json!({ "text": "go" })).await;
        let beside = client
            .request("thread/resume", Some(other), json!({ "after": 0 }))
            .await;
        sleep(Duration::from_secs(1)).await;
        let pending: Vec<u64> = client.seen().pending.keys().copied().collect();
        assert_eq!(pending, [waits, behind], "{beside} is about another thread");
        self.daemon.log.held.send_replace(None);
        sleep(Duration::from_secs(1)).await;
        assert!(self.clients[0].seen().pending.is_empty());
        self.read_log().await;
        self.check_client(&self.clients[0]);
        let started = |event: &Event| matches!(event.kind, EventKind::Turn(TurnEvent::Started { .. }));
        let events = &self.known[&slow.parse::<ThreadId>().unwrap()];
        assert!(
            events.iter().any(started),
            "the turn is the slow thread's, whose request came before it"
        );
    }

    /// An editor opens a thread that takes long to load, and then another one.
    pub(super) async fn load_one_of_two_slowly_for_an_editor(&mut self) {
        self.connect().await;
        let params = json!({ "agentType": "own", "cwd": std::env::temp_dir() });
        self.clients[0].request("thread/start", None, params).await;
        sleep(Duration::from_secs(5)).await;
        self.restart().await;
        self.list_threads().await;
        let slow = self.threads[0].clone();
        self.daemon.log.held.send_replace(Some(slow.parse().unwrap()));
        self.connect_editor().await;
        sleep(Duration::from_secs(5)).await;
        let editor = &mut self.editors[0];
        let own = editor.seen().session.clone().unwrap();
        let open =
            |session: &str| json!({ "sessionId": session, "cwd": std::env::temp_dir(), "mcpServers": [] });
        editor.request("session/load", open(&slow)).await;
        editor.request("session/resume", open(&own)).await;
        sleep(Duration::from_secs(1)).await;
        let waiting = |editor: &Editor| -> Vec<_> {
            let seen = editor.seen();
            seen.pending.values().map(|(method, _)| *method).collect()
        };
        assert_eq!(waiting(editor), ["session/load"], "the other one is open");
        self.daemon.log.held.send_replace(None);
        sleep(Duration::from_secs(1)).await;
        assert!(waiting(&self.editors[0]).is_empty());
    }

    async fn end_turns(&mut self) {
        // Each interrupt ends one turn, and many turns may be queued.
        for _ in 0..300 {
            for thread in self.busy_threads().await {
                if let Some(client) = self.clients.last_mut() {
                    client.request("turn/interrupt", Some(&thread), json!({})).await;
                }
            }
            sleep(Duration::from_secs(30)).await;
            if self.busy_threads().await.is_empty() {
                return;
            }
        }
        panic!("turns of {:?} do not end", self.busy_threads().await);
    }

    /// Subscribes all clients to all threads after their last events.
    async fn catch_up(&mut self) {
        self.read_log().await;
        for thread in self.threads.clone() {
            let last = self.last(&thread);
            for client in &mut self.clients {
                let after = json!({ "after": last.saturating_sub(200) });
                client.request("thread/resume", Some(&thread), after).await;
                sleep(Duration::from_secs(20)).await;
            }
        }
    }

    fn last(&self, thread: &str) -> u64 {
        let events = self.known.get(&thread.parse::<ThreadId>().unwrap());
        events
            .and_then(|events| events.last())
            .map_or(0, |event| event.seq)
    }

    /// Checks that each request has its response, and each subscription is at the end of its thread.
    fn check_end(&self, client: &Client) {
        let seen = client.seen();
        if seen.common.is_closed {
            return;
        }
        let waiting: Vec<_> = seen.pending.values().map(|request| request.method).collect();
        assert!(waiting.is_empty(), "without a response: {waiting:?}");
        for (thread, at) in &seen.current {
            let (last, expected) = (seen.streams[*at].last(), self.last(thread));
            assert_eq!(last, expected, "the end of {thread} is missing");
        }
    }

    /// Checks that the thread's state equals the fold of its events.
    async fn check_fold(&self, thread: ThreadId, events: &[Event]) {
        let live = self.daemon.service.directory.look(thread).await.unwrap();
        let mut folded = Live::new(thread);
        let until = live.last_seq;
        for event in events.iter().take_while(|event| event.seq <= until) {
            folded.fold(event);
        }
        assert_eq!(folded, *live, "the view of {thread}");
    }

    /// Checks that pages of turns, of any size, give the same as all events.
    async fn check_pages(&self, thread: ThreadId, events: &[Event]) {
        let service = &self.daemon.service;
        let live = service.directory.look(thread).await.unwrap();
        let mut whole = Transcript::new(thread);
        for event in events.iter().take_while(|event| event.seq <= live.last_seq) {
            whole.fold(event);
        }
        let whole = whole.into_turns();
        for limit in [1, 2, 100] {
            let mut turns = Vec::new();
            let mut before = None;
            loop {
                let limit = Some(limit);
                let wanted = Turns {
                    before,
                    limit,
                    ..Turns::default()
                };
                let page = service.turns_page(&live, wanted).await.unwrap();
                turns.splice(0..0, page.turns);
                before = page.older;
                if before.is_none() {
                    break;
                }
            }
            assert_eq!(turns, whole, "the pages of {thread}, {limit} turns each");
        }
    }

    /// Checks that stored events have not changed.
    async fn check_history(&mut self) {
        for (thread, known) in &self.known {
            if self.truth.is_deleted(*thread) {
                continue;
            }
            let mut after = 0;
            loop {
                let page = self.truth.memory.read(*thread, after).await.unwrap();
                for event in &page.events {
                    let at = usize::try_from(after).unwrap();
                    if let Some(known) = known.get(at) {
                        assert_eq!(event, known, "thread {thread}");
                    }
                    after = event.seq;
                    let mut line = Vec::new();
                    event.encode(&mut line).unwrap();
                    self.trace.push(String::from_utf8(line).unwrap());
                }
                if page.at_end {
                    break;
                }
            }
        }
    }
}

/// Checks that only clients and policies approve requests, and that each request ends once.
fn check_approvals(events: &[Event]) {
    let mut open = BTreeSet::new();
    for event in events {
        match &event.kind {
            EventKind::Request(RequestEvent::PermissionRequested { request, .. }) => {
                assert!(open.insert(*request), "asked twice: {request:?}");
            }
            EventKind::Request(RequestEvent::Settled { request, outcome, .. }) => {
                assert!(open.remove(request), "answered, and not open: {request:?}");
                let by_somebody = matches!(event.by, Origin::Client(_) | Origin::Policy { .. });
                assert!(by_somebody || !outcome.allows(), "allowed by nobody: {event:?}");
            }
            EventKind::Request(RequestEvent::Voided { request, .. }) => drop(open.remove(request)),
            _ => {}
        }
    }
    assert!(open.is_empty(), "still open: {open:?}");
}
