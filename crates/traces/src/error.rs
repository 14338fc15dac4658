//! Why spans cannot be sent.

/// Why spans cannot be sent to an endpoint.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The endpoint is not an address that OTLP over HTTP can use.
    #[error("the endpoint is not an address of the form http://HOST:PORT or https://HOST:PORT")]
    Address,
    /// The endpoint has a user name or a password.
    #[error("the endpoint contains a password: set the header with OTEL_EXPORTER_OTLP_HEADERS instead")]
    Password,
    /// The exporter cannot be made from the endpoint and the variables `OTEL_*`.
    #[error("{0}")]
    Exporter(String),
}
