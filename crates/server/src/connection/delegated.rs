//! Agents' requests that one client answers.
//!
//! In: commands of threads, and the client's answers. Out: which requests may be sent, and answers for the threads. Owns: the
//! open requests. Never: sends a request that its thread has given up.

use std::collections::BTreeMap;
use std::sync::Arc;

use acpd_model::{RawJson, ThreadId};
use acpd_proto::thread::{EditorCapabilities, EditorCommand};
use acpd_proto::wire::RpcError;
use acpd_runtime::service::Delegate;
use acpd_runtime::thread::delegates::{Claim, FromEditor, ToEditor};
use tokio::sync::mpsc;

/// Messages of threads that may wait for an editor's connection.
const EDITOR_INBOX: usize = 256;

/// The requests of agents to one client.
#[derive(Debug)]
pub struct DelegatedRequests {
    connection: Arc<str>,
    /// Threads send their commands for this client here.
    inbox: mpsc::Sender<ToEditor>,
    commands: mpsc::Receiver<ToEditor>,
    /// Requests for the client, pending or sent, by thread and the agent's request.
    open: BTreeMap<(ThreadId, u64), OpenRequest>,
}

#[derive(Debug)]
struct OpenRequest {
    claim: Claim,
    answers_tx: mpsc::Sender<FromEditor>,
}

impl DelegatedRequests {
    /// Opens the inbox of the connection with this name.
    pub fn new(connection: Arc<str>) -> Self {
        let (inbox, commands) = mpsc::channel(EDITOR_INBOX);
        Self {
            connection,
            inbox,
            commands,
            open: BTreeMap::new(),
        }
    }

    /// Returns the client as threads see it.
    pub fn delegate(&self, abilities: EditorCapabilities) -> Delegate {
        Delegate {
            connection: Arc::clone(&self.connection),
            abilities,
            inbox: self.inbox.clone(),
        }
    }

    /// Waits for a command of a thread. Cancel safe.
    pub async fn next(&mut self) -> Option<ToEditor> {
        self.commands.recv().await
    }

    /// Records a command, and returns it unless it was withdrawn.
    pub fn received(&mut self, command: ToEditor) -> Option<EditorCommand> {
        let ToEditor {
            thread,
            order,
            claim,
            answers_tx,
            gone,
        } = command;
        if gone.is_cancelled() {
            return None;
        }
        match &order {
            EditorCommand::Request { call, .. } => {
                self.open
                    .insert((thread, *call), OpenRequest { claim, answers_tx });
            }
            EditorCommand::Withdraw { call, forget: true } => {
                self.open.remove(&(thread, *call));
            }
            _ => {}
        }
        Some(order)
    }

    /// Claims a request for sending. Returns whether it may be sent: the thread still waits for it.
    pub fn claim(&self, thread: ThreadId, call: u64) -> bool {
        let open = self.open.get(&(thread, call));
        open.is_some_and(|open| open.claim.ask())
    }

    /// Returns a future that passes the client's answer to the thread, if the thread waits for one.
    pub fn answered(
        &mut self,
        thread: ThreadId,
        call: u64,
        result: Result<RawJson, RpcError>,
    ) -> Option<impl Future<Output = ()> + Send + 'static> {
        let OpenRequest { answers_tx, .. } = self.open.remove(&(thread, call))?;
        let answer = FromEditor {
            connection: self.connection.to_string(),
            call,
            result,
        };
        // A closed thread does not wait for the answer.
        Some(async move { drop(answers_tx.send(answer).await) })
    }

    /// Forgets the requests of a thread that the client no longer follows.
    pub fn forget(&mut self, thread: ThreadId) {
        self.open.retain(|(of, _), _| *of != thread);
    }
}
