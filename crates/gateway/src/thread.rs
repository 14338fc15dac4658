//! The thread actor: owns one thread's machine and carries its effects out, log first.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use acpd_log::{LogError, SharedLog};
use acpd_model::limits::BATCH_EVENTS;
use acpd_model::{By, ErrorCode, Event, Failure, Limits, ThreadId};
use acpd_proto::projection::{Live, extract};
use acpd_proto::surface::app::live_frame;
use acpd_proto::thread::{Command, Effect, Gone, Input, MachineEvent, Reply, Thread};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use crate::agent::{self, AgentHandle, FromAgent, sleep_until};
use crate::agents::{Agents, Runnable};
use crate::answers::Answers;
use crate::batch::Batch;
use crate::board::Board;
use crate::clock::Clock;
use crate::directory::log_failure;
use crate::editors::{Attachment, Editors};
use crate::machine::{FromMachine, Machine};
use crate::metrics::{Metrics, Present};
use crate::paths;
use crate::policies::PolicyBook;
use crate::recall::{recall, rounds};
use crate::starts::Starts;
use crate::subscribers::Subscribers;

/// What a thread actor is asked.
#[derive(Debug)]
pub enum ToThread {
    /// Do something.
    Command {
        /// Who wants it, and what. Boxed, since a mailbox keeps room for 32 messages.
        order: Box<(By, Command)>,
        /// Where the answer goes.
        reply: oneshot::Sender<Result<Reply, Failure>>,
    },
    /// An editor has the thread open from now on.
    Attach {
        /// Which. Boxed as a command is.
        editor: Box<Attachment>,
        /// Where the answer goes.
        reply: oneshot::Sender<Result<Reply, Failure>>,
    },
    /// Follow the thread from here on.
    Subscribe {
        /// Where the answer goes.
        reply: oneshot::Sender<Subscribed>,
    },
}

/// The moment at which somebody began to follow a thread.
#[derive(Debug)]
pub struct Subscribed {
    /// Everything after `live.last_seq`.
    pub batches: broadcast::Receiver<Arc<Batch>>,
    /// The thread at that moment.
    pub live: Box<Live>,
    /// Questions that were open then.
    pub pending: BTreeSet<u32>,
}

/// What every thread of a daemon shares.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The memory.
    pub log: SharedLog,
    /// Agents by name.
    pub agents: Arc<Agents>,
    /// Those whose processes are shared.
    pub shared: crate::shared::SharedAgents,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Every bound.
    pub limits: Arc<Limits>,
    /// The time.
    pub clock: Clock,
    /// What agents may do.
    pub policies: watch::Receiver<PolicyBook>,
    /// Answers that hold for all threads of an agent.
    pub answers: Answers,
    /// Where threads say how they are listed.
    pub board: Board,
    /// Who follows them.
    pub subscribers: Subscribers,
    /// Those that are being started with a session.
    pub starts: Starts,
}

/// One thread while it is awake.
pub struct ThreadActor {
    around: Surroundings,
    id: ThreadId,
    id_text: String,
    machine: Thread,
    agent: Option<AgentHandle>,
    host: Option<Machine>,
    host_told: mpsc::Sender<Box<FromMachine>>,
    host_tells: mpsc::Receiver<Box<FromMachine>>,
    /// Only where editors have come: most threads never see one.
    editors: Option<Box<Editors>>,
    publish: broadcast::Sender<Arc<Batch>>,
    /// The agent whose policies the machine has.
    policies_of: Option<String>,
    replies: HashMap<u64, oneshot::Sender<Result<Reply, Failure>>>,
    next_call: u64,
    /// Its last event is stored: all that is left is to delete its log, and to answer a command.
    vanishes: Option<Vanishing>,
    _awake: Present,
}

/// A thread of which only the log is left.
#[derive(Debug, Clone, Copy)]
struct Vanishing {
    /// The command that wanted it; not known after a restart.
    call: Option<u64>,
}

/// How long a thread with nothing to do and no agent stays awake.
const NAP: Duration = Duration::from_secs(30);

/// Commits during which the agent is heard further, before commands get their turn.
const HEARING_ROUNDS: u32 = 8;

