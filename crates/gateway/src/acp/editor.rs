//! The editor actor: one connection over lines of JSON.

use std::collections::HashMap;
use std::time::Duration;

use acpd_model::event::Caller;
use acpd_model::limits::{EDITOR_INBOX, EDITOR_LINE_BYTES};
use acpd_model::{By, ErrorCode, ThreadId};
use acpd_proto::surface::acp::{Call, Peer, PeerOutput};
use acpd_proto::thread::EditorOrder;
use acpd_proto::wire::{Line, LineDecoder};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;

use super::calls::{Answered, Asker, Attached, Connection, Place, ToFollow, call};
use super::follow::{Delivery, follow};
use crate::calls::Calls;
use crate::editors::{Claim, FromEditor, ToEditor};

/// Serves one editor until it goes, takes nothing any more, or the daemon stops.
pub async fn serve(
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
    peer: Peer,
    place: Place,
    calls: Calls,
    stop: CancellationToken,
) {
    let (deliver, deliveries) = mpsc::channel(calls.around.limits.outbound_queue);
    let (inbox, orders) = mpsc::channel(EDITOR_INBOX);
    let editor = Editor {
        writer,
        peer,
        place,
        calls,
        answers: FuturesUnordered::new(),
        follows: HashMap::new(),
        subscriptions: 0,
        signing_in: None,
        deliver,
        deliveries,
        inbox,
        orders,
        asked: HashMap::new(),
    };
    let ended = tokio::select! {
        ended = editor.run(reader, &stop) => ended,
        // One that takes nothing must not hold the daemon up.
        () = async { stop.cancelled().await; tokio::time::sleep(LAST_WORDS).await } => Ok(()),
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "an editor's connection ended");
    }
}

/// How long an editor has to take what is left for it when the daemon stops.
const LAST_WORDS: Duration = Duration::from_secs(1);

struct Editor<W> {
    writer: W,
    peer: Peer,
    place: Place,
    calls: Calls,
    answers: FuturesUnordered<BoxFuture<'static, (u64, Answered)>>,
    follows: HashMap<ThreadId, Following>,
    /// The number of the last subscription.
    subscriptions: u64,
    /// The thread whose agent opens no session until somebody signs in.
    signing_in: Option<ThreadId>,
    deliver: mpsc::Sender<Delivery>,
    deliveries: mpsc::Receiver<Delivery>,
    /// Where threads put what they want of this editor.
    inbox: mpsc::Sender<ToEditor>,
    orders: mpsc::Receiver<ToEditor>,
    /// What it is to be asked, or was, by thread and the agent's callback.
    asked: HashMap<(ThreadId, u64), Asked>,
}

struct Following {
    number: u64,
    _task: AbortOnDropHandle<()>,
    /// The thread counts on the editor as long as this is there.
    _attached: Option<DropGuard>,
}

struct Asked {
    claim: Claim,
    tells: mpsc::Sender<FromEditor>,
}

