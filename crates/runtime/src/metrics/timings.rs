//! Histograms of durations, with one label at most.
//!
//! In: durations, and the words that they are counted under. Out: histograms in seconds. Owns: their buckets. Never: uses a
//! label value that is not a constant of this program.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use acpd_log::stats::{Distribution, TIMES};
use acpd_model::event::TurnStatus;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::{Registry, Unit};

use super::collect::Shown;
use super::events::{STATUSES, place};
use super::labels::Labels;

const SECOND: u64 = 1_000_000;

/// Bounds for the start of an agent, and for its first update, in microseconds.
const STARTS: &[u64] = &[
    10_000,
    50_000,
    100_000,
    250_000,
    500_000,
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    30 * SECOND,
    60 * SECOND,
    120 * SECOND,
];

/// Bounds for turns, in microseconds.
const TURNS: &[u64] = &[
    100_000,
    500_000,
    SECOND,
    5 * SECOND,
    15 * SECOND,
    30 * SECOND,
    60 * SECOND,
    120 * SECOND,
    300 * SECOND,
    600 * SECOND,
    1_800 * SECOND,
    3_600 * SECOND,
    14_400 * SECOND,
];

/// Bounds for questions, in microseconds: a policy answers at once, a person perhaps tomorrow.
const WAITS: &[u64] = &[
    10_000,
    100_000,
    SECOND,
    5 * SECOND,
    15 * SECOND,
    30 * SECOND,
    60 * SECOND,
    300 * SECOND,
    900 * SECOND,
    3_600 * SECOND,
    14_400 * SECOND,
    86_400 * SECOND,
];

/// Who ended the wait for the answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnsweredBy {
    /// A user, through a client.
    Person,
    /// A policy, or a remembered answer.
    Policy,
    /// No answer: the question was void, or it was cancelled with its turn.
    Unanswered,
}

