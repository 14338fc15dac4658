//! Traces: where spans are sent, if this program was built with the feature `traces`.

use std::sync::Arc;

use acpd_runtime::observe::span::Traces;
use acpd_server::TracesConfig;

/// Sends spans until it is stopped.
#[derive(Debug, Default)]
pub struct Sender(#[cfg(feature = "traces")] Option<Arc<acpd_traces::Exporter>>);

/// Checks an endpoint.
pub fn check(endpoint: &str) -> Result<(), String> {
    #[cfg(feature = "traces")]
    let checked = acpd_traces::check(endpoint).map_err(|error| error.to_string());
    #[cfg(not(feature = "traces"))]
    let checked: Result<(), String> = {
        let _ = endpoint;
        Err("this acpd was built without traces: build it with --features traces".to_owned())
    };
    checked.map_err(|error| format!("traces.endpoint: {error}"))
}

impl Sender {
    /// Starts to send spans, if the configuration names an endpoint.
    #[cfg(feature = "traces")]
    pub fn start(config: &TracesConfig) -> anyhow::Result<Self> {
        let Some(endpoint) = &config.endpoint else {
            return Ok(Self::default());
        };
        let exporter = acpd_traces::Exporter::start(endpoint, env!("CARGO_PKG_VERSION"))
            .map_err(|error| anyhow::anyhow!("traces.endpoint: {error}"))?;
        tracing::info!(
            endpoint,
            "sending traces, which contain no prompts, output or file contents"
        );
        Ok(Self(Some(Arc::new(exporter))))
    }

    /// Starts nothing: the configuration cannot name an endpoint.
    #[cfg(not(feature = "traces"))]
    pub fn start(_config: &TracesConfig) -> anyhow::Result<Self> {
        Ok(Self::default())
    }

    /// Returns the receiver of spans.
    pub fn sink(&self) -> Option<Arc<dyn Traces>> {
        #[cfg(feature = "traces")]
        let sink = self.0.clone().map(|exporter| exporter as Arc<dyn Traces>);
        #[cfg(not(feature = "traces"))]
        let sink = None;
        sink
    }

    /// Sends what is left, for a limited time.
    pub async fn stop(self) {
        #[cfg(feature = "traces")]
        if let Some(exporter) = self.0 {
            // A panic of the exporter is in the log already.
            let _ = tokio::task::spawn_blocking(move || exporter.stop()).await;
        }
    }
}
