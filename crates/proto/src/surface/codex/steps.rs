//! What becomes of the daemon's replies: the response to the client, or the next request of the daemon.

use std::sync::Arc;

use acpd_model::{ErrorCode, Failure, ThreadId, TurnId};
use serde_json::json;

use super::history::{Page, read_whole};
use super::item::user_input;
use super::models::ModelList;
use super::peer::{OpenRequest, Peer};
use super::requests::{fork_at, new_thread};
use super::search::SearchResults;
use super::settings::{Settings, SettingsChange, WantedSettings, compact_command, split_model};
use super::thread::{ThreadParts, write_listed};
use super::turn::{Outcome, put_error, write_turn};
use super::turn_id::turn_id;
use crate::projection::{Live, Turn, text_block};
use crate::surface::reply::{AgentInfo, Call, ListPage, ListedThread, Opened, Reply, ThreadView};
use crate::surface::request::{Request, StartTurn, calls};
use crate::thread::TurnView;
use crate::wire::Object;

/// The use of a reply. Most are a response to the client's request.
#[derive(Debug)]
pub(super) enum Step {
    /// None.
    Ignored,
    /// An empty result.
    Empty,
    /// An empty result; a failure is a warning, because an error would end Codex's TUI.
    EmptyOrWarning(ThreadId),
    /// The agents for the list of models.
    Agents,
    /// The newest threads for the list of models.
    ModelThreads(ModelList),
    /// A thread for the list of models.
    Models(ModelList),
    /// The modes of a thread, as permission profiles.
    Profiles,
    /// The agents for a new thread in this folder.
    Start(String, WantedSettings),
    /// The new thread.
    Started(WantedSettings),
    /// The state of a new thread whose settings were changed.
    Opened,
    /// A thread that the client follows from now on, and the thread that it was forked from.
    Open(Option<ThreadId>),
    /// A thread without its turns.
    Thread,
    /// A change, after which the thread is read.
    ReadAgain(ThreadId),
    /// Turns.
    Turns(Purpose),
    /// The turn before the one that a fork leaves out.
    ForkBefore(ThreadId, Box<Step>),
    /// The turn before the one to revert.
    RevertBefore(ThreadId),
    /// A page of the thread list, and the only folders whose threads are wanted.
    List(Vec<String>),
    /// A page of matches of a search.
    Search,
    /// A thread with a match.
    Found(SearchResults),
    /// The threads that work.
    Loaded,
    /// A thread that the client no longer follows.
    Closed,
    /// The thread's commands, for one that compacts its context.
    Compact(ThreadId),
    /// A command that the user runs in a thread.
    Command(ThreadId),
    /// The turn that compacts a thread.
    Compacting(ThreadId),
    /// A thread whose settings the client wants to change.
    UpdateSettings(WantedSettings),
    /// A thread for whose next turn the client wants to change settings.
    TurnSettings(WantedSettings, Box<StartTurn>),
    /// A change of a setting, those that follow, and what follows them.
    Applying(ThreadId, Vec<Request>, Applied),
    /// A thread's settings, for a notification.
    Settings(ThreadId),
    /// A turn.
    Turn(ThreadId),
    /// A turn in which the agent reviews changes.
    Review(ThreadId),
    /// A message for the queue.
    Queued(ThreadId),
    /// A thread's queue.
    Queue,
    /// A message for the running turn.
    Steered(ThreadId),
}

/// What turns are read for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// The whole thread.
    Read,
    /// The whole thread, which the client follows from now on, and the thread that it was forked from.
    Open(Option<ThreadId>),
    /// The same, with the state at that time.
    Opened(Arc<Live>, Option<ThreadId>),
    /// A page.
    Page(Page),
}

/// What follows changes of settings.
#[derive(Debug)]
pub(super) enum Applied {
    /// An empty result.
    Updated,
    /// The turn.
    Turn(Box<StartTurn>),
    /// The result for a new thread.
    Started,
}

