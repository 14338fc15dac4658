//! One client's subscription to one thread. It reads the log up to its end, then follows live events. It returns to the
//! log whenever it has missed something.
//!
//! In: pages of the log, and a thread's batches. Out: each event after the client's cursor once, in order. Owns: the
//! position. Never: keeps events, reads ahead of its client, or encodes large events without room.

use std::sync::Arc;

use acpd_log::{LogError, SharedLog};
use acpd_model::limits::FREE_EVENT_BYTES;
use acpd_model::{Event, Failure, Millis, Seq, ThreadId};
use acpd_proto::fanout::{self, BatchAction};
use acpd_proto::projection::OpenRequest;
use acpd_proto::surface::contract::{Lane, LostEvents, OtherSubscribers, Pending, Source};
use acpd_proto::surface::frames::Frames;
use futures_util::stream::{self, BoxStream, StreamExt};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::DropGuard;

use crate::clock::Clock;
use crate::context::Context;
use crate::feed::batch::{Batch, Shown};
use crate::feed::presence::Presence;
use crate::feed::snapshot::ThreadSnapshot;
use crate::metrics::Metrics;
use crate::stored::log_failure;
use crate::thread::delegates::{Attachment, AttachmentGuard};
use crate::thread::directory::Directory;
use crate::unsent::{Recipient, UnsentCharge};

/// A request to follow a thread.
#[derive(Debug)]
pub struct FollowRequest {
    /// The thread to follow.
    pub thread: ThreadId,
    /// The last event that the client has seen.
    pub cursor: Seq,
    /// The thread's state when the subscription started.
    pub snapshot: ThreadSnapshot,
    /// Keeps the client attached to the thread until dropped.
    pub attachment: Option<AttachmentGuard>,
}

/// News of a subscription.
#[derive(Debug)]
pub enum News {
    /// Frames of events.
    Frames {
        /// The frames.
        batch: Arc<Batch>,
        /// The first event to send: the client already has the events before it.
        from: Seq,
        /// Which questions in the frames are still open.
        pending: Pending,
        /// The room of large frames, until the client has received them.
        charge: Option<Box<UnsentCharge>>,
    },
    /// The other subscribers of the thread have changed.
    Others {
        /// When.
        at: Millis,
        /// The other subscribers.
        others: OtherSubscribers,
    },
    /// The thread's log cannot be written, or works again.
    Log {
        /// When.
        at: Millis,
        /// Why it cannot be written.
        error: Option<Arc<str>>,
    },
    /// Events cannot be read. The events after them follow.
    Damaged {
        /// When that was noticed.
        at: Millis,
        /// The events.
        lost: Box<LostEvents>,
    },
    /// The thread was deleted, or it cannot be read. Nothing follows.
    Closed(Failure),
}

/// One client's subscription to one thread.
#[derive(Debug)]
pub struct Subscription {
    directory: Directory,
    log: SharedLog,
    metrics: Arc<Metrics>,
    clock: Clock,
    lane: Lane,
    thread: ThreadId,
    name: String,
    recipient: Recipient,
    /// The client's entry among the thread's subscribers.
    presence: Presence,
    /// Registered again if the thread was unloaded in the meantime.
    attachment: Option<Attachment>,
    at: fanout::Subscription,
    /// Whether the client missed events that the channel no longer holds.
    lagging: bool,
    /// Why the thread's log cannot be written, as the client knows it.
    log_error: Option<Arc<str>>,
    /// Whether the client does not know `log_error` yet.
    log_changed: bool,
    /// What the agent suggests, until the client has caught up with the log and receives it.
    suggestions: Option<watch::Receiver<Option<Arc<Shown>>>>,
    source: EventSource,
}

/// Where the next events come from.
#[derive(Debug)]
enum EventSource {
    /// The snapshot of a new subscription. The client may have events before its cursor whose questions are open.
    Beginning(ThreadSnapshot),
    /// Pages of the log up to event `end`, then the batches.
    Log {
        end: Seq,
        pending: Pending,
        batches: broadcast::Receiver<Arc<Batch>>,
    },
    Live(broadcast::Receiver<Arc<Batch>>),
    /// The thread was unloaded, or batches were missed.
    Lost,
    Ended,
}

