//! The driver of a connection: one task that transfers messages between a client's transport and its [`Surface`], for every
//! protocol.
//!
//! In: messages, replies and frames. Out: requests for the service, and messages. Owns: the connection's requests and
//! subscriptions. Never: knows a protocol, or stops receiving because something else is slow.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use acpd_model::limits::LAST_WORDS_SECS;
use acpd_model::{AccessScope, ErrorCode, Failure, Origin, ThreadId};
use acpd_proto::surface::contract::{
    ConnectionNotification, Delegated, Delivery, Output, Profile, Subscriber, Surface,
};
use acpd_proto::surface::reply::Reply;
use acpd_proto::surface::request::{Permissions, Request};
use acpd_runtime::feed::presence::Presence;
use acpd_runtime::feed::thread_list::ThreadListSubscription;
use acpd_runtime::service::{Caller, Defaults, Dispatched, Response, Service, Watch};
use acpd_runtime::standby::task::StandbyHandle;
use acpd_runtime::thread::delegates::ToEditor;
use acpd_runtime::thread::subscription::{FollowRequest, News};
use acpd_runtime::unsent::UnsentCharge;
use bytes::Bytes;
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use crate::connection::channel::{Channel, ChannelEvent};
use crate::connection::delegated::DelegatedRequests;
use crate::connection::delivery::Meter;
use crate::connection::followed::{Fed, Followed, Held, HeldFollow};
use crate::connection::requests::{Queued, RequestStep, Requests, ServiceResult};
use crate::transport::End;

/// Bytes of answers that a connection queues before other tasks have their turn. A connection whose answers are always ready
/// would delay them.
const TURN_BYTES: usize = 256 << 10;
/// Seconds that the requests of a client that has disconnected have to begin.
const LAST_REQUESTS_SECS: u64 = 10;

/// What a connection is given when it starts, besides its transport.
#[derive(Debug)]
pub struct Access {
    /// What the client may do.
    pub permissions: Permissions,
    /// The user whose device the client is.
    pub user: Arc<str>,
    /// The name of the connection, which is unique.
    pub connection: Arc<str>,
    /// The default agent and directory.
    pub defaults: Arc<Defaults>,
    /// The process of the default agent that has no session yet; `None` if every request names its agent.
    pub standby: Option<StandbyHandle>,
    /// Cancelled when the daemon stops.
    pub stop: CancellationToken,
    /// Cancelled when the client's credentials expire.
    pub ends: CancellationToken,
}

/// One connection of a client.
pub struct Connection<S: Surface> {
    channel: Channel,
    surface: S,
    service: Service,
    access: Access,
    requests: Requests,
    /// Responses that wait for room in the queue.
    unsent: VecDeque<(u64, ServiceResult)>,
    followed: Followed,
    /// Changes of the thread list, if the client subscribed to them.
    list: ThreadListSubscription,
    /// Agents' requests to the client; `None` until it can receive one.
    delegated: Option<Box<DelegatedRequests>>,
    /// The thread whose agent opens no session until the user signs in.
    signing_in: Option<ThreadId>,
    /// The number of the last queued message.
    last_queued: u64,
    /// The bytes of answers that were queued since other tasks last had their turn.
    answered_in_turn: u64,
    /// The size of the message that is being handled, in bytes.
    received: usize,
    /// Boxed, since the task reserves space for the connection several times.
    meter: Box<Meter>,
    /// Set when the surface ends the connection.
    ended: Option<End>,
}

impl<S: Surface> Connection<S> {
    /// Creates the connection of an authenticated client.
    pub fn new(channel: Channel, surface: S, service: Service, access: Access) -> Self {
        Self {
            meter: Box::new(Meter::new(service.context.metrics.client())),
            channel,
            surface,
            service,
            access,
            requests: Requests::default(),
            unsent: VecDeque::new(),
            followed: Followed::default(),
            list: ThreadListSubscription::default(),
            delegated: None,
            signing_in: None,
            last_queued: 0,
            answered_in_turn: 0,
            received: 0,
            ended: None,
        }
    }