/// Takes the answer to a request out of a reply. Refuses the client's request if it is the reply to another one.
macro_rules! take {
    ($peer:ident, $open:ident, $call:ident, $reply:ident) => {
        match calls::$call::take($reply) {
            Ok(answer) => answer,
            Err(failure) => return $peer.refuse($open, &failure),
        }
    };
}

impl Peer {
    /// Uses a reply. `open` is the client's request, if it still waits for its response.
    pub(super) fn advance(&mut self, open: Option<OpenRequest>, step: Step, reply: Result<Reply, Failure>) {
        let reply = match reply {
            Ok(reply) => reply,
            Err(failure) => return self.failed(open, step, &failure),
        };
        let Some(open) = open else {
            return self.advance_own(step, reply);
        };
        match step {
            Step::Ignored => {}
            Step::Empty | Step::EmptyOrWarning(_) | Step::Command(_) => self.respond(open, &json!({})),
            Step::Closed => {
                let closed = take!(self, open, CloseThread, reply);
                let status = if closed.was_open {
                    "unsubscribed"
                } else {
                    "notSubscribed"
                };
                self.respond(open, &json!({ "status": status }));
            }
            Step::Compacting(thread) => {
                self.respond(open, &json!({}));
                self.turn_answered(thread);
            }
            Step::Agents => {
                let (list, request) = ModelList::new(take!(self, open, ListAgents, reply));
                self.call(request, Some(open), Step::ModelThreads(list));
            }
            Step::ModelThreads(mut list) => {
                list.add_threads(&take!(self, open, ListThreads, reply).page);
                self.list_models(open, list);
            }
            Step::Models(mut list) => {
                list.add(&take!(self, open, ReadThread, reply).live);
                self.list_models(open, list);
            }
            Step::Profiles => {
                let view = take!(self, open, ReadThread, reply);
                let data = Settings::of(&view.live).profiles();
                self.respond(open, &json!({ "data": data, "nextCursor": null }));
            }
            Step::Start(cwd, wanted) => {
                let agents = take!(self, open, ListAgents, reply);
                self.start(open, &agents, cwd, wanted);
            }
            Step::Queued(thread) => {
                let turn = take!(self, open, StartTurn, reply);
                self.queued(open, thread, &turn);
            }
            Step::Queue => {
                let view = take!(self, open, ReadThread, reply);
                self.respond(open, &queue(&view.live));
            }
            Step::Turn(thread) => {
                let turn = take!(self, open, StartTurn, reply);
                self.turn_started(open, thread, &turn, false);
            }
            Step::Review(thread) => {
                let turn = take!(self, open, StartTurn, reply);
                self.turn_started(open, thread, &turn, true);
            }
            Step::Steered(thread) => {
                let turn = take!(self, open, SteerTurn, reply).turn;
                self.respond(open, &json!({ "turnId": turn_id(thread, Some(turn)) }));
                self.turn_answered(thread);
            }
            Step::List(cwds) => {
                let ListPage { page, next } = take!(self, open, ListThreads, reply);
                self.respond_with(open, |out| write_list(out, &page, next.as_deref(), &cwds));
            }
            Step::Search => {
                let ListPage { page, next } = take!(self, open, SearchThreads, reply);
                self.list_found(open, SearchResults::new(&page, next));
            }
            Step::Found(mut results) => {
                results.add(Some(&take!(self, open, ReadThread, reply).live));
                self.list_found(open, results);
            }
            Step::Loaded => {
                let page = take!(self, open, ListThreads, reply).page;
                let mut ids: Vec<ThreadId> = page.iter().map(|listed| listed.thread).collect();
                let followed = self.sessions.keys().filter(|own| !ids.contains(own)).copied();
                let followed: Vec<ThreadId> = followed.collect();
                ids.extend(followed);
                self.respond(open, &json!({ "data": ids, "nextCursor": null }));
            }
            Step::Started(wanted) => {
                let opened = take!(self, open, StartThread, reply);
                self.started(open, &wanted, &opened);
            }
            Step::Open(forked_from) => {
                let opened = take!(self, open, OpenThread, reply);
                self.follow(&opened.live);
                self.respond_open(open, &opened.live, forked_from);
            }
            Step::Opened => {
                let view = take!(self, open, ReadThread, reply);
                self.respond_open(open, &view.live, None);
            }
            Step::Thread => {
                let view = take!(self, open, ReadThread, reply);
                self.respond_thread(open, &view.live);
            }
            Step::ReadAgain(thread) => {
                let read = Request::ReadThread { thread, turns: None };
                self.call(read, Some(open), Step::Thread);
            }
            Step::Turns(Purpose::Open(forked_from)) => {
                let opened = take!(self, open, OpenThread, reply);
                self.opened_whole(open, *opened, forked_from);
            }
            Step::Turns(purpose) => {
                let view = take!(self, open, ReadThread, reply);
                self.turns_read(open, purpose, *view);
            }
            Step::ForkBefore(thread, then) => {
                let view = take!(self, open, ReadThread, reply);
                match last_turn(&view) {
                    Some(turn) => self.call(fork_at(thread, Some(turn)), Some(open), *then),
                    None => {
                        let message = "there is no turn before it to fork: start a new thread";
                        self.refuse(open, &Failure::new(ErrorCode::Conflict, message));
                    }
                }
            }
            Step::RevertBefore(thread) => {
                let view = take!(self, open, ReadThread, reply);
                let last_kept = last_turn(&view);
                let request = Request::RollBack { thread, last_kept };
                self.call(request, Some(open), Step::ReadAgain(thread));
            }
            Step::Compact(thread) => {
                let view = take!(self, open, ReadThread, reply);
                self.compact(open, thread, &view.live);
            }
            Step::UpdateSettings(wanted) => {
                let view = take!(self, open, ReadThread, reply);
                let settings = Settings::of(&view.live);
                if let Some(failure) = settings.refusal(&wanted) {
                    return self.refuse(open, &failure);
                }
                let change = settings.change(&wanted, true);
                self.apply(Some(open), view.live.thread, change, Applied::Updated);
            }
            Step::TurnSettings(wanted, start) => {
                let view = take!(self, open, ReadThread, reply);
                let change = Settings::of(&view.live).change(&wanted, false);
                self.apply(Some(open), view.live.thread, change, Applied::Turn(start));
            }
            Step::Applying(thread, rest, then) => self.apply_next(Some(open), thread, rest, then),
            // No request of the client waits for these settings: they are for a notification.
            Step::Settings(thread) => self.settings_read(thread, reply),
        }
    }

