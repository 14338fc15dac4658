//! The thread actor: owns one thread's state machine and applies its effects, the log first.

mod begin;
mod commit;
mod deletion;
mod denials;
mod folder;
mod user_commands;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use acpd_log::LogError;
use acpd_model::{Failure, Origin, Seq, Summary, ThreadId};
use acpd_proto::agent::AgentEvent;
use acpd_proto::projection::Live;
use acpd_proto::surface::contract::Lane;
use acpd_proto::thread::{Command, Input, Reply, TerminalEvent, Thread};
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use crate::agent::process::{AgentHandle, AgentMessage, sleep_until};
use crate::agent::running::ProcessUse;
use crate::context::Context;
use crate::feed::publisher::Publisher;
use crate::feed::snapshot::ThreadSnapshot;
use crate::host::budget::Charge;
use crate::host::callbacks::{Callbacks, HostMessage};
use crate::metrics::Present;
use crate::observe::{Observer, Scene};
use crate::standby::process::{Standby, over};
use crate::stored::state::{SnapshotPlan, load_state};
use crate::thread::actor::deletion::PendingDeletion;
use crate::thread::actor::denials::Denials;
use crate::thread::actor::user_commands::UserCommands;
use crate::thread::delegates::{Attachment, Editors};
use crate::thread::failed::Failed;

/// A message to a thread actor.
#[derive(Debug)]
pub enum ToThread {
    /// Runs a command.
    Command {
        /// The command and its origin. Boxed, because a mailbox reserves space for 32 messages.
        order: Box<(Origin, Command)>,
        /// Receives the result.
        reply: oneshot::Sender<Result<Reply, Failure>>,
    },
    /// Reports that an editor closed the session. The agent may be stopped if no other client follows the thread.
    Closed,
    /// Offers a standby process, which the thread may use if it runs the thread's agent.
    Standby {
        /// The process.
        standby: Box<Standby>,
        /// Receives the process back if the thread does not need it.
        back: oneshot::Sender<Box<Standby>>,
    },
    /// Reports that an editor opened the thread.
    Attach {
        /// The editor's attachment. Boxed for the same reason as a command.
        editor: Box<Attachment>,
        /// Receives the result.
        reply: oneshot::Sender<Result<Reply, Failure>>,
    },
    /// Subscribes to the thread, starting with the next event.
    Subscribe {
        /// The encoding that the subscriber receives.
        lane: Lane,
        /// Receives the snapshot at which the subscription starts.
        reply: oneshot::Sender<Result<ThreadSnapshot, Failure>>,
    },
    /// Asks for the thread's current state.
    Look {
        /// Receives the state.
        reply: oneshot::Sender<Result<Arc<Live>, Failure>>,
    },
}

impl ToThread {
    /// Answers a message for a thread that cannot be loaded.
    pub fn refuse(self, failure: &Failure) {
        let failure = failure.clone();
        // A caller that has gone needs no answer.
        match self {
            Self::Command { reply, .. } | Self::Attach { reply, .. } => drop(reply.send(Err(failure))),
            Self::Subscribe { reply, .. } => drop(reply.send(Err(failure))),
            Self::Look { reply } => drop(reply.send(Err(failure))),
            Self::Standby { standby, back } => drop(back.send(standby)),
            Self::Closed => {}
        }
    }
}

/// One thread while it is loaded.
pub struct ThreadActor {
    context: Context,
    id: ThreadId,
    id_text: String,
    machine: Thread,
    agent: Option<AgentHandle>,
    /// The thread's use of the agent process.
    using: Option<Arc<ProcessUse>>,
    /// Whether to stop the agent once the thread is idle and has no subscribers.
    leaves: bool,
    /// A standby process to use the next time the machine starts an agent.
    standby: Option<Box<Standby>>,
    host: Option<Callbacks>,
    /// Allocated on the first command: in most threads, users run none.
    user_commands: Option<Box<UserCommands>>,
    host_tx: mpsc::Sender<Box<HostMessage>>,
    host_rx: mpsc::Receiver<Box<HostMessage>>,
    /// The part of the agent's budget that the machine's latest answer holds. The answer goes to the agent while the
    /// thread settles, or never.
    charge: Option<Charge>,
    /// Reads the conversation so far. Only the latest such effect needs its result.
    collecting: Option<BoxFuture<'static, Input>>,
    /// Allocated on the first attachment: most threads never have an editor.
    editors: Option<Box<Editors>>,
    publisher: Publisher,
    /// The state that subscribers last received, if one of them still uses it.
    shared: Weak<Live>,
    snapshots: SnapshotPlan,
    observer: Observer,
    /// Whether the directory of the thread is being looked up.
    looks_for_directory: bool,
    /// Paths for which a denial of the sandbox was looked up.
    denials: Option<Box<Denials>>,
    /// The agent whose policies the machine currently uses.
    policies_of: Option<String>,
    replies: BTreeMap<u64, oneshot::Sender<Result<Reply, Failure>>>,
    next_call: u64,
    /// The first command of which nothing has left the process.
    next_unsent: u64,
    /// Set once the last event is stored: what remains is to delete the log and to answer the command.
    pending_deletion: Option<Box<PendingDeletion>>,
    _awake: Present,
}