    /// Runs until the client disconnects or violates the protocol, or the daemon stops. `first` is a message that was
    /// read already.
    pub async fn run(mut self, first: Option<String>) {
        let (stop, ends) = (self.access.stop.clone(), self.access.ends.clone());
        let end = tokio::select! {
            biased;
            () = ends.cancelled() => End::Expired,
            end = self.serve(first) => end,
            // A client that does not read must not delay the shutdown.
            () = async {
                stop.cancelled().await;
                tokio::time::sleep(Duration::from_secs(LAST_WORDS_SECS)).await;
            } => End::Stopping,
        };
        tracing::debug!(?end, surface = ?self.surface.lane(), "a connection ended");
        if let Some(reason) = end.word() {
            self.service.context.metrics.dropped(reason);
        }
        self.channel.close(end).await;
        if end != End::Expired {
            self.begin_received().await;
        }
    }

    /// Begins the requests that were received before the connection ended: a client may disconnect as soon as it has sent
    /// them.
    async fn begin_received(mut self) {
        let stop = self.access.stop.clone();
        self.followed = Followed::default();
        let begin_all = async {
            loop {
                while let Some(queued) = self.requests.next_ready(|_| false) {
                    self.begin(queued);
                }
                if !self.requests.are_beginning() {
                    return;
                }
                if let Some(RequestStep::Begun { order, .. }) = self.requests.next().await {
                    self.requests.begun(order);
                }
            }
        };
        let deadline = Duration::from_secs(LAST_REQUESTS_SECS);
        tokio::select! {
            biased;
            () = begin_all => {}
            () = stop.cancelled() => {}
            // A thread may take too long to load.
            () = tokio::time::sleep(deadline) => {}
        }
    }

    async fn serve(&mut self, first: Option<String>) -> End {
        if let Some(first) = first {
            self.received(&first);
        }
        let (most, write_within) = {
            let limits = self.service.context.limits.now();
            (limits.outbound_queue, Duration::from_secs(limits.write_secs))
        };
        loop {
            self.pump();
            if let Some(end) = self.ended {
                return end;
            }
            // With a client that reads at once and answers that are always ready, nothing below waits.
            if self.answered_in_turn >= TURN_BYTES as u64 {
                self.answered_in_turn = 0;
                tokio::task::yield_now().await;
            }
            if self.requests.are_too_many() {
                return End::Flooding;
            }
            // Events and large responses wait for room in the client's queue. The client's messages never wait.
            let has_room = self.channel.has_room();
            let oldest = self.meter.oldest().or_else(|| first_charge(&self.unsent));
            tokio::select! {
                biased;
                () = self.access.stop.cancelled() => {
                    return self.flush_on_shutdown().await.err().unwrap_or(End::Stopping);
                }
                () = overdue(oldest, write_within) => return End::Stalled,
                happened = self.channel.next() => match happened {
                    Ok(ChannelEvent::Received(text)) => self.received(&text),
                    Ok(ChannelEvent::Written) => {}
                    Err(end) => return end,
                },
                Some(step) = self.requests.next() => self.step(step),
                Some(command) = from_threads(self.delegated.as_deref_mut()), if has_room => self.delegate(command),
                // Before events, which would otherwise keep this branch from running.
                frames = self.list.next(), if has_room => {
                    self.surface.handle_notification(ConnectionNotification::List(frames.of::<S>()));
                }
                Some(fed) = self.followed.next(), if has_room => self.fed(fed),
            }
            self.join_ready(most);
        }
    }

    /// Handles replies and events that are ready, so that they join the same write.
    fn join_ready(&mut self, most: usize) {
        for _ in 0..most {
            self.pump();
            if !self.channel.has_room() {
                return;
            }
            if let Some(Some(step)) = self.requests.next().now_or_never() {
                self.step(step);
            } else if let Some(Some(fed)) = self.followed.next().now_or_never() {
                self.fed(fed);
            } else {
                return;
            }
        }
    }

