//! The peer actor: serves one client's WebSocket.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

use acpd_model::{Failure, Origin, ThreadId};
use acpd_proto::surface::app::{Peer, PeerOutput};
use acpd_proto::surface::request::Request;
use bytes::Bytes;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt, future::BoxFuture};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::connection::link::{Link, LinkEvent};
use crate::connection::{End, LAST_WORDS};
use acpd_runtime::feed::snapshot::FollowRequest;
use acpd_runtime::feed::thread_list::ThreadListSubscription;
use acpd_runtime::metrics::Present;
use acpd_runtime::service::{Caller, Defaults, Dispatched, Response, Service};
use acpd_runtime::thread::subscription::{Delivery, FollowEnd, follow};

type Reply = (u64, Result<Response, Failure>);

/// A request about a thread that has its place in the thread's order.
type Begun = (ThreadId, u64, Dispatched);

/// One connection of an app client.
pub struct PeerActor {
    link: Link,
    peer: Peer,
    caller: Caller,
    service: Service,
    /// Requests that wait for an earlier one about the same thread. A thread is a key while one of its requests is being begun.
    queued: BTreeMap<ThreadId, VecDeque<(u64, Request)>>,
    /// The requests that are being begun, one for each thread.
    beginning: FuturesUnordered<BoxFuture<'static, Begun>>,
    /// The thread that was the default before a request to follow another one, by the request's token.
    defaults: BTreeMap<u64, Option<ThreadId>>,
    answers: FuturesUnordered<BoxFuture<'static, Reply>>,
    follows: BTreeMap<ThreadId, Following>,
    /// Subscriptions that start after the response to their request was sent, by the request's token.
    held: BTreeMap<u64, (u64, FollowRequest)>,
    /// Changes of the thread list, if the client subscribed to them.
    watch: ThreadListSubscription,
    /// The number of the latest subscription.
    subscriptions: u64,
    deliver: mpsc::Sender<Delivery>,
    deliveries: mpsc::Receiver<Delivery>,
    /// Reports that the daemon ended a subscription.
    lose: mpsc::Sender<()>,
    lost: mpsc::Receiver<()>,
    stop: CancellationToken,
    ends: CancellationToken,
    /// How many more batches or replies join the first in one write.
    queue: usize,
    _connected: Present,
}

/// A subscription of this client.
struct Following {
    number: u64,
    /// `None` until the response with the start of the subscription was sent.
    _task: Option<AbortOnDropHandle<()>>,
}

