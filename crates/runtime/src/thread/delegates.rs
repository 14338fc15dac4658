//! The editors that have one thread open.
//!
//! In: attachments, commands of the thread's machine. Out: commands to the editors' inboxes; answers and disconnects to
//! the machine. Owns: the attached editors and their open requests. Never: waits for an editor.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use acpd_model::{ErrorCode, Origin, RawJson, ThreadId};
use acpd_proto::thread::{EditorCapabilities, EditorCommand, Input};
use acpd_proto::wire::RpcError;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

/// An editor's connection that has a thread open.
#[derive(Debug, Clone)]
pub struct Attachment {
    /// The editor, as the log names it.
    pub by: Origin,
    /// The id of the connection.
    pub connection: String,
    /// The capabilities that the editor declared.
    pub abilities: EditorCapabilities,
    /// The channel for commands to the editor.
    pub inbox: mpsc::Sender<ToEditor>,
    /// Cancelled when the editor no longer has the thread open, for whatever reason.
    pub gone: CancellationToken,
}

/// An attachment that ends when this guard is dropped.
#[derive(Debug)]
pub struct AttachmentGuard {
    /// The guarded attachment.
    pub attachment: Attachment,
    /// Cancels the attachment's `gone` token on drop.
    pub until: DropGuard,
}

/// A command from a thread to an editor.
#[derive(Debug)]
pub struct ToEditor {
    /// The thread that sends the command.
    pub thread: ThreadId,
    /// The command: a request, its withdrawal or a notification.
    pub order: EditorCommand,
    /// For a request: decides whether it was sent. The connection and the thread race for the claim, and the first one wins.
    pub claim: Claim,
    /// The channel for the editor's answer.
    pub answers_tx: mpsc::Sender<FromEditor>,
    /// Cancelled when the attachment that this command belongs to is over.
    pub gone: CancellationToken,
}

/// An editor's answer.
#[derive(Debug)]
pub struct FromEditor {
    /// The id of the editor's connection.
    pub connection: String,
    /// The number of the agent's request.
    pub call: u64,
    /// The result, or the error that the editor returned.
    pub result: Result<RawJson, RpcError>,
}

/// Records whether a request was sent. Exactly one of the two sides can settle it, once.
#[derive(Debug, Clone, Default)]
pub struct Claim(Arc<AtomicU8>);

const OPEN: u8 = 0;
const ASKED: u8 = 1;
const VOID: u8 = 2;

impl Claim {
    /// Claims the request for sending. Returns whether the connection may send it.
    pub fn ask(&self) -> bool {
        self.settle(ASKED)
    }

    /// Withdraws the request. Returns whether it was still unsent.
    fn void(&self) -> bool {
        self.settle(VOID)
    }

    fn settle(&self, to: u8) -> bool {
        self.0
            .compare_exchange(OPEN, to, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

/// Answers from editors that can be queued for a thread.
const ANSWERS: usize = 16;

/// All editors of one thread.
pub(crate) struct Editors {
    thread: ThreadId,
    attached: BTreeMap<String, AttachedEditor>,
    /// Futures that wait for attachments to end, with the attachment's number.
    leaving: FuturesUnordered<BoxFuture<'static, (String, u64)>>,
    attachments: u64,
    answers_tx: mpsc::Sender<FromEditor>,
    answers_rx: mpsc::Receiver<FromEditor>,
}

struct AttachedEditor {
    number: u64,
    inbox: mpsc::Sender<ToEditor>,
    gone: CancellationToken,
    /// Requests that the editor has not answered yet.
    claims: BTreeMap<u64, Claim>,
}

impl Editors {
    pub fn new(thread: ThreadId) -> Self {
        let (answers_tx, answers_rx) = mpsc::channel(ANSWERS);
        Self {
            thread,
            attached: BTreeMap::new(),
            leaving: FuturesUnordered::new(),
            attachments: 0,
            answers_tx,
            answers_rx,
        }
    }

    /// Returns whether no editor is attached.
    pub fn is_empty(&self) -> bool {
        self.attached.is_empty()
    }

    /// Adds an editor. Returns the input that must be handled first if an earlier attachment of the same connection is over.
    pub fn attach(&mut self, attachment: &Attachment) -> Option<Input> {
        let name = &attachment.connection;
        let is_over = |earlier: &AttachedEditor| earlier.gone.is_cancelled();
        let over = self.attached.get(name).is_some_and(is_over);
        let left = over.then(|| self.leave(name));
        self.attachments += 1;
        let number = self.attachments;
        let (connection, gone) = (name.clone(), attachment.gone.clone());
        self.leaving.push(Box::pin(async move {
            gone.cancelled_owned().await;
            (connection, number)
        }));
        // The editor keeps its open requests when it opens the thread again.
        let claims = self.attached.remove(name).map(|earlier| earlier.claims);
        self.attached.insert(
            name.clone(),
            AttachedEditor {
                number,
                inbox: attachment.inbox.clone(),
                gone: attachment.gone.clone(),
                claims: claims.unwrap_or_default(),
            },
        );
        left
    }

    /// Sends a command to an editor. If the editor's inbox is full, returns that as the answer to the request.
    pub fn order(&mut self, connection: String, order: EditorCommand) -> Option<Input> {
        let editor = self.attached.get_mut(&connection)?;
        let claim = Claim::default();
        let requests_tx = match &order {
            EditorCommand::Request { call, .. } => {
                editor.claims.insert(*call, claim.clone());
                Some(*call)
            }
            EditorCommand::Withdraw { call, forget: true } => {
                editor.claims.remove(call);
                None
            }
            _ => None,
        };
        let order = ToEditor {
            thread: self.thread,
            order,
            claim,
            answers_tx: self.answers_tx.clone(),
            gone: editor.gone.clone(),
        };
        let refused = editor.inbox.try_send(order);
        // A disconnected editor is reported through its attachment instead.
        let Err(mpsc::error::TrySendError::Full(_)) = refused else {
            return None;
        };
        let call = requests_tx?;
        editor.claims.remove(&call);
        let error = RpcError::new(
            ErrorCode::Overloaded.rpc(),
            "too many requests wait for this editor",
        );
        Some(Input::EditorAnswered {
            connection,
            call,
            result: Err(error),
        })
    }

    /// Waits for the next answer or disconnect of an editor.
    pub async fn next(&mut self) -> Input {
        loop {
            tokio::select! {
                biased;
                Some(FromEditor { connection, call, result }) = self.answers_rx.recv() => {
                    if let Some(editor) = self.attached.get_mut(&connection) {
                        editor.claims.remove(&call);
                    }
                    return Input::EditorAnswered { connection, call, result };
                }
                Some((connection, number)) = self.leaving.next(), if !self.leaving.is_empty() => {
                    // The editor may have opened the thread again since.
                    if self.attached.get(&connection).is_some_and(|editor| editor.number == number) {
                        return self.leave(&connection);
                    }
                }
            }
        }
    }

    fn leave(&mut self, connection: &str) -> Input {
        let claims = self.attached.remove(connection).map(|editor| editor.claims);
        let mut unsent: Vec<u64> = claims
            .unwrap_or_default()
            .into_iter()
            .filter(|(_, claim)| claim.void())
            .map(|(call, _)| call)
            .collect();
        unsent.sort_unstable();
        Input::EditorGone {
            connection: connection.to_owned(),
            unsent,
        }
    }
}

impl Drop for Editors {
    /// Withdraws all unsent requests: nothing may start for a thread that no actor runs.
    fn drop(&mut self) {
        for claim in self.attached.values().flat_map(|editor| editor.claims.values()) {
            claim.void();
        }
    }
}
