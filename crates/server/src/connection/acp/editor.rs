//! The editor actor: one connection, by whatever transport.

use std::collections::{HashMap, VecDeque};
use std::io::Result;
use std::time::Duration;

use acpd_model::limits::EDITOR_INBOX;
use acpd_model::{Failure, Origin, Role, ThreadId};
use acpd_proto::surface::acp::{Peer, PeerOutput};
use acpd_proto::surface::app::Subscriber;
use acpd_proto::surface::request::Request;
use acpd_proto::thread::EditorCommand;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;

use crate::connection::acp::follow::{Delivery, follow};
use crate::transport::Transport;
use acpd_runtime::agent::standby::{Standby, over};
use acpd_runtime::feed::presence::Presence;
use acpd_runtime::feed::snapshot::FollowRequest;
use acpd_runtime::service::{Caller, Defaults, Delegate, Dispatched, Response, Service};
use acpd_runtime::thread::delegates::{AttachmentGuard, Claim, FromEditor, ToEditor};

/// A connection that begins.
pub struct NewConnection {
    /// Who is at the other end.
    pub peer: Peer,
    /// What it means where it names no agent and no directory.
    pub defaults: Defaults,
    /// Its first message, if that was read already.
    pub first: Option<String>,
}

/// Serves one editor until it goes, takes nothing any more, or the daemon stops.
pub async fn serve(
    transport: impl Transport,
    connection: NewConnection,
    service: Service,
    stop: CancellationToken,
) {
    let NewConnection {
        peer,
        defaults,
        first,
    } = connection;
    let (deliver, deliveries) = mpsc::channel(service.context.limits.outbound_queue);
    let (inbox, orders) = mpsc::channel(EDITOR_INBOX);
    let editor = Editor {
        transport,
        caller: Caller::new(Origin::Client(Box::new(peer.caller())), peer.role(), defaults),
        peer,
        service,
        answers: FuturesUnordered::new(),
        follows: HashMap::new(),
        subscriptions: 0,
        starting: None,
        deferred: VecDeque::new(),
        deliver,
        deliveries,
        inbox,
        orders,
        asked: HashMap::new(),
    };
    let ended = tokio::select! {
        ended = editor.run(first, &stop) => ended,
        // One that takes nothing must not hold the daemon up.
        () = async { stop.cancelled().await; tokio::time::sleep(SHUTDOWN_FLUSH).await } => Ok(()),
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "an editor's connection ended");
    }
}

/// A process that was started for a connection, or why there is none.
type Started = std::result::Result<Standby, Failure>;

/// What the service answers to a request.
type Answer = std::result::Result<Response, Failure>;

/// How long an editor has to take what is left for it when the daemon stops.
pub const SHUTDOWN_FLUSH: Duration = Duration::from_secs(1);

struct Editor<T> {
    transport: T,
    peer: Peer,
    caller: Caller,
    service: Service,
    answers: FuturesUnordered<BoxFuture<'static, (u64, Answer)>>,
    follows: HashMap<ThreadId, Following>,
    /// The number of the last subscription.
    subscriptions: u64,
    /// The start of a process for what was asked before any session.
    starting: Option<BoxFuture<'static, Started>>,
    /// What waits for that, or for the user to have signed in, in the order in which it came.
    deferred: VecDeque<(u64, Request)>,
    deliver: mpsc::Sender<Delivery>,
    deliveries: mpsc::Receiver<Delivery>,
    /// Where threads put what they want of this editor.
    inbox: mpsc::Sender<ToEditor>,
    orders: mpsc::Receiver<ToEditor>,
    /// What it is to be asked, or was, by thread and the agent's callback.
    asked: HashMap<(ThreadId, u64), ForwardedRequest>,
}

struct Following {
    number: u64,
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

/// Whether a request is for the connection's agent, whichever of its processes that is.
fn asks_connection(request: &Request) -> bool {
    matches!(request, Request::AskAgent { thread: None, .. })
}

struct ForwardedRequest {
    claim: Claim,
    answers_tx: mpsc::Sender<FromEditor>,
}

impl<T: Transport> Editor<T> {
    async fn run(mut self, first: Option<String>, stop: &CancellationToken) -> Result<()> {
        if let Some(first) = first {
            self.message(&first).await?;
        }
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return self.flush_on_shutdown().await,
                Some((token, answered)) = self.answers.next() => self.answered(token, answered),
                Some(delivery) = self.deliveries.recv() => self.delivered(&delivery),
                Some(order) = self.orders.recv() => self.ordered(order),
                () = over(self.caller.standby.as_mut()) => self.caller.standby = None,
                started = started(self.starting.as_mut()) => self.started(started),
                message = self.transport.next() => match message? {
                    Some(message) => self.message(&message).await?,
                    None => return Ok(()),
                }
            }
            self.deferred().await;
            self.outputs().await?;
        }
    }

    /// The daemon stops: what the threads said before they fell asleep still leaves.
    async fn flush_on_shutdown(mut self) -> Result<()> {
        // Without our own sender, the deliveries end with the last subscription.
        self.deliver = mpsc::channel(1).0;
        while let Some(delivery) = self.deliveries.recv().await {
            self.delivered(&delivery);
            self.outputs().await?;
        }
        self.transport.close().await;
        Ok(())
    }

    async fn message(&mut self, text: &str) -> Result<()> {
        self.peer.handle_text(text);
        self.outputs().await
    }

    async fn outputs(&mut self) -> Result<()> {
        while let Some(output) = self.peer.poll_output() {
            match output {
                PeerOutput::Send(text) => self.transport.send(text).await?,
                PeerOutput::Ask { thread, call, text } => {
                    let may_ask = |asked: &ForwardedRequest| asked.claim.ask();
                    if self.asked.get(&(thread, call)).is_some_and(may_ask) {
                        self.transport.send(text).await?;
                    } else {
                        self.asked.remove(&(thread, call));
                        self.peer.request_not_sent(thread, call);
                    }
                }
                PeerOutput::Answered { thread, call, result } => {
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
                PeerOutput::Call {
                    token,
                    request,
                    after_sent,
                } => {
                    if after_sent {
                        self.transport.flush().await?;
                    }
                    self.request(token, request).await;
                }
            }
        }
        self.transport.flush().await
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

    /// Whether a request waits for the process that is asked before any session: for its start, or for the user to have
    /// signed in to it.
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

    /// Goes on with what has waited.
    async fn deferred(&mut self) {
        while let Some((token, request)) = self.deferred.pop_front() {
            if self.waits(&request) {
                self.deferred.push_front((token, request));
                return;
            }
            self.carry_out(token, request).await;
        }
    }

    async fn request(&mut self, token: u64, request: Request) {
        if self.waits(&request) {
            self.deferred.push_back((token, request));
            return;
        }
        self.carry_out(token, request).await;
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
        // The connection knows of a session before it hears from it.
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
        // What was on its way when its subscription ended is not wanted any more.
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
