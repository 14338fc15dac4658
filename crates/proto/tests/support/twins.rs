//! The thread of a scene again, killed after each append: each append gets a new thread, made of the events and the memo up to it,
//! which then handles the same inputs.
//!
//! In: all that the scene's thread handles. Out: panics where a thread that was continued differs from the one that was not. Never: changes what
//! the scene's own thread does.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use acpd_model::{
    BlobId, Event, EventKind, ItemEvent, ItemId, ItemStart, Limits, Seq, SessionEvent, TurnEvent,
};
use acpd_proto::agent::{AgentCommand, AgentEvent, AgentRequest};
use acpd_proto::thread::{Command, Effect, HostCall, Input, Policies, Thread, ThreadMemo};
use acpd_proto::time::Now;
use serde_json::Value;

/// The continued threads that live at the same time.
const LIVING: usize = 6;

/// After this many appends, only some get a continued thread: some scenes are very long.
const APPENDS: usize = 400;
const EVERY: usize = 61;

/// Longer results of calls may be in no memo, in bytes.
const LONG: usize = 512;

/// The exact thread, and those that continue it.
pub struct Twins {
    exact: Thread,
    limits: Limits,
    policies: Option<Arc<Policies>>,
    log: BTreeMap<Seq, Event>,
    blobs: BTreeMap<BlobId, Vec<u8>>,
    continued: VecDeque<Continued>,
    appends: usize,
    /// The commands that the agent's present process has not answered.
    prompt: Option<AgentCommand>,
    requests: BTreeMap<u64, AgentRequest>,
    is_cancelled: bool,
    /// The operations of the host that have not ended.
    host: BTreeMap<u64, HostCall>,
    /// The number of answers to the agent's present process.
    answers: u64,
    /// Whether a client has done what no other process can continue.
    has_editors: bool,
    is_stopped: bool,
    /// The appends after which a thread was continued and compared.
    pub compared: usize,
    /// The largest memo, in bytes.
    pub largest: usize,
}

/// A thread that continues after an append.
struct Continued {
    thread: Thread,
    after: Seq,
    answers: u64,
}

/// What a thread has made of an input.
struct Taken {
    events: Vec<Event>,
    memo: Option<ThreadMemo>,
    blobs: Vec<Vec<u8>>,
    effects: Vec<Effect>,
}

impl Taken {
    fn of(thread: &mut Thread) -> Self {
        let mut events = Vec::new();
        thread.take_events(&mut events);
        let memo = thread.memo();
        let blobs = thread.take_blobs();
        let effects = std::iter::from_fn(|| thread.poll_effect()).collect();
        Self {
            events,
            memo,
            blobs,
            effects,
        }
    }

    /// Returns the effects that must be the same. Clients that wait for a reply, and those that follow the thread live, are gone with
    /// the daemon.
    fn lasting(&self) -> Vec<String> {
        let gone = |effect: &&Effect| matches!(effect, Effect::Reply { .. } | Effect::Show { .. });
        let lasting = self.effects.iter().filter(|effect| !gone(effect));
        lasting.map(|effect| format!("{effect:?}")).collect()
    }

    fn answers(&self) -> u64 {
        let is_answer = |command: &&AgentCommand| matches!(command, AgentCommand::Answer { .. });
        self.commands().filter(is_answer).count() as u64
    }

    fn host_calls(&self) -> BTreeMap<u64, HostCall> {
        let calls = self.effects.iter().filter_map(|effect| match effect {
            Effect::Host { call, what } => Some((*call, what.clone())),
            _ => None,
        });
        calls.collect()
    }

    fn commands(&self) -> impl Iterator<Item = &AgentCommand> {
        self.effects.iter().filter_map(|effect| match effect {
            Effect::Agent(command) => Some(command),
            _ => None,
        })
    }
}

impl Twins {
    /// Follows a thread that has handled nothing yet.
    pub fn new(mut exact: Thread, limits: Limits) -> Self {
        exact.keep_exact(true);
        // When text is merged depends on the time of the text before, which may have been in another process.
        exact.set_single_chunks(true);
        Self {
            exact,
            limits,
            policies: None,
            log: BTreeMap::new(),
            blobs: BTreeMap::new(),
            continued: VecDeque::new(),
            appends: 0,
            prompt: None,
            requests: BTreeMap::new(),
            is_cancelled: false,
            host: BTreeMap::new(),
            answers: 0,
            has_editors: false,
            is_stopped: false,
            compared: 0,
            largest: 0,
        }
    }

