//! The queue of spans, and what is said about a collector that does not accept them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

/// Counts the spans that were not sent yet.
#[derive(Debug)]
pub(crate) struct Queue {
    most: usize,
    waiting: AtomicUsize,
    /// Whether the log says already that spans are dropped.
    is_dropping: AtomicBool,
}

impl Queue {
    pub fn new(most: usize) -> Self {
        Self {
            most,
            waiting: AtomicUsize::new(0),
            is_dropping: AtomicBool::new(false),
        }
    }

    /// Adds a span. Returns `false` if there are too many, so that it must be dropped.
    pub fn begin(&self) -> bool {
        if self.waiting.fetch_add(1, Ordering::Relaxed) < self.most {
            return true;
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        if !self.is_dropping.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                queued = self.most,
                "spans are dropped, because they are not sent fast enough"
            );
        }
        false
    }

    /// Removes spans that were sent or given up.
    fn end(&self, count: usize) {
        self.waiting.fetch_sub(count, Ordering::Relaxed);
        self.is_dropping.store(false, Ordering::Relaxed);
    }

    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

/// An exporter whose failures are logged once.
#[derive(Debug)]
pub(crate) struct Reported<E> {
    exporter: E,
    queue: Arc<Queue>,
    endpoint: String,
    has_failed: AtomicBool,
}

impl<E> Reported<E> {
    pub fn new(exporter: E, queue: Arc<Queue>, endpoint: String) -> Self {
        Self {
            exporter,
            queue,
            endpoint,
            has_failed: AtomicBool::new(false),
        }
    }
}

impl<E: SpanExporter> SpanExporter for Reported<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len();
        let sent = self.exporter.export(batch).await;
        self.queue.end(count);
        let had_failed = self.has_failed.swap(sent.is_err(), Ordering::Relaxed);
        let endpoint = &self.endpoint;
        match &sent {
            Err(error) if !had_failed => {
                tracing::warn!(endpoint, %error, "spans cannot be sent and are dropped; the next success is logged");
            }
            Ok(()) if had_failed => tracing::info!(endpoint, "spans are sent again"),
            _ => {}
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: std::time::Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_wait_have_a_bound() {
        let queue = Queue::new(2);
        assert!(queue.begin() && queue.begin() && !queue.begin());
        assert_eq!(queue.waiting(), 2);
        queue.end(1);
        assert!(queue.begin() && !queue.begin());
    }
}