/// How long a thread with no work and no agent stays loaded.
pub(super) const NAP: Duration = Duration::from_secs(30);

enum ActorInput {
    Message(Option<ToThread>),
    Agent(AgentMessage),
    Host(HostMessage),
    Machine(Box<Input>),
    Editor(Box<Input>),
    Due,
    Idle,
    /// Another thread's agent needs the process slot.
    ReleaseAgent,
    /// The offered standby process can no longer be used.
    StandbyExpired,
    /// The last subscriber has left.
    Unwatched,
}

impl ThreadActor {
    /// Creates the actor of a new thread. Boxed, because a future would reserve space for it twice.
    pub fn new(id: ThreadId, context: Context) -> Box<Self> {
        Self::awake(id, context, false)
    }

    fn awake(id: ThreadId, context: Context, woken: bool) -> Box<Self> {
        let snapshots = SnapshotPlan::new(context.snapshot_bytes);
        let machine = Thread::new(id, context.limits.now(), context.clock.now());
        let (host_tx, host_rx) = mpsc::channel(16);
        Box::new(Self {
            _awake: context.metrics.thread(woken),
            publisher: Publisher::new(context.limits.now().live_batches, context.live_room.clone()),
            context,
            id,
            id_text: id.to_string(),
            machine,
            agent: None,
            using: None,
            leaves: false,
            standby: None,
            host: None,
            user_commands: None,
            host_tx,
            host_rx,
            charge: None,
            collecting: None,
            editors: None,
            shared: Weak::new(),
            snapshots,
            observer: Observer::default(),
            looks_for_directory: false,
            denials: None,
            policies_of: None,
            replies: BTreeMap::new(),
            next_call: 0,
            next_unsent: 0,
            pending_deletion: None,
        })
    }

    /// Loads a thread from the log. Unfinished work ends, because the log failed with `failed`, or because the daemon was
    /// stopped.
    pub async fn load(
        id: ThreadId,
        context: Context,
        failed: Option<&LogError>,
    ) -> Result<Box<Self>, LogError> {
        let loading = context.read_log(|log| async move { load_state(&log, id, Seq::MAX).await });
        let live = loading.await?;
        let mut actor = Self::awake(id, context, true);
        actor.snapshots.loaded(&live);
        actor.machine.restore(live);
        let now = actor.context.clock.now();
        match failed {
            Some(error) => actor.machine.recover_from_log(&lost_work(error), now),
            None => actor.machine.recover(now),
        }
        actor.settle().await?;
        Ok(actor)
    }

    /// Returns the thread's list entry.
    pub fn summary(&self) -> &Summary {
        &self.machine.live().summary
    }

    /// Runs until the thread is unloaded or deleted, or until the log fails. Handles `first` before any other message.
    pub async fn run(
        mut self: Box<Self>,
        first: Option<ToThread>,
        requests_rx: &mut mpsc::Receiver<ToThread>,
    ) -> Result<(), Failed> {
        let Err(error) = self.serve(first, requests_rx).await else {
            return Ok(());
        };
        tracing::error!(thread = %self.id, %error, "the thread stops: its log cannot be written");
        self.fail_callers(&error);
        let context = Box::new(self.context.clone());
        Err(Failed { error, context })
    }