    /// Replays an event of the log.
    pub fn replay(&mut self, event: &Event) {
        self.exact.replay(event);
        self.inherit(event);
    }

    /// Takes an event that the thread inherits.
    pub fn inherit(&mut self, event: &Event) {
        self.log.insert(event.seq, event.clone());
    }

    /// Notes the policies that apply from now on.
    pub fn set_policies(&mut self, policies: Arc<Policies>) {
        self.policies = Some(policies);
    }

    /// Stops following: the scene kills its thread itself.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Notes what an input answers.
    pub fn note(&mut self, input: &Input) {
        match input {
            Input::Agent(event) => self.note_agent(event),
            Input::AgentExited(_) => self.end_process(),
            Input::Host { call, .. } => drop(self.host.remove(call)),
            Input::Command {
                command: Command::Attach { .. } | Command::RunCommand { .. },
                ..
            } => self.has_editors = true,
            _ => {}
        }
    }

    fn note_agent(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::PromptEnded { .. } => {
                self.prompt = None;
                self.is_cancelled = false;
            }
            AgentEvent::Answered { ask, .. } => drop(self.requests.remove(ask)),
            _ => {}
        }
    }

    fn end_process(&mut self) {
        self.prompt = None;
        self.requests.clear();
        self.is_cancelled = false;
        self.host.clear();
        self.answers = 0;
    }

    /// Does the same with all threads, and compares them.
    pub fn act(&mut self, now: Now, act: impl Fn(&mut Thread)) {
        if self.is_stopped {
            return;
        }
        act(&mut self.exact);
        let taken = Taken::of(&mut self.exact);
        // The time in which an agent was silent is carried with less accuracy.
        let is_silence = |event: &Event| matches!(&event.kind, EventKind::Session(SessionEvent::NoticeGiven { code, .. }) if code == "agentSilent");
        if taken.events.iter().any(is_silence) {
            self.continued.clear();
        }
        for continued in &mut self.continued {
            act(&mut continued.thread);
            let other = Taken::of(&mut continued.thread);
            let after = continued.after;
            assert_eq!(
                known_again(&other.events),
                known_again(&taken.events),
                "continued after event {after}"
            );
            assert_eq!(other.lasting(), taken.lasting(), "continued after event {after}");
            if !taken.events.is_empty() {
                assert_eq!(
                    comparable(other.memo.as_ref()),
                    comparable(taken.memo.as_ref()),
                    "continued after event {after}"
                );
            }
            if taken
                .effects
                .iter()
                .any(|effect| matches!(effect, Effect::StartAgent(_)))
            {
                continued.answers = 0;
            }
            continued.answers += other.answers();
            continued.thread.answers_sent(continued.answers);
        }
        for blob in &taken.blobs {
            self.blobs.insert(BlobId::of(blob), blob.clone());
        }
        for event in &taken.events {
            self.log.insert(event.seq, event.clone());
        }
        for effect in &taken.effects {
            self.note_effect(effect);
        }
        self.answers += taken.answers();
        self.exact.answers_sent(self.answers);
        if !taken.events.is_empty() {
            self.appends += 1;
            self.kill(&taken, now);
        }
    }

    fn note_effect(&mut self, effect: &Effect) {
        match effect {
            Effect::StartAgent(_) => self.end_process(),
            Effect::Agent(command @ AgentCommand::Prompt { .. }) => self.prompt = Some(command.clone()),
            Effect::Agent(AgentCommand::Request { ask, request }) => {
                self.requests.insert(*ask, request.clone());
            }
            Effect::Agent(AgentCommand::Cancel) => self.is_cancelled = self.prompt.is_some(),
            Effect::Host { call, what } => drop(self.host.insert(*call, what.clone())),
            _ => {}
        }
    }

    /// Continues the thread after the events that were just taken, as if the daemon had been killed before their effects.
    fn kill(&mut self, taken: &Taken, now: Now) {
        let is_chosen = self.appends < APPENDS || self.appends.is_multiple_of(EVERY);
        let Some(memo) = taken
            .memo
            .clone()
            .filter(|_| is_chosen && self.can_compare(taken))
        else {
            return;
        };
        if is_overdue(&memo, now) {
            return;
        }
        let json = serde_json::to_string(&memo).unwrap();
        self.largest = self.largest.max(json.len());
        let read: ThreadMemo = serde_json::from_str(&json).unwrap();
        assert_eq!(read, memo, "{json}");
        let mut thread = Thread::new(self.exact.live().thread, self.limits.clone(), now);
        thread.restore(self.exact.live().clone());
        thread.set_single_chunks(true);
        if let Some(policies) = &self.policies {
            thread.set_policies(Arc::clone(policies));
        }
        let recalls = memo.recalls();
        for range in recalls.events {
            self.log.range(range).for_each(|(_, event)| thread.recall(event));
        }
        for id in recalls.blobs {
            thread.recall_blob(id, self.blobs[&id].clone());
        }
        thread.resume(read, now);
        assert_eq!(thread.first_call(), self.exact.first_call());
        let begun = Taken::of(&mut thread);
        assert_eq!(begun.events, [], "continued: {json}");
        assert_eq!(
            sorted(begun.commands()),
            self.unanswered(taken),
            "issued again: {json}"
        );
        for (call, what) in begun.host_calls() {
            assert_eq!(self.host.get(&call), Some(&what), "issued again: {json}");
        }
        let answers = begun.answers();
        thread.answers_sent(answers);
        assert_eq!(
            comparable(thread.memo().as_ref()),
            comparable(self.exact.memo().as_ref()),
            "after {json}"
        );
        self.compared += 1;
        if self.continued.len() == LIVING {
            self.continued.pop_front();
        }
        let after = self.exact.live().last_seq;
        self.continued.push_back(Continued {
            thread,
            after,
            answers,
        });
    }

    /// Returns whether a continued thread does the same. Without its client, a fork of the session is closed.
    fn can_compare(&self, taken: &Taken) -> bool {
        let is_lost = |request: &AgentRequest| {
            !is_carried(request) || matches!(request, AgentRequest::ForkSession { .. })
        };
        let live = self.exact.live();
        // Whether these were done is looked up, which is another operation.
        let is_write =
            |call: &HostCall| matches!(call, HostCall::WriteFile { .. } | HostCall::CreateTerminal { .. });
        let is_terminal = |kind: &ItemStart| matches!(kind, ItemStart::TerminalCommand { .. });
        // A long result is requested from the host again.
        let is_long = |command: &AgentCommand| match command {
            AgentCommand::Answer {
                result: Ok(result), ..
            } => result.get().len() > LONG,
            _ => false,
        };
        !self.has_editors
            && !taken.commands().any(is_long)
            && !self.requests.values().any(is_lost)
            && !self.host.values().any(is_write)
            && !self.exact.has_pending_work()
            && !live.items.values().any(|open| is_terminal(&open.start))
    }

    /// Returns the commands that the agent may not have received.
    fn unanswered(&self, taken: &Taken) -> Vec<String> {
        let running = self.exact.live().turn.map(|turn| turn.id);
        let of_turn = |command: &&AgentCommand| matches!(command, AgentCommand::Prompt { turn, .. } if Some(*turn) == running);
        let prompt = self.prompt.as_ref().filter(of_turn).cloned();
        let requests = self.requests.iter().filter(|(_, request)| is_carried(request));
        let requests = requests.map(|(ask, request)| AgentCommand::Request {
            ask: *ask,
            request: request.clone(),
        });
        let cancel = self.is_cancelled.then_some(AgentCommand::Cancel);
        let is_once = |command: &&AgentCommand| match command {
            AgentCommand::Notify { .. }
            | AgentCommand::CancelSubagent { .. }
            | AgentCommand::Answer { .. } => true,
            AgentCommand::Request { request, .. } => matches!(request, AgentRequest::CloseSession { .. }),
            AgentCommand::Cancel => !self.is_cancelled,
            _ => false,
        };
        let once = taken.commands().filter(is_once).cloned();
        let all: Vec<AgentCommand> = prompt
            .into_iter()
            .chain(requests)
            .chain(cancel)
            .chain(once)
            .collect();
        sorted(all.iter())
    }

    /// Checks that the exact thread did what the scene's did, except that it merges no text: the last text of the scene's may still wait.
    pub fn hold(&self, log: &[Event]) {
        if self.is_stopped {
            return;
        }
        let (kinds, mut texts) = outline(log.iter());
        let (exact_kinds, exact_texts) = outline(self.log.values());
        assert_eq!(exact_kinds, kinds);
        for (item, text) in exact_texts {
            let merged = texts.remove(&item).unwrap_or_default();
            assert!(
                text.starts_with(&merged),
                "{item}: {text:?}, and merged {merged:?}"
            );
        }
        assert_eq!(texts, BTreeMap::new());
    }
}