enum Happened {
    Asked(Option<ToThread>),
    Agent(FromAgent),
    Machine(FromMachine),
    Editor(Box<Input>),
    Due,
    Idle,
    /// The last client that watched has gone.
    Unwatched,
}

impl ThreadActor {
    /// A thread that is about to be made. In a box: a future would keep room for it twice.
    pub fn new(id: ThreadId, around: Surroundings) -> Box<Self> {
        Self::awake(id, around, false)
    }

    fn awake(id: ThreadId, around: Surroundings, woken: bool) -> Box<Self> {
        let machine = Thread::new(id, (*around.limits).clone(), around.clock.now());
        let (host_told, host_tells) = mpsc::channel(16);
        Box::new(Self {
            _awake: around.metrics.thread(woken),
            publish: broadcast::channel(around.limits.live_batches).0,
            around,
            id,
            id_text: id.to_string(),
            machine,
            agent: None,
            host: None,
            host_told,
            host_tells,
            editors: None,
            policies_of: None,
            replies: HashMap::new(),
            next_call: 0,
            vanishes: None,
        })
    }

    /// A thread that the log knows.
    pub async fn load(id: ThreadId, around: Surroundings) -> Result<Box<Self>, LogError> {
        let mut actor = Self::awake(id, around, true);
        let mut after = 0;
        loop {
            let page = actor.around.log.read(id, after).await?;
            for event in &page.events {
                actor.machine.replay(event);
            }
            after = page.events.last().map_or(after, |event| event.seq);
            if page.at_end {
                break;
            }
        }
        actor.machine.recover(actor.around.clock.now());
        actor.settle().await?;
        Ok(actor)
    }

    /// Lives until nobody needs the thread any more, or the log fails it.
    pub async fn run(mut self: Box<Self>, mut asked: mpsc::Receiver<ToThread>) {
        let end = self.serve(&mut asked).await;
        if let Err(error) = end {
            tracing::error!(thread = %self.id, %error, "the thread is put to sleep: its log cannot be written");
        }
        // Who asked in the meantime is answered by dropping the question: they turn to the directory again.
        asked.close();
    }

    async fn serve(&mut self, asked: &mut mpsc::Receiver<ToThread>) -> Result<(), LogError> {
        loop {
            if let Some(vanishing) = self.vanishes.take() {
                return self.vanish(vanishing).await;
            }
            let happened = self.next(asked).await;
            self.look_up_policies();
            let leave = match happened {
                Happened::Asked(None) => {
                    self.command(By::Daemon, Command::Stop);
                    true
                }
                Happened::Asked(Some(message)) => {
                    self.asked(message);
                    false
                }
                Happened::Idle if self.machine.has_agent() => {
                    self.command(By::Daemon, Command::Rest);
                    false
                }
                Happened::Idle => return Ok(()),
                Happened::Agent(from) => {
                    self.hear_agent(from);
                    // More of the same that is there already is stored in the same commit.
                    while self.machine.waiting() < BATCH_EVENTS {
                        let Some(Ok(more)) = self.agent.as_mut().map(|agent| agent.events.try_recv()) else {
                            break;
                        };
                        self.hear_agent(more);
                    }
                    false
                }
                Happened::Machine(from) => {
                    self.hear_machine(from);
                    false
                }
                Happened::Editor(input) => {
                    self.machine.handle(*input, self.around.clock.now());
                    false
                }
                Happened::Due => {
                    self.machine.handle_timeout(self.around.clock.now());
                    false
                }
                Happened::Unwatched => false,
            };
            self.settle().await?;
            if leave {
                self.wait_for_agent().await;
                return self.settle().await;
            }
        }
    }

    /// Ends the agent, then deletes the log. Those who follow have the last event by then, or never will.
    async fn vanish(&mut self, Vanishing { call }: Vanishing) -> Result<(), LogError> {
        self.wait_for_agent().await;
        match self.around.log.delete(self.id).await {
            Ok(()) | Err(LogError::NoSuchThread(_)) => {}
            Err(error) => {
                self.fail_callers(&error);
                return Err(error);
            }
        }
        tracing::info!(thread = %self.id, "deleted");
        self.around
            .board
            .changed(self.id, self.around.clock.now().wall, None);
        if let Some(call) = call {
            self.reply(call, Ok(Reply::Done));
        }
        Ok(())
    }