    /// Sends the final events of the threads when the daemon stops.
    async fn flush_on_shutdown(&mut self) -> Result<(), End> {
        loop {
            self.pump();
            // A large event waits for room that earlier ones hold until they are sent.
            while !self.channel.has_room() || self.meter.oldest().is_some() {
                self.channel.flush().await?;
                self.pump();
            }
            let Some(fed) = self.followed.next().await else {
                return self.channel.flush().await;
            };
            self.fed(fed);
        }
    }

    fn received(&mut self, text: &str) {
        self.received = text.len();
        self.surface
            .handle_message(text, self.service.context.clock.now());
    }

    /// Carries out everything that can be carried out without waiting.
    fn pump(&mut self) {
        self.outputs();
        self.send_answers();
        while let Some(queued) = self.requests.next_ready(|number| self.channel.has_sent(number)) {
            self.begin(queued);
        }
        let handled = self.surface.gate().take_handled();
        if !handled.is_empty() {
            let now = self.service.context.clock.now().mono;
            self.service.context.metrics.handled(&handled, now);
        }
        self.meter.release(|number| self.channel.has_sent(number));
        if let Some(took) = self
            .meter
            .sample
            .take_delivered(|number| self.channel.has_sent(number))
        {
            self.service.context.metrics.delivered(took);
        }
    }

    /// Carries out what the surface wants. Returns the bytes of queued messages.
    fn outputs(&mut self) -> u64 {
        let (before, mut bytes) = (self.last_queued, 0);
        while let Some(output) = self.surface.poll_output() {
            match output {
                Output::Send(text) => bytes += self.queue(text),
                Output::Delegate { thread, call, text } => {
                    let delegated = self.delegated.as_ref();
                    if delegated.is_some_and(|delegated| delegated.claim(thread, call)) {
                        bytes += self.queue(text);
                    } else {
                        self.surface.handle_delegated(thread, Delegated::NotSent { call });
                    }
                }
                Output::Delegated { thread, call, result } => {
                    let delegated = self.delegated.as_mut();
                    if let Some(delivered) = delegated.and_then(|all| all.answered(thread, call, *result)) {
                        self.requests
                            .run(delivered.map(|()| RequestStep::Delivered).boxed());
                    }
                }
                Output::Request {
                    call,
                    request,
                    after_sent,
                } => self.requests.push(Queued {
                    call,
                    request,
                    after: if after_sent { self.last_queued } else { 0 },
                    bytes: self.received,
                }),
                Output::End => self.ended = Some(End::Lost),
            }
        }
        let messages = self.last_queued - before;
        if messages > 0 {
            self.service.context.metrics.sent(messages, bytes);
        }
        bytes
    }

    /// Queues a message. Returns its size in bytes.
    fn queue(&mut self, text: Bytes) -> u64 {
        let bytes = text.len() as u64;
        self.last_queued = self.channel.queue(text);
        bytes
    }

    /// Passes on the replies for which there is room. Small replies need no room, because a cancel may wait for the reply
    /// to its prompt.
    fn send_answers(&mut self) {
        for _ in 0..self.unsent.len() {
            let Some((call, answer)) = self.unsent.pop_front() else {
                return;
            };
            if self.channel.has_room() || is_small(&answer) {
                let mut charge = self.answered(call, answer);
                let bytes = self.outputs();
                if let Some(charge) = charge.as_deref_mut() {
                    charge.encoded(bytes);
                }
                self.answered_in_turn += bytes;
                self.meter.hold(charge, self.last_queued);
            } else {
                self.unsent.push_back((call, answer));
            }
        }
    }

    /// Begins a request that is next in its order.
    fn begin(&mut self, queued: Queued) {
        let Queued { call, request, .. } = queued;
        let order = request.ordered_by();
        let caller = self.caller(order);
        if let Request::CloseThread { thread, .. } = &*request {
            self.close(*thread);
        }
        let service = self.service.clone();
        let begins = async move {
            let dispatched = service.call(&caller, *request).await;
            RequestStep::Begun {
                order,
                call,
                dispatched,
            }
        };
        self.requests.run(begins.boxed());
    }

