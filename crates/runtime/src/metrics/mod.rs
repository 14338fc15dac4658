//! The daemon's metrics, for `GET /metrics`.
//!
//! In: reports of events from every task. Out: numbers as `OpenMetrics` text. Owns: the counters, created once;
//! counting is an addition to an atomic. Never: contains text or names from users or agents: every label is a constant
//! of this program.
//!
//! The meaning of each number is in `docs/metrics.md`.

mod collect;
mod events;
mod labels;
mod timings;

use std::sync::Arc;
use std::time::Duration;

use acpd_log::SharedLog;
use acpd_log::stats::{Distribution, SIZES, TIMES};
use acpd_model::event::TurnStatus;
use acpd_model::{ErrorCode, Event};
use acpd_proto::notify::Counts;
use acpd_proto::surface::contract::Handled;
use acpd_proto::surface::reply::RetentionReport;
use acpd_proto::time::Instant;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use self::collect::{Log, Shown};
use self::events::Counted;
use self::labels::Labels;
pub use self::timings::AnsweredBy;
use self::timings::Timings;

/// All counters and gauges of the daemon.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    events: Counted,
    threads_awake: Gauge,
    threads_started: Counter,
    threads_woken: Counter,
    agents_running: Gauge,
    agent_memory: Gauge,
    disk_free: Gauge,
    agents_evicted: Counter,
    agents_started: Counter,
    agents_failed: Counter,
    terminals_running: Gauge,
    terminals_started: Counter,
    clients_connected: Gauge,
    clients: Counter,
    dropped: Family<Labels, Counter>,
    refused: Family<Labels, Counter>,
    /// Looked up for each request; the rate limit of a connection bounds the cost.
    requests: Family<[(&'static str, &'static str); 2], Counter>,
    mailbox_depth: Arc<Distribution>,
    /// Messages and bytes that were written to clients.
    sent: Counter,
    sent_bytes: Counter,
    catch_ups: Counter,
    missed_batches: Counter,
    lag_events: Arc<Distribution>,
    batch_events: Arc<Distribution>,
    append_time: Arc<Distribution>,
    retention_threads: Counter,
    retention_attachments: Counter,
    retention_bytes: Counter,
    timings: Timings,
    notified: Family<[(&'static str, &'static str); 2], Counter>,
    notifications_waiting: Gauge,
    notification_targets_failing: Gauge,
}

/// Counts one object in a gauge until dropped.
#[derive(Debug)]
pub struct Present(Gauge);

impl Present {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Buckets for the number of events that a client is behind.
const LAGS: &[u64] = &[1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];

impl Metrics {
    /// Creates metrics that start at zero. They include the numbers that `log` counts itself.
    pub fn new(log: SharedLog) -> Self {
        let mut metrics = Self {
            registry: Registry::default(),
            events: Counted::default(),
            threads_awake: Gauge::default(),
            threads_started: Counter::default(),
            threads_woken: Counter::default(),
            agents_running: Gauge::default(),
            agent_memory: Gauge::default(),
            disk_free: Gauge::default(),
            agents_evicted: Counter::default(),
            agents_started: Counter::default(),
            agents_failed: Counter::default(),
            terminals_running: Gauge::default(),
            terminals_started: Counter::default(),
            clients_connected: Gauge::default(),
            clients: Counter::default(),
            dropped: Family::default(),
            refused: Family::default(),
            requests: Family::default(),
            mailbox_depth: Arc::new(Distribution::new(SIZES)),
            sent: Counter::default(),
            sent_bytes: Counter::default(),
            catch_ups: Counter::default(),
            missed_batches: Counter::default(),
            lag_events: Arc::new(Distribution::new(LAGS)),
            batch_events: Arc::new(Distribution::new(SIZES)),
            append_time: Arc::new(Distribution::new(TIMES)),
            retention_threads: Counter::default(),
            retention_attachments: Counter::default(),
            retention_bytes: Counter::default(),
            timings: Timings::default(),
            notified: Family::default(),
            notifications_waiting: Gauge::default(),
            notification_targets_failing: Gauge::default(),
        };
        metrics.registry = metrics.registered(log);
        metrics
    }