    /// Uses a reply that no request of the client waits for.
    fn advance_own(&mut self, step: Step, reply: Reply) {
        match step {
            Step::Settings(thread) => self.settings_read(thread, reply),
            Step::Applying(thread, rest, then) => self.apply_next(None, thread, rest, then),
            _ => {}
        }
    }

    /// Notifies the client of a thread's settings.
    fn settings_read(&mut self, thread: ThreadId, reply: Reply) {
        let Ok(view) = calls::ReadThread::take(reply) else {
            return;
        };
        if let Some(session) = self.sessions.get_mut(&thread) {
            session.is_reading_settings = false;
            session.shown.works_in(&view.live.summary.cwd);
        }
        let settings = Settings::of(&view.live).thread_settings();
        self.notify("thread/settings/updated", |params| {
            params.put("threadId", &thread).put("threadSettings", &settings);
        });
    }

    /// Uses a failure.
    fn failed(&mut self, open: Option<OpenRequest>, step: Step, failure: &Failure) {
        let warning = failure.message.as_str();
        match (step, open) {
            (Step::EmptyOrWarning(thread), Some(open)) => {
                self.warn(Some(thread), warning);
                self.respond(open, &json!({}));
            }
            (Step::Compact(thread) | Step::Command(thread), Some(open)) => {
                self.respond(open, &json!({}));
                self.fail_turn(thread, failure.message.clone());
            }
            (Step::Compacting(thread), Some(open)) => {
                self.respond(open, &json!({}));
                self.fail_turn(thread, failure.message.clone());
                self.turn_answered(thread);
            }
            (Step::Applying(thread, rest, then), open) => {
                self.warn(Some(thread), warning);
                self.apply_next(open, thread, rest, then);
            }
            (Step::Settings(thread), _) => {
                if let Some(session) = self.sessions.get_mut(&thread) {
                    session.is_reading_settings = false;
                }
            }
            // The thread of an agent may be damaged or gone; the others are listed.
            (Step::Models(list), Some(open)) => self.list_models(open, list),
            (Step::Found(mut results), Some(open)) => {
                results.add(None);
                self.list_found(open, results);
            }
            (Step::Turns(Purpose::Opened(live, _)), Some(open)) => {
                self.refuse(open, failure);
                self.turn_answered(live.thread);
            }
            (
                Step::Turn(thread) | Step::Review(thread) | Step::Queued(thread) | Step::Steered(thread),
                Some(open),
            ) => {
                self.refuse(open, failure);
                self.turn_answered(thread);
            }
            (_, Some(open)) => self.refuse(open, failure),
            (_, None) => {}
        }
    }

