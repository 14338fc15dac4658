//! The thread actor: owns one thread's machine and carries its effects out, log first.

mod begin;
mod commit;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use acpd_log::LogError;
use acpd_model::limits::BATCH_EVENTS;
use acpd_model::{Failure, Origin, ThreadId};
use acpd_proto::thread::{Command, Input, Reply, TerminalEvent, Thread};
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::agent::budget::Charge;
use crate::agent::process::{AgentHandle, AgentMessage, sleep_until};
use crate::agent::process_table::ProcessUse;
use crate::agent::standby::{Standby, over};
use crate::context::Context;
use crate::feed::batch::Batch;
use crate::feed::snapshot::ThreadSnapshot;
use crate::host::callbacks::{Callbacks, HostMessage};
use crate::metrics::Present;
use crate::thread::delegates::{Attachment, Editors};

/// What a thread actor is asked.
#[derive(Debug)]
pub enum ToThread {
    /// Do something.
    Command {
        /// Who wants it, and what. Boxed, since a mailbox keeps room for 32 messages.
        order: Box<(Origin, Command)>,
        /// Where the answer goes.
        reply: oneshot::Sender<Result<Reply, Failure>>,
    },
    /// An editor has closed the session: the agent may go if nobody else follows.
    Closed,
    /// A process that it may use, if it is its agent's.
    Standby {
        /// The process.
        standby: Box<Standby>,
        /// Where it goes if the thread has no use for it.
        back: oneshot::Sender<Box<Standby>>,
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
        reply: oneshot::Sender<ThreadSnapshot>,
    },
}

/// One thread while it is awake.
pub struct ThreadActor {
    context: Context,
    id: ThreadId,
    id_text: String,
    machine: Thread,
    agent: Option<AgentHandle>,
    /// Its part in the agent's process.
    using: Option<Arc<ProcessUse>>,
    /// Whether the agent is let go of once nothing is going on and nobody follows.
    leaves: bool,
    /// A process to use where the machine next wants one.
    standby: Option<Box<Standby>>,
    host: Option<Callbacks>,
    host_tx: mpsc::Sender<Box<HostMessage>>,
    host_rx: mpsc::Receiver<Box<HostMessage>>,
    /// What the machine's latest answer holds of the agent's budget. The answer leaves for the agent as the thread settles,
    /// or never.
    charge: Option<Charge>,
    /// Only where editors have come: most threads never see one.
    editors: Option<Box<Editors>>,
    publish: broadcast::Sender<Arc<Batch>>,
    /// The agent whose policies the machine has.
    policies_of: Option<String>,
    replies: BTreeMap<u64, oneshot::Sender<Result<Reply, Failure>>>,
    next_call: u64,
    /// Its last event is stored: all that is left is to delete its log, and to answer a command.
    pending_deletion: Option<PendingDeletion>,
    _awake: Present,
}

/// A thread of which only the log is left.
#[derive(Debug, Clone, Copy)]
struct PendingDeletion {
    /// The command that wanted it; not known after a restart.
    call: Option<u64>,
}

/// How long a thread with nothing to do and no agent stays awake.
const NAP: Duration = Duration::from_secs(30);

enum ActorInput {
    Message(Option<ToThread>),
    Agent(AgentMessage),
    Host(HostMessage),
    Editor(Box<Input>),
    Due,
    Idle,
    /// Another thread's agent needs the room.
    ReleaseAgent,
    /// The process that was given for its agent is of no use any more.
    StandbyExpired,
    /// The last client that watched has gone.
    Unwatched,
}

impl ThreadActor {
    /// A thread that is about to be made. In a box: a future would keep room for it twice.
    pub fn new(id: ThreadId, context: Context) -> Box<Self> {
        Self::awake(id, context, false)
    }

    fn awake(id: ThreadId, context: Context, woken: bool) -> Box<Self> {
        let machine = Thread::new(id, (*context.limits).clone(), context.clock.now());
        let (host_tx, host_rx) = mpsc::channel(16);
        Box::new(Self {
            _awake: context.metrics.thread(woken),
            publish: broadcast::channel(context.limits.live_batches).0,
            context,
            id,
            id_text: id.to_string(),
            machine,
            agent: None,
            using: None,
            leaves: false,
            standby: None,
            host: None,
            host_tx,
            host_rx,
            charge: None,
            editors: None,
            policies_of: None,
            replies: BTreeMap::new(),
            next_call: 0,
            pending_deletion: None,
        })
    }

    /// A thread that the log knows.
    pub async fn load(id: ThreadId, context: Context) -> Result<Box<Self>, LogError> {
        let mut actor = Self::awake(id, context, true);
        let mut after = 0;
        loop {
            let page = actor.context.log.read(id, after).await?;
            for event in &page.events {
                actor.machine.replay(event);
            }
            after = page.events.last().map_or(after, |event| event.seq);
            if page.at_end {
                break;
            }
        }
        actor.machine.recover(actor.context.clock.now());
        actor.settle().await?;
        Ok(actor)
    }

    /// Lives until nobody needs the thread any more, or the log fails it.
    pub async fn run(mut self: Box<Self>, mut requests_rx: mpsc::Receiver<ToThread>) {
        let end = self.serve(&mut requests_rx).await;
        if let Err(error) = end {
            tracing::error!(thread = %self.id, %error, "the thread is put to sleep: its log cannot be written");
        }
        // Who asked in the meantime is answered by dropping the question: they turn to the directory again.
        requests_rx.close();
    }

