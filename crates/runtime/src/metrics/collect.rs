//! Adapters for numbers that other components count.

use std::fmt;
use std::sync::Arc;

use acpd_log::SharedLog;
use acpd_log::stats::{Distribution, Snapshot, Stats};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// A distribution, encoded as a histogram.
#[derive(Debug)]
pub(super) struct Shown {
    counted: Arc<Distribution>,
    unit: Scale,
}

/// The unit of a distribution's values.
#[derive(Debug, Clone, Copy)]
enum Scale {
    Count,
    Micros,
}

impl Shown {
    /// Creates a histogram of counts.
    pub(super) fn count(counted: &Arc<Distribution>) -> Self {
        Self {
            counted: Arc::clone(counted),
            unit: Scale::Count,
        }
    }

    /// Creates a histogram of microseconds, exported in seconds.
    pub(super) fn time(counted: &Arc<Distribution>) -> Self {
        Self {
            counted: Arc::clone(counted),
            unit: Scale::Micros,
        }
    }
}

impl Scale {
    #[expect(clippy::cast_precision_loss, reason = "so many decimals are not needed")]
    fn show(self, value: u64) -> f64 {
        match self {
            Self::Count => value as f64,
            Self::Micros => value as f64 / 1e6,
        }
    }

    fn encode(self, snapshot: &Snapshot, encoder: &mut MetricEncoder<'_>) -> fmt::Result {
        let buckets: Vec<_> = snapshot
            .counts
            .iter()
            .map(|(bound, count)| (bound.map_or(f64::INFINITY, |bound| self.show(bound)), *count))
            .collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        encoder.encode_histogram::<NoLabelSet>(self.show(snapshot.sum), count, &buckets, None)
    }
}

impl EncodeMetric for Shown {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        self.unit.encode(&self.counted.snapshot(), &mut encoder)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

/// Exports the statistics that the log counts itself.
#[derive(Debug)]
pub(super) struct Log(pub SharedLog);

impl Collector for Log {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Stats {
            commit_changes,
            commit_time,
            failed_commits,
            waiting,
            erasing,
        } = self.0.stats();
        let help = "Appends and blobs in each commit of the log";
        let mut shown = encoder.encode_descriptor("log_commit_changes", help, None, MetricType::Histogram)?;
        Scale::Count.encode(&commit_changes, &mut shown)?;
        let help = "Time that each commit of the log took";
        let seconds = Some(&Unit::Seconds);
        let mut shown = encoder.encode_descriptor("log_commit", help, seconds, MetricType::Histogram)?;
        Scale::Micros.encode(&commit_time, &mut shown)?;
        let help = "Commits of which nothing was stored";
        let shown = encoder.encode_descriptor("log_failed_commits", help, None, MetricType::Counter)?;
        ConstCounter::new(failed_commits).encode(shown)?;
        let help = "Appends and blobs that wait for the log's writer";
        let shown = encoder.encode_descriptor("log_queue_depth", help, None, MetricType::Gauge)?;
        ConstGauge::new(i64::try_from(waiting).unwrap_or(i64::MAX)).encode(shown)?;
        let help = "Whether the log has deleted data that is not overwritten yet";
        let shown = encoder.encode_descriptor("log_erasing", help, None, MetricType::Gauge)?;
        ConstGauge::new(i64::from(erasing)).encode(shown)
    }
}