    async fn next(&mut self, asked: &mut mpsc::Receiver<ToThread>) -> Happened {
        let due = self
            .machine
            .poll_timeout()
            .map(|at| self.around.clock.instant(at));
        let idle = self.idle_after();
        let watched = self.publish.receiver_count() > 0;
        tokio::select! {
            biased;
            message = asked.recv() => Happened::Asked(message),
            Some(from) = from_agent(self.agent.as_mut()) => Happened::Agent(from),
            Some(from) = self.host_tells.recv() => Happened::Machine(*from),
            input = from_editors(self.editors.as_deref_mut()) => Happened::Editor(Box::new(input)),
            () = sleep_until(due) => Happened::Due,
            () = sleep_for(idle) => Happened::Idle,
            () = self.publish.closed(), if watched => Happened::Unwatched,
        }
    }

    /// How long nothing may happen until the thread lets its agent go, or goes to sleep itself.
    fn idle_after(&self) -> Option<Duration> {
        let busy = self.machine.live().turn.is_some() || self.machine.is_at_work();
        if busy || self.publish.receiver_count() > 0 {
            return None;
        }
        Some(if self.machine.has_agent() {
            // At least a second: one that is on its way up or down is asked again.
            Duration::from_secs(self.around.limits.agent_idle_secs.max(1))
        } else {
            NAP
        })
    }

    fn asked(&mut self, message: ToThread) {
        match message {
            ToThread::Command { order, reply } => {
                let (by, command) = *order;
                self.replies.insert(self.next_call, reply);
                self.command(by, command);
            }
            ToThread::Attach { editor, reply } => {
                let editors = self
                    .editors
                    .get_or_insert_with(|| Box::new(Editors::new(self.id)));
                if let Some(left) = editors.attach(&editor) {
                    self.machine.handle(left, self.around.clock.now());
                }
                let Attachment {
                    by,
                    connection,
                    abilities,
                    ..
                } = *editor;
                self.replies.insert(self.next_call, reply);
                self.command(
                    by,
                    Command::Attach {
                        connection,
                        abilities,
                    },
                );
            }
            ToThread::Subscribe { reply } => {
                let live = Box::new(self.machine.live().clone());
                let pending = live.requests.keys().copied().collect();
                // A caller that is gone has no use for it.
                let _ = reply.send(Subscribed {
                    batches: self.publish.subscribe(),
                    live,
                    pending,
                });
            }
        }
    }

    fn command(&mut self, by: By, command: Command) {
        let call = self.next_call;
        self.next_call += 1;
        self.machine
            .handle(Input::Command { call, by, command }, self.around.clock.now());
    }

    fn hear_agent(&mut self, from: FromAgent) {
        let now = self.around.clock.now();
        match from {
            FromAgent::Events(events) => {
                for event in events {
                    self.machine.handle(Input::Agent(event), now);
                }
            }
            FromAgent::Gone(gone) => {
                self.agent = None;
                self.host = None;
                self.machine.handle(Input::AgentGone(*gone), now);
            }
        }
    }

    fn hear_machine(&mut self, from: FromMachine) {
        let input = match from {
            FromMachine::Done { call, result } => Input::Machine { call, result },
            FromMachine::Resolved { whose, real } => Input::Resolved { whose, real },
            FromMachine::Terminal { terminal_id, event } => {
                if let (Some(host), MachineEvent::Exited { exit, output, .. }) = (&mut self.host, &event) {
                    host.terminal_ended(&terminal_id, exit, output.len());
                }
                Input::Terminal { terminal_id, event }
            }
        };
        self.machine.handle(input, self.around.clock.now());
    }

    /// Goes by the policies that hold now. They can change at any time, and an agent's name is not known at first.
    fn look_up_policies(&mut self) {
        let agent = &self.machine.live().spec.agent;
        let changed =
            self.around.policies.has_changed().unwrap_or(false) || self.around.answers.have_changed();
        if self.policies_of.as_ref() == Some(agent) && !changed {
            return;
        }
        let answers = self.around.answers.of(agent);
        let policies = self.around.policies.borrow_and_update();
        let policies = policies.for_agent(agent, answers);
        self.policies_of = Some(agent.clone());
        self.machine.set_policies(policies);
    }