    fn registered(&self, log: SharedLog) -> Registry {
        let mut registry = Registry::with_prefix("acpd");
        let r = &mut registry;
        self.events.register(r);
        self.timings.register(r);
        r.register("threads_awake", "Threads in memory", self.threads_awake.clone());
        r.register(
            "threads_started",
            "Threads that were made",
            self.threads_started.clone(),
        );
        r.register(
            "threads_woken",
            "Threads that were rebuilt from the log",
            self.threads_woken.clone(),
        );
        r.register(
            "agents_running",
            "Agent processes that run",
            self.agents_running.clone(),
        );
        r.register_with_unit(
            "agent_memory",
            "Resident memory of agents and of what they have started, as it was last looked at",
            Unit::Bytes,
            self.agent_memory.clone(),
        );
        r.register_with_unit(
            "disk_free",
            "Free space for the data directory, as it was last looked at",
            Unit::Bytes,
            self.disk_free.clone(),
        );
        r.register(
            "agents_evicted",
            "Idle agents that were stopped to make room for others",
            self.agents_evicted.clone(),
        );
        r.register(
            "agents_started",
            "Agent processes that were started",
            self.agents_started.clone(),
        );
        r.register(
            "agents_failed",
            "Agents that exited unexpectedly or failed to start",
            self.agents_failed.clone(),
        );
        r.register(
            "terminals_running",
            "Terminals whose command runs",
            self.terminals_running.clone(),
        );
        r.register(
            "terminals_started",
            "Terminals that agents have opened",
            self.terminals_started.clone(),
        );
        r.register(
            "clients_connected",
            "Clients that are connected",
            self.clients_connected.clone(),
        );
        r.register("clients", "Clients that have connected", self.clients.clone());
        r.register(
            "clients_dropped",
            "Clients that were disconnected, by reason",
            self.dropped.clone(),
        );
        r.register(
            "http_refused",
            "HTTP requests, among them those for a connection, that were refused, by reason",
            self.refused.clone(),
        );
        r.register(
            "requests",
            "Requests of clients, by method and result",
            self.requests.clone(),
        );
        r.register("messages_sent", "Messages written to clients", self.sent.clone());
        r.register_with_unit(
            "sent",
            "Bytes of those messages",
            Unit::Bytes,
            self.sent_bytes.clone(),
        );
        r.register(
            "client_catch_ups",
            "Times that a client fell behind the buffered events and continued from the log",
            self.catch_ups.clone(),
        );
        r.register(
            "client_missed_batches",
            "Batches that were not kept until a client could take them",
            self.missed_batches.clone(),
        );
        r.register(
            "client_lag_events",
            "Events that a client was behind when it went back to the log",
            Shown::count(&self.lag_events),
        );
        r.register(
            "thread_mailbox_depth",
            "Commands that waited for a thread when one more came",
            Shown::count(&self.mailbox_depth),
        );
        r.register(
            "batch_events",
            "Events of each append",
            Shown::count(&self.batch_events),
        );
        r.register_with_unit(
            "append",
            "Time from an append to its answer, as a thread waits for it",
            Unit::Seconds,
            Shown::time(&self.append_time),
        );
        r.register(
            "retention_threads",
            "Threads that retention has removed",
            self.retention_threads.clone(),
        );
        r.register(
            "retention_attachments",
            "Attachments that retention has removed from threads that stay",
            self.retention_attachments.clone(),
        );
        r.register_with_unit(
            "retention",
            "Bytes that both took",
            Unit::Bytes,
            self.retention_bytes.clone(),
        );
        r.register(
            "notifications",
            "Deliveries of notifications, by type of target and result",
            self.notified.clone(),
        );
        r.register(
            "notifications_waiting",
            "Notifications that wait for delivery",
            self.notifications_waiting.clone(),
        );
        r.register(
            "notification_targets_failing",
            "Targets of notifications whose last delivery failed",
            self.notification_targets_failing.clone(),
        );
        r.register_collector(Box::new(Log(log)));
        registry
    }

