//! What the log keeps of an agent that a shim holds, so that the next daemon continues its work, and the agents that a daemon
//! has attached for threads that are not loaded yet.
//!
//! In: rows of the log. Out: rows, and attached agents. Owns: the encoding of a row and its version. Never: decides what an
//! agent or a thread does next, or ends a process whose row it can read.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use acpd_host::Hold;
use acpd_log::{LogError, SharedLog};
use acpd_model::{Failure, Limits, RawJson, TerminalHold, ThreadId, json, without_content};
use acpd_proto::agent::{AgentCommand, AgentRequest, ConnectionMemo};
use acpd_proto::thread::ThreadMemo;
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::host::{AgentIo, HeldIo, Host, blocking};

/// The version of a row. A daemon reads no other one: the agent ends, and its turn with it.
pub const CARRY_VERSION: u32 = 1;

/// Bytes of an agent's output without events after which the log stores how far it was read: half of what a shim keeps
/// beyond the longest line.
pub(crate) const CURSOR_BYTES: u64 = 512 << 10;

/// Agents that are attached at the same time when a daemon starts.
const ATTACHED_AT_ONCE: usize = 64;

/// Returns how long a shim keeps an agent that its daemon leaves.
pub(crate) fn orphan_limit(limits: &Limits, in_turn: bool) -> Duration {
    Duration::from_secs(if in_turn {
        limits.orphan_turn_secs
    } else {
        limits.orphan_idle_secs
    })
}

/// An agent's connection after all lines up to a byte of the agent's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ConnectionPart {
    /// Bytes of the journal that `memo` knows of.
    pub out_mark: u64,
    /// Lines behind these bytes that were not in the journal yet, and that `memo` counts as sent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unsent: String,
    pub memo: ConnectionMemo,
}

/// A command for the agent that its connection may not have received, and that the thread has forgotten.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum OwedCommand {
    Notify {
        method: String,
        params: Option<RawJson>,
    },
    CancelSubagent {
        session: String,
    },
    /// The end of a session that the agent has forked.
    CloseSession {
        ask: u64,
        session: String,
    },
}

impl OwedCommand {
    /// Returns the command in this form, unless the thread repeats it by itself.
    pub fn of(command: &AgentCommand) -> Option<Self> {
        match command {
            AgentCommand::Notify { method, params } => Some(Self::Notify {
                method: method.clone(),
                params: params.clone(),
            }),
            AgentCommand::CancelSubagent { session } => Some(Self::CancelSubagent {
                session: session.clone(),
            }),
            AgentCommand::Request {
                ask,
                request: AgentRequest::CloseSession { session_id },
            } => Some(Self::CloseSession {
                ask: *ask,
                session: session_id.clone(),
            }),
            AgentCommand::Open(_)
            | AgentCommand::Prompt { .. }
            | AgentCommand::Cancel
            | AgentCommand::Request { .. }
            | AgentCommand::Answer { .. }
            | AgentCommand::WaitForUser(_)
            | AgentCommand::Close => None,
        }
    }

    pub fn into_command(self) -> AgentCommand {
        match self {
            Self::Notify { method, params } => AgentCommand::Notify { method, params },
            Self::CancelSubagent { session } => AgentCommand::CancelSubagent { session },
            Self::CloseSession { ask, session } => AgentCommand::Request {
                ask,
                request: AgentRequest::CloseSession { session_id: session },
            },
        }
    }
}

/// A row of the log, as a thread writes it.
#[derive(Debug, Serialize)]
pub(crate) struct RowRef<'a> {
    pub v: u32,
    pub hold: &'a Hold,
    /// A [`ConnectionPart`]; `None` while the session is not open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<&'a RawJson>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub owed: &'a [OwedCommand],
    /// The terminals that shims hold, as the thread knows them.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub terminals: &'a [TerminalHold],
    /// A [`ThreadMemo`]; `None` while there is no work that can be continued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<&'a RawJson>,
}

impl RowRef<'_> {
    /// Returns the row of an agent that is about to start.
    pub fn of_new(hold: &Hold) -> RowRef<'_> {
        RowRef {
            v: CARRY_VERSION,
            hold,
            connection: None,
            owed: &[],
            terminals: &[],
            thread: None,
        }
    }

    /// Returns whether another daemon can continue with this row.
    pub fn is_resumable(&self) -> bool {
        self.connection.is_some() && self.thread.is_some()
    }

    pub fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }
}