    /// Carries out what the machine wants: first the log, then everybody else. While the log stores, the agent
    /// is heard further, for so many rounds; in the end nothing is left that is not stored.
    async fn settle(&mut self) -> Result<(), LogError> {
        let mut rounds = HEARING_ROUNDS;
        let mut events = Vec::new();
        while self.machine.waiting() > 0 {
            self.settle_round(&mut events, rounds > 0).await?;
            rounds = rounds.saturating_sub(1);
        }
        // The machine has the other of the two; a quiet thread keeps neither.
        self.machine.take_events(&mut Vec::new());
        Ok(())
    }

    async fn settle_round(&mut self, events: &mut Vec<Event>, hear: bool) -> Result<(), LogError> {
        self.machine.take_events(events);
        let effects: Vec<Effect> = std::iter::from_fn(|| self.machine.poll_effect()).collect();
        let blobs = self.machine.take_blobs();
        // What events name is there before they are, but for those with which the thread begins: before them there is no
        // thread that could have it.
        let begins = events.first().is_some_and(|event| event.seq == 1);
        let (before, after) = if begins {
            (Vec::new(), blobs)
        } else {
            (blobs, Vec::new())
        };
        keep(&self.around.log, self.id, before).await?;
        let batch = self.store(events, hear).await?;
        keep(&self.around.log, self.id, after).await?;
        // Answers leave before notifications, so that a caller knows what the news is about.
        let (mut rest, mut shown) = (Vec::new(), Vec::new());
        for effect in effects {
            match effect {
                Effect::Reply { call, result } => self.reply(call, result),
                Effect::Show {
                    turn,
                    at,
                    after,
                    shown: text,
                } => shown.push(Batch::shown(after, live_frame(&self.id_text, turn, at, &text))),
                other => rest.push(other),
            }
        }
        for batch in Batch::in_order(batch, shown) {
            // The last receiver may have gone in between.
            let _ = self.publish.send(Arc::new(batch));
        }
        for effect in rest {
            self.carry_out(effect).await;
        }
        Ok(())
    }

    /// Appends `events` and answers what clients are to be sent, if any watch. The frames are written while the
    /// log stores the events, and if `hear`, the machine goes on with what the agent says meanwhile.
    async fn store(&mut self, events: &[Event], hear: bool) -> Result<Option<Batch>, LogError> {
        if events.is_empty() {
            return Ok(None);
        }
        let summary = self.machine.take_summary().cloned();
        let log = Arc::clone(&self.around.log);
        let begun = std::time::Instant::now();
        let mut appending = log.append_with(self.id, events, summary.as_ref(), &extract(events));
        let batch = (self.publish.receiver_count() > 0).then(|| Batch::encode(&self.id_text, events));
        let appended = loop {
            let room = hear && self.machine.waiting() < BATCH_EVENTS;
            tokio::select! {
                biased;
                appended = &mut appending => break appended,
                Some(from) = from_agent(self.agent.as_mut()), if room => self.hear_agent(from),
            }
        };
        if let Err(error) = appended {
            self.fail_callers(&error);
            return Err(error);
        }
        self.around.metrics.appended(events, begun.elapsed());
        if let Some(summary) = &summary {
            let at = events.last().map_or(0, |event| event.at);
            self.around.board.changed(self.id, at, Some(summary));
        }
        Ok(batch)
    }

    fn reply(&mut self, call: u64, result: Result<Reply, Failure>) {
        if let Some(reply) = self.replies.remove(&call) {
            // A caller that is gone does not wait for it.
            let _ = reply.send(result);
        }
    }

    fn fail_callers(&mut self, error: &LogError) {
        let failure = Failure::new(ErrorCode::Internal, format!("nothing was done: {error}"));
        for (_, reply) in self.replies.drain() {
            let _ = reply.send(Err(failure.clone()));
        }
    }

