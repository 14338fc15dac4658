//! How requests of the client continue: what is done with answers of the daemon that several methods have in common, or that need
//! further requests.

use std::sync::Arc;
use std::vec;

use acpd_model::{Failure, RawJson, ThreadId, TurnId};
use serde_json::json;

use super::history::{Page, read_whole};
use super::item::user_input;
use super::models::ModelList;
use super::peer::{OWN, Peer, Step};
use super::search::SearchResults;
use super::settings::{Settings, SettingsChange, WantedSettings, compact_command, split_model};
use super::thread::{ThreadParts, write_listed};
use super::turn::{Outcome, put_error, write_turn};
use super::turn_id::turn_id;
use crate::projection::{Live, Turn, text_block};
use crate::surface::contract::{DaemonRequest, OpenRequest, Steps, request};
use crate::surface::reply::{AgentInfo, ListedThread, Opened, ThreadView};
use crate::surface::request::{StartThread, StartTurn};
use crate::thread::TurnView;
use crate::wire::Object;

/// Returns the request for a thread without its turns.
pub(super) fn read_thread(thread: ThreadId) -> DaemonRequest<Box<ThreadView>> {
    request!(ReadThread { thread, turns: None })
}

/// Opens a thread that the client follows from now on. `forked_from` is the thread that it was forked from.
pub(super) fn open_step(
    request: DaemonRequest<Box<Opened>>,
    forked_from: Option<ThreadId>,
    exclude_turns: bool,
) -> Step {
    Peer::then(request, move |peer, open, opened| {
        let Opened { live, turns, .. } = *opened;
        peer.follow(&live);
        match turns {
            _ if exclude_turns => peer.respond_open(open, &live, forked_from, &[]),
            Some(page) => peer.respond_open(open, &live, forked_from, &page.turns),
            None => peer.read_turns(open, live, forked_from),
        }
    })
}

/// Responds with the wanted part of the turns that this request reads.
pub(super) fn respond_page((wanted, read): (Page, DaemonRequest<Box<ThreadView>>)) -> Step {
    Peer::then(read, move |peer, open, view| {
        let ThreadView { live, turns } = *view;
        let page = turns.unwrap_or_default();
        let cwd = &live.summary.cwd;
        peer.respond_with(open, |out| wanted.write(out, &page, live.last_turn, cwd));
    })
}

/// Responds with an empty result.
pub(super) fn respond_empty(peer: &mut Peer, open: OpenRequest, (): ()) {
    peer.respond(open, &json!({}));
}

impl Peer {
    pub(super) fn list_models(&mut self, open: OpenRequest, mut list: ModelList) {
        let Some(request) = list.next() else {
            let current = self.current.and_then(|thread| self.sessions.get(&thread));
            let current = current.map(|session| session.agent.as_str());
            let result = list.result(current.or(self.host.default_agent.as_deref()));
            return self.respond(open, &result);
        };
        let step = Peer::finally(request, |peer, open, view| {
            // The thread of an agent may be damaged or gone; the others are listed.
            if let Ok(view) = view {
                list.add(&view.live);
            }
            peer.list_models(open, list);
        });
        self.take_step(open, step);
    }

    pub(super) fn list_found(&mut self, open: OpenRequest, mut results: SearchResults) {
        let Some(request) = results.next() else {
            return self.respond_with(open, |out| results.write(out));
        };
        let step = Peer::finally(request, |peer, open, view| {
            results.add(view.ok().as_ref().map(|view| &*view.live));
            peer.list_found(open, results);
        });
        self.take_step(open, step);
    }

    /// Starts a thread of the agent that the client's model names. The model of a Codex configuration is not an
    /// agent: then the first agent is taken, and the client is notified.
    pub(super) fn start(
        &mut self,
        open: OpenRequest,
        agents: &[AgentInfo],
        cwd: String,
        wanted: WantedSettings,
    ) {
        let named = wanted.model.as_deref().map(|model| split_model(model).0);
        let find = |name: Option<&str>| agents.iter().find(|agent| Some(agent.id.as_str()) == name);
        let default = || {
            let set_up = || agents.iter().find(|agent| agent.is_set_up);
            find(self.host.default_agent.as_deref()).or_else(set_up)
        };
        let Some(agent) = find(named).or_else(default) else {
            let message = "acpd finds no agent: install one with \"acpd agents install NAME\"";
            return self.refuse(open, &Failure::not_found(message));
        };
        // These are the models of Codex's own agent, which stand in the configuration of most of its users.
        if let Some(named) = named.filter(|named| *named != agent.id && !named.starts_with("gpt-")) {
            let id = &agent.id;
            self.warn(None, &format!("acpd has no agent {named:?}. This thread belongs to {id}; /model shows the others, for new threads."));
        }
        let step = Peer::then(new_thread(agent.id.clone(), cwd), move |peer, open, opened| {
            peer.started(open, &wanted, &opened)
        });
        self.take_step(open, step);
    }