impl Subscription {
    /// Subscribes to the events after the request's cursor. Until the returned guard is dropped, the thread counts on the
    /// client.
    pub fn new(
        context: &Context,
        directory: Directory,
        lane: Lane,
        follow: FollowRequest,
        presence: Presence,
        recipient: Recipient,
    ) -> (Self, Option<DropGuard>) {
        let FollowRequest {
            thread,
            cursor,
            snapshot,
            attachment,
        } = follow;
        let guard = |AttachmentGuard { attachment, until }| (attachment, until);
        let (attachment, attached) = attachment.map(guard).unzip();
        let subscription = Self {
            directory,
            log: Arc::clone(&context.log),
            metrics: Arc::clone(&context.metrics),
            clock: context.clock,
            lane,
            thread,
            name: thread.to_string(),
            recipient,
            presence,
            attachment,
            at: fanout::Subscription::new(cursor),
            lagging: false,
            log_error: None,
            log_changed: false,
            suggestions: None,
            source: EventSource::Beginning(snapshot),
        };
        (subscription, attached)
    }

    /// Returns the news as a stream, which ends after [`News::Closed`] or when the daemon stops.
    pub fn into_stream(self) -> BoxStream<'static, News> {
        stream::unfold(Box::new(self), |mut subscription| async move {
            let news = subscription.next().await?;
            Some((news, subscription))
        })
        .boxed()
    }

    async fn next(&mut self) -> Option<News> {
        loop {
            if std::mem::take(&mut self.log_changed) {
                let (at, error) = (self.clock.now().wall, self.log_error.clone());
                return Some(News::Log { at, error });
            }
            let news = match std::mem::replace(&mut self.source, EventSource::Ended) {
                EventSource::Beginning(snapshot) => Some(self.begin(snapshot).await),
                EventSource::Log {
                    end,
                    pending,
                    batches,
                } => self.read(end, pending, batches).await,
                EventSource::Live(batches) => self.follow(batches).await,
                EventSource::Lost => match Box::pin(self.subscribe()).await {
                    Ok(snapshot) => {
                        self.catch_up(snapshot);
                        None
                    }
                    // The daemon is stopping.
                    Err(_) if self.directory.is_stopping() => return None,
                    Err(failure) => Some(self.close(failure)),
                },
                EventSource::Ended => return None,
            };
            if news.is_some() {
                return news;
            }
        }
    }

    /// Returns the questions from before the cursor that are still open; there may be none.
    async fn begin(&mut self, snapshot: ThreadSnapshot) -> News {
        let cursor = self.at.cursor();
        let open = snapshot.live.requests.values();
        let open: Vec<&OpenRequest> = open.filter(|request| request.event.seq <= cursor).collect();
        let bytes = open
            .iter()
            .map(|request| weight([&request.event]) + request.left_out);
        let charge = self.room(bytes.sum()).await;
        let mut events = Vec::with_capacity(open.len());
        for request in open {
            match self.whole(request).await {
                Ok(event) => events.push(event),
                Err(error) => return self.close(log_failure(&error)),
            }
        }
        let source = Source::Events {
            thread: &self.name,
            events: &events,
        };
        let batch = Batch {
            first: 0,
            last: cursor,
            frames: Frames::encode(self.lane, source),
            is_left_out: false,
            charge: None,
            stored_at: None,
        };
        self.catch_up(snapshot);
        News::Frames {
            batch: Arc::new(batch),
            from: 0,
            pending: Pending::all(),
            charge,
        }
    }

    /// Returns the event of a question. The state lacks a part of a long one.
    async fn whole(&self, request: &OpenRequest) -> Result<Event, LogError> {
        if request.left_out == 0 {
            return Ok(request.event.clone());
        }
        match self.log.events(self.thread, vec![request.event.seq]).await {
            Ok(mut read) => Ok(read.pop().unwrap_or_else(|| request.damaged())),
            Err(LogError::DamagedEvents { .. }) => Ok(request.damaged()),
            Err(error) => Err(error),
        }
    }

    /// Takes room for the frames of large events.
    async fn room(&self, bytes: u64) -> Option<Box<UnsentCharge>> {
        if bytes <= FREE_EVENT_BYTES {
            return None;
        }
        Some(Box::new(self.recipient.room(bytes).await))
    }

    fn catch_up(&mut self, snapshot: ThreadSnapshot) {
        let ThreadSnapshot {
            batches,
            live,
            pending,
            suggestions,
            log_error,
        } = snapshot;
        self.suggestions = Some(suggestions);
        self.log_changed = self.log_error != log_error;
        self.log_error = log_error;
        let end = live.last_seq;
        if std::mem::take(&mut self.lagging) {
            self.metrics.behind(end.saturating_sub(self.at.cursor()));
        }
        self.at.on_lag();
        self.source = EventSource::Log {
            end,
            pending: Pending::up_to(end, pending),
            batches,
        };
    }

    /// Subscribes again.
    async fn subscribe(&self) -> Result<ThreadSnapshot, Failure> {
        if let Some(attachment) = self.attachment.clone() {
            self.directory.attach(self.thread, attachment).await?;
        }
        self.directory.subscribe(self.thread, self.lane).await
    }

    /// Reads the next page of the log.
    async fn read(
        &mut self,
        end: Seq,
        pending: Pending,
        batches: broadcast::Receiver<Arc<Batch>>,
    ) -> Option<News> {
        if self.at.cursor() >= end || self.at.is_live() {
            self.source = EventSource::Live(batches);
            return self.suggested();
        }
        let mut charge = None;
        let page = loop {
            let page = self.log.read(self.thread, self.at.cursor()).await;
            let bytes = page.as_ref().map_or(0, |page| weight(&page.events));
            if bytes <= FREE_EVENT_BYTES || charge.is_some() {
                break page;
            }
            // It is read again, so that it is not in memory while it waits.
            drop(page);
            charge = self.room(bytes).await;
        };
        let page = match page {
            Ok(page) => page,
            Err(LogError::DamagedEvents {
                first, last, reason, ..
            }) => {
                self.at.on_page(Some(last), false);
                self.source = EventSource::Log {
                    end,
                    pending,
                    batches,
                };
                let lost = Box::new(LostEvents { first, last, reason });
                let at = self.clock.now().wall;
                return Some(News::Damaged { at, lost });
            }
            Err(error) => return Some(self.close(log_failure(&error))),
        };
        let from = self.at.cursor() + 1;
        let last = page.events.last().map(|event| event.seq);
        self.at.on_page(last, page.at_end);
        self.source = EventSource::Log {
            end,
            pending: pending.clone(),
            batches,
        };
        if page.events.is_empty() {
            return None;
        }
        let batch = Batch::encode(self.lane, &self.name, &page.events);
        Some(News::Frames {
            batch: Arc::new(batch),
            from,
            pending,
            charge,
        })
    }

    /// Returns what the agent suggests now, for a client that has just caught up with the log. Changes that it receives
    /// afterwards may be older, but the last of them is the same.
    fn suggested(&mut self) -> Option<News> {
        let suggestions = self.suggestions.take()?.borrow().clone()?;
        let mut batch = Batch::live(self.lane, &self.name, &suggestions);
        batch.last = self.at.cursor();
        Some(News::Frames {
            batch: Arc::new(batch),
            from: 0,
            pending: Pending::all(),
            charge: None,
        })
    }

    /// Waits for the next batch.
    async fn follow(&mut self, mut batches: broadcast::Receiver<Arc<Batch>>) -> Option<News> {
        let batch = tokio::select! {
            biased;
            batch = batches.recv() => batch,
            others = self.presence.others_changed() => {
                self.source = EventSource::Live(batches);
                let at = self.clock.now().wall;
                return Some(News::Others { at, others });
            }
        };
        let (batch, from) = match batch {
            // Live updates are only for clients that are exactly at this position: after a read from the log they
            // would come too late.
            Ok(batch) if batch.is_shown_only() => {
                let is_next = batch.last == self.at.cursor();
                self.source = EventSource::Live(batches);
                (Some(batch).filter(|_| is_next)?, 0)
            }
            // Its frames are read from the log, from this position on.
            Ok(batch) if batch.is_left_out && batch.last > self.at.cursor() => {
                self.lagged(1);
                return None;
            }
            Ok(batch) => match self.at.on_batch(batch.first, batch.last) {
                BatchAction::Send { from } => {
                    self.source = EventSource::Live(batches);
                    (batch, from)
                }
                BatchAction::Skip => {
                    self.source = EventSource::Live(batches);
                    return None;
                }
                BatchAction::CatchUp { .. } => {
                    self.lagged(0);
                    return None;
                }
            },
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                self.lagged(missed);
                return None;
            }
            Err(broadcast::error::RecvError::Closed) => {
                self.source = EventSource::Lost;
                return None;
            }
        };
        Some(News::Frames {
            batch,
            from,
            pending: Pending::all(),
            charge: None,
        })
    }

    fn lagged(&mut self, missed: u64) {
        tracing::debug!(thread = %self.thread, missed, "a client lags and re-reads the log");
        self.metrics.lagged(missed);
        self.lagging = true;
        self.source = EventSource::Lost;
    }

    fn close(&mut self, failure: Failure) -> News {
        tracing::debug!(thread = %self.thread, error = %failure, "a subscription ends");
        News::Closed(failure)
    }
}

/// Returns about how many bytes the frames of events have: the agent's JSON is most of them.
fn weight<'e>(events: impl IntoIterator<Item = &'e Event>) -> u64 {
    events.into_iter().map(Event::weight).sum::<usize>() as u64
}

#[cfg(test)]
mod tests;