    async fn carry_out(&mut self, effect: Effect) {
        match effect {
            // Done before all others.
            Effect::Reply { .. } | Effect::Show { .. } => {}
            Effect::StartAgent(mut start) => {
                let spec = &self.machine.live().spec;
                let started = match self.around.agents.find(&spec.agent) {
                    Ok(Runnable { config, .. }) => {
                        start.quirks = config.quirks;
                        start.mcp_servers = crate::mcp::servers(start.mcp_servers, &config.mcp_servers);
                        self.host = Some(Machine::new(
                            spec,
                            config.clone(),
                            self.host_told.clone(),
                            Arc::clone(&self.around.metrics),
                        ));
                        agent::start(&self.around, &spec.agent, &config, start).await
                    }
                    Err(failure) => Err(failure),
                };
                match started {
                    Ok(handle) => self.agent = Some(handle),
                    Err(failure) => {
                        let gone = Gone {
                            reason: failure.message,
                            stderr: failure.detail.unwrap_or_default(),
                        };
                        self.machine
                            .handle(Input::AgentGone(gone), self.around.clock.now());
                    }
                }
            }
            Effect::StopAgent => {
                self.host = None;
                if let Some(agent) = &self.agent {
                    agent.stop();
                }
            }
            Effect::Agent(command) => {
                if let Some(agent) = &self.agent {
                    agent.tell(command).await;
                }
            }
            Effect::Delete { call } => self.vanishes = Some(Vanishing { call }),
            Effect::Recall {
                except,
                dropped,
                bytes,
            } => {
                let recalled = recall(&self.around.log, self.id, except, dropped, bytes).await;
                let recalled = recalled.map_err(|error| {
                    tracing::error!(thread = %self.id, %error, "the conversation so far cannot be read");
                    log_failure(&error)
                });
                self.machine
                    .handle(Input::Recalled(recalled), self.around.clock.now());
            }
            Effect::Rounds { except, dropped } => {
                let known = rounds(&self.around.log, self.id, except, dropped).await;
                let known = known.map_err(|error| {
                    tracing::error!(thread = %self.id, %error, "the conversation so far cannot be read");
                    log_failure(&error)
                });
                self.machine.handle(Input::Rounds(known), self.around.clock.now());
            }
            Effect::Resolve { whose, paths } => {
                let spec = &self.machine.live().spec;
                paths::look_up(self.host.as_ref(), spec, whose, paths, self.host_told.clone());
            }
            Effect::Answers { by, order } => {
                let agent = &self.machine.live().spec.agent;
                let outcome = self.around.answers.carry_out(agent, order).await;
                self.look_up_policies();
                self.machine
                    .handle(Input::Answers { by, outcome }, self.around.clock.now());
            }
            Effect::Editor { connection, order } => {
                let editors = self.editors.as_deref_mut();
                if let Some(refused) = editors.and_then(|editors| editors.order(connection, order)) {
                    self.machine.handle(refused, self.around.clock.now());
                }
            }
            Effect::Machine { call, what } => match &mut self.host {
                Some(host) => host.handle(call, what),
                // Nothing is begun for an agent that is gone or going.
                None => {
                    let result = Err(Failure::agent("the agent is gone"));
                    self.machine
                        .handle(Input::Machine { call, result }, self.around.clock.now());
                }
            },
        }
    }

    /// The daemon stops: the agent is given its grace, and its end is still recorded; so are files that are being
    /// written.
    async fn wait_for_agent(&mut self) {
        loop {
            let at_work = self.machine.is_at_work();
            tokio::select! {
                Some(from) = from_agent_once(self.agent.as_mut()) => self.hear_agent(from),
                Some(from) = self.host_tells.recv(), if at_work => self.hear_machine(*from),
                else => return,
            }
        }
    }
}

/// Stores content that events name.
async fn keep(log: &SharedLog, thread: ThreadId, blobs: Vec<Vec<u8>>) -> Result<(), LogError> {
    for blob in blobs {
        log.put_blob(thread, blob).await?;
    }
    Ok(())
}

/// What the agent says next; waits for ever if there is none.
async fn from_agent(agent: Option<&mut AgentHandle>) -> Option<FromAgent> {
    match agent {
        Some(agent) => agent.events.recv().await,
        None => std::future::pending().await,
    }
}

/// What comes of editors next; waits for ever if there are none.
async fn from_editors(editors: Option<&mut Editors>) -> Input {
    match editors {
        Some(editors) => editors.next().await,
        None => std::future::pending().await,
    }
}

async fn from_agent_once(agent: Option<&mut AgentHandle>) -> Option<FromAgent> {
    agent?.events.recv().await
}

async fn sleep_for(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}
