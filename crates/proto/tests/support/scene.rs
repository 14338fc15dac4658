//! One thread, the agent process it may have, its log, and everything that left the machines.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use acpd_model::{ErrorCode, Event, EventKind, Failure, ItemId, Limits, Seq, ThreadId, TurnId};
use acpd_policy::{Policy, RealPaths, Remembered, RememberedRule, Scope, normalise};
use acpd_proto::agent::{AgentCommand, AgentConnection, Quirks, Start};
use acpd_proto::projection::{Exchanges, HistoryText, Live};
use acpd_proto::surface::app::{Frame, frame};
use acpd_proto::thread::{
    Command, EditorCommand, Effect, ForkContents, ForkPoint, HostCall, HostReply, Input, Policies,
    RememberedChange, RememberedOutcome, Reply, Thread, ThreadCopy, Waiter,
};
use acpd_proto::time::{Now, earliest};
use serde_json::Value;
use uuid::Uuid;

/// The thread that is split off another one.
pub const FORK: ThreadId = ThreadId(Uuid::from_u128(0x0192_f0c1_c5d7_7c0a_a5e5_f8d9_a1b2_ffff));

/// One line that was written to an agent.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Which of the agent's processes got it, counted from 1.
    pub process: usize,
    /// Events that were in the log by then.
    pub after: usize,
    /// The line as it was written, without its end.
    pub text: String,
    /// The same, parsed.
    pub json: Value,
    /// For a response: the method that the agent had called.
    pub answers: Option<String>,
}

/// What happens on the stage, and what has come out of it.
pub struct Scene {
    /// Content that events name.
    pub blobs: Vec<Vec<u8>>,
    /// The log is to be deleted, and which command wanted that.
    pub deleted: Vec<Option<u64>>,
    /// What clients were only shown.
    pub shown: Vec<Frame>,
    /// Why the log cannot be read the next time.
    pub unreadable: Option<Failure>,
    /// What the configuration says is odd about the agent.
    pub quirks: Quirks,
    pub thread: Thread,
    pub id: ThreadId,
    pub now: Now,
    pub log: Vec<Event>,
    pub frames: Vec<Frame>,
    pub agent: Option<AgentConnection>,
    /// One for each process that was started.
    pub starts: Vec<Start>,
    /// How often the process was told to go.
    pub stops: usize,
    pub sent: Vec<Sent>,
    pub replies: BTreeMap<u64, Result<Reply, Failure>>,
    /// What the thread wants of editors, by connection.
    pub orders: Vec<(String, EditorCommand)>,
    /// Files and terminals that wait for [`Scene::host_replies`].
    pub waiting: Vec<(u64, HostCall)>,
    /// Answers for the calls to come.
    pub script: VecDeque<Result<HostReply, Failure>>,
    /// Where paths lead; one that is not here is no link.
    pub links: BTreeMap<String, Result<String, Failure>>,
    /// Paths that lead to the daemon's own files.
    pub reserved: BTreeSet<String>,
    /// Whether what waits for [`Scene::look_up`] is looked up at once.
    pub looks_up: bool,
    /// Paths that are to be looked up, and for whom.
    pub unresolved: Vec<(Waiter, Vec<String>)>,
    /// What the thread goes by; the answers for its agent among it.
    pub policies: Policies,
    /// Whether answers for the agent cannot be stored.
    pub answers_fail: bool,
    /// Answers every call that the script has nothing for.
    pub machine: Option<fn(&HostCall) -> HostReply>,
    /// Our requests that the agent has not answered: id → method, of the present process.
    pub(super) open: BTreeMap<u64, String>,
    /// The turn that a prompt's id belongs to.
    pub(super) prompts: BTreeMap<u64, TurnId>,
    /// The agent's requests that we have not answered: id as JSON → method.
    pub(super) called: BTreeMap<String, Vec<String>>,
    pub(super) next_call: u64,
    prompting: Option<TurnId>,
    /// Folded from the log as it would be read back.
    folded: Live,
}

