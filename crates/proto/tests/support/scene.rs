//! One thread, its agent process, its log, and all output of the state machines.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use acpd_model::{ErrorCode, Event, EventKind, Failure, ItemEvent, Limits, Seq, ThreadId, TurnEvent, TurnId};
use acpd_policy::{Policy, RealPaths, Remembered, RememberedRule, Scope, normalise};
use acpd_proto::agent::{AcpVersion, AgentCommand, AgentConnection, Quirks, Start};
use acpd_proto::fanout::{LiveText, LiveUpdate};
use acpd_proto::projection::{Exchanges, HistoryText, Live, marks_of};
use acpd_proto::surface::app::{Frame, frame};
use acpd_proto::thread::{
    Command, EditorCommand, Effect, ForkContents, ForkPoint, HostCall, HostReply, Input, Policies,
    RememberedChange, RememberedOutcome, Reply, Thread, Waiter,
};
use acpd_proto::time::{Now, earliest};
use serde_json::Value;
use uuid::Uuid;

/// Returns the events that a fork at `point` shares with its origin.
pub fn shared_with_fork(log: &[Event], point: &ForkPoint) -> Vec<Event> {
    let last = point.forked.last;
    let is_end = |event: &&Event| {
        matches!(event.kind, EventKind::Turn(TurnEvent::Settled { .. })) && event.turn <= last
    };
    let end = match (point.until, last) {
        (Some(until), _) => Some(until),
        (None, Some(_)) => log.iter().rev().find(is_end).map(|event| event.seq),
        (None, None) => log
            .iter()
            .find(|event| event.turn.is_some())
            .map(|event| event.seq - 1),
    };
    let shared = log.iter().filter(|event| end.is_none_or(|end| event.seq <= end));
    let mut shared: Vec<Event> = shared.cloned().collect();
    for event in &mut shared {
        event.readdress(FORK);
    }
    shared
}

/// The id of a forked thread.
pub const FORK: ThreadId = ThreadId(Uuid::from_u128(0x0192_f0c1_c5d7_7c0a_a5e5_f8d9_a1b2_ffff));

/// A line that was written to an agent.
#[derive(Debug, Clone)]
pub struct Sent {
    /// The number of the agent's process, starting at 1.
    pub process: usize,
    /// The number of events in the log at that time.
    pub after: usize,
    /// The exact text of the line, without the newline.
    pub text: String,
    /// The parsed line.
    pub json: Value,
    /// For a response: the method of the agent's request.
    pub answers: Option<String>,
}

/// The state of a scene, and its output.
pub struct Scene {
    /// Content that events store by reference.
    pub blobs: Vec<Vec<u8>>,
    /// Requests to delete the log, with the command that caused each.
    pub deleted: Vec<Option<u64>>,
    /// Frames that clients receive and the log does not store.
    pub shown: Vec<Frame>,
    /// The error of the next read of the log.
    pub unreadable: Option<Failure>,
    /// Whether the conversation is read only by [`Scene::read`].
    pub reads_late: bool,
    /// The conversation that was read and not received.
    collected: Option<Input>,
    /// The configured quirks of the agent.
    pub quirks: Quirks,
    /// The configured mode of the agent.
    pub mode: Option<String>,
    /// The configured version of ACP.
    pub acp: AcpVersion,
    pub thread: Thread,
    pub id: ThreadId,
    pub now: Now,
    pub log: Vec<Event>,
    pub frames: Vec<Frame>,
    pub agent: Option<AgentConnection>,
    /// The starts of all processes.
    pub starts: Vec<Start>,
    /// The number of times that the process was stopped.
    pub stops: usize,
    pub sent: Vec<Sent>,
    pub replies: BTreeMap<u64, Result<Reply, Failure>>,
    /// The thread's commands for editors, by connection.
    pub orders: Vec<(String, EditorCommand)>,
    /// Host calls that wait for [`Scene::host_replies`].
    pub waiting: Vec<(u64, HostCall)>,
    /// Terminals of users' commands that were released.
    pub released: Vec<String>,
    /// Results of the next host calls.
    pub script: VecDeque<Result<HostReply, Failure>>,
    /// The targets of paths. A path that is not listed is not a link.
    pub links: BTreeMap<String, Result<String, Failure>>,
    /// Paths that lead to the daemon's own files.
    pub reserved: BTreeSet<String>,
    /// Whether pending paths resolve immediately, without [`Scene::look_up`].
    pub looks_up: bool,
    /// Pending path lookups, and what waits for each.
    pub unresolved: Vec<(Waiter, Vec<String>)>,
    /// The policies of the thread, including the remembered answers for its agent.
    pub policies: Policies,
    /// Whether storing the agent's remembered answers fails.
    pub answers_fail: bool,
    /// Handles each host call that the script has no result for.
    pub machine: Option<fn(&HostCall) -> HostReply>,
    /// Open requests to the current process: id → method.
    pub(super) open: BTreeMap<u64, String>,
    /// The turn of each prompt, by the id of the prompt.
    pub(super) prompts: BTreeMap<u64, TurnId>,
    /// The agent's open requests: id as JSON → method.
    pub(super) called: BTreeMap<String, Vec<String>>,
    pub(super) next_call: u64,
    prompting: Option<TurnId>,
    /// The time for which a turn stays open after the response to its prompt.
    pub(super) tail: u64,
    /// The state that a replay of the log would give.
    folded: Live,
}