/// The part of a row that each version has.
#[derive(Deserialize)]
struct Versioned {
    v: u32,
}

/// A row of the log, as a daemon reads it.
#[derive(Debug, PartialEq, Deserialize)]
struct Row {
    hold: Hold,
    #[serde(default)]
    connection: Option<RawJson>,
    #[serde(default)]
    owed: Vec<OwedCommand>,
    #[serde(default)]
    terminals: Vec<TerminalHold>,
    #[serde(default)]
    thread: Option<ThreadMemo>,
}

/// Why the work of an agent cannot be continued.
#[derive(Debug, thiserror::Error)]
enum CarryError {
    #[error("its row in the log has version {0}, and this daemon reads version {own}", own = CARRY_VERSION)]
    Version(u32),
    #[error("its row in the log cannot be read: {0}")]
    Malformed(String),
    #[error("its session was not open yet")]
    NotOpen,
    #[error("{0}")]
    NotAttached(Failure),
    #[error("its journal cannot be read: {0}")]
    Journal(std::io::Error),
    #[error("its journal does not continue its row in the log")]
    OtherJournal,
    #[error("its shim has no journal")]
    NoJournal,
}

impl From<serde_json::Error> for CarryError {
    fn from(error: serde_json::Error) -> Self {
        Self::Malformed(without_content(&error))
    }
}

/// What a row says of an agent whose work can be continued.
#[derive(Debug, PartialEq)]
struct Resumable {
    hold: Hold,
    part: RawJson,
    connection: ConnectionPart,
    owed: Vec<OwedCommand>,
    terminals: Vec<TerminalHold>,
    thread: ThreadMemo,
}

/// Reads a row.
fn decode(memo: &[u8]) -> Result<Resumable, CarryError> {
    let Versioned { v } = json::from_bytes(memo)?;
    if v != CARRY_VERSION {
        return Err(CarryError::Version(v));
    }
    let row: Row = json::from_bytes(memo)?;
    let (Some(part), Some(thread)) = (row.connection, row.thread) else {
        return Err(CarryError::NotOpen);
    };
    Ok(Resumable {
        hold: row.hold,
        connection: serde_json::from_str(part.get())?,
        part,
        owed: row.owed,
        terminals: row.terminals,
        thread,
    })
}

/// Divides what the journal has behind the memo's mark. Returns the lines that the memo does not know, and those of `unsent` that
/// are not in the journal yet. `None` if the journal does not continue with `unsent`.
fn divide(unsent: &str, journal: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let unsent = unsent.as_bytes();
    match journal.strip_prefix(unsent) {
        Some(later) => Some((later.to_vec(), Vec::new())),
        None => unsent
            .strip_prefix(journal)
            .map(|rest| (Vec::new(), rest.to_vec())),
    }
}

/// An attached agent, and what is needed to continue its work.
pub(crate) struct CarriedAgent {
    pub hold: Hold,
    /// The byte of the agent's output up to which the log has everything.
    pub cursor: u64,
    /// The [`ConnectionPart`] of the row.
    pub part: RawJson,
    pub out_mark: u64,
    pub memo: ConnectionMemo,
    /// Whole lines that were written to the agent after the memo.
    pub sent: Vec<u8>,
    /// Whole lines that must be written before anything else.
    pub unsent: Vec<u8>,
    pub owed: Vec<OwedCommand>,
    /// Its terminals, to which nothing is attached yet.
    pub terminals: Vec<TerminalHold>,
    pub thread: ThreadMemo,
    pub io: AgentIo,
}

impl fmt::Debug for CarriedAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CarriedAgent")
            .field("shim", &self.hold.shim)
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}

impl CarriedAgent {
    /// Attaches the agent of a row. If its work cannot be continued, the agent of a row that can be read is ended, with its terminals.
    async fn attach(
        host: &Arc<dyn Host>,
        row: &acpd_log::Carried,
        grace: Duration,
    ) -> Result<Box<Self>, CarryError> {
        let Resumable {
            hold,
            part,
            connection,
            owed,
            terminals,
            thread,
        } = decode(row.memo.as_deref().unwrap_or_default())?;
        let cursor = row.cursor.unwrap_or_default();
        let (attaching, its_hold) = (Arc::clone(host), hold.clone());
        let attach = move || attaching.attach_agent(&its_hold, cursor);
        let io = match blocking(&**host, attach).await {
            Ok(io) => io,
            Err(failure) => {
                end_terminals(host, &hold, terminals).await;
                return Err(CarryError::NotAttached(failure));
            }
        };
        match since(io.held.as_deref(), &connection) {
            Ok((sent, unsent)) => Ok(Box::new(Self {
                hold,
                cursor,
                part,
                out_mark: connection.out_mark,
                memo: connection.memo,
                sent,
                unsent,
                owed,
                terminals,
                thread,
                io,
            })),
            Err(error) => {
                end(io, grace);
                end_terminals(host, &hold, terminals).await;
                Err(error)
            }
        }
    }

