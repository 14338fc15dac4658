//! The peer actor: one client's WebSocket.

use std::collections::HashMap;
use std::time::Duration;

use acpd_model::{Failure, Origin, ThreadId};
use acpd_proto::surface::app::{Peer, PeerOutput};
use acpd_proto::surface::request::Request;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code};
use bytes::Bytes;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, SinkExt, StreamExt, future::BoxFuture};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::transport::heartbeat::{Due, Heartbeat};
use acpd_runtime::feed::snapshot::FollowRequest;
use acpd_runtime::feed::thread_list::ThreadListSubscription;
use acpd_runtime::metrics::Present;
use acpd_runtime::service::{Caller, Defaults, Dispatched, Response, Service};
use acpd_runtime::thread::subscription::{Delivery, FollowEnd, follow};

type Reply = (u64, Result<Response, Failure>);

/// One connection while it lasts.
pub struct PeerActor {
    socket: WebSocket,
    peer: Peer,
    caller: Caller,
    service: Service,
    answers: FuturesUnordered<BoxFuture<'static, Reply>>,
    follows: HashMap<ThreadId, Following>,
    /// What is followed once the answer to a request has left, by the request's token.
    held: HashMap<u64, (u64, FollowRequest)>,
    /// How the list of threads changes, if the client wants to know.
    watch: ThreadListSubscription,
    /// The number of the last subscription.
    subscriptions: u64,
    deliver: mpsc::Sender<Delivery>,
    deliveries: mpsc::Receiver<Delivery>,
    /// Says that a thread, for a reason of ours, is followed no longer.
    lose: mpsc::Sender<()>,
    lost: mpsc::Receiver<()>,
    stop: CancellationToken,
    ends: CancellationToken,
    /// Batches or replies that leave in one flush, beside the first.
    queue: usize,
    write_time: Duration,
    _connected: Present,
}

/// A subscription of this client.
struct Following {
    number: u64,
    /// None until the answer has left that says where it begins.
    _task: Option<AbortOnDropHandle<()>>,
}

/// Why a connection ends.
enum End {
    Gone,
    /// It takes nothing of what is sent.
    Stalled,
    Refused(u16, &'static str),
}

impl End {
    /// As it is counted; nothing for a client that went by itself.
    fn word(&self) -> Option<&'static str> {
        match self {
            Self::Gone => None,
            Self::Stalled => Some("stalled"),
            Self::Refused(close_code::AWAY, _) => Some("stopping"),
            Self::Refused(close_code::POLICY, _) => Some("silent"),
            Self::Refused(close_code::SIZE, _) => Some("too_long"),
            Self::Refused(close_code::UNSUPPORTED, _) => Some("binary"),
            Self::Refused(..) => Some("lost"),
        }
    }
}

const STOPPING: End = End::Refused(close_code::AWAY, "the daemon is stopping");

const ENDED: End = End::Refused(close_code::POLICY, "access has ended");

/// How long a client has to take what is left for it when the daemon stops.
const SHUTDOWN_FLUSH: Duration = Duration::from_secs(1);

impl PeerActor {
    /// Takes over a connection that has shown its credentials; `ends` is cancelled when they hold no more.
    pub fn new(
        socket: WebSocket,
        peer: Peer,
        service: Service,
        stop: CancellationToken,
        ends: CancellationToken,
    ) -> Self {
        let limits = &service.context.limits;
        let (queue, write_time) = (limits.outbound_queue, Duration::from_secs(limits.write_secs));
        let (deliver, deliveries) = mpsc::channel(queue);
        let (lose, lost) = mpsc::channel(1);
        let answers = FuturesUnordered::new();
        Self {
            _connected: service.context.metrics.client(),
            queue,
            write_time,
            socket,
            caller: Caller::new(
                Origin::Client(Box::new(peer.caller())),
                peer.role(),
                Defaults::none(),
            ),
            peer,
            service,
            answers,
            follows: HashMap::new(),
            held: HashMap::new(),
            watch: ThreadListSubscription::default(),
            subscriptions: 0,
            deliver,
            deliveries,
            lose,
            lost,
            stop,
            ends,
        }
    }

