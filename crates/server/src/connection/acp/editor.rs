//! The editor actor: serves one editor's connection over any transport.

use std::collections::{BTreeMap, VecDeque};

use acpd_model::limits::{EDITOR_HELD_BYTES, EDITOR_INBOX, UNREAD_ANSWERS};
use acpd_model::{Failure, Origin, Role, ThreadId};
use acpd_proto::surface::acp::{Peer, PeerOutput};
use acpd_proto::surface::app::Subscriber;
use acpd_proto::surface::reply::Reply;
use acpd_proto::surface::request::Request;
use acpd_proto::thread::EditorCommand;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;

use crate::connection::acp::follow::{Delivery, follow};
use crate::connection::link::{Link, LinkEvent};
use crate::connection::{End, LAST_WORDS};
use acpd_runtime::agent::standby::{Standby, over};
use acpd_runtime::feed::presence::Presence;
use acpd_runtime::feed::snapshot::FollowRequest;
use acpd_runtime::service::{Caller, Defaults, Delegate, Dispatched, Response, Service};
use acpd_runtime::thread::delegates::{AttachmentGuard, Claim, FromEditor, ToEditor};

/// A new connection.
pub struct NewConnection {
    /// The state machine of the editor's side.
    pub peer: Peer,
    /// The default agent and directory.
    pub defaults: Defaults,
    /// The first message, if the connection setup has read it already.
    pub first: Option<String>,
}

/// Serves one editor until it disconnects or stops reading, or the daemon stops.
pub async fn serve(link: Link, connection: NewConnection, service: Service, stop: CancellationToken) {
    let NewConnection {
        peer,
        defaults,
        first,
    } = connection;
    let (deliver, deliveries) = mpsc::channel(service.context.limits.outbound_queue);
    let (inbox, orders) = mpsc::channel(EDITOR_INBOX);
    let mut editor = Editor {
        link,
        caller: Caller::new(Origin::Client(Box::new(peer.caller())), peer.role(), defaults),
        peer,
        service,
        answers: FuturesUnordered::new(),
        follows: BTreeMap::new(),
        subscriptions: 0,
        starting: None,
        deferred: VecDeque::new(),
        deliver,
        deliveries,
        inbox,
        orders,
        asked: BTreeMap::new(),
        unsent: VecDeque::new(),
        last_queued: 0,
        unannounced: VecDeque::new(),
        unannounced_bytes: 0,
    };
    let end = tokio::select! {
        biased;
        end = editor.run(first, &stop) => end,
        // An editor that does not read must not delay the shutdown.
        () = async { stop.cancelled().await; tokio::time::sleep(LAST_WORDS).await } => End::Stopping,
    };
    tracing::debug!(?end, "an editor's connection ended");
    editor.link.close(end).await;
}

/// A process that was started for a connection, or the error of its start.
type Started = Result<Standby, Failure>;

/// The service's response to a request.
type Answer = Result<Response, Failure>;

struct Editor {
    link: Link,
    peer: Peer,
    caller: Caller,
    service: Service,
    answers: FuturesUnordered<BoxFuture<'static, (u64, Answer)>>,
    follows: BTreeMap<ThreadId, Following>,
    /// The number of the latest subscription.
    subscriptions: u64,
    /// The start of a process for requests that precede any session.
    starting: Option<BoxFuture<'static, Started>>,
    /// Requests that wait for this process, or for the user to sign in, in the order in which they arrived.
    deferred: VecDeque<(u64, Request)>,
    deliver: mpsc::Sender<Delivery>,
    deliveries: mpsc::Receiver<Delivery>,
    /// Threads send their commands for this editor here.
    inbox: mpsc::Sender<ToEditor>,
    orders: mpsc::Receiver<ToEditor>,
    /// Requests for the editor, pending or sent, by thread and the agent's callback.
    asked: BTreeMap<(ThreadId, u64), ForwardedRequest>,
    /// Responses that wait for room in the queue.
    unsent: VecDeque<(u64, Answer)>,
    /// The number of the last queued message.
    last_queued: u64,
    /// Prompts that wait until the message with their name was sent, by the number of this message, and the requests queued
    /// behind them.
    unannounced: VecDeque<(u64, u64, Request)>,
    /// The total size of the messages with these requests, in bytes.
    unannounced_bytes: usize,
}

struct Following {
    number: u64,
    _task: AbortOnDropHandle<()>,
    /// The thread counts on the editor until this is dropped.
    _attached: Option<DropGuard>,
    /// Other clients see the editor as a subscriber until this is dropped.
    _presence: Presence,
}

