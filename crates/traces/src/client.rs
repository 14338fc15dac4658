//! HTTP requests to the collector. They run on the thread of the exporter.

use std::future::{Future, ready};
use std::pin::Pin;
use std::time::Duration;

use acpd_http_client::is_loopback;
use acpd_model::limits::TRACE_SEND_SECS;
use opentelemetry_http::{Bytes, HttpError, Request, Response};

use crate::error::EndpointError;

/// Maximum size of the collector's answer, in bytes.
const ANSWER_BYTES: u64 = 64 << 10;

/// The address of a collector.
#[derive(Debug)]
pub(crate) struct Address {
    /// Without a slash at the end.
    text: String,
    /// Whether the collector runs on this host.
    is_near: bool,
}

impl Address {
    pub fn parse(endpoint: &str) -> Result<Self, EndpointError> {
        let uri: ureq::http::Uri = endpoint.parse().map_err(|_| EndpointError::Address)?;
        let host = uri.host().filter(|host| !host.is_empty());
        let (Some("http" | "https"), Some(host)) = (uri.scheme_str(), host) else {
            return Err(EndpointError::Address);
        };
        if uri
            .authority()
            .is_some_and(|authority| authority.as_str().contains('@'))
        {
            return Err(EndpointError::Password);
        }
        if uri.query().is_some() {
            return Err(EndpointError::Address);
        }
        Ok(Self {
            text: endpoint.trim_end_matches('/').to_owned(),
            is_near: is_loopback(host),
        })
    }

    /// Returns the address with this path at its end.
    pub fn with_path(&self, path: &str) -> String {
        if self.text.ends_with(path) {
            return self.text.clone();
        }
        format!("{}{path}", self.text)
    }
}

/// Sends requests, and waits for their answers.
#[derive(Debug)]
pub(crate) struct HttpClient(ureq::Agent);

impl HttpClient {
    pub fn new(address: &Address) -> Self {
        // Without redirects: one would send headers with a token elsewhere.
        let settings = acpd_http_client::settings(Duration::from_secs(TRACE_SEND_SECS), address.is_near);
        Self(settings.http_status_as_error(false).build().into())
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let request = Request::from_parts(head, &body[..]);
        let answer = self.0.run(request)?;
        let (head, mut body) = answer.into_parts();
        let body = body.with_config().limit(ANSWER_BYTES).read_to_vec()?;
        Ok(Response::from_parts(head, Bytes::from(body)))
    }
}

impl opentelemetry_http::HttpClient for HttpClient {
    // The trait is written with async-trait. The thread of the exporter does nothing else, so it may wait here.
    fn send_bytes<'client, 'request>(
        &'client self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'request>>
    where
        'client: 'request,
        Self: 'request,
    {
        Box::pin(ready(self.send(request)))
    }
}