    fn started(&mut self, open: OpenRequest, wanted: &WantedSettings, opened: &Opened) {
        let live = &opened.live;
        self.follow(live);
        let change = Settings::of(live).change(wanted, false);
        if change.requests.is_empty() {
            return self.respond_open(open, live, None, &[]);
        }
        let thread = live.thread;
        self.apply(open, thread, change, move |peer, open| {
            let step = Peer::then(read_thread(thread), |peer, open, view| {
                peer.respond_open(open, &view.live, None, &[])
            });
            peer.take_step(open, step);
        });
    }

    fn respond_open(
        &mut self,
        open: OpenRequest,
        live: &Live,
        forked_from: Option<ThreadId>,
        turns: &[Turn],
    ) {
        let parts = ThreadParts {
            live,
            forked_from,
            turns,
        };
        self.respond_with(open, |out| parts.write_open(out, |_| {}));
    }

    /// Responds with a thread, and with its turns if they were read.
    pub(super) fn respond_thread(&mut self, open: OpenRequest, view: &ThreadView) {
        let parts = ThreadParts {
            turns: view.turns.as_ref().map_or(&[][..], |page| page.turns.as_slice()),
            ..ThreadParts::of(&view.live)
        };
        let settings = Settings::of(&view.live);
        self.respond_with(open, |out| {
            let mut result = Object::open(out);
            result.with("thread", |out| parts.write(out, &settings));
            result.close();
        });
    }

    /// Responds with a thread that was changed.
    pub(super) fn respond_again(&mut self, open: OpenRequest, thread: ThreadId) {
        let step = Peer::then(read_thread(thread), |peer, open, view| {
            peer.respond_thread(open, &view)
        });
        self.take_step(open, step);
    }

    /// Reads the turns of a thread that was opened. Its notifications wait for the response.
    fn read_turns(&mut self, open: OpenRequest, live: Arc<Live>, forked_from: Option<ThreadId>) {
        let thread = live.thread;
        if let Some(session) = self.sessions.get_mut(&thread) {
            session.starting += 1;
        }
        let step = Peer::finally(read_whole(thread), move |peer, open, view| {
            match view {
                Ok(view) => {
                    let page = view.turns.unwrap_or_default();
                    peer.respond_open(open, &live, forked_from, &page.turns);
                }
                Err(failure) => peer.refuse(open, &failure),
            }
            peer.turn_answered(thread);
        });
        self.take_step(open, step);
    }

    pub(super) fn compact(&mut self, open: OpenRequest, thread: ThreadId, live: &Live) {
        let Some(command) = live.commands.as_ref().and_then(compact_command) else {
            let agent = &live.summary.agent;
            let message = format!("The agent {agent} has no command that compacts its context.");
            return self.respond_without_turn(open, thread, message);
        };
        let start = StartTurn::new(thread, vec![text_block(&format!("/{command}"))]);
        let step = Peer::finally(request!(StartTurn(start)), move |peer, open, turn| match turn {
            Ok(_) => peer.respond(open, &json!({})),
            Err(failure) => peer.respond_without_turn(open, thread, failure.message),
        });
        self.take_step(open, step);
    }

    /// Responds to a request whose turn does not come.
    pub(super) fn respond_without_turn(&mut self, open: OpenRequest, thread: ThreadId, why: String) {
        self.respond(open, &json!({}));
        self.fail_turn(thread, why);
    }

    /// Shows why there is no turn, and ends it: Codex waits for one after some requests, whatever their result. It must not
    /// start, because Codex compares the turns that it has seen with those of the thread.
    fn fail_turn(&mut self, thread: ThreadId, message: String) {
        let id = turn_id(thread, None);
        self.notify("error", |params| {
            params.put("threadId", &thread);
            put_error(params, &id, &message);
        });
        let failed = Outcome {
            status: "failed",
            error: Some(message),
            ..Outcome::running(None)
        };
        self.notify("turn/completed", |params| {
            params.put("threadId", &thread);
            params.with("turn", |out| write_turn(out, &id, &failed, "notLoaded", |_| {}));
        });
    }