    fn list_models(&mut self, open: OpenRequest, mut list: ModelList) {
        match list.next() {
            Some(request) => self.call(request, Some(open), Step::Models(list)),
            None => {
                let current = self.current.and_then(|thread| self.sessions.get(&thread));
                let current = current.map(|session| session.agent.as_str());
                let result = list.result(current.or(self.host.default_agent.as_deref()));
                self.respond(open, &result);
            }
        }
    }

    fn list_found(&mut self, open: OpenRequest, results: SearchResults) {
        match results.next() {
            Some(request) => self.call(request, Some(open), Step::Found(results)),
            None => self.respond_with(open, |out| results.write(out)),
        }
    }

    /// Starts a thread of the agent that the client's model names. The model of a Codex configuration is no agent: then
    /// the first agent is taken, and the client is told.
    fn start(&mut self, open: OpenRequest, agents: &[AgentInfo], cwd: String, wanted: WantedSettings) {
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
        let request = new_thread(agent.id.clone(), cwd);
        self.call(request, Some(open), Step::Started(wanted));
    }

    fn started(&mut self, open: OpenRequest, wanted: &WantedSettings, opened: &Opened) {
        let live = &opened.live;
        self.follow(live);
        let change = Settings::of(live).change(wanted, false);
        if change.requests.is_empty() {
            return self.respond_open(open, live, None);
        }
        self.apply(Some(open), live.thread, change, Applied::Started);
    }

    fn respond_open(&mut self, open: OpenRequest, live: &Live, forked_from: Option<ThreadId>) {
        self.respond_open_with(open, live, forked_from, &[]);
    }