impl AnsweredBy {
    const WORDS: [&'static str; 3] = ["person", "policy", "none"];

    /// Returns the word for it in metrics and traces.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

/// A histogram of durations that can have a label.
#[derive(Debug, Clone)]
struct Timed(Arc<Distribution>);

impl Timed {
    fn new(bounds: &'static [u64]) -> Self {
        Self(Arc::new(Distribution::new(bounds)))
    }
}

impl EncodeMetric for Timed {
    fn encode(&self, encoder: MetricEncoder<'_>) -> fmt::Result {
        Shown::time(&self.0).encode(encoder)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

impl TypedMetric for Timed {
    const TYPE: MetricType = MetricType::Histogram;
}

type TimedFamily = Family<Labels, Timed, fn() -> Timed>;

/// The histograms of durations. Those with few labels are resolved once.
#[derive(Debug)]
pub(super) struct Timings {
    turns: TimedFamily,
    turns_by_status: [Timed; STATUSES.len()],
    first_updates: Timed,
    approvals: TimedFamily,
    approvals_by: [Timed; AnsweredBy::WORDS.len()],
    starts: TimedFamily,
    starts_ready: Timed,
    starts_failed: Timed,
    /// Looked up for each request; the rate limit of a connection bounds the cost.
    requests: TimedFamily,
    deliveries: Timed,
}

impl Default for Timings {
    fn default() -> Self {
        let of = |family: &TimedFamily, name, value| family.get_or_create(&[(name, value)]).clone();
        let turns = TimedFamily::new_with_constructor(|| Timed::new(TURNS));
        let approvals = TimedFamily::new_with_constructor(|| Timed::new(WAITS));
        let starts = TimedFamily::new_with_constructor(|| Timed::new(STARTS));
        Self {
            turns_by_status: STATUSES.map(|status| of(&turns, "status", status)),
            turns,
            first_updates: Timed::new(STARTS),
            approvals_by: AnsweredBy::WORDS.map(|by| of(&approvals, "by", by)),
            approvals,
            starts_ready: of(&starts, "result", "ready"),
            starts_failed: of(&starts, "result", "failed"),
            starts,
            requests: TimedFamily::new_with_constructor(|| Timed::new(REQUESTS)),
            deliveries: Timed::new(TIMES),
        }
    }
}

/// Bounds for requests, in microseconds. Most are answered at once; some wait for an agent, and an editor's prompt for its turn.
const REQUESTS: &[u64] = &[
    1_000,
    5_000,
    10_000,
    50_000,
    100_000,
    500_000,
    SECOND,
    5 * SECOND,
    15 * SECOND,
    60 * SECOND,
    300 * SECOND,
    1_800 * SECOND,
];

impl Timings {
    pub(super) fn register(&self, registry: &mut Registry) {
        let seconds = || Unit::Seconds;
        registry.register_with_unit(
            "turn",
            "Time from the start of a turn to its end, by how it ended",
            seconds(),
            self.turns.clone(),
        );
        registry.register_with_unit(
            "turn_first_update",
            "Time from the start of a turn to the agent's first update",
            seconds(),
            self.first_updates.clone(),
        );
        registry.register_with_unit(
            "approval_wait",
            "Time that a question of an agent was open, by who answered",
            seconds(),
            self.approvals.clone(),
        );
        registry.register_with_unit(
            "agent_start",
            "Time from the start of an agent until its session is open, by result",
            seconds(),
            self.starts.clone(),
        );
        registry.register_with_unit(
            "request",
            "Time from a client's request to the answer, by group of methods",
            seconds(),
            self.requests.clone(),
        );
        registry.register_with_unit(
            "delivery",
            "Time from the storage of events until a client's connection has accepted them, of a sample",
            seconds(),
            self.deliveries.clone(),
        );
    }

    pub(super) fn turn(&self, status: TurnStatus, took: Duration) {
        self.turns_by_status[place(status)].0.observe_time(took);
    }

    pub(super) fn first_update(&self, took: Duration) {
        self.first_updates.0.observe_time(took);
    }

    pub(super) fn approval(&self, by: AnsweredBy, took: Duration) {
        self.approvals_by[by as usize].0.observe_time(took);
    }

    pub(super) fn start(&self, ready: bool, took: Duration) {
        let starts = if ready {
            &self.starts_ready
        } else {
            &self.starts_failed
        };
        starts.0.observe_time(took);
    }

    pub(super) fn request(&self, method: &'static str, took: Duration) {
        let requests = self.requests.get_or_create(&[("group", method_group(method))]);
        requests.0.observe_time(took);
    }

    pub(super) fn delivery(&self, took: Duration) {
        self.deliveries.0.observe_time(took);
    }
}

/// Returns the group of a method: the first part of its name. An editor's prompt is answered when its turn ends, so it has a
/// group of its own.
fn method_group(method: &'static str) -> &'static str {
    match method {
        "session/prompt" => "prompt",
        _ => {
            let name = method.trim_start_matches('_');
            name.split_once('/').map_or(name, |(group, _)| group)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_the_first_part_of_a_method() {
        let groups = [
            "turn/start",
            "_acpd/lease/acquire",
            "initialize",
            "session/prompt",
        ]
        .map(method_group);
        assert_eq!(groups, ["turn", "acpd", "initialize", "prompt"]);
    }

    #[test]
    fn durations_are_shown_in_seconds_below_their_label() {
        let timings = Timings::default();
        let mut registry = Registry::with_prefix("acpd");
        timings.register(&mut registry);
        timings.turn(TurnStatus::Failed, Duration::from_secs(20));
        timings.approval(AnsweredBy::Person, Duration::from_hours(2));
        timings.start(true, Duration::from_millis(50));
        timings.request("turn/start", Duration::from_millis(2));
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for line in [
            "acpd_turn_seconds_sum{status=\"failed\"} 20.0",
            "acpd_turn_seconds_bucket{le=\"15.0\",status=\"failed\"} 0",
            "acpd_turn_seconds_bucket{le=\"30.0\",status=\"failed\"} 1",
            "acpd_turn_seconds_count{status=\"completed\"} 0",
            "acpd_approval_wait_seconds_bucket{le=\"14400.0\",by=\"person\"} 1",
            "acpd_agent_start_seconds_bucket{le=\"0.05\",result=\"ready\"} 1",
            "acpd_request_seconds_count{group=\"turn\"} 1",
            "acpd_delivery_seconds_count 0",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line}\n{text}");
        }
    }
}