    /// Changes settings one after another, then does what follows.
    pub(super) fn apply(
        &mut self,
        open: OpenRequest,
        thread: ThreadId,
        change: SettingsChange,
        then: impl FnOnce(&mut Self, OpenRequest) + Send + 'static,
    ) {
        for refused in &change.refused {
            self.warn(Some(thread), refused);
        }
        self.apply_next(open, thread, change.requests.into_iter(), then);
    }

    fn apply_next(
        &mut self,
        open: OpenRequest,
        thread: ThreadId,
        mut rest: vec::IntoIter<DaemonRequest<RawJson>>,
        then: impl FnOnce(&mut Self, OpenRequest) + Send + 'static,
    ) {
        let Some(request) = rest.next() else {
            return then(self, open);
        };
        let step = Peer::finally(request, move |peer, open, changed| {
            if let Err(failure) = changed {
                peer.warn(Some(thread), &failure.message);
            }
            peer.apply_next(open, thread, rest, then);
        });
        self.take_step(open, step);
    }

    /// Reads a thread's settings for the client, unless that is being done.
    pub(super) fn read_settings(&mut self, thread: ThreadId) {
        let session = self.sessions.get_mut(&thread);
        if let Some(session) = session.filter(|session| !session.is_reading_settings) {
            session.is_reading_settings = true;
            let read = read_thread(thread);
            let (read, then) = Peer::alone(read, move |peer, view| peer.settings_read(thread, view));
            self.call(read, OWN, then);
        }
    }

    /// Uses the settings that were read for a notification.
    fn settings_read(&mut self, thread: ThreadId, view: Result<Box<ThreadView>, Failure>) {
        let session = self.sessions.get_mut(&thread);
        if let Some(session) = session {
            session.is_reading_settings = false;
            if let Ok(view) = &view {
                session.shown.works_in(&view.live.summary.cwd);
            }
        }
        let Ok(view) = view else { return };
        let settings = Settings::of(&view.live).thread_settings();
        self.notify("thread/settings/updated", |params| {
            params.put("threadId", &thread).put("threadSettings", &settings);
        });
    }

    pub(super) fn turn_started(
        &mut self,
        open: OpenRequest,
        thread: ThreadId,
        turn: &TurnView,
        is_review: bool,
    ) {
        let outcome = match turn.status {
            Some(status) => {
                let at = turn.started_at.unwrap_or_default();
                Outcome::ended(status, None, None, turn.started_at, at)
            }
            None => Outcome::running(turn.started_at),
        };
        self.respond_with(open, |out| {
            let mut result = Object::open(out);
            result.with("turn", |out| {
                write_turn(
                    out,
                    &turn_id(thread, Some(turn.id)),
                    &outcome,
                    "notLoaded",
                    |_| {},
                )
            });
            result.maybe("reviewThreadId", is_review.then_some(&thread));
            result.close();
        });
    }
}

fn new_thread(agent: String, cwd: String) -> DaemonRequest<Box<Opened>> {
    request!(StartThread(Box::new(StartThread {
        agent: Some(agent),
        ..StartThread::new(cwd)
    })))
}

/// Returns the last turn of a page.
pub(super) fn last_turn(view: &ThreadView) -> Option<TurnId> {
    view.turns.as_ref()?.turns.iter().rev().find_map(|turn| turn.id)
}

pub(super) fn queue_of(live: &Live) -> serde_json::Value {
    let queued = live.queue.iter().map(|queued| {
        json!({
            "id": turn_id(live.thread, Some(queued.id)), "clientUserMessageId": queued.client_turn_id.as_deref().unwrap_or_default(),
            "input": user_input(&queued.input),
        })
    });
    json!({ "data": queued.collect::<Vec<_>>(), "nextCursor": null })
}

pub(super) fn write_list(out: &mut Vec<u8>, page: &[ListedThread], next: Option<&str>, cwds: &[String]) {
    let mut result = Object::open(out);
    result.with("data", |out| {
        out.push(b'[');
        let start = out.len();
        for listed in page {
            if !cwds.is_empty() && !cwds.contains(&listed.summary.cwd) {
                continue;
            }
            if out.len() > start {
                out.push(b',');
            }
            write_listed(out, listed.thread, &listed.summary);
        }
        out.push(b']');
    });
    result.put("nextCursor", &next).raw("backwardsCursor", "null");
    result.close();
}
