//! The editors that have one thread open.
//!
//! In: attachments, orders of the thread's machine. Out: orders into the editors' inboxes, and what comes back: answers, and
//! that one has gone. Never: waits for an editor.

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
    /// Who it is.
    pub by: Origin,
    /// Names it among all connections.
    pub connection: String,
    /// What it declared.
    pub abilities: EditorCapabilities,
    /// Where its orders go.
    pub inbox: mpsc::Sender<ToEditor>,
    /// Cancelled when it has the thread open no longer, however that came.
    pub gone: CancellationToken,
}

/// An attachment, and what ends it when it is dropped, wherever that happens.
#[derive(Debug)]
pub struct AttachmentGuard {
    /// The attachment.
    pub attachment: Attachment,
    /// Its end.
    pub until: DropGuard,
}

/// An order of a thread.
#[derive(Debug)]
pub struct ToEditor {
    /// Which thread's.
    pub thread: ThreadId,
    /// What.
    pub order: EditorCommand,
    /// For a request: who asks first, the connection or the thread, decides whether it was asked.
    pub claim: Claim,
    /// Where the answer goes.
    pub answers_tx: mpsc::Sender<FromEditor>,
    /// Whether the attachment that it is for is over.
    pub gone: CancellationToken,
}

/// What an editor answered.
#[derive(Debug)]
pub struct FromEditor {
    /// Its connection.
    pub connection: String,
    /// The agent's callback.
    pub call: u64,
    /// The answer.
    pub result: Result<RawJson, RpcError>,
}

/// Whether a request was asked: exactly one of two sides can say so, once.
#[derive(Debug, Clone, Default)]
pub struct Claim(Arc<AtomicU8>);

const OPEN: u8 = 0;
const ASKED: u8 = 1;
const VOID: u8 = 2;

impl Claim {
    /// The editor is about to be asked; whether it may be.
    pub fn ask(&self) -> bool {
        self.settle(ASKED)
    }

    /// The editor is not to be asked any more; whether it was not before.
    fn void(&self) -> bool {
        self.settle(VOID)
    }

    fn settle(&self, to: u8) -> bool {
        self.0
            .compare_exchange(OPEN, to, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

/// Answers of editors that may wait for a thread.
const ANSWERS: usize = 16;

/// All of one thread.
pub(crate) struct Editors {
    thread: ThreadId,
    attached: BTreeMap<String, AttachedEditor>,
    /// Attachments whose end is waited for, with their numbers.
    leaving: FuturesUnordered<BoxFuture<'static, (String, u64)>>,
    attachments: u64,
    answers_tx: mpsc::Sender<FromEditor>,
    answers_rx: mpsc::Receiver<FromEditor>,
}

struct AttachedEditor {
    number: u64,
    inbox: mpsc::Sender<ToEditor>,
    gone: CancellationToken,
    /// What it has and has not answered.
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

    /// Takes an editor in. If an earlier attachment of the same connection is over, that is to be told first.
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
        // What it was asked before it opened the thread once more it still has.
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

    /// Hands an order over. If the editor has no room for it, that is the answer.
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
        // One that is gone is heard of otherwise.
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

    /// What comes of editors next.
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
                    // It may have opened the thread once more since.
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
    /// Nothing is begun for a thread that nobody drives any more.
    fn drop(&mut self) {
        for claim in self.attached.values().flat_map(|editor| editor.claims.values()) {
            claim.void();
        }
    }
}
