//! The standby process of one connection: requests that come before any session go to it, and the connection's first
//! session takes it over.
//!
//! In: requests without a session, threads that need a process. Out: the agent's answers, and the process. Owns: the process
//! until a thread takes it. Never: starts a second process for the same connection while the first one is useful.

use std::path::PathBuf;

use acpd_model::{ErrorCode, Failure, RawJson};
use acpd_proto::agent::{AgentRequest, ElicitationModes};
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use crate::agent::probe::anywhere;
use crate::context::Context;
use crate::host::blocking;
use crate::standby::process::{ResponseSender, Standby, State, ended};

/// Requests of one connection that may wait for its agent process without a session.
const STANDBY_REQUESTS: usize = 64;

/// Gives access to a connection's standby process. The process ends with the last clone.
#[derive(Debug, Clone)]
pub struct StandbyHandle {
    requests_tx: mpsc::Sender<ToStandby>,
}

#[derive(Debug)]
enum ToStandby {
    Ask {
        request: Box<AgentRequest>,
        elicitation: ElicitationModes,
        answer: ResponseSender,
    },
    Take(Take),
    Put(Box<Standby>),
}

/// A thread that needs a process of `agent` in `cwd`.
#[derive(Debug)]
struct Take {
    agent: String,
    cwd: String,
    reply: oneshot::Sender<Option<Box<Standby>>>,
}

impl StandbyHandle {
    /// Starts the task for a connection. It starts a process of `agent` in `cwd` when the first request needs it.
    pub fn open(context: Context, agent: Result<String, Failure>, cwd: PathBuf) -> Self {
        let (requests_tx, requests_rx) = mpsc::channel(STANDBY_REQUESTS);
        let task = Task {
            context,
            agent,
            cwd,
            standby: None,
            starting: None,
            asks: Vec::new(),
            takes: Vec::new(),
        };
        tokio::spawn(task.run(requests_rx));
        Self { requests_tx }
    }

    /// Sends the agent a request that needs no session, and waits for its answer. If there is no process, starts one for a
    /// client that can show these modes of elicitation. The first poll puts the request into the order of the connection's
    /// requests.
    pub async fn ask(
        &self,
        request: AgentRequest,
        elicitation: ElicitationModes,
    ) -> Result<RawJson, Failure> {
        let (answer, answered) = oneshot::channel();
        let request = Box::new(request);
        self.send(ToStandby::Ask {
            request,
            elicitation,
            answer,
        })?;
        answered.await.map_err(|_| ended())?
    }

    /// Takes the process, if it can open a session of `agent` in `cwd`. Waits while the process starts, or while the user
    /// signs in to it.
    pub async fn take(&self, agent: &str, cwd: &str) -> Option<Box<Standby>> {
        let (reply, taken) = oneshot::channel();
        let (agent, cwd) = (agent.to_owned(), cwd.to_owned());
        self.send(ToStandby::Take(Take { agent, cwd, reply })).ok()?;
        taken.await.ok()?
    }

    /// Hands over a process, unless there is one already.
    pub fn put(&self, standby: Box<Standby>) {
        // Without room, or after the end of the task, the process ends here.
        let _ = self.send(ToStandby::Put(standby));
    }

    fn send(&self, message: ToStandby) -> Result<(), Failure> {
        let sent = self.requests_tx.try_send(message);
        sent.map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Failure::new(
                ErrorCode::Overloaded,
                "too many requests wait for the agent's process",
            ),
            mpsc::error::TrySendError::Closed(_) => ended(),
        })
    }
}

struct Task {
    context: Context,
    agent: Result<String, Failure>,
    cwd: PathBuf,
    standby: Option<Box<Standby>>,
    starting: Option<BoxFuture<'static, Result<Box<Standby>, Failure>>>,
    /// Requests that wait for the process to start.
    asks: Vec<(Box<AgentRequest>, ResponseSender)>,
    /// Threads that wait for the process to start, or for the user to sign in.
    takes: Vec<Take>,
}

impl Task {
    async fn run(mut self, mut requests_rx: mpsc::Receiver<ToStandby>) {
        loop {
            tokio::select! {
                biased;
                started = started(self.starting.as_mut()) => self.started(started).await,
                state = changed(self.standby.as_deref_mut()) => if state == State::Over {
                    self.standby = None;
                },
                message = requests_rx.recv() => match message {
                    Some(ToStandby::Ask { request, elicitation, answer }) => {
                        self.ask(request, elicitation, answer).await;
                    }
                    Some(ToStandby::Take(take)) => self.takes.push(take),
                    Some(ToStandby::Put(standby)) => {
                        self.standby.get_or_insert(standby);
                    }
                    None => return,
                },
            }
            self.take();
        }
    }

    async fn ask(
        &mut self,
        request: Box<AgentRequest>,
        elicitation: ElicitationModes,
        answer: ResponseSender,
    ) {
        match &mut self.standby {
            Some(standby) => standby.ask(*request, answer).await,
            None => {
                self.asks.push((request, answer));
                if self.starting.is_none() {
                    let (context, agent, cwd) = (self.context.clone(), self.agent.clone(), self.cwd.clone());
                    self.starting = Some(Box::pin(start(context, agent, cwd, elicitation)));
                }
            }
        }
    }

    async fn started(&mut self, started: Result<Box<Standby>, Failure>) {
        self.starting = None;
        let asks = std::mem::take(&mut self.asks);
        match started {
            Ok(mut standby) => {
                for (request, answer) in asks {
                    standby.ask(*request, answer).await;
                }
                self.standby = Some(standby);
            }
            Err(failure) => {
                for (_, answer) in asks {
                    // The caller may have gone.
                    let _ = answer.send(Err(failure.clone()));
                }
            }
        }
    }

    /// Answers the threads that wait, unless they must wait longer.
    fn take(&mut self) {
        let signs_in = self
            .standby
            .as_ref()
            .is_some_and(|standby| standby.is_signing_in());
        if self.starting.is_some() || signs_in {
            return;
        }
        for Take { agent, cwd, reply } in self.takes.drain(..) {
            let fits = |standby: &mut Box<Standby>| standby.agent() == agent && standby.fits(&cwd);
            let taken = self.standby.take_if(fits);
            // If the caller has gone, the process serves the next one.
            if let Err(taken) = reply.send(taken) {
                self.standby = self.standby.take().or(taken);
            }
        }
    }
}

/// Waits until the process has started or its start has failed; waits forever if no process is starting.
async fn started(
    starting: Option<&mut BoxFuture<'static, Result<Box<Standby>, Failure>>>,
) -> Result<Box<Standby>, Failure> {
    match starting {
        Some(starting) => starting.await,
        None => std::future::pending().await,
    }
}

/// Waits until the process has answered or is no longer useful; waits forever without a process.
async fn changed(standby: Option<&mut Standby>) -> State {
    match standby {
        Some(standby) => standby.changed().await,
        None => std::future::pending().await,
    }
}

async fn start(
    context: Context,
    agent: Result<String, Failure>,
    cwd: PathBuf,
    elicitation: ElicitationModes,
) -> Result<Box<Standby>, Failure> {
    let name = agent?;
    let config = context.agents.find(&name)?.config;
    // The client has not named a session yet.
    let is_directory = |cwd: PathBuf| if cwd.is_dir() { cwd } else { anywhere() };
    let cwd = blocking(&*context.host, move || Ok(is_directory(cwd))).await?;
    let (_, standby) = Standby::start(&context, &name, &config, &cwd, elicitation).await?;
    Ok(Box::new(standby))
}