impl Scene {
    /// Creates an empty scene with [`Scene::limits`].
    pub fn new() -> Self {
        Self::with_limits(Self::limits())
    }

    /// Returns the default limits, except that the answer to a prompt ends its turn at once. What an agent sends between
    /// turns then belongs to no turn. The scenarios of the default are in `tail`.
    pub fn limits() -> Limits {
        Limits {
            turn_tail_millis: 0,
            ..Limits::default()
        }
    }

    /// Creates an empty scene.
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
            reads_late: false,
            collected: None,
            quirks: Quirks::default(),
            mode: None,
            acp: AcpVersion::default(),
            tail: limits.turn_tail_millis,
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
            released: Vec::new(),
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

    /// Restarts the daemon after it was killed. `log` contains all stored events.
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

    /// Creates a forked thread from the log of its origin, forked at `point`.
    pub fn adopting(log: &[Event], point: ForkPoint, name: Option<&str>) -> Self {
        let mut scene = Self::new();
        scene.id = FORK;
        scene.folded = Live::new(FORK);
        scene.thread = Thread::new(FORK, Self::limits(), scene.now);
        for event in shared_with_fork(log, &point) {
            scene.store(event);
        }
        let adopted = ForkContents {
            live: Box::new(scene.folded.clone()),
            point,
            name: name.map(str::to_owned),
        };
        scene.ask(Command::Adopt(Box::new(adopted))).unwrap();
        let inherited = scene.thread.take_inherited().unwrap();
        assert_eq!(inherited.from, Self::new().id);
        scene
    }

    /// Passes an input to the thread, and executes its effects.
    pub fn handle(&mut self, input: Input) {
        self.thread.handle(input, self.now);
        self.settle();
    }

    /// Advances the time by `millis`. Timers fire at their deadlines.
    pub fn later(&mut self, millis: u64) {
        self.until(self.now.mono + Duration::from_millis(millis));
    }

    /// Advances the time to `moment`.
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

    /// Executes the effects of the state machines in order, until none are left.
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
                start.mode.clone_from(&self.mode);
                start.acp = self.acp;
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
                // A process that has exited receives nothing.
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
                match &shown {
                    LiveUpdate::Output(output) => self.check_shown(after, output),
                    LiveUpdate::Suggestions(_) => {}
                    LiveUpdate::TurnDiff(_) => assert_eq!(turn, self.thread.live().turn.map(|turn| turn.id)),
                }
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
                        let kept = |turn: Option<TurnId>| {
                            turn != Some(except) && turn.is_none_or(|turn| !dropped.contains(turn))
                        };
                        let marks = marks_of(self.id, &self.log);
                        let items = marks.items.iter().filter(|item| kept(item.turn));
                        let ends: BTreeSet<Seq> = items.map(|item| item.last).collect();
                        let mut text = HistoryText::new(bytes);
                        let ends = self.log.iter().filter(|event| ends.contains(&event.seq));
                        let _has_room = ends.rev().all(|event| text.prepend(event));
                        Ok(text.finish())
                    }
                };
                self.collect(Input::HistoryCollected(recalled));
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
                self.collect(Input::ExchangesCollected(known));
            }
            Effect::Delete { call, .. } => self.deleted.push(call),
            Effect::Editor { connection, order } => self.orders.push((connection, order)),
            Effect::UserHost {
                what: HostCall::ReleaseTerminal { terminal_id },
                ..
            } => self.released.push(terminal_id),
            Effect::Host { call, what } | Effect::UserHost { call, what } => self.waiting.push((call, what)),
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

    /// Checks that unstored frames of an item come between its start and its end.
    fn check_shown(&self, after: Seq, output: &LiveText) {
        let shown = output.item;
        let before = &self.log[..usize::try_from(after).unwrap()];
        let begins = |kind: &EventKind| matches!(kind, EventKind::Item(ItemEvent::Started { item, .. }) if *item == shown);
        let ends = |kind: &EventKind| matches!(kind, EventKind::Item(ItemEvent::Completed { item, .. }) if *item == shown);
        let begun = before.iter().find(|event| begins(&event.kind));
        let lane = begun.unwrap_or_else(|| panic!("{shown} is shown too early")).lane;
        assert_eq!(output.lane, lane, "{shown}");
        assert!(
            !before.iter().any(|event| ends(&event.kind)),
            "{shown} is shown after its end"
        );
    }

    /// Resolves all pending paths.
    pub fn look_up(&mut self) {
        self.tell_paths();
        self.settle();
    }

    fn collect(&mut self, collected: Input) {
        if self.reads_late {
            self.collected = Some(collected);
        } else {
            self.thread.handle(collected, self.now);
        }
    }

    /// Delivers the conversation that was read last.
    pub fn read(&mut self) {
        let collected = self.collected.take().expect("the conversation was read");
        self.thread.handle(collected, self.now);
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

    /// Replaces the daemon's policy. Remembered answers stay.
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
                let revoked = answers.revoke(id).ok_or_else(|| Failure::not_found(id));
                let result = revoked
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

    /// Writes the lines of the connection, then handles its events. Returns whether there were any. A command's line is
    /// written before any other effect.
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

    /// Executes the host calls for which the script or the machine has a result.
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
