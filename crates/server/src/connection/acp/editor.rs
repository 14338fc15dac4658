//! The editor actor: one connection, by whatever transport.

use std::collections::{HashMap, VecDeque};

use acpd_model::limits::{EDITOR_HELD_BYTES, EDITOR_INBOX, UNREAD_ANSWERS};
use acpd_model::{ErrorCode, Failure, Origin, RawJson, RequestId, Role, Seq, ThreadId};
use acpd_proto::surface::acp::{Call, Peer, PeerOutput, Reply};
use acpd_proto::surface::app::Subscriber;
use acpd_proto::thread::EditorCommand;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;

use crate::connection::acp::checkpoints;
use crate::connection::acp::follow::{Delivery, follow};
use crate::connection::acp::handlers::{
    AttachmentGuard, CallOutcome, CallResult, Connection, ConnectionDefaults, EditorCaller, OpenedSession,
    call, start_standby,
};
use crate::connection::link::{Link, LinkEvent};
use crate::connection::{End, LAST_WORDS};
use acpd_runtime::agent::initialize_cache::InitializeCache;
use acpd_runtime::agent::standby::{Standby, over};
use acpd_runtime::feed::presence::Presence;
use acpd_runtime::service::Service;
use acpd_runtime::thread::delegates::{Claim, FromEditor, ToEditor};

/// A connection that begins.
pub struct NewConnection {
    /// Who is at the other end.
    pub peer: Peer,
    /// What for.
    pub defaults: ConnectionDefaults,
    /// Its first message, if that was read already.
    pub first: Option<String>,
}

/// Serves one editor until it goes, takes nothing any more, or the daemon stops.
pub async fn serve(
    link: Link,
    connection: NewConnection,
    service: Service,
    initialize_cache: InitializeCache,
    stop: CancellationToken,
) {
    let NewConnection {
        peer,
        defaults,
        first,
    } = connection;
    let (deliver, deliveries) = mpsc::channel(service.context.limits.outbound_queue);
    let (inbox, orders) = mpsc::channel(EDITOR_INBOX);
    let mut editor = Editor {
        link,
        peer,
        defaults,
        initialize_cache,
        service,
        answers: FuturesUnordered::new(),
        follows: HashMap::new(),
        subscriptions: 0,
        standby: None,
        starting: None,
        deferred: VecDeque::new(),
        signing_in: None,
        heard: None,
        deliver,
        deliveries,
        inbox,
        orders,
        asked: HashMap::new(),
        unsent: VecDeque::new(),
        unannounced: VecDeque::new(),
        unannounced_bytes: 0,
    };
    let end = tokio::select! {
        end = editor.run(first, &stop) => end,
        // One that takes nothing must not hold the daemon up.
        () = async { stop.cancelled().await; tokio::time::sleep(LAST_WORDS).await } => End::Stopping,
    };
    tracing::debug!(?end, "an editor's connection ended");
    editor.link.close(end).await;
}

/// A process that was started for a connection, or why there is none.
type Started = std::result::Result<Standby, Failure>;

struct Editor {
    link: Link,
    peer: Peer,
    defaults: ConnectionDefaults,
    service: Service,
    initialize_cache: InitializeCache,
    answers: FuturesUnordered<BoxFuture<'static, (u64, CallResult)>>,
    follows: HashMap<ThreadId, Following>,
    /// The number of the last subscription.
    subscriptions: u64,
    /// A process of the agent that waits for a session.
    standby: Option<Standby>,
    /// The start of one for what was asked before any session.
    starting: Option<BoxFuture<'static, Started>>,
    /// What waits for that, or for somebody to have signed in, in the order in which it came.
    deferred: VecDeque<(u64, Call)>,
    /// The thread whose agent opens no session until somebody signs in.
    signing_in: Option<ThreadId>,
    /// The id of the request that is being read, for who wants to know what becomes of it.
    heard: Option<RawJson>,
    deliver: mpsc::Sender<Delivery>,
    deliveries: mpsc::Receiver<Delivery>,
    /// Where threads put what they want of this editor.
    inbox: mpsc::Sender<ToEditor>,
    orders: mpsc::Receiver<ToEditor>,
    /// What it is to be asked, or was, by thread and the agent's callback.
    asked: HashMap<(ThreadId, u64), ForwardedRequest>,
    /// Answers that wait for room in the editor's queue.
    unsent: VecDeque<(u64, CallResult)>,
    /// Prompts that wait until the message with this number, which names them, was sent; and the calls behind them.
    unannounced: VecDeque<(u64, u64, Call)>,
    /// Bytes of the messages with these prompts and calls.
    unannounced_bytes: usize,
}