    /// Returns the client as a request about `thread` sees it.
    fn caller(&mut self, thread: Option<ThreadId>) -> Caller {
        let profile = self.surface.profile();
        let shows = profile.elicitation();
        let Profile {
            origin, abilities, ..
        } = profile;
        let delegate = abilities.map(|abilities| {
            let connection = &self.access.connection;
            let delegated = self
                .delegated
                .get_or_insert_with(|| Box::new(DelegatedRequests::new(Arc::clone(connection))));
            delegated.delegate(abilities)
        });
        Caller {
            by: Origin::Client(Box::new(origin)),
            permissions: self.access.permissions,
            user: Some(Arc::clone(&self.access.user)),
            connection: Arc::clone(&self.access.connection),
            lane: self.surface.lane(),
            defaults: Arc::clone(&self.access.defaults),
            delegate,
            shows,
            follows: thread.is_some_and(|thread| self.followed.contains(thread)),
            newest: self.followed.newest(),
            signing_in: self.signing_in,
            standby: self.access.standby.clone(),
        }
    }

    fn step(&mut self, step: RequestStep) {
        match step {
            RequestStep::Begun {
                order,
                call,
                dispatched,
            } => {
                self.requests.begun(order);
                self.dispatched(call, dispatched);
            }
            RequestStep::Answered { call, answer } => self.unsent.push_back((call, answer)),
            RequestStep::Delivered => {}
        }
    }

    fn dispatched(&mut self, call: u64, dispatched: Dispatched) {
        let Dispatched {
            follow,
            answer_first,
            watch,
            answer,
        } = dispatched;
        match watch {
            Some(Watch::On { only }) => {
                let feed = &self.service.context.thread_list;
                self.list
                    .begin(feed, self.surface.lane(), only, &self.access.user);
            }
            Some(Watch::Off) => self.list = ThreadListSubscription::default(),
            None => {}
        }
        match follow {
            Some(follow) if answer_first => {
                // The client's next request may start the agent, which is offered what the subscribers can show.
                let is_new = !self.followed.has_started(follow.thread);
                let presence = is_new.then(|| self.join(follow.thread));
                self.followed.hold(call, follow, presence);
            }
            Some(follow) => self.follow(follow, None),
            None => {}
        }
        self.requests.run(
            answer
                .map(move |answer| RequestStep::Answered { call, answer })
                .boxed(),
        );
    }

    /// Passes on an answer. Returns the room that it takes until it is sent.
    fn answered(&mut self, call: u64, answer: ServiceResult) -> Option<Box<UnsentCharge>> {
        let held = self.followed.take_held(call);
        let (reply, follow, charge) = match answer {
            Ok(Response {
                reply,
                follow,
                charge,
            }) => (
                Ok(reply),
                held.or(follow.map(|follow| Held::new(follow, None))),
                charge,
            ),
            Err(failure) => {
                if failure.code == ErrorCode::SignInRequired {
                    let thread = failure.detail.as_ref();
                    self.signing_in = thread.and_then(|thread| thread.parse().ok());
                }
                (Err(failure), None, None)
            }
        };
        // The surface must know a thread before it receives its frames.
        self.surface.handle_reply(call, reply);
        match follow {
            Some(Held::Follow(held)) => {
                let HeldFollow { request, presence } = *held;
                self.follow(request, presence);
            }
            Some(Held::Closed(thread)) => {
                let message = format!("the thread {thread} was closed before it was open");
                let failure = Failure::new(ErrorCode::NotFound, message);
                self.surface.handle_closed(thread, &failure);
            }
            None => {}
        }
        charge
    }

    /// Starts a subscription. `presence` is its entry among the subscribers, if it has one already.
    fn follow(&mut self, follow: FollowRequest, presence: Option<Presence>) {
        let presence = presence.unwrap_or_else(|| self.join(follow.thread));
        let recipient = self.service.context.unsent.recipient(
            self.surface.profile().origin.principal,
            self.access.permissions,
            Arc::clone(&self.access.connection),
        );
        self.followed
            .follow(&self.service, self.surface.lane(), follow, presence, recipient);
    }