    /// Lives until the client goes, breaks the rules, or the daemon stops.
    pub async fn run(mut self) {
        let (stop, ends) = (self.stop.clone(), self.ends.clone());
        let ended = tokio::select! {
            biased;
            () = ends.cancelled() => Err(ENDED),
            ended = self.serve() => ended,
            // One that takes nothing must not hold the daemon up.
            () = async { stop.cancelled().await; tokio::time::sleep(SHUTDOWN_FLUSH).await } => Err(STOPPING),
        };
        if let Some(reason) = ended.as_ref().err().and_then(End::word) {
            self.service.context.metrics.dropped(reason);
        }
        if let Err(End::Refused(code, reason)) = ended {
            let frame = CloseFrame {
                code,
                reason: Utf8Bytes::from_static(reason),
            };
            // The client may be gone; then it needs no reason.
            let _ = tokio::time::timeout(
                Duration::from_secs(1),
                self.socket.send(Message::Close(Some(frame))),
            )
            .await;
        }
    }

    async fn serve(&mut self) -> Result<(), End> {
        let limits = &self.service.context.limits;
        let mut heartbeat = Heartbeat::new(
            Duration::from_secs(limits.ping_secs),
            Duration::from_secs(limits.pong_secs),
            Instant::now(),
        );
        loop {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => {
                    self.flush_on_shutdown().await?;
                    return Err(STOPPING);
                }
                message = self.socket.recv() => {
                    heartbeat.heard();
                    self.message(message)?;
                }
                Some((token, answer)) = self.answers.next() => self.answered(token, answer),
                // Before events, of which there may be more at any time.
                frame = self.watch.next() => {
                    if let Some(text) = self.peer.select(&frame, |_| false) {
                        self.send(text.clone()).await?;
                    }
                }
                Some(delivery) = self.deliveries.recv() => self.delivered(&delivery).await?,
                // It would wait for events that never come; connected anew, it is told what is wrong.
                Some(()) = self.lost.recv() => {
                    return Err(End::Refused(close_code::ERROR, "a thread cannot be followed; connect again"));
                }
                () = tokio::time::sleep_until(heartbeat.deadline()) => match heartbeat.due(Instant::now()) {
                    Due::Nothing => {}
                    Due::Ping => {
                        in_time(self.write_time, self.socket.feed(Message::Ping(Bytes::new()))).await?;
                    }
                    Due::Gone => return Err(End::Refused(close_code::POLICY, "no sign of life")),
                },
            }
            self.outputs().await?;
            // What is there already leaves in the same flush.
            for _ in 0..self.queue {
                if let Some(Some((token, answer))) = self.answers.next().now_or_never() {
                    self.answered(token, answer);
                    self.outputs().await?;
                } else if let Ok(delivery) = self.deliveries.try_recv() {
                    self.delivered(&delivery).await?;
                } else {
                    break;
                }
            }
            in_time(self.write_time, self.socket.flush()).await?;
        }
    }

    /// The daemon stops: what the threads said before they fell asleep still leaves.
    async fn flush_on_shutdown(&mut self) -> Result<(), End> {
        // Without our own sender, the deliveries end with the last subscription.
        self.deliver = mpsc::channel(1).0;
        while let Some(delivery) = self.deliveries.recv().await {
            self.delivered(&delivery).await?;
        }
        in_time(self.write_time, self.socket.flush()).await
    }

    fn message(&mut self, message: Option<Result<Message, axum::Error>>) -> Result<(), End> {
        match message {
            Some(Ok(Message::Text(text))) => self.peer.handle_text(&text, self.service.context.clock.now()),
            Some(Ok(Message::Binary(_))) => {
                return Err(End::Refused(close_code::UNSUPPORTED, "send text frames"));
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(Ok(Message::Close(_))) | None => return Err(End::Gone),
            Some(Err(error)) => {
                tracing::debug!(%error, "a connection ended");
                let too_long = error.to_string().to_lowercase().contains("too long");
                return Err(if too_long {
                    End::Refused(close_code::SIZE, "message too long")
                } else {
                    End::Gone
                });
            }
        }
        Ok(())
    }

    async fn outputs(&mut self) -> Result<(), End> {
        while let Some(output) = self.peer.poll_output() {
            match output {
                PeerOutput::Send(text) => self.send(text.into()).await?,
                PeerOutput::Call { token, request } => {
                    if let Request::CloseThread { thread, .. } = &request {
                        self.follows.remove(thread);
                    }
                    self.caller.by = Origin::Client(Box::new(self.peer.caller()));
                    let dispatched = self.service.call(&mut self.caller, request).await;
                    self.dispatched(token, dispatched);
                }
            }
        }
        self.service.context.metrics.handled(&self.peer.take_handled());
        Ok(())
    }

    fn dispatched(&mut self, token: u64, dispatched: Dispatched) {
        let Dispatched {
            follow: to_follow,
            answer_first,
            watch,
            answer,
        } = dispatched;
        match watch {
            Some(true) => self.watch.begin(&self.service.context.thread_list),
            Some(false) => self.watch = ThreadListSubscription::default(),
            None => {}
        }
        if let Some(to_follow) = to_follow {
            let number = self.subscribe(to_follow.thread);
            if answer_first {
                self.held.insert(token, (number, to_follow));
            } else {
                self.follow(number, to_follow);
            }
        }
        self.answers
            .push(answer.map(move |result| (token, result)).boxed());
    }

    fn answered(&mut self, token: u64, answer: Result<Response, Failure>) {
        let held = self.held.remove(&token);
        match (&answer, held) {
            (Ok(_), Some((number, to_follow))) => self.follow(number, to_follow),
            (Err(_), Some((number, to_follow))) if self.is_current(number, to_follow.thread) => {
                self.follows.remove(&to_follow.thread);
                self.caller.open.remove(&to_follow.thread);
            }
            _ => {}
        }
        let reply = answer.map(|Response { reply, follow, .. }| {
            if let Some(to_follow) = follow {
                let number = self.subscribe(to_follow.thread);
                self.follow(number, to_follow);
            }
            reply
        });
        self.peer.reply(token, reply);
    }

    /// Makes a subscription, in place of an earlier one of the same thread. Requests that come next know of it,
    /// also before anything of it is delivered.
    fn subscribe(&mut self, thread: ThreadId) -> u64 {
        self.peer.set_current(thread);
        self.subscriptions += 1;
        let number = self.subscriptions;
        self.follows.insert(thread, Following { number, _task: None });
        self.caller.open.insert(thread);
        number
    }

    fn is_current(&self, number: u64, thread: ThreadId) -> bool {
        self.follows
            .get(&thread)
            .is_some_and(|following| following.number == number)
    }

    /// Begins to deliver for a subscription, unless it was ended meanwhile.
    fn follow(&mut self, number: u64, to_follow: FollowRequest) {
        let thread = to_follow.thread;
        if !self.is_current(number, thread) {
            return;
        }
        let Service {
            directory, context, ..
        } = self.service.clone();
        let hears = self.peer.client().subscribers;
        let presence = context.subscribers.join(thread, self.peer.subscriber(), hears);
        let task = follow(
            directory,
            context,
            to_follow,
            presence,
            number,
            self.deliver.clone(),
        );
        let lose = self.lose.clone();
        let task = AbortOnDropHandle::new(tokio::spawn(async move {
            if task.await == FollowEnd::Lost {
                // Another thread may have said so already.
                let _ = lose.try_send(());
            }
        }));
        let following = Following {
            number,
            _task: Some(task),
        };
        self.follows.insert(thread, following);
    }

    async fn delivered(&mut self, delivery: &Delivery) -> Result<(), End> {
        // What was on its way when its subscription ended is not wanted any more.
        if !self
            .follows
            .values()
            .any(|following| following.number == delivery.subscription)
        {
            return Ok(());
        }
        let Self { socket, peer, .. } = self;
        let frames = delivery
            .batch
            .frames
            .iter()
            .filter(|frame| frame.seq >= delivery.from);
        let texts =
            frames.filter_map(|frame| peer.select(frame, |request| delivery.is_pending(frame.seq, request)));
        let (mut sent, mut bytes) = (0, 0);
        let written = in_time(self.write_time, async {
            for text in texts {
                (sent, bytes) = (sent + 1, bytes + text.len() as u64);
                feed(socket, text.clone()).await?;
            }
            Ok(())
        })
        .await;
        self.service.context.metrics.sent(sent, bytes);
        written
    }

    /// Queues one message; it leaves with the next flush.
    async fn send(&mut self, text: Bytes) -> Result<(), End> {
        self.service.context.metrics.sent(1, text.len() as u64);
        in_time(self.write_time, feed(&mut self.socket, text)).await
    }
}

async fn feed(socket: &mut WebSocket, text: Bytes) -> Result<(), axum::Error> {
    let text = Utf8Bytes::try_from(text).map_err(axum::Error::new)?;
    socket.feed(Message::Text(text)).await
}

/// A client that takes nothing for `write_time` is gone.
async fn in_time(
    write_time: Duration,
    write: impl Future<Output = Result<(), axum::Error>>,
) -> Result<(), End> {
    match tokio::time::timeout(write_time, write).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(End::Gone),
        Err(_) => Err(End::Stalled),
    }
}
