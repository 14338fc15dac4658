//! Sends spans to an OpenTelemetry collector (OTLP over HTTP, protobuf).
//!
//! In: finished [spans](Span) of the runtime. Out: requests to the collector, and one line of the log when it cannot be
//! reached, and when it can again. Owns: a bounded queue, and the thread that sends. Never: makes a turn wait, or keeps a
//! span that the collector did not accept.

mod client;
mod error;
mod export;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use acpd_model::limits::TRACE_SEND_SECS;
use acpd_runtime::observe::span::{Attribute, Span, SpanName, Traces, Value};
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, IdGenerator, RandomIdGenerator, SpanData, SpanEvents, SpanLinks,
    SpanProcessor,
};

use crate::client::{Address, HttpClient};
pub use crate::error::EndpointError;
use crate::export::{Queue, Reported};

/// Spans that may wait for the collector; further ones are dropped. A span has about half a kilobyte.
const TRACE_SPANS: usize = 2048;
/// Seconds that the daemon waits on shutdown until its last spans are sent.
const TRACE_FLUSH_SECS: u64 = 2;
/// The path of the collector for spans, by the specification of OTLP.
const PATH: &str = "/v1/traces";

/// Checks an endpoint without using it.
pub fn check(endpoint: &str) -> Result<(), EndpointError> {
    Address::parse(endpoint).map(drop)
}

/// Sends spans to a collector.
#[derive(Debug)]
pub struct Exporter {
    processor: BatchSpanProcessor,
    queue: Arc<Queue>,
    ids: RandomIdGenerator,
    scope: InstrumentationScope,
}

impl Exporter {
    /// Starts the thread that sends. Nothing is sent before there is a span.
    pub fn start(endpoint: &str, version: &'static str) -> Result<Self, EndpointError> {
        let address = Address::parse(endpoint)?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(address.with_path(PATH))
            .with_timeout(Duration::from_secs(TRACE_SEND_SECS))
            .with_http_client(HttpClient::new(&address))
            .build()
            .map_err(|error| EndpointError::Exporter(error.to_string()))?;
        let queue = Arc::new(Queue::new(TRACE_SPANS));
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(TRACE_SPANS)
            .build();
        let reported = Reported::new(exporter, Arc::clone(&queue), endpoint.to_owned());
        let mut processor = BatchSpanProcessor::builder(reported)
            .with_batch_config(config)
            .build();
        processor.set_resource(&resource(version));
        Ok(Self {
            processor,
            queue,
            ids: RandomIdGenerator::default(),
            scope: InstrumentationScope::builder("acpd")
                .with_version(version)
                .build(),
        })
    }

    /// Sends what is queued, for a limited time. Blocks.
    pub fn stop(&self) {
        let patience = Duration::from_secs(TRACE_FLUSH_SECS);
        if self.processor.shutdown_with_timeout(patience).is_err() {
            let left = self.queue.waiting();
            tracing::warn!(left, "some spans were not sent before the daemon stopped");
        }
    }
}

impl Traces for Exporter {
    fn trace_id(&self) -> [u8; 16] {
        self.ids.new_trace_id().to_bytes()
    }

    fn span_id(&self) -> [u8; 8] {
        self.ids.new_span_id().to_bytes()
    }

    fn record(&self, span: Span) {
        if self.queue.begin() {
            self.processor.on_end(data(span, self.scope.clone()));
        }
    }
}

/// The name of the service, unless the environment has another one.
fn resource(version: &'static str) -> Resource {
    let resource = Resource::builder().with_attribute(KeyValue::new("service.version", version));
    let has_name = std::env::var_os("OTEL_SERVICE_NAME").is_some();
    if has_name {
        resource.build()
    } else {
        resource.with_service_name("acpd").build()
    }
}

fn data(span: Span, instrumentation_scope: InstrumentationScope) -> SpanData {
    let Span {
        name,
        trace,
        id,
        parent,
        has_remote_parent,
        state,
        began,
        ended,
        failed,
        attributes,
    } = span;
    // A malformed state was left out where it was read; one that the SDK does not accept is left out here.
    let state = state.and_then(|state| state.parse::<TraceState>().ok());
    SpanData {
        span_context: SpanContext::new(
            TraceId::from_bytes(trace),
            SpanId::from_bytes(id),
            TraceFlags::SAMPLED,
            false,
            state.unwrap_or_default(),
        ),
        parent_span_id: parent.map_or(SpanId::INVALID, SpanId::from_bytes),
        parent_span_is_remote: has_remote_parent,
        span_kind: if name == SpanName::Turn {
            SpanKind::Server
        } else {
            SpanKind::Internal
        },
        name: name.word().into(),
        start_time: time(began),
        end_time: time(ended),
        attributes: attributes.into_iter().map(attribute).collect(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: if failed { Status::error("") } else { Status::Unset },
        instrumentation_scope,
    }
}

fn attribute((name, value): Attribute) -> KeyValue {
    match value {
        Value::Word(word) => KeyValue::new(name, word),
        Value::Name(text) => KeyValue::new(name, text),
        Value::Number(number) => KeyValue::new(name, number),
    }
}

fn time(millis: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_an_address_without_a_password() {
        for endpoint in [
            "",
            "collector",
            "collector:4318",
            "ftp://x",
            "http://",
            "http:///x",
            "grpc://x:4317",
        ] {
            assert!(
                matches!(Exporter::start(endpoint, "1"), Err(EndpointError::Address)),
                "{endpoint}"
            );
        }
        for endpoint in ["http://user:secret@x:4318", "https://token@x"] {
            let refused = Exporter::start(endpoint, "1").unwrap_err();
            assert!(matches!(refused, EndpointError::Password));
            assert!(!refused.to_string().contains("secret"));
        }
    }

    #[test]
    fn the_path_of_the_specification_is_added_once() {
        for (endpoint, sent_to) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"),
            ("https://x/otlp", "https://x/otlp/v1/traces"),
            ("https://x/otlp/v1/traces", "https://x/otlp/v1/traces"),
        ] {
            assert_eq!(Address::parse(endpoint).unwrap().with_path(PATH), sent_to);
        }
    }

    #[test]
    fn a_span_keeps_its_place_in_the_trace() {
        let span = Span {
            name: SpanName::Turn,
            trace: [1; 16],
            id: [2; 8],
            parent: Some([3; 8]),
            has_remote_parent: true,
            state: Some("a=b".into()),
            began: 1_700_000_000_123,
            ended: 1_700_000_001_000,
            failed: true,
            attributes: vec![("n", Value::Number(7)), ("w", Value::Word("x"))],
        };
        let sent = data(span, InstrumentationScope::builder("acpd").build());
        assert_eq!(sent.span_context.trace_id(), TraceId::from_bytes([1; 16]));
        assert_eq!(sent.parent_span_id, SpanId::from_bytes([3; 8]));
        assert_eq!(sent.span_context.trace_state().get("a"), Some("b"));
        assert!(sent.parent_span_is_remote && sent.span_kind == SpanKind::Server);
        assert_eq!(sent.status, Status::error(""));
        let took = sent.end_time.duration_since(sent.start_time).unwrap();
        assert_eq!(took, Duration::from_millis(877));
        assert_eq!(sent.attributes, [KeyValue::new("n", 7), KeyValue::new("w", "x")]);
    }
}