struct Following {
    number: u64,
    /// The last event that was there when it began.
    until: Seq,
    _task: AbortOnDropHandle<()>,
    /// The thread counts on the editor as long as this is there.
    _attached: Option<DropGuard>,
    /// Others see the editor as long as this is there.
    _presence: Presence,
}

/// A process that is being started is there, or is not to be had; waits for ever if none is.
async fn started(starting: Option<&mut BoxFuture<'static, Started>>) -> Started {
    match starting {
        Some(starting) => starting.await,
        None => std::future::pending().await,
    }
}

struct ForwardedRequest {
    claim: Claim,
    answers_tx: mpsc::Sender<FromEditor>,
}

impl Editor {
    async fn run(&mut self, first: Option<String>, stop: &CancellationToken) -> End {
        if let Some(first) = first {
            self.message(&first).await;
        }
        loop {
            self.announced().await;
            self.deferred().await;
            self.outputs().await;
            if self.unannounced.len() > UNREAD_ANSWERS || self.unannounced_bytes > EDITOR_HELD_BYTES {
                return End::Flooding;
            }
            // Events and orders wait for room in the editor's queue. The editor's messages never wait.
            let has_room = self.link.has_room();
            tokio::select! {
                biased;
                () = stop.cancelled() => return self.flush_on_shutdown().await.err().unwrap_or(End::Stopping),
                happened = self.link.next() => match happened {
                    Ok(LinkEvent::Received(message)) => self.message(&message).await,
                    Ok(LinkEvent::Written) => self.send_answers().await,
                    Err(end) => return end,
                },
                Some((token, answered)) = self.answers.next() => {
                    self.unsent.push_back((token, answered));
                    self.send_answers().await;
                }
                Some(order) = self.orders.recv(), if has_room => self.ordered(order),
                () = over(self.standby.as_mut()) => self.standby = None,
                started = started(self.starting.as_mut()) => self.started(started),
                Some(delivery) = self.deliveries.recv(), if has_room => self.delivered(&delivery).await,
            }
        }
    }

    /// The daemon stops: what the threads said before they fell asleep still leaves.
    async fn flush_on_shutdown(&mut self) -> Result<(), End> {
        // Without our own sender, the deliveries end with the last subscription.
        self.deliver = mpsc::channel(1).0;
        while let Some(delivery) = self.deliveries.recv().await {
            self.delivered(&delivery).await;
            self.outputs().await;
            if !self.link.has_room() {
                self.link.flush().await?;
            }
        }
        self.link.flush().await
    }

    async fn message(&mut self, text: &str) {
        self.heard = self
            .defaults
            .checkpoints
            .then(|| checkpoints::request_id(text))
            .flatten();
        let waiting = self.unannounced.len();
        self.peer.handle_text(text);
        self.outputs().await;
        self.heard = None;
        if self.unannounced.len() > waiting {
            self.unannounced_bytes += text.len();
        }
    }

    /// Queues the answers for which there is room. Small answers need none: a cancel may wait for the turn of its prompt.
    async fn send_answers(&mut self) {
        let mut waiting = std::mem::take(&mut self.unsent);
        while let Some((token, answered)) = waiting.pop_front() {
            if self.link.has_room() || is_small(&answered) {
                self.answered(token, answered).await;
                self.outputs().await;
            } else {
                self.unsent.push_back((token, answered));
            }
        }
    }