/// Returns events without what a continued thread does not know: the old content of files, from which the diff of the turn is made.
fn known_again(events: &[Event]) -> Vec<Event> {
    let mut known = Vec::new();
    for event in events {
        let mut event = event.clone();
        match &mut event.kind {
            EventKind::Turn(TurnEvent::DiffUpdated { .. }) => continue,
            EventKind::Turn(TurnEvent::Settled { changes, .. }) => *changes = None,
            _ => {}
        }
        known.push(event);
    }
    known
}

/// Returns a memo without the last sign of the agent: a repeated update of a tool call counts as one in a continued thread. Deadlines
/// differ by what the clocks have drifted apart since each thread began, and sizes of calls that are larger than all the room. The last
/// message in the lane of a subagent is not kept while it rests.
fn comparable(memo: Option<&ThreadMemo>) -> Value {
    let mut memo = serde_json::to_value(memo).unwrap();
    if let Some(until) = memo.pointer_mut("/turns/cancelUntil") {
        *until = Value::Bool(true);
    }
    if let Some(callbacks) = memo.pointer_mut("/callbacks").and_then(Value::as_object_mut) {
        callbacks.remove("largeCalls");
        callbacks.remove("seal");
    }
    if let Some(members) = memo.as_object_mut()
        && let Some(Value::Object(mut subagents)) = members.remove("subagents")
    {
        subagents.remove("messages");
        if !subagents.is_empty() {
            members.insert("subagents".to_owned(), Value::Object(subagents));
        }
    }
    if let Some(watchdog) = memo.pointer_mut("/session/watchdog") {
        watchdog["active"].take();
    }
    memo
}