    /// Returns all metrics as `OpenMetrics` text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Err(error) = prometheus_client::encoding::text::encode(&mut text, &self.registry) {
            // Writing to a String cannot fail.
            tracing::error!(%error, "the metrics cannot be written");
        }
        text
    }

    /// Counts a loaded thread; `woken` if it was loaded from the log.
    pub fn thread(&self, woken: bool) -> Present {
        if woken {
            self.threads_woken.inc();
        }
        Present::new(&self.threads_awake)
    }

    /// Counts appended events.
    pub fn appended(&self, events: &[Event], took: Duration) {
        self.batch_events.observe(events.len() as u64);
        self.append_time.observe_time(took);
        let seen = self.events.count(events);
        self.threads_started.inc_by(seen.threads);
        self.agents_failed.inc_by(seen.lost);
    }

    /// Counts what a run of retention has removed.
    pub fn retained(&self, report: &RetentionReport) {
        self.retention_threads.inc_by(report.threads);
        self.retention_attachments.inc_by(report.attachments);
        self.retention_bytes.inc_by(report.bytes);
    }

    /// Sets the memory of all agents, in bytes.
    pub fn agent_memory(&self, bytes: u64) {
        self.agent_memory.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Sets the free space for the data directory, in bytes.
    pub fn disk_free(&self, bytes: u64) {
        self.disk_free.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Counts an idle agent that was asked to stop.
    pub fn agent_evicted(&self) {
        self.agents_evicted.inc();
    }

    /// Counts a started agent process.
    pub fn agent(&self) -> Present {
        self.agents_started.inc();
        Present::new(&self.agents_running)
    }

    /// Counts an opened terminal.
    pub fn terminal(&self) -> Present {
        self.terminals_started.inc();
        Present::new(&self.terminals_running)
    }

    /// Counts a connected client.
    pub fn client(&self) -> Present {
        self.clients.inc();
        Present::new(&self.clients_connected)
    }

    /// Counts the answered requests of a client, by method and result. `now` is when they were answered.
    pub fn handled(&self, handled: &[Handled], now: Instant) {
        for Handled { method, error, since } in handled {
            let result = error.map_or("ok", ErrorCode::word);
            self.requests
                .get_or_create(&[("method", *method), ("result", result)])
                .inc();
            if let Some(since) = since {
                self.timings.request(method, now.saturating_sub(*since));
            }
        }
    }

    /// Records how long a turn ran.
    pub fn turn(&self, status: TurnStatus, took: Duration) {
        self.timings.turn(status, took);
    }

    /// Records how long the agent took for the first update of a turn.
    pub fn first_update(&self, took: Duration) {
        self.timings.first_update(took);
    }

    /// Records how long a question of an agent was open.
    pub fn answered(&self, by: AnsweredBy, took: Duration) {
        self.timings.approval(by, took);
    }

    /// Records how long an agent took to open its session, or to fail.
    pub fn agent_start(&self, ready: bool, took: Duration) {
        self.timings.start(ready, took);
    }

    /// Records how long stored events took to reach a client's connection.
    pub fn delivered(&self, took: Duration) {
        self.timings.delivery(took);
    }

    /// Records the number of commands that waited for a thread when one more arrived.
    pub fn mailbox(&self, depth: usize) {
        self.mailbox_depth.observe(depth as u64);
    }

    /// Counts messages that were written to a client.
    pub fn sent(&self, messages: u64, bytes: u64) {
        self.sent.inc_by(messages);
        self.sent_bytes.inc_by(bytes);
    }

    /// Counts a client that returns to the log, and the batches that it missed.
    pub fn lagged(&self, missed_batches: u64) {
        self.catch_ups.inc();
        self.missed_batches.inc_by(missed_batches);
    }

    /// Records how many events such a client must read again.
    pub fn behind(&self, events: u64) {
        self.lag_events.observe(events);
    }

    /// Counts a disconnected client, by reason.
    pub fn dropped(&self, reason: &'static str) {
        self.dropped.get_or_create(&[("reason", reason)]).inc();
    }

    /// Counts a rejected HTTP request, by reason.
    pub fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&[("reason", reason)]).inc();
    }

    /// Begins to count deliveries to a type of target, so that their series exist before the first one.
    pub(crate) fn begin_notifications(&self, target: &'static str) {
        for result in ["delivered", "failed", "refused", "dropped"] {
            drop(
                self.notified
                    .get_or_create(&[("target", target), ("result", result)]),
            );
        }
    }

    /// Counts a delivery of a notification, by type of target and result.
    pub(crate) fn notified(&self, target: &'static str, result: &'static str) {
        self.notified
            .get_or_create(&[("target", target), ("result", result)])
            .inc();
    }

    /// Sets how many notifications wait, and how many targets fail.
    pub(crate) fn notifications(&self, counts: Counts) {
        let gauge = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.notifications_waiting.set(gauge(counts.waiting));
        self.notification_targets_failing.set(gauge(counts.failing));
    }
}