    /// Makes the client a subscriber of a thread.
    fn join(&self, thread: ThreadId) -> Presence {
        let profile = self.surface.profile();
        let elicitation = profile.elicitation();
        let Profile {
            origin,
            may_answer,
            sees_subscribers,
            ..
        } = profile;
        let subscriber = Subscriber {
            who: origin,
            may_answer,
            elicitation,
        };
        // Readers of a shared thread are visible to other clients, but cannot list them.
        let sees_subscribers = sees_subscribers && self.access.permissions.scope == AccessScope::Everything;
        let subscribers = &self.service.context.subscribers;
        subscribers.join(thread, subscriber, sees_subscribers)
    }

    fn close(&mut self, thread: ThreadId) {
        self.followed.close(thread);
        if let Some(delegated) = &mut self.delegated {
            delegated.forget(thread);
        }
    }

    fn fed(&mut self, fed: Fed) {
        let Fed { thread, number, news } = fed;
        // Drops frames that were on their way when their subscription ended.
        if !self.followed.is_current(thread, number) {
            return;
        }
        match news {
            News::Frames {
                batch,
                from,
                pending,
                mut charge,
            } => {
                let frames = batch.frames.of::<S>();
                let first = frames.partition_point(|frame| S::seq(frame) < from);
                self.surface.handle_frames(Delivery {
                    thread,
                    frames: &frames[first..],
                    last: batch.last,
                    pending: &pending,
                });
                let before = self.last_queued;
                let bytes = self.outputs();
                if self.last_queued > before {
                    self.meter.sample.begin(batch.stored_at, self.last_queued);
                }
                if let Some(charge) = charge.as_deref_mut() {
                    charge.encoded(bytes);
                }
                self.meter.hold(charge, self.last_queued);
            }
            News::Others { at, others } => {
                let others = &others;
                self.surface
                    .handle_notification(ConnectionNotification::Subscribers { thread, at, others });
            }
            News::Log { at, error } => {
                let error = error.as_deref();
                self.surface
                    .handle_notification(ConnectionNotification::Log { thread, at, error });
            }
            News::Damaged { at, lost } => {
                let notice = ConnectionNotification::Damaged {
                    thread,
                    at,
                    lost: &lost,
                };
                self.surface.handle_notification(notice);
            }
            News::Closed(failure) => {
                self.close(thread);
                self.surface.handle_closed(thread, &failure);
            }
        }
    }

    /// Handles a thread's command, unless the thread has withdrawn it.
    fn delegate(&mut self, command: ToEditor) {
        let thread = command.thread;
        let command = self.delegated.as_mut().and_then(|all| all.received(command));
        if let Some(command) = command {
            self.surface.handle_delegated(thread, Delegated::Command(command));
        }
    }
}

/// Waits for the next command of a thread; waits forever if there is none to come.
async fn from_threads(delegated: Option<&mut DelegatedRequests>) -> Option<ToEditor> {
    match delegated {
        Some(delegated) => delegated.next().await,
        None => std::future::pending().await,
    }
}

/// Returns the room of the first answer that waits for the client's queue.
fn first_charge(unsent: &VecDeque<(u64, ServiceResult)>) -> Option<&UnsentCharge> {
    let mut answers = unsent.iter().filter_map(|(_, answer)| answer.as_ref().ok());
    answers.find_map(|response| response.charge.as_deref())
}

/// Waits until others need the room of the client's oldest answer, which it does not receive within this time. Cancel safe.
async fn overdue(oldest: Option<&UnsentCharge>, within: Duration) {
    match oldest {
        // Boxed: it is rare, and the connection's task would reserve space for it all the time.
        Some(charge) => Box::pin(charge.overdue(within)).await,
        None => std::future::pending().await,
    }
}

/// Returns whether a reply adds little or nothing to the client's queue.
fn is_small(answer: &ServiceResult) -> bool {
    let Ok(Response { reply, .. }) = answer else {
        return true;
    };
    matches!(
        reply,
        Reply::Done | Reply::Closed(_) | Reply::Turn(_) | Reply::Lease(_)
    )
}

#[cfg(test)]
mod tests;