    async fn serve(
        &mut self,
        first: Option<ToThread>,
        requests_rx: &mut mpsc::Receiver<ToThread>,
    ) -> Result<(), LogError> {
        if let Some(message) = first {
            self.look_up_policies();
            self.asked(message);
            Box::pin(self.settle()).await?;
        }
        loop {
            if let Some(deletion) = self.pending_deletion.take() {
                return self.finish_deletion(*deletion).await;
            }
            let input = self.next(requests_rx).await;
            self.look_up_policies();
            let leave = match input {
                ActorInput::Message(None) => {
                    self.command(Origin::Daemon, Command::Stop);
                    true
                }
                ActorInput::Message(Some(message)) => {
                    self.asked(message);
                    false
                }
                ActorInput::Idle if self.machine.has_agent() => {
                    self.command(Origin::Daemon, Command::Rest);
                    false
                }
                ActorInput::Idle => return Ok(()),
                ActorInput::Agent(from) => {
                    self.handle_agent_event(from);
                    // Further agent messages that have already arrived are stored in the same commit.
                    while self.machine.has_room() {
                        let Some(more) = self.agent.as_mut().and_then(AgentHandle::try_receive) else {
                            break;
                        };
                        self.handle_agent_event(more);
                    }
                    false
                }
                ActorInput::Host(from) => {
                    self.handle_host_message(from);
                    false
                }
                ActorInput::Editor(input) => {
                    if let Input::EditorAnswered { call, result, .. } = &*input {
                        self.callback_ended(*call, result.is_err());
                    }
                    self.machine.handle(*input, self.context.clock.now());
                    false
                }
                ActorInput::Machine(input) => {
                    self.machine.handle(*input, self.context.clock.now());
                    false
                }
                ActorInput::Due => {
                    self.machine.handle_timeout(self.context.clock.now());
                    false
                }
                ActorInput::ReleaseAgent => {
                    self.command(Origin::Daemon, Command::Rest);
                    false
                }
                ActorInput::StandbyExpired => {
                    self.standby = None;
                    false
                }
                ActorInput::Unwatched => {
                    // Even a weak reference keeps the memory of the state itself.
                    self.shared = Weak::new();
                    false
                }
            };
            self.settle().await?;
            // An agent that would lose the conversation is kept for the usual idle time.
            let may_leave = self.machine.is_idle() && !self.machine.would_forget();
            if self.leaves && !self.publisher.has_subscribers() && may_leave {
                self.leaves = false;
                self.command(Origin::Daemon, Command::Rest);
                self.settle().await?;
            }
            if leave {
                Box::pin(self.wait_for_agent()).await?;
                return self.settle().await;
            }
        }
    }

    async fn next(&mut self, requests_rx: &mut mpsc::Receiver<ToThread>) -> ActorInput {
        let due = self
            .machine
            .poll_timeout()
            .map(|at| self.context.clock.instant(at));
        let idle = self.idle_after();
        let watched = self.publisher.has_subscribers();
        tokio::select! {
            biased;
            message = requests_rx.recv() => ActorInput::Message(message),
            // Host results come before the agent: a flood of agent messages would delay results that the agent waits for.
            Some(from) = self.host_rx.recv() => ActorInput::Host(*from),
            input = from_editors(self.editors.as_deref_mut()) => ActorInput::Editor(Box::new(input)),
            input = collected(&mut self.collecting) => ActorInput::Machine(Box::new(input)),
            Some(from) = from_agent(self.agent.as_mut()) => ActorInput::Agent(from),
            () = released(self.using.as_deref()) => ActorInput::ReleaseAgent,
            () = over(self.standby.as_deref_mut()) => ActorInput::StandbyExpired,
            () = sleep_until(due) => ActorInput::Due,
            () = sleep_for(idle) => ActorInput::Idle,
            () = self.publisher.closed(), if watched => ActorInput::Unwatched,
        }
    }

    /// Returns the idle time after which the thread stops its agent, or unloads if it has no agent.
    fn idle_after(&self) -> Option<Duration> {
        let busy = self.machine.live().turn.is_some() || self.machine.has_pending_work();
        if busy || self.publisher.has_subscribers() {
            return None;
        }
        Some(if self.machine.has_agent() {
            // At least a second: while an agent starts or stops, this request repeats.
            Duration::from_secs(self.context.limits.now().agent_idle_secs.max(1))
        } else {
            NAP
        })
    }