impl<W: AsyncWrite + Unpin> Editor<W> {
    async fn run(
        mut self,
        mut reader: impl AsyncRead + Unpin,
        stop: &CancellationToken,
    ) -> std::io::Result<()> {
        let limit = self.calls.around.limits.client_message_bytes;
        let mut lines = LineDecoder::new(limit.max(EDITOR_LINE_BYTES));
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return self.last_words().await,
                Some((token, answered)) = self.answers.next() => self.answered(token, answered),
                Some(delivery) = self.deliveries.recv() => self.delivered(&delivery),
                Some(order) = self.orders.recv() => self.ordered(order),
                read = reader.read_buf(lines.buffer()) => {
                    if read? == 0 {
                        return Ok(());
                    }
                    while let Some(line) = lines.next_line() {
                        match line {
                            Line::Whole(line) => self.peer.handle_text(&String::from_utf8_lossy(line)),
                            // Its head is no JSON, and is answered as such.
                            Line::TooLong { head, .. } => self.peer.handle_text(&String::from_utf8_lossy(head)),
                        }
                        self.outputs().await?;
                    }
                }
            }
            self.outputs().await?;
        }
    }

    /// The daemon stops: what the threads said before they fell asleep still leaves.
    async fn last_words(mut self) -> std::io::Result<()> {
        // Without our own sender, the deliveries end with the last subscription.
        self.deliver = mpsc::channel(1).0;
        while let Some(delivery) = self.deliveries.recv().await {
            self.delivered(&delivery);
            self.outputs().await?;
        }
        Ok(())
    }

    async fn outputs(&mut self) -> std::io::Result<()> {
        while let Some(output) = self.peer.poll_output() {
            match output {
                PeerOutput::Send(text) => self.send(&text).await?,
                PeerOutput::Ask { thread, call, text } => {
                    let may_ask = |asked: &Asked| asked.claim.ask();
                    if self.asked.get(&(thread, call)).is_some_and(may_ask) {
                        self.send(&text).await?;
                    } else {
                        self.asked.remove(&(thread, call));
                        self.peer.unasked(thread, call);
                    }
                }
                PeerOutput::Call {
                    call: Call::EditorAnswered { thread, call, result },
                    ..
                } => {
                    let connection = self.peer.connection().to_owned();
                    if let Some(asked) = self.asked.remove(&(thread, call)) {
                        // A thread that is gone waits for nothing.
                        let _ = asked
                            .tells
                            .send(FromEditor {
                                connection,
                                call,
                                result,
                            })
                            .await;
                    }
                }
                PeerOutput::Call { token, call } => self.call(token, call).await,
            }
        }
        self.writer.flush().await
    }

    async fn send(&mut self, text: &[u8]) -> std::io::Result<()> {
        let patience = Duration::from_secs(self.calls.around.limits.write_secs);
        let write = async {
            self.writer.write_all(text).await?;
            self.writer.write_all(b"\n").await
        };
        tokio::time::timeout(patience, write).await?
    }

    /// Takes an order of a thread, if it is still one.
    fn ordered(&mut self, order: ToEditor) {
        let ToEditor {
            thread,
            order,
            claim,
            tells,
            gone,
        } = order;
        if gone.is_cancelled() {
            return;
        }
        match &order {
            EditorOrder::Ask { call, .. } => {
                self.asked.insert((thread, *call), Asked { claim, tells });
            }
            EditorOrder::TakeBack { call, forget: true } => {
                self.asked.remove(&(thread, *call));
            }
            _ => {}
        }
        self.peer.order(thread, order);
    }

    async fn call(&mut self, token: u64, what: Call) {
        if let Call::Close(thread) = &what {
            self.unfollow(*thread);
        }
        let by = By::Client(Box::new(Caller {
            principal: self.peer.principal().to_owned(),
            client: self.peer.client().name.clone(),
        }));
        let asker = Asker {
            by,
            role: self.peer.role(),
            place: self.place.clone(),
            connection: Connection {
                name: self.peer.connection().to_owned(),
                abilities: self.peer.client().abilities(),
                inbox: self.inbox.clone(),
            },
            signing_in: self.signing_in,
        };
        let answer = call(&self.calls, asker, what).await;
        self.answers.push(Box::pin(async move { (token, answer.await) }));
    }

    fn answered(&mut self, token: u64, answered: Answered) {
        let (result, to_follow) = match answered {
            Ok((reply, to_follow)) => (Ok(reply), to_follow),
            Err(failure) => (Err(failure), None),
        };
        if let Err(failure) = &result
            && failure.code == ErrorCode::SignInRequired
        {
            self.signing_in = failure.detail.as_ref().and_then(|thread| thread.parse().ok());
        }
        // The connection knows of a session before it hears from it.
        self.peer.reply(token, result);
        if let Some(to_follow) = to_follow {
            self.follow(to_follow);
        }
    }

    fn follow(&mut self, to_follow: ToFollow) {
        let ToFollow {
            thread,
            cursor,
            subscribed,
            attached,
        } = to_follow;
        let (attachment, until) = attached
            .map(|Attached { attachment, until }| (attachment, until))
            .unzip();
        self.subscriptions += 1;
        let number = self.subscriptions;
        let Calls { directory, around } = self.calls.clone();
        let task = follow(
            directory,
            around.log,
            thread,
            cursor,
            subscribed,
            number,
            attachment,
            self.deliver.clone(),
        );
        let task = AbortOnDropHandle::new(tokio::spawn(task));
        let following = Following {
            number,
            _task: task,
            _attached: until,
        };
        self.follows.insert(thread, following);
    }

    fn unfollow(&mut self, thread: ThreadId) {
        self.follows.remove(&thread);
        self.asked.retain(|(asked, _), _| *asked != thread);
    }

    fn delivered(&mut self, delivery: &Delivery) {
        let thread = delivery.thread;
        // What was on its way when its subscription ended is not wanted any more.
        if self
            .follows
            .get(&thread)
            .is_none_or(|following| following.number != delivery.subscription)
        {
            return;
        }
        match &delivery.news {
            Ok(news) => {
                let pending = |seq, request| news.is_pending(seq, request);
                self.peer.deliver(thread, &news.frames, news.last, pending);
            }
            Err(failure) => {
                self.unfollow(thread);
                self.peer.lost(thread, failure);
            }
        }
    }
}