    fn respond_open_with(
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

    fn respond_thread(&mut self, open: OpenRequest, live: &Live) {
        let settings = Settings::of(live);
        self.respond_with(open, |out| {
            let mut result = Object::open(out);
            result.with("thread", |out| ThreadParts::of(live).write(out, &settings));
            result.close();
        });
    }

    /// Follows a thread. If its turns are still to be read, its notifications wait for the response.
    fn opened_whole(&mut self, open: OpenRequest, opened: Opened, forked_from: Option<ThreadId>) {
        let thread = opened.live.thread;
        self.follow(&opened.live);
        if let Some(page) = opened.turns {
            return self.respond_open_with(open, &opened.live, forked_from, &page.turns);
        }
        if let Some(session) = self.sessions.get_mut(&thread) {
            session.starting += 1;
        }
        let step = Step::Turns(Purpose::Opened(opened.live, forked_from));
        self.call(read_whole(thread), Some(open), step);
    }

    /// Uses turns that were read.
    fn turns_read(&mut self, open: OpenRequest, purpose: Purpose, view: ThreadView) {
        let ThreadView { live, turns } = view;
        let page = turns.unwrap_or_default();
        match purpose {
            Purpose::Opened(live, forked_from) => {
                self.respond_open_with(open, &live, forked_from, &page.turns);
                self.turn_answered(live.thread);
            }
            Purpose::Page(wanted) => {
                let cwd = &live.summary.cwd;
                self.respond_with(open, |out| wanted.write(out, &page, live.last_turn, cwd));
            }
            Purpose::Read | Purpose::Open(_) => {
                let parts = ThreadParts {
                    turns: &page.turns,
                    ..ThreadParts::of(&live)
                };
                let settings = Settings::of(&live);
                self.respond_with(open, |out| {
                    let mut result = Object::open(out);
                    result.with("thread", |out| parts.write(out, &settings));
                    result.close();
                });
            }
        }
    }

    fn compact(&mut self, open: OpenRequest, thread: ThreadId, live: &Live) {
        match live.commands.as_ref().and_then(compact_command) {
            Some(command) => {
                let start = StartTurn {
                    thread,
                    input: vec![text_block(&format!("/{command}"))],
                    meta: None,
                    client_turn_id: None,
                    replaces: None,
                };
                self.call(Request::StartTurn(start), Some(open), Step::Compacting(thread));
            }
            None => {
                let agent = &live.summary.agent;
                let message = format!("The agent {agent} has no command that compacts its context.");
                self.respond(open, &json!({}));
                self.fail_turn(thread, message);
            }
        }
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
    fn apply(&mut self, open: Option<OpenRequest>, thread: ThreadId, change: SettingsChange, then: Applied) {
        for refused in &change.refused {
            self.warn(Some(thread), refused);
        }
        let mut requests = change.requests;
        requests.reverse();
        self.apply_next(open, thread, requests, then);
    }

    fn apply_next(
        &mut self,
        open: Option<OpenRequest>,
        thread: ThreadId,
        mut rest: Vec<Request>,
        then: Applied,
    ) {
        if let Some(request) = rest.pop() {
            return self.call(request, open, Step::Applying(thread, rest, then));
        }
        let Some(open) = open else { return };
        match then {
            Applied::Updated => {
                self.respond(open, &json!({}));
                // Codex takes no input until it has been told of the settings.
                self.read_settings(thread);
            }
            Applied::Turn(start) => self.call(Request::StartTurn(*start), Some(open), Step::Turn(thread)),
            Applied::Started => {
                let read = Request::ReadThread { thread, turns: None };
                self.call(read, Some(open), Step::Opened);
            }
        }
    }

    fn turn_started(&mut self, open: OpenRequest, thread: ThreadId, turn: &TurnView, is_review: bool) {
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
        self.turn_answered(thread);
    }

    fn queued(&mut self, open: OpenRequest, thread: ThreadId, turn: &TurnView) {
        let queued = json!({ "id": turn_id(thread, Some(turn.id)), "clientUserMessageId": "", "input": [] });
        self.respond(open, &json!({ "queuedSubmission": queued }));
        self.turn_answered(thread);
    }
}

/// Returns the last turn of a page.
fn last_turn(view: &ThreadView) -> Option<TurnId> {
    view.turns.as_ref()?.turns.iter().rev().find_map(|turn| turn.id)
}

fn queue(live: &Live) -> serde_json::Value {
    let queued = live.queue.iter().map(|queued| {
        json!({
            "id": turn_id(live.thread, Some(queued.id)), "clientUserMessageId": queued.client_turn_id.as_deref().unwrap_or_default(),
            "input": user_input(&queued.input),
        })
    });
    json!({ "data": queued.collect::<Vec<_>>(), "nextCursor": null })
}

fn write_list(out: &mut Vec<u8>, page: &[ListedThread], next: Option<&str>, cwds: &[String]) {
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