    async fn serve(&mut self, requests_rx: &mut mpsc::Receiver<ToThread>) -> Result<(), LogError> {
        loop {
            if let Some(deletion) = self.pending_deletion.take() {
                return self.finish_deletion(deletion).await;
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
                    // More of the same that is there already is stored in the same commit.
                    while self.machine.waiting() < BATCH_EVENTS {
                        let Some(Ok(more)) = self.agent.as_mut().map(|agent| agent.events.try_recv()) else {
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
                ActorInput::Unwatched => false,
            };
            self.settle().await?;
            // One that would forget the conversation stays for as long as any agent does.
            let may_leave = self.machine.is_idle() && !self.machine.would_forget();
            if self.leaves && self.publish.receiver_count() == 0 && may_leave {
                self.leaves = false;
                self.command(Origin::Daemon, Command::Rest);
                self.settle().await?;
            }
            if leave {
                self.wait_for_agent().await;
                return self.settle().await;
            }
        }
    }

    /// Ends the agent, then deletes the log. Those who follow have the last event by then, or never will.
    async fn finish_deletion(&mut self, PendingDeletion { call }: PendingDeletion) -> Result<(), LogError> {
        self.wait_for_agent().await;
        match self.context.log.delete(self.id).await {
            Ok(()) | Err(LogError::NoSuchThread(_)) => {}
            Err(error) => {
                self.fail_callers(&error);
                return Err(error);
            }
        }
        tracing::info!(thread = %self.id, "deleted");
        self.context
            .thread_list
            .changed(self.id, self.context.clock.now().wall, None);
        if let Some(call) = call {
            self.reply(call, Ok(Reply::Done));
        }
        Ok(())
    }

    async fn next(&mut self, requests_rx: &mut mpsc::Receiver<ToThread>) -> ActorInput {
        let due = self
            .machine
            .poll_timeout()
            .map(|at| self.context.clock.instant(at));
        let idle = self.idle_after();
        let watched = self.publish.receiver_count() > 0;
        tokio::select! {
            biased;
            message = requests_rx.recv() => ActorInput::Message(message),
            // Before the agent: one that floods would delay what it has asked for.
            Some(from) = self.host_rx.recv() => ActorInput::Host(*from),
            input = from_editors(self.editors.as_deref_mut()) => ActorInput::Editor(Box::new(input)),
            Some(from) = from_agent(self.agent.as_mut()) => ActorInput::Agent(from),
            () = let_go(self.using.as_deref()) => ActorInput::ReleaseAgent,
            () = over(self.standby.as_deref_mut()) => ActorInput::StandbyExpired,
            () = sleep_until(due) => ActorInput::Due,
            () = sleep_for(idle) => ActorInput::Idle,
            () = self.publish.closed(), if watched => ActorInput::Unwatched,
        }
    }

    /// How long nothing may happen until the thread lets its agent go, or goes to sleep itself.
    fn idle_after(&self) -> Option<Duration> {
        let busy = self.machine.live().turn.is_some() || self.machine.has_pending_work();
        if busy || self.publish.receiver_count() > 0 {
            return None;
        }
        Some(if self.machine.has_agent() {
            // At least a second: one that is on its way up or down is asked again.
            Duration::from_secs(self.context.limits.agent_idle_secs.max(1))
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
            ToThread::Closed => self.leaves = true,
            ToThread::Standby { mut standby, back } => {
                let agent = &self.machine.live().spec.agent;
                // A thread that is about to be made has no agent's name yet.
                let fits = agent.is_empty() || agent == standby.agent();
                if fits && self.agent.is_none() && self.standby.is_none() {
                    standby.offer();
                    self.standby = Some(standby);
                } else {
                    // One whose connection is gone ends here.
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
            ToThread::Subscribe { reply } => {
                self.leaves = false;
                let live = Box::new(self.machine.live().clone());
                let pending = live.requests.keys().copied().collect();
                // A caller that is gone has no use for it.
                let _ = reply.send(ThreadSnapshot {
                    batches: self.publish.subscribe(),
                    live,
                    pending,
                });
            }
        }
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
                    self.machine.handle(Input::Agent(event), now);
                }
            }
            AgentMessage::Exited(gone) => {
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
                Input::Host { call, result }
            }
            HostMessage::Resolved { waiter, real } => Input::Resolved { waiter, real },
            HostMessage::Terminal { terminal_id, event } => {
                if let (Some(host), TerminalEvent::Exited { exit, output, .. }) = (&mut self.host, &event) {
                    host.terminal_ended(&terminal_id, exit, output.len());
                }
                Input::Terminal { terminal_id, event }
            }
        };
        self.machine.handle(input, self.context.clock.now());
    }

    /// Goes by the policies that hold now. They can change at any time, and an agent's name is not known at first.
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

    /// The daemon stops: the agent is given its grace, and its end is still recorded; so are files that are being
    /// written.
    async fn wait_for_agent(&mut self) {
        loop {
            let at_work = self.machine.has_pending_work();
            tokio::select! {
                biased;
                Some(from) = from_agent_once(self.agent.as_mut()) => self.handle_agent_event(from),
                Some(from) = self.host_rx.recv(), if at_work => self.handle_host_message(*from),
                else => return,
            }
        }
    }
}

/// What the agent says next; waits for ever if there is none.
async fn from_agent(agent: Option<&mut AgentHandle>) -> Option<AgentMessage> {
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

/// The agent is to go, if it can; waits for ever if there is none.
async fn let_go(using: Option<&ProcessUse>) {
    match using {
        Some(using) => using.let_go().await,
        None => std::future::pending().await,
    }
}

async fn from_agent_once(agent: Option<&mut AgentHandle>) -> Option<AgentMessage> {
    agent?.events.recv().await
}

async fn sleep_for(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}