impl Scene {
    /// An empty stage with the default bounds.
    pub fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    /// An empty stage.
    pub fn with_limits(limits: Limits) -> Self {
        let id = ThreadId(Uuid::from_u128(0x0192_f0c1_c5d7_7c0a_a5e5_f8d9_a1b2_c3d4));
        let now = Now {
            mono: Duration::from_secs(5),
            wall: 1_700_000_000_000,
        };
        Self {
            blobs: Vec::new(),
            deleted: Vec::new(),
            shown: Vec::new(),
            unreadable: None,
            quirks: Quirks::default(),
            thread: Thread::new(id, limits, now),
            id,
            now,
            log: Vec::new(),
            frames: Vec::new(),
            agent: None,
            starts: Vec::new(),
            stops: 0,
            sent: Vec::new(),
            replies: BTreeMap::new(),
            orders: Vec::new(),
            waiting: Vec::new(),
            script: VecDeque::new(),
            links: BTreeMap::new(),
            reserved: BTreeSet::new(),
            looks_up: true,
            unresolved: Vec::new(),
            policies: Policies {
                answers: Arc::new(Remembered::for_agent()),
                ..Policies::default()
            },
            answers_fail: false,
            machine: None,
            open: BTreeMap::new(),
            prompts: BTreeMap::new(),
            called: BTreeMap::new(),
            next_call: 0,
            prompting: None,
            folded: Live::new(id),
        }
    }

    /// The daemon was killed after `log` was stored, and has come up again.
    pub fn restarted(log: &[Event]) -> Self {
        let mut scene = Self::new();
        for event in log {
            scene.thread.replay(event);
            scene.store(event.clone());
        }
        scene.now.wall += 60_000;
        scene.thread.recover(scene.now);
        scene.settle();
        scene
    }

    /// A thread that is split off another one: what `copied` has of it, and where.
    pub fn adopting(copied: ThreadCopy, point: ForkPoint, name: Option<&str>) -> Self {
        let mut scene = Self::new();
        scene.id = FORK;
        scene.folded = Live::new(FORK);
        scene.thread = Thread::new(FORK, Limits::default(), scene.now);
        let adopted = ForkContents {
            events: copied.into_events(),
            point,
            name: name.map(str::to_owned),
        };
        scene.ask(Command::Adopt(Box::new(adopted))).unwrap();
        scene
    }

    /// Hands the thread one thing and carries out what it wants.
    pub fn handle(&mut self, input: Input) {
        self.thread.handle(input, self.now);
        self.settle();
    }

    /// Lets `millis` pass. Whatever falls due is done at its moment.
    pub fn later(&mut self, millis: u64) {
        self.until(self.now.mono + Duration::from_millis(millis));
    }

    /// Lets time pass up to `moment`.
    pub fn until(&mut self, moment: Duration) {
        loop {
            let of_agent = self.agent.as_ref().and_then(AgentConnection::poll_timeout);
            let Some(due) = earliest(self.thread.poll_timeout(), of_agent).filter(|due| *due <= moment)
            else {
                break;
            };
            self.move_to(due);
            if of_agent.is_some_and(|at| at <= due) {
                self.agent.as_mut().unwrap().handle_timeout(self.now);
            }
            self.thread.handle_timeout(self.now);
            self.settle();
            let next = earliest(
                self.thread.poll_timeout(),
                self.agent.as_ref().and_then(AgentConnection::poll_timeout),
            );
            assert!(next.is_none_or(|next| next > due), "a deadline stays due");
        }
        self.move_to(moment);
    }

    fn move_to(&mut self, moment: Duration) {
        let passed = moment.saturating_sub(self.now.mono);
        self.now.mono += passed;
        self.now.wall += i64::try_from(passed.as_millis()).unwrap();
    }

