//! Metrics over HTTP.

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::http::ServerState;

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// `GET /metrics`: returns all metrics as text.
pub async fn expose(State(server): State<ServerState>) -> Response {
    let text = server.service.context.metrics.text();
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response()
}

/// Counts rejected requests by reason.
pub async fn count_refusals(State(server): State<ServerState>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let reason = match response.status() {
        StatusCode::UNAUTHORIZED => "unauthenticated",
        StatusCode::FORBIDDEN => "forbidden",
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => "overloaded",
        status if status.is_client_error() => "malformed",
        _ => return response,
    };
    server.service.context.metrics.refused(reason);
    response
}