    async fn outputs(&mut self) {
        while let Some(output) = self.peer.poll_output() {
            match output {
                PeerOutput::Send(text) => _ = self.link.queue(text),
                PeerOutput::Ask { thread, call, text } => {
                    let may_ask = |asked: &ForwardedRequest| asked.claim.ask();
                    if self.asked.get(&(thread, call)).is_some_and(may_ask) {
                        self.link.queue(text);
                    } else {
                        self.asked.remove(&(thread, call));
                        self.peer.request_not_sent(thread, call);
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
                            .answers_tx
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
    }

    /// Takes an order of a thread, if it is still one.
    fn ordered(&mut self, order: ToEditor) {
        let ToEditor {
            thread,
            order,
            claim,
            answers_tx,
            gone,
        } = order;
        if gone.is_cancelled() {
            return;
        }
        match &order {
            EditorCommand::Request { call, .. } => {
                self.asked
                    .insert((thread, *call), ForwardedRequest { claim, answers_tx });
            }
            EditorCommand::Withdraw { call, forget: true } => {
                self.asked.remove(&(thread, *call));
            }
            _ => {}
        }
        self.peer.order(thread, order);
    }

    /// Whether a call waits for the process that is asked before any session: for its start, or for somebody to have signed
    /// in to it.
    fn waits(&mut self, what: &Call) -> bool {
        let opens = matches!(
            what,
            Call::New { .. } | Call::Load(..) | Call::Resume(..) | Call::Fork(..)
        );
        let requests_tx = matches!(what, Call::Ask { thread: None, .. });
        if requests_tx && self.standby.is_none() && self.signing_in.is_none() && self.follows.is_empty() {
            let (service, defaults) = (self.service.clone(), self.defaults.clone());
            self.starting
                .get_or_insert_with(|| Box::pin(start_standby(service, defaults)));
        }
        let signs_in = || self.standby.as_ref().is_some_and(Standby::is_signing_in);
        (requests_tx || opens) && self.starting.is_some() || opens && signs_in()
    }

    fn started(&mut self, started: Started) {
        self.starting = None;
        match started {
            Ok(standby) => self.standby = Some(standby),
            Err(failure) => {
                let requests_tx = |(_, call): &(u64, Call)| matches!(call, Call::Ask { .. });
                let (asked, others): (VecDeque<_>, _) = self.deferred.drain(..).partition(requests_tx);
                self.deferred = others;
                for (token, _) in asked {
                    self.peer.reply(token, Err(failure.clone()));
                }
            }
        }
    }

    /// Goes on with what has waited for a process.
    async fn deferred(&mut self) {
        while let Some((token, what)) = self.deferred.pop_front() {
            if self.waits(&what) {
                self.deferred.push_front((token, what));
                return;
            }
            self.carry_out(token, what).await;
        }
    }

    async fn call(&mut self, token: u64, what: Call) {
        if self.waits(&what) {
            self.deferred.push_back((token, what));
            return;
        }
        if let (Some(id), Call::Prompt { client_turn_id, .. }) = (&self.heard, &what) {
            // The editor must know the prompt's name before it begins, whatever happens next.
            let announced = self.link.queue(checkpoints::prompt(id, client_turn_id));
            self.unannounced.push_back((announced, token, what));
            return;
        }
        let behind = self.unannounced.back().map(|(announced, ..)| *announced);
        match behind {
            Some(announced) if !overtakes(&what) => self.unannounced.push_back((announced, token, what)),
            _ => self.carry_out(token, what).await,
        }
    }

    /// Begins the prompts whose names were sent.
    async fn announced(&mut self) {
        if self.unannounced.is_empty() {
            self.unannounced_bytes = 0;
        }
        while let Some((announced, ..)) = self.unannounced.front()
            && self.link.has_sent(*announced)
            && let Some((_, token, what)) = self.unannounced.pop_front()
        {
            if self.waits(&what) {
                self.deferred.push_back((token, what));
            } else {
                self.carry_out(token, what).await;
            }
        }
    }

    async fn carry_out(&mut self, token: u64, what: Call) {
        if let Call::Close(thread) = &what {
            let was_open = self.follows.contains_key(thread);
            self.unfollow(*thread);
            if was_open && self.peer.role().may(Role::Operator) {
                // One that cannot be told is not there, or goes with the daemon.
                let _ = self.service.directory.closed(*thread).await;
            }
        }
        let by = Origin::Client(Box::new(self.peer.caller()));
        let caller = EditorCaller {
            by,
            role: self.peer.role(),
            defaults: self.defaults.clone(),
            connection: Connection {
                name: self.peer.connection().to_owned(),
                abilities: self.peer.client().abilities(),
                inbox: self.inbox.clone(),
            },
            signing_in: self.signing_in,
            newest: self.follows.keys().max().copied(),
        };
        if matches!(what, Call::New { .. }) {
            self.defaults.thread = None;
        }
        let answer = call(
            &self.service,
            &self.initialize_cache,
            caller,
            &mut self.standby,
            what,
        )
        .await;
        self.answers.push(Box::pin(async move { (token, answer.await) }));
    }

    async fn answered(&mut self, token: u64, answered: CallResult) {
        let (result, to_follow) = match answered {
            Ok(CallOutcome {
                reply,
                to_follow,
                standby,
            }) => {
                self.standby = self.standby.take().or(standby);
                (reply, to_follow)
            }
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
            self.follow(to_follow).await;
        }
    }

    async fn follow(&mut self, to_follow: OpenedSession) {
        let OpenedSession {
            thread,
            cursor,
            snapshot,
            claimed,
            attached,
        } = to_follow;
        claimed.deliver(&mut self.peer, thread);
        self.defaults.prompts.retain(|prompt| prompt.thread != thread);
        let last = snapshot.live.last_seq;
        if self.defaults.checkpoints {
            // Behind the answer to its request.
            self.outputs().await;
            let numbers = snapshot.live.requests.keys();
            let open: Vec<_> = numbers.map(|&number| RequestId { thread, number }).collect();
            self.link.queue(checkpoints::opened(thread, cursor, &open));
        }
        let (attachment, until) = attached
            .map(|AttachmentGuard { attachment, until }| (attachment, until))
            .unzip();
        self.subscriptions += 1;
        let number = self.subscriptions;
        let Service { directory, context } = self.service.clone();
        let task = follow(
            directory,
            context.log,
            thread,
            cursor,
            snapshot,
            number,
            attachment,
            self.deliver.clone(),
        );
        let task = AbortOnDropHandle::new(tokio::spawn(task));
        let present = Subscriber {
            who: self.peer.caller(),
            may_answer: self.peer.role().may(Role::Approver),
        };
        let presence = self.service.context.subscribers.join(thread, present, false);
        let following = Following {
            number,
            until: last,
            _task: task,
            _attached: until,
            _presence: presence,
        };
        self.follows.insert(thread, following);
    }

    fn unfollow(&mut self, thread: ThreadId) {
        self.follows.remove(&thread);
        self.asked.retain(|(asked, _), _| *asked != thread);
    }

    async fn delivered(&mut self, delivery: &Delivery) {
        let thread = delivery.thread;
        // What was on its way when its subscription ended is not wanted any more.
        let following = self.follows.get(&thread);
        let Some(following) = following.filter(|following| following.number == delivery.subscription) else {
            return;
        };
        match &delivery.result {
            Ok(result) => {
                let is_live = result.last >= following.until;
                let pending = |seq, request| result.is_pending(seq, request);
                self.peer.deliver(thread, &result.frames, result.last, pending);
                if self.defaults.checkpoints {
                    self.outputs().await;
                    self.link
                        .queue(checkpoints::reached(thread, result.last, is_live));
                }
            }
            Err(failure) => {
                self.unfollow(thread);
                self.peer.lost(thread, failure);
            }
        }
    }
}

/// Returns whether an answer makes no large message for the editor.
fn is_small(answered: &CallResult) -> bool {
    let Ok(CallOutcome { reply, .. }) = answered else {
        return true;
    };
    matches!(reply, Err(_) | Ok(Reply::Done | Reply::Turn(_) | Reply::Lease(_)))
}

/// Returns whether a call concerns an earlier request, so that it need not wait for prompts to begin.
fn overtakes(call: &Call) -> bool {
    matches!(
        call,
        Call::Interrupt { .. } | Call::Answer { .. } | Call::EditorAnswered { .. }
    )
}