    /// Carries out whatever the machines want, in their order, until they want nothing.
    pub fn settle(&mut self) {
        loop {
            self.store_events();
            if let Some(effect) = self.thread.poll_effect() {
                self.carry_out(effect);
                continue;
            }
            if !self.hear_agent() {
                break;
            }
        }
        assert_eq!(
            &self.folded,
            self.thread.live(),
            "the log, read back, gives what the thread knows"
        );
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Reply { call, result } => {
                let earlier = self.replies.insert(call, result);
                assert!(earlier.is_none(), "command {call} was answered twice");
            }
            Effect::StartAgent(mut start) => {
                start.quirks = self.quirks;
                assert!(self.agent.is_none(), "a second process beside the first");
                self.open.clear();
                self.called.clear();
                self.starts.push(start.clone());
                self.agent = Some(AgentConnection::new(start, self.now));
            }
            Effect::StopAgent => self.stops += 1,
            Effect::Agent(command) => {
                if let AgentCommand::Prompt { turn, .. } = &command {
                    self.prompting = Some(*turn);
                }
                // A process that is gone hears nothing.
                if let Some(agent) = &mut self.agent {
                    agent.handle_command(command, self.now);
                }
                self.hear_agent();
            }
            Effect::Show {
                turn,
                at,
                after,
                shown,
            } => {
                self.check_shown(after, shown.item);
                let frame = acpd_proto::surface::app::live_frame(&self.id.to_string(), turn, at, &shown);
                self.shown.push(frame);
            }
            Effect::CollectHistory {
                except,
                dropped,
                bytes,
            } => {
                let recalled = match self.unreadable.take() {
                    Some(failure) => Err(failure),
                    None => {
                        let mut recall = HistoryText::new(Some(except), dropped, bytes);
                        self.log.iter().for_each(|event| recall.fold(event));
                        Ok(recall.finish())
                    }
                };
                self.thread.handle(Input::HistoryCollected(recalled), self.now);
            }
            Effect::CollectExchanges { except, dropped } => {
                let known = match self.unreadable.take() {
                    Some(failure) => Err(failure),
                    None => {
                        let mut known = Exchanges::known(except, dropped);
                        self.log.iter().for_each(|event| known.fold(event));
                        Ok(known)
                    }
                };
                self.thread.handle(Input::ExchangesCollected(known), self.now);
            }
            Effect::Delete { call } => self.deleted.push(call),
            Effect::Editor { connection, order } => self.orders.push((connection, order)),
            Effect::Host { call, what } => self.waiting.push((call, what)),
            Effect::Resolve { waiter, paths } => {
                self.unresolved.push((waiter, paths));
                if self.looks_up {
                    self.tell_paths();
                }
            }
            Effect::ChangeRemembered { by, order } => {
                let outcome = self.change_answers(order);
                self.thread.set_policies(Arc::new(self.policies.clone()));
                self.thread
                    .handle(Input::RememberedChanged { by, outcome }, self.now);
            }
        }
        self.work();
    }

    /// What is only shown of an item comes between its beginning and its end.
    fn check_shown(&self, after: Seq, shown: ItemId) {
        let before = &self.log[..usize::try_from(after).unwrap()];
        let begins = |kind: &EventKind| matches!(kind, EventKind::ItemStarted { item, .. } if *item == shown);
        let ends = |kind: &EventKind| matches!(kind, EventKind::ItemCompleted { item, .. } if *item == shown);
        assert!(
            before.iter().any(|event| begins(&event.kind)),
            "{shown} is shown too early"
        );
        assert!(
            !before.iter().any(|event| ends(&event.kind)),
            "{shown} is shown after its end"
        );
    }

    /// Looks up what waits for it.
    pub fn look_up(&mut self) {
        self.tell_paths();
        self.settle();
    }

    fn tell_paths(&mut self) {
        for (waiter, paths) in std::mem::take(&mut self.unresolved) {
            let place = |path: &String| {
                let as_named = || Ok(normalise(path, "/", None).unwrap());
                self.links.get(path).cloned().unwrap_or_else(as_named)
            };
            let paths = paths.iter().map(|path| (path.clone(), place(path))).collect();
            let roots = Vec::new();
            let reserved = self.reserved.clone();
            let real = RealPaths {
                paths,
                reserved,
                roots,
            };
            self.thread.handle(Input::Resolved { waiter, real }, self.now);
        }
    }

    /// What the thread goes by from now on, beside the answers that are remembered.
    pub fn rule(&mut self, daemon: Option<Policy>) {
        self.policies.daemon = daemon;
        self.thread.set_policies(Arc::new(self.policies.clone()));
    }

    fn change_answers(&mut self, order: RememberedChange) -> RememberedOutcome {
        let full = || Failure::new(ErrorCode::Internal, "the disk is full");
        let mut answers = Remembered::clone(&self.policies.answers);
        let outcome = match order {
            RememberedChange::Remember { .. } if self.answers_fail => {
                RememberedOutcome::Remembered(Err(full()))
            }
            RememberedChange::Remember { request, allow } => {
                let ids = answers.remember(&request, allow, Scope::Agent);
                let ids = ids.map_err(|error| Failure::invalid_params(error.to_string()));
                let known = &self.policies.answers;
                let new = |rule: &&RememberedRule| known.iter().all(|known| known.id != rule.id);
                RememberedOutcome::Remembered(ids.map(|_| answers.iter().filter(new).cloned().collect()))
            }
            RememberedChange::Revoke { call, id } => {
                let gone = answers.revoke(id).ok_or_else(|| Failure::not_found(id));
                let result = gone
                    .map(drop)
                    .and(if self.answers_fail { Err(full()) } else { Ok(()) });
                RememberedOutcome::Revoked { call, id, result }
            }
        };
        if !self.answers_fail {
            self.policies.answers = Arc::new(answers);
        }
        outcome
    }

    /// Takes what the connection wants written, then what it has to tell; says whether there was anything. A
    /// command's line is written before anything else happens.
    fn hear_agent(&mut self) -> bool {
        let Some(agent) = &mut self.agent else {
            return false;
        };
        let (writes, events) = (agent.take_writes(), agent.take_events());
        let heard = !writes.is_empty() || !events.is_empty();
        writes
            .split_inclusive(|byte| *byte == b'\n')
            .for_each(|line| self.note_sent(line));
        for event in events {
            self.thread.handle(Input::Agent(event), self.now);
        }
        heard
    }

    fn store_events(&mut self) {
        self.blobs.extend(self.thread.take_blobs());
        let mut events = Vec::new();
        self.thread.take_events(&mut events);
        for event in events {
            self.store(event);
        }
    }

    /// Answers what the script, or the machine that always answers, has an answer for.
    fn work(&mut self) {
        while let Some((_, what)) = self.waiting.first() {
            let result = match (self.script.pop_front(), self.machine) {
                (Some(result), _) => result,
                (None, Some(machine)) => Ok(machine(what)),
                (None, None) => return,
            };
            let (call, _) = self.waiting.remove(0);
            self.thread.handle(Input::Host { call, result }, self.now);
        }
    }

    fn store(&mut self, event: Event) {
        let mut bytes = Vec::new();
        event.encode(&mut bytes).unwrap();
        let back = Event::decode(&bytes).unwrap();
        assert_eq!(back, event, "an event reads back as it was");
        assert_eq!(event.seq, self.log.len() as u64 + 1, "no gap, no repeat");
        self.folded.fold(&back);
        self.frames.extend(frame(&self.id.to_string(), &event));
        self.log.push(event);
    }

    fn note_sent(&mut self, line: &[u8]) {
        let text = std::str::from_utf8(line).unwrap();
        let text = text.strip_suffix('\n').expect("a line ends with its newline");
        assert!(!text.contains(['\n', '\r']), "one line is one message: {text:?}");
        let json: Value = serde_json::from_str(text).unwrap();
        let method = json["method"].as_str();
        let mut answers = None;
        match (method, &json["id"]) {
            (Some(method), Value::Number(id)) => {
                let id = id.as_u64().unwrap();
                assert!(
                    self.open.insert(id, method.to_owned()).is_none(),
                    "id {id} is in use"
                );
                if method == "session/prompt" {
                    self.prompts.insert(id, self.prompting.take().unwrap());
                }
            }
            (Some(_), _) => {}
            (None, id) => {
                let open = self
                    .called
                    .get_mut(&id.to_string())
                    .filter(|open| !open.is_empty());
                let open = open.unwrap_or_else(|| panic!("an answer to nothing: {text}"));
                answers = Some(open.remove(0));
            }
        }
        self.sent.push(Sent {
            process: self.starts.len(),
            after: self.log.len(),
            text: text.to_owned(),
            json,
            answers,
        });
    }
}