    /// Ends the agent and its terminals, because its work cannot be continued.
    pub async fn end(self, host: &Arc<dyn Host>, grace: Duration) {
        end(self.io, grace);
        end_terminals(host, &self.hold, self.terminals).await;
    }
}

/// Returns what the journal has behind the memo, and what is missing there. See [`divide`].
fn since(held: Option<&dyn HeldIo>, part: &ConnectionPart) -> Result<(Vec<u8>, Vec<u8>), CarryError> {
    let held = held.ok_or(CarryError::NoJournal)?;
    let journal = held.sent_since(part.out_mark).map_err(CarryError::Journal)?;
    divide(&part.unsent, &journal).ok_or(CarryError::OtherJournal)
}

/// Ends an agent that no thread uses.
fn end(io: AgentIo, grace: Duration) {
    let AgentIo { process, .. } = io;
    tokio::spawn(process.stop(grace));
}

/// Ends the terminals of an agent whose work cannot be continued. One that cannot be reached is gone, or ends when its shim has waited
/// long enough.
pub(crate) async fn end_terminals(host: &Arc<dyn Host>, agent: &Hold, terminals: Vec<TerminalHold>) {
    let ending = terminals.into_iter().map(|terminal| {
        let (attaching, hold) = (Arc::clone(host), agent.of_terminal(&terminal.id));
        // Dropping the only handle ends the command.
        let end = move || {
            attaching
                .attach_terminal(&hold, 0, terminal.seen, mpsc::channel(1).0)
                .map(drop)
        };
        async move {
            if let Err(error) = blocking(&**host, end).await {
                tracing::debug!(terminal = terminal.id, %error, "a terminal is gone already");
            }
        }
    });
    join_all(ending).await;
}

/// What is known of the agent of a thread that is not loaded.
enum Unloaded {
    /// The agent is attached.
    Attached(Box<CarriedAgent>),
    /// The thread left the agent to its shim, because its log failed.
    Left,
    /// The log has a row whose agent cannot be attached.
    Lost,
}

/// The agents of threads that are not loaded, and whether the daemon leaves agents when it stops. Clones share both.
#[derive(Clone, Default)]
pub struct CarriedThreads(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    threads: BTreeMap<ThreadId, Unloaded>,
    is_leaving: bool,
}

impl Drop for State {
    /// Leaves agents that no thread has taken, because the daemon could not start: the next one may.
    fn drop(&mut self) {
        for unloaded in std::mem::take(&mut self.threads).into_values() {
            if let Unloaded::Attached(agent) = unloaded {
                agent.io.process.leave(orphan_limit(&Limits::default(), true));
            }
        }
    }
}

impl fmt::Debug for CarriedThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = self.state().threads.len();
        f.debug_struct("CarriedThreads")
            .field("threads", &threads)
            .finish()
    }
}

impl CarriedThreads {
    /// Attaches all agents of the log that a shim holds. An agent whose work cannot be continued is left out; its thread
    /// recovers when it is loaded.
    pub async fn attach(log: &SharedLog, host: &Arc<dyn Host>, grace: Duration) -> Result<Self, LogError> {
        let rows = log.carried_threads().await?;
        let found = rows.len();
        let attached = stream::iter(rows).map(|(thread, row)| async move {
            let agent = CarriedAgent::attach(host, &row, grace).await;
            let unloaded = agent.map_or_else(
                |error| {
                    tracing::warn!(%thread, %error, "the agent's work cannot be continued");
                    Unloaded::Lost
                },
                Unloaded::Attached,
            );
            (thread, unloaded)
        });
        let threads: BTreeMap<_, _> = attached.buffer_unordered(ATTACHED_AT_ONCE).collect().await;
        let carried = Self::default();
        carried.state().threads = threads;
        if found > 0 {
            let attached = carried.marks().len();
            tracing::info!(found, attached, "attached the agents of the last daemon");
        }
        Ok(carried)
    }