    fn asked(&mut self, message: ToThread) {
        match message {
            ToThread::Command { order, reply } => {
                let (by, command) = *order;
                self.replies.insert(self.next_call, reply);
                match self.refusal_of(&command) {
                    Some(failure) => self.refuse_command(failure),
                    None => self.command(by, command),
                }
            }
            ToThread::Closed => self.leaves = true,
            ToThread::Standby { mut standby, back } => {
                let agent = &self.machine.live().spec.agent;
                // A thread that is about to be created has no agent name yet.
                let fits = agent.is_empty() || agent == standby.agent();
                if fits && self.agent.is_none() && self.standby.is_none() {
                    standby.offer();
                    self.standby = Some(standby);
                } else {
                    // If the editor's connection has closed, the process ends here.
                    let _ = back.send(standby);
                }
            }
            ToThread::Attach { editor, reply } => {
                let editors = self
                    .editors
                    .get_or_insert_with(|| Box::new(Editors::new(self.id)));
                if let Some(left) = editors.attach(&editor) {
                    self.machine.handle(left, self.context.clock.now());
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
            ToThread::Look { reply } => {
                // If the caller has gone, nothing needs the state.
                let _ = reply.send(Ok(self.shared_state()));
            }
            ToThread::Subscribe { lane, reply } => {
                self.leaves = false;
                let live = self.shared_state();
                let pending = Arc::new(live.requests.keys().copied().collect());
                // If the caller has gone, nothing needs the snapshot.
                let _ = reply.send(Ok(ThreadSnapshot {
                    batches: self.publisher.subscribe(lane),
                    live,
                    pending,
                    suggestions: self.publisher.suggestions(),
                    log_error: None,
                }));
            }
        }
    }

    /// Returns the thread's state, shared by all who ask for it before it changes.
    fn shared_state(&mut self) -> Arc<Live> {
        let live = self.machine.live();
        let shared = self.shared.upgrade();
        shared
            .filter(|shared| shared.last_seq == live.last_seq)
            .unwrap_or_else(|| {
                let shared = Arc::new(live.clone());
                self.shared = Arc::downgrade(&shared);
                shared
            })
    }

    fn command(&mut self, by: Origin, command: Command) {
        let call = self.next_call;
        self.next_call += 1;
        self.machine
            .handle(Input::Command { call, by, command }, self.context.clock.now());
    }

    fn handle_agent_event(&mut self, from: AgentMessage) {
        let now = self.context.clock.now();
        match from {
            AgentMessage::Events(events) => {
                for event in events {
                    match &event {
                        AgentEvent::SignInRequired(_) => self.observer.sign_in_required(),
                        AgentEvent::PromptEnded {
                            result: Err(error), ..
                        } => {
                            self.look_for_denials(&error.message);
                        }
                        AgentEvent::Failed(failure) => self.look_for_denials(&failure.to_string()),
                        _ => {}
                    }
                    self.machine.handle(Input::Agent(event), now);
                }
            }
            AgentMessage::Exited(gone) => {
                if !self.machine.is_stopping() {
                    self.look_for_denials(&gone.stderr);
                }
                (self.agent, self.using) = (None, None);
                self.host = None;
                self.machine.handle(Input::AgentExited(*gone), now);
            }
        }
    }

    fn handle_host_message(&mut self, from: HostMessage) {
        let input = match from {
            HostMessage::Done { call, result, charge } => {
                self.charge = charge;
                self.callback_ended(call, result.is_err());
                if let Err(failure) = &result {
                    self.look_outside(failure);
                    self.look_for_directory();
                }
                Input::Host { call, result }
            }
            HostMessage::Resolved { waiter, real } => Input::Resolved { waiter, real },
            HostMessage::Denied(denial) => return self.denied(&denial),
            HostMessage::DirectoryLooked { directory, gone } => {
                return self.directory_looked(&directory, gone);
            }
            HostMessage::Terminal { terminal_id, event } => {
                if let TerminalEvent::Exited { exit, output, .. } = &event {
                    if let Some(host) = &mut self.host {
                        host.terminal_ended(&terminal_id, exit, output.len());
                    }
                    if exit.code != Some(0) {
                        self.look_for_denials(output);
                    }
                }
                Input::Terminal { terminal_id, event }
            }
        };
        self.machine.handle(input, self.context.clock.now());
    }

    fn callback_ended(&mut self, call: u64, failed: bool) {
        let at = self.context.clock.now().wall;
        let scene = scene(&self.context, &self.machine);
        self.observer.callback_ended(scene, call, at, failed);
    }

    /// Refreshes the machine's policies. They can change at any time, and the agent's name is unknown at first.
    fn look_up_policies(&mut self) {
        let agent = &self.machine.live().spec.agent;
        let changed =
            self.context.policies.has_changed().unwrap_or(false) || self.context.answers.have_changed();
        if self.policies_of.as_ref() == Some(agent) && !changed {
            return;
        }
        let answers = self.context.answers.of(agent);
        let policies = self.context.policies.borrow_and_update();
        let policies = policies.for_agent(agent, answers);
        self.policies_of = Some(agent.clone());
        self.machine.set_policies(policies);
    }

    /// Waits for the agent to stop when the daemon shuts down. The agent gets its grace period, and its end and pending
    /// file writes are still recorded. A turn that waits for the rest of a message ends meanwhile, for the clients that wait for it.
    async fn wait_for_agent(&mut self) -> Result<(), LogError> {
        loop {
            let at_work = self.machine.has_pending_work();
            let turn_end = self.machine.turn_end();
            let due = turn_end.map(|at| self.context.clock.instant(at));
            tokio::select! {
                biased;
                Some(from) = from_agent_once(self.agent.as_mut()) => self.handle_agent_event(from),
                Some(from) = self.host_rx.recv(), if at_work => self.handle_host_message(*from),
                () = sleep_until(due), if due.is_some() => {
                    self.machine.handle_turn_end(self.context.clock.now());
                    self.settle().await?;
                }
                else => return Ok(()),
            }
        }
    }
}

/// Returns the thread as it is observed.
fn scene<'a>(context: &'a Context, machine: &'a Thread) -> Scene<'a> {
    let live = machine.live();
    Scene {
        thread: live.thread,
        agent: &live.spec.agent,
        metrics: &context.metrics,
        traces: context.sinks.traces.as_ref(),
    }
}

/// Returns why a turn ends whose work was lost because the log failed.
fn lost_work(error: &LogError) -> String {
    match error {
        LogError::Storage(words) | LogError::Unavailable(words) | LogError::UnknownOutcome(words) => {
            format!("the log could not be written: {words}")
        }
        error => format!("the log could not be written: {error}"),
    }
}

/// Waits for the agent's next message; waits forever if there is no agent.
async fn from_agent(agent: Option<&mut AgentHandle>) -> Option<AgentMessage> {
    match agent {
        Some(agent) => agent.receive().await,
        None => std::future::pending().await,
    }
}

/// Waits for the editors' next input; waits forever if there are no editors.
async fn from_editors(editors: Option<&mut Editors>) -> Input {
    match editors {
        Some(editors) => editors.next().await,
        None => std::future::pending().await,
    }
}

/// Waits until the conversation is collected; waits forever if it is not being collected.
async fn collected(collecting: &mut Option<BoxFuture<'static, Input>>) -> Input {
    let Some(reading) = collecting else {
        return std::future::pending().await;
    };
    let input = reading.await;
    *collecting = None;
    input
}

/// Waits until the agent should be released; waits forever if there is no agent.
async fn released(using: Option<&ProcessUse>) {
    match using {
        Some(using) => using.released().await,
        None => std::future::pending().await,
    }
}

async fn from_agent_once(agent: Option<&mut AgentHandle>) -> Option<AgentMessage> {
    agent?.receive().await
}

async fn sleep_for(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the size of the future that a function returns.
    fn size_of_future<A, B, C, D, F>(_: fn(A, B, C, D) -> F) -> usize {
        size_of::<F>()
    }

    /// A daemon has thousands of idle threads. A future reserves space for its largest step, and the first message in a
    /// channel allocates space for 32, so box what is rare and large.
    #[test]
    fn an_idle_thread_needs_little_memory() {
        let sizes = [
            ("the task", size_of_future(crate::thread::task::run_thread), 2_216),
            ("the actor", size_of::<ThreadActor>(), 4_816),
            ("a message", size_of::<ToThread>(), 24),
            ("a message of the agent", size_of::<AgentMessage>(), 24),
        ];
        for (name, size, limit) in sizes {
            assert!(size <= limit, "{name} has {size} bytes (limit {limit})");
        }
    }
}