/// Waits until the process has started or its start has failed; waits forever if no process is starting.
async fn started(starting: Option<&mut BoxFuture<'static, Started>>) -> Started {
    match starting {
        Some(starting) => starting.await,
        None => std::future::pending().await,
    }
}

/// Returns whether a request is for the connection's agent and not for one thread.
fn asks_connection(request: &Request) -> bool {
    matches!(request, Request::AskAgent { thread: None, .. })
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
            // Events and commands wait for room in the editor's queue. The editor's messages never wait.
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
                () = over(self.caller.standby.as_mut()) => self.caller.standby = None,
                started = started(self.starting.as_mut()) => self.started(started),
                Some(delivery) = self.deliveries.recv(), if has_room => self.delivered(&delivery),
            }
        }
    }

    /// Sends the final events of the threads when the daemon stops.
    async fn flush_on_shutdown(&mut self) -> Result<(), End> {
        // Without our own sender, the deliveries end with the last subscription.
        self.deliver = mpsc::channel(1).0;
        while let Some(delivery) = self.deliveries.recv().await {
            self.delivered(&delivery);
            self.outputs().await;
            if !self.link.has_room() {
                self.link.flush().await?;
            }
        }
        self.link.flush().await
    }

    async fn message(&mut self, text: &str) {
        let waiting = self.unannounced.len();
        self.peer.handle_text(text);
        self.outputs().await;
        if self.unannounced.len() > waiting {
            self.unannounced_bytes += text.len();
        }
    }

    /// Queues the responses for which there is room. Small responses need no room, because a cancel may wait for the
    /// response to its prompt.
    async fn send_answers(&mut self) {
        let mut waiting = std::mem::take(&mut self.unsent);
        while let Some((token, answered)) = waiting.pop_front() {
            if self.link.has_room() || is_small(&answered) {
                self.answered(token, answered);
                self.outputs().await;
            } else {
                self.unsent.push_back((token, answered));
            }
        }
    }

    async fn outputs(&mut self) {
        while let Some(output) = self.peer.poll_output() {
            match output {
                PeerOutput::Send(text) => self.last_queued = self.link.queue(text),
                PeerOutput::Ask { thread, call, text } => {
                    let may_ask = |asked: &ForwardedRequest| asked.claim.ask();
                    if self.asked.get(&(thread, call)).is_some_and(may_ask) {
                        self.last_queued = self.link.queue(text);
                    } else {
                        self.asked.remove(&(thread, call));
                        self.peer.request_not_sent(thread, call);
                    }
                }
                PeerOutput::Answered { thread, call, result } => {
                    let connection = self.peer.connection().to_owned();
                    if let Some(asked) = self.asked.remove(&(thread, call)) {
                        // A closed thread does not wait for the response.
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
                PeerOutput::Call {
                    token,
                    request,
                    after_sent,
                } => self.request(token, request, after_sent).await,
            }
        }
    }

    /// Handles a thread's command, unless the thread has withdrawn it.
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

    /// Returns whether a request must wait for the process that serves requests before any session: for its start, or for
    /// the user to sign in to it.
    fn waits(&mut self, request: &Request) -> bool {
        let opens = matches!(
            request,
            Request::StartThread(_) | Request::OpenThread(_) | Request::ForkThread(_)
        );
        let asks = asks_connection(request);
        let Caller {
            standby,
            signing_in,
            defaults,
            ..
        } = &self.caller;
        if asks && standby.is_none() && signing_in.is_none() && self.follows.is_empty() {
            let (service, defaults) = (self.service.clone(), defaults.clone());
            self.starting
                .get_or_insert_with(|| Box::pin(async move { service.start_standby(defaults).await }));
        }
        let signs_in = || standby.as_ref().is_some_and(Standby::is_signing_in);
        (asks || opens) && self.starting.is_some() || opens && signs_in()
    }

    fn started(&mut self, started: Started) {
        self.starting = None;
        match started {
            Ok(standby) => self.caller.standby = Some(standby),
            Err(failure) => {
                let asks = |(_, request): &(u64, Request)| asks_connection(request);
                let (asked, others): (VecDeque<_>, _) = self.deferred.drain(..).partition(asks);
                self.deferred = others;
                for (token, _) in asked {
                    self.peer.reply(token, Err(failure.clone()));
                }
            }
        }
    }

    /// Executes the requests that waited for a process.
    async fn deferred(&mut self) {
        while let Some((token, request)) = self.deferred.pop_front() {
            if self.waits(&request) {
                self.deferred.push_front((token, request));
                return;
            }
            self.carry_out(token, request).await;
        }
    }

    async fn request(&mut self, token: u64, request: Request, after_sent: bool) {
        if self.waits(&request) {
            self.deferred.push_back((token, request));
            return;
        }
        let last = self.unannounced.back().map(|(announced, ..)| *announced);
        let behind = if after_sent {
            Some(self.last_queued)
        } else {
            last.filter(|_| !overtakes(&request))
        };
        match behind {
            Some(announced) => self.unannounced.push_back((announced, token, request)),
            None => self.carry_out(token, request).await,
        }
    }

    /// Starts the prompts whose names were sent.
    async fn announced(&mut self) {
        if self.unannounced.is_empty() {
            self.unannounced_bytes = 0;
        }
        while let Some((announced, ..)) = self.unannounced.front()
            && self.link.has_sent(*announced)
            && let Some((_, token, request)) = self.unannounced.pop_front()
        {
            if self.waits(&request) {
                self.deferred.push_back((token, request));
            } else {
                self.carry_out(token, request).await;
            }
        }
    }

    async fn carry_out(&mut self, token: u64, request: Request) {
        if let Request::CloseThread { thread, .. } = &request {
            self.unfollow(*thread);
        }
        self.caller.by = Origin::Client(Box::new(self.peer.caller()));
        self.caller.delegate = Some(Delegate {
            connection: self.peer.connection().to_owned(),
            abilities: self.peer.client().abilities(),
            inbox: self.inbox.clone(),
        });
        let Dispatched { follow, answer, .. } = self.service.call(&mut self.caller, request).await;
        self.answers.push(Box::pin(async move {
            let answer = answer.await.map(|response| Response {
                follow: response.follow.or(follow),
                ..response
            });
            (token, answer)
        }));
    }

    fn answered(&mut self, token: u64, answer: Answer) {
        let (reply, follow) = match answer {
            Ok(Response {
                reply,
                follow,
                standby,
            }) => {
                self.caller.standby = self.caller.standby.take().or(standby);
                (Ok(reply), follow)
            }
            Err(failure) => {
                self.caller.note_failure(&failure);
                (Err(failure), None)
            }
        };
        // The peer must know a session before it delivers its events.
        self.peer.reply(token, reply);
        if let Some(to_follow) = follow {
            self.follow(to_follow);
        }
    }

    fn follow(&mut self, to_follow: FollowRequest) {
        let FollowRequest {
            thread,
            cursor,
            snapshot,
            attachment,
        } = to_follow;
        let (attachment, until) = attachment
            .map(|AttachmentGuard { attachment, until }| (attachment, until))
            .unzip();
        self.subscriptions += 1;
        let number = self.subscriptions;
        let Service {
            directory, context, ..
        } = self.service.clone();
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
            _task: task,
            _attached: until,
            _presence: presence,
        };
        self.follows.insert(thread, following);
        self.caller.open.insert(thread);
    }

    fn unfollow(&mut self, thread: ThreadId) {
        self.follows.remove(&thread);
        self.asked.retain(|(asked, _), _| *asked != thread);
    }

    fn delivered(&mut self, delivery: &Delivery) {
        let thread = delivery.thread;
        // Drops events that were in flight when their subscription ended.
        let following = self.follows.get(&thread);
        if following.is_none_or(|following| following.number != delivery.subscription) {
            return;
        }
        match &delivery.result {
            Ok(result) => {
                let pending = |seq, request| result.is_pending(seq, request);
                self.peer.deliver(thread, &result.frames, result.last, pending);
            }
            Err(failure) => {
                self.unfollow(thread);
                self.caller.open.remove(&thread);
                self.peer.lost(thread, failure);
            }
        }
    }
}

/// Returns whether a response adds little or nothing to the editor's queue.
fn is_small(answer: &Answer) -> bool {
    let Ok(Response { reply, .. }) = answer else {
        return true;
    };
    matches!(
        reply,
        Reply::Done | Reply::Closed { .. } | Reply::Turn(_) | Reply::Lease(_)
    )
}

/// Returns whether a request concerns earlier work, so that it does not wait for queued prompts.
fn overtakes(request: &Request) -> bool {
    matches!(request, Request::Interrupt { .. } | Request::Answer { .. })
}