    /// Returns the marks of the attached agents.
    pub fn marks(&self) -> Vec<u64> {
        let state = self.state();
        let attached = state.threads.values().filter_map(|unloaded| match unloaded {
            Unloaded::Attached(agent) => Some(agent.hold.mark),
            Unloaded::Left | Unloaded::Lost => None,
        });
        attached.collect()
    }

    /// Returns the names of the attached agents' shims.
    pub fn shims(&self) -> Vec<String> {
        let state = self.state();
        let attached = state.threads.values().filter_map(|unloaded| match unloaded {
            Unloaded::Attached(agent) => Some(agent.hold.shim.clone()),
            Unloaded::Left | Unloaded::Lost => None,
        });
        attached.collect()
    }

    /// Returns the threads that must be loaded to continue or end their work.
    pub(crate) fn threads(&self) -> Vec<ThreadId> {
        self.state().threads.keys().copied().collect()
    }

    /// Notes that a thread has left its agent to the shim.
    pub(crate) fn left(&self, thread: ThreadId) {
        self.state().threads.insert(thread, Unloaded::Left);
    }

    /// Gives back what was taken for a thread that could not be loaded.
    pub(crate) fn give_back(&self, thread: ThreadId, taken: Taken) {
        let unloaded = match taken {
            Taken::Nothing => return,
            Taken::Lost => Unloaded::Lost,
            Taken::Agent(agent) => Unloaded::Attached(agent),
        };
        self.state().threads.insert(thread, unloaded);
    }

    /// Removes the agent of a thread that is being loaded, and attaches it if that is needed.
    pub(crate) async fn take(
        &self,
        thread: ThreadId,
        log: &SharedLog,
        host: &Arc<dyn Host>,
        grace: Duration,
    ) -> Result<Taken, LogError> {
        // Not held while the agent is attached.
        let taken = self.state().threads.remove(&thread);
        match taken {
            None => return Ok(Taken::Nothing),
            Some(Unloaded::Lost) => return Ok(Taken::Lost),
            Some(Unloaded::Attached(agent)) => return Ok(Taken::Agent(agent)),
            Some(Unloaded::Left) => {}
        }
        let row = match log.carried(thread).await {
            Ok(row) if row.memo.is_some() => row,
            Ok(_) => return Ok(Taken::Nothing),
            Err(error) => {
                self.left(thread);
                return Err(error);
            }
        };
        match CarriedAgent::attach(host, &row, grace).await {
            Ok(agent) => Ok(Taken::Agent(agent)),
            Err(error) => {
                tracing::warn!(%thread, %error, "the agent's work cannot be continued");
                Ok(Taken::Lost)
            }
        }
    }

    /// Ends the agents that no thread has, when the daemon stops and leaves none.
    pub(crate) async fn end(&self, log: &SharedLog, host: &Arc<dyn Host>, grace: Duration) {
        let threads = std::mem::take(&mut self.state().threads);
        let stopped = stream::iter(threads).map(|(thread, unloaded)| async move {
            let agent = match unloaded {
                Unloaded::Attached(agent) => Some(agent),
                Unloaded::Lost => None,
                Unloaded::Left => {
                    let row = log.carried(thread).await.unwrap_or_default();
                    // One that is gone, or that the log does not know, has the limit of its shim.
                    CarriedAgent::attach(host, &row, grace).await.ok()
                }
            };
            if let Some(agent) = agent {
                let CarriedAgent {
                    hold, terminals, io, ..
                } = *agent;
                io.process.stop(grace).await;
                end_terminals(host, &hold, terminals).await;
            }
        });
        stopped.buffer_unordered(ATTACHED_AT_ONCE).collect::<()>().await;
    }

    /// Has threads leave their agents to the shims when they are unloaded from now on.
    pub(crate) fn leave(&self) {
        self.state().is_leaving = true;
    }

    /// Returns whether threads leave their agents to the shims.
    pub(crate) fn is_leaving(&self) -> bool {
        self.state().is_leaving
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was known of the agent of a thread that is being loaded.
pub(crate) enum Taken {
    /// No agent of it outlived its thread.
    Nothing,
    /// The log has a row that must be removed.
    Lost,
    /// The agent is attached.
    Agent(Box<CarriedAgent>),
}

#[cfg(test)]
mod tests;