impl PeerActor {
    /// Creates the actor of an authenticated connection. `ends` is cancelled when the client's credentials expire.
    pub fn new(
        link: Link,
        peer: Peer,
        service: Service,
        stop: CancellationToken,
        ends: CancellationToken,
    ) -> Self {
        let queue = service.context.limits.outbound_queue;
        let (deliver, deliveries) = mpsc::channel(queue);
        let (lose, lost) = mpsc::channel(1);
        let answers = FuturesUnordered::new();
        Self {
            _connected: service.context.metrics.client(),
            queue,
            link,
            caller: Caller::new(
                Origin::Client(Box::new(peer.caller())),
                peer.role(),
                Defaults::none(),
            ),
            peer,
            service,
            queued: BTreeMap::new(),
            beginning: FuturesUnordered::new(),
            defaults: BTreeMap::new(),
            answers,
            follows: BTreeMap::new(),
            held: BTreeMap::new(),
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

    /// Runs until the client disconnects or violates the protocol, or the daemon stops.
    pub async fn run(mut self) {
        let (stop, ends) = (self.stop.clone(), self.ends.clone());
        let end = tokio::select! {
            biased;
            () = ends.cancelled() => End::Expired,
            end = self.serve() => end,
            // A client that does not read must not delay the shutdown.
            () = async { stop.cancelled().await; tokio::time::sleep(LAST_WORDS).await } => End::Stopping,
        };
        if let Some(reason) = end.word() {
            self.service.context.metrics.dropped(reason);
        }
        self.link.close(end).await;
    }

    async fn serve(&mut self) -> End {
        loop {
            // Answers and events wait for room in the client's queue. The client's messages never wait.
            let has_room = self.link.has_room();
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return self.flush_on_shutdown().await.err().unwrap_or(End::Stopping),
                happened = self.link.next() => match happened {
                    Ok(LinkEvent::Received(text)) => self.peer.handle_text(&text, self.service.context.clock.now()),
                    Ok(LinkEvent::Written) => {}
                    Err(end) => return end,
                },
                Some(begun) = self.beginning.next() => self.begun(begun),
                Some((token, answer)) = self.answers.next(), if has_room => self.answered(token, answer),
                // Before events, which would otherwise keep this branch from running.
                frame = self.watch.next(), if has_room => {
                    if let Some(text) = self.peer.select(&frame, |_| false) {
                        self.send(text.clone());
                    }
                }
                Some(delivery) = self.deliveries.recv(), if has_room => self.delivered(&delivery),
                // The client would wait for events that never come. After a reconnect, it receives the error.
                Some(()) = self.lost.recv() => return End::Lost,
            }
            self.outputs().await;
            // Responses and events that are ready join the same write.
            for _ in 0..self.queue {
                if !self.link.has_room() {
                    break;
                }
                if let Some(Some((token, answer))) = self.answers.next().now_or_never() {
                    self.answered(token, answer);
                    self.outputs().await;
                } else if let Ok(delivery) = self.deliveries.try_recv() {
                    self.delivered(&delivery);
                } else {
                    break;
                }
            }
        }
    }

    /// Sends the final events of the threads when the daemon stops.
    async fn flush_on_shutdown(&mut self) -> Result<(), End> {
        // Without our own sender, the deliveries end with the last subscription.
        self.deliver = mpsc::channel(1).0;
        while let Some(delivery) = self.deliveries.recv().await {
            self.delivered(&delivery);
            if !self.link.has_room() {
                self.link.flush().await?;
            }
        }
        self.link.flush().await
    }

    async fn outputs(&mut self) {
        while let Some(output) = self.peer.poll_output() {
            match output {
                PeerOutput::Send(text) => self.send(text.into()),
                PeerOutput::Call { token, request } => {
                    self.caller.by = Origin::Client(Box::new(self.peer.caller()));
                    match request.ordered_by() {
                        Some(thread) => self.queue(thread, token, request),
                        None => {
                            let dispatched = self.service.call(&mut self.caller, request).await;
                            self.dispatched(token, dispatched);
                        }
                    }
                }
            }
        }
        self.service.context.metrics.handled(&self.peer.take_handled());
    }

    /// Begins a request about a thread, or queues it behind earlier ones. A thread that takes long to load delays no other.
    fn queue(&mut self, thread: ThreadId, token: u64, request: Request) {
        if matches!(request, Request::OpenThread(_)) {
            // Requests that arrive next may omit the thread.
            let before = self.peer.set_current(Some(thread));
            self.defaults.insert(token, before);
        }
        match self.queued.entry(thread) {
            Entry::Occupied(mut queue) => queue.get_mut().push_back((token, request)),
            Entry::Vacant(queue) => {
                queue.insert(VecDeque::new());
                self.begin(thread, token, request);
            }
        }
    }

    fn begin(&mut self, thread: ThreadId, token: u64, request: Request) {
        let (service, mut caller) = (self.service.clone(), self.caller.about(thread));
        if matches!(request, Request::CloseThread { .. }) {
            self.follows.remove(&thread);
            self.caller.open.remove(&thread);
        }
        let begins = async move {
            let dispatched = service.call(&mut caller, request).await;
            (thread, token, dispatched)
        };
        self.beginning.push(begins.boxed());
    }

    fn begun(&mut self, (thread, token, dispatched): Begun) {
        if let Some(before) = self.defaults.remove(&token)
            && dispatched.follow.is_none()
            && self.peer.current() == Some(thread)
        {
            self.peer.set_current(before);
        }
        self.dispatched(token, dispatched);
        let next = self.queued.get_mut(&thread).and_then(VecDeque::pop_front);
        match next {
            Some((token, request)) => self.begin(thread, token, request),
            None => drop(self.queued.remove(&thread)),
        }
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

    /// Creates a subscription, which replaces an earlier one of the same thread. Later requests see it even before its
    /// first event is delivered.
    fn subscribe(&mut self, thread: ThreadId) -> u64 {
        self.peer.set_current(Some(thread));
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

    /// Starts the delivery of a subscription, unless it ended in the meantime.
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
                // Another subscription may have reported a loss already.
                let _ = lose.try_send(());
            }
        }));
        let following = Following {
            number,
            _task: Some(task),
        };
        self.follows.insert(thread, following);
    }

    fn delivered(&mut self, delivery: &Delivery) {
        // Drops events that were in flight when their subscription ended.
        if !self
            .follows
            .values()
            .any(|following| following.number == delivery.subscription)
        {
            return;
        }
        let Self { link, peer, .. } = self;
        let frames = delivery
            .batch
            .frames
            .iter()
            .filter(|frame| frame.seq >= delivery.from);
        let texts =
            frames.filter_map(|frame| peer.select(frame, |request| delivery.is_pending(frame.seq, request)));
        let (mut sent, mut bytes) = (0, 0);
        for text in texts {
            (sent, bytes) = (sent + 1, bytes + text.len() as u64);
            link.queue(text.clone());
        }
        self.service.context.metrics.sent(sent, bytes);
    }

    fn send(&mut self, text: Bytes) {
        self.service.context.metrics.sent(1, text.len() as u64);
        self.link.queue(text);
    }
}