/// Returns whether a turn is past the time of its end, and waits for something else: it ends a little later in a continued thread.
fn is_overdue(memo: &ThreadMemo, now: Now) -> bool {
    let memo = serde_json::to_value(memo).unwrap();
    let ends = ["/turns/work/tail/until", "/turns/work/unprompted/until"];
    let mut ends = ends.iter().filter_map(|end| memo.pointer(end)?.as_i64());
    ends.any(|until| until <= now.wall)
}

fn is_carried(request: &AgentRequest) -> bool {
    matches!(
        request,
        AgentRequest::SetMode { .. }
            | AgentRequest::SetModel { .. }
            | AgentRequest::SetConfigOption { .. }
            | AgentRequest::Steer { .. }
            | AgentRequest::DeleteSession { .. }
    )
}

fn sorted<'c>(commands: impl Iterator<Item = &'c AgentCommand>) -> Vec<String> {
    let mut texts: Vec<String> = commands.map(|command| format!("{command:?}")).collect();
    texts.sort();
    texts
}

/// Returns the kinds of events without the pieces of text, and the text of each item.
fn outline<'e>(log: impl Iterator<Item = &'e Event>) -> (Vec<String>, BTreeMap<ItemId, String>) {
    let (mut kinds, mut texts) = (Vec::new(), BTreeMap::<ItemId, String>::new());
    for event in log {
        match &event.kind {
            EventKind::Item(ItemEvent::Delta { item, text, .. })
            | EventKind::Host(acpd_model::HostEvent::TerminalOutput { item, text, .. }) => {
                texts.entry(*item).or_default().push_str(text);
            }
            kind => {
                let name = format!("{kind:?}");
                let name = name.split('{').next().unwrap_or_default();
                kinds.push(format!("{:?} {:?} {name}", event.turn, event.lane));
            }
        }
    }
    (kinds, texts)
}
