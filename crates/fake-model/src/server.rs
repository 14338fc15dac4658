//! The HTTP server: routes and streaming.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, RawQuery, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::api::Api;
use crate::ask::Ask;
use crate::limits::{BODY_BYTES, SEEN_REQUESTS, SLOW_PAUSE};
use crate::reply::{Reply, Step};
use crate::script;

/// A received request.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Method and path.
    pub path: String,
    /// The parsed request; `None` if it was not a model request.
    pub ask: Option<Ask>,
    /// The model's reply.
    pub reply: Option<Reply>,
    /// Whether the client disconnected before the response ended.
    pub cut: bool,
}

#[derive(Debug, Default)]
struct Record {
    seen: VecDeque<Seen>,
    /// Number of requests so far, including dropped records.
    count: u64,
}

type Shared = Arc<Mutex<Record>>;

fn lock(record: &Shared) -> MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records a request; returns its number.
fn note(record: &Shared, path: String, ask: Option<Ask>, reply: Option<Reply>) -> u64 {
    let mut record = lock(record);
    if record.seen.len() == SEEN_REQUESTS {
        record.seen.pop_front();
    }
    record.seen.push_back(Seen {
        path,
        ask,
        reply,
        cut: false,
    });
    record.count += 1;
    record.count
}

/// A response stream. Dropping it before its end marks its request as cut.
struct Streaming {
    record: Shared,
    number: u64,
    left: VecDeque<Step>,
}

impl Drop for Streaming {
    fn drop(&mut self) {
        if self.left.is_empty() {
            return;
        }
        let mut record = lock(&self.record);
        let back = usize::try_from(record.count - self.number).unwrap_or(usize::MAX);
        let at = record.seen.len().checked_sub(back.saturating_add(1));
        if let Some(seen) = at.and_then(|at| record.seen.get_mut(at)) {
            seen.cut = true;
        }
    }
}

fn router(record: Shared) -> Router {
    Router::new()
        .route("/", get(|| async { Json(json!({})) }))
        .route("/v1/messages", post(messages))
        .route(
            "/v1/messages/count_tokens",
            post(|| async { Json(json!({ "input_tokens": 10 })) }),
        )
        .route("/v1/responses", post(responses))
        .route("/v1/chat/completions", post(chat))
        .route("/chat-stream", post(augment))
        .route("/get-models", post(augment_models))
        .route("/v1/models", get(models))
        .route("/v1/models/{call}", post(gemini))
        .route("/v1beta/models/{call}", post(gemini))
        .fallback(unknown)
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .with_state(record)
}

async fn messages(State(record): State<Shared>, body: Bytes) -> Response {
    answer(&record, Api::Anthropic, "POST /v1/messages", &body, None)
}

async fn responses(State(record): State<Shared>, body: Bytes) -> Response {
    answer(&record, Api::Responses, "POST /v1/responses", &body, None)
}

async fn chat(State(record): State<Shared>, body: Bytes) -> Response {
    answer(&record, Api::Chat, "POST /v1/chat/completions", &body, None)
}

async fn gemini(
    State(record): State<Shared>,
    Path(call): Path<String>,
    RawQuery(query): RawQuery,
    body: Bytes,
) -> Response {
    let Some((model, method)) = call.split_once(':') else {
        return (StatusCode::NOT_FOUND, Json(Api::Gemini.error("no method"))).into_response();
    };
    let stream = match method {
        "countTokens" => return Json(json!({ "totalTokens": 10 })).into_response(),
        "generateContent" => false,
        // Without alt=sse the response would be a JSON array; no tested agent requests that.
        "streamGenerateContent" if query.is_some_and(|query| query.contains("alt=sse")) => true,
        _ => return (StatusCode::NOT_FOUND, Json(Api::Gemini.error("unknown method"))).into_response(),
    };
    let path = format!("POST :{method}");
    answer(&record, Api::Gemini, &path, &body, Some((model, stream)))
}

async fn augment(State(record): State<Shared>, body: Bytes) -> Response {
    answer(&record, Api::Augment, "POST /chat-stream", &body, None)
}

/// Returns the models and settings of Augment's service.
async fn augment_models() -> Json<Value> {
    let model = json!({
        "name": "mock-model", "suggested_prefix_char_count": 1000, "suggested_suffix_char_count": 1000,
    });
    Json(json!({ "default_model": "mock-model", "models": [model], "languages": [], "feature_flags": {} }))
}

/// Returns the list of models, in a form that `OpenAI`'s, Anthropic's and Codex's clients accept.
async fn models() -> Json<Value> {
    let model = json!({
        "id": "mock-model", "object": "model", "type": "model", "display_name": "Mock model",
        "created": 1, "created_at": "2026-01-01T00:00:00Z", "owned_by": "acpd",
    });
    Json(json!({ "object": "list", "data": [model], "has_more": false, "models": [] }))
}

async fn unknown(State(record): State<Shared>, request: Request) -> Response {
    let path = format!("{} {}", request.method(), request.uri().path());
    note(&record, path, None, None);
    let error = json!({ "error": { "type": "not_found_error", "message": "no such path" } });
    (StatusCode::NOT_FOUND, Json(error)).into_response()
}

fn answer(record: &Shared, api: Api, path: &str, body: &[u8], named: Option<(&str, bool)>) -> Response {
    let body: Value = match serde_json::from_slice(body) {
        Ok(body) => body,
        Err(error) => {
            note(record, path.to_owned(), None, None);
            let error = api.error(&format!("the body is not JSON: {error}"));
            return (StatusCode::BAD_REQUEST, Json(error)).into_response();
        }
    };
    let mut ask = api.read(&body);
    if let Some((model, stream)) = named {
        (ask.model, ask.stream) = (model.to_owned(), stream);
    }
    let reply = script::reply(&ask);
    let number = note(record, path.to_owned(), Some(ask.clone()), Some(reply.clone()));
    if !ask.stream {
        return Json(api.whole(&ask, &reply, number)).into_response();
    }
    let streaming = Streaming {
        record: Arc::clone(record),
        number,
        left: api.steps(&ask, &reply, number).into(),
    };
    let body = stream::unfold(streaming, |mut streaming| async move {
        if streaming.left.front()?.pause {
            tokio::time::sleep(SLOW_PAUSE).await;
        }
        let step = streaming.left.pop_front()?;
        Some((Ok::<_, std::convert::Infallible>(step.bytes), streaming))
    });
    let kind = [
        (header::CONTENT_TYPE, api.stream_type()),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (kind, Body::from_stream(body)).into_response()
}

/// Serves until the listener fails.
pub async fn serve(listener: TcpListener) -> std::io::Result<()> {
    axum::serve(listener, router(Shared::default())).await
}

/// A fake model on its own port, for tests. Dropping it stops the server.
#[derive(Debug)]
pub struct FakeModel {
    address: SocketAddr,
    record: Shared,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FakeModel {
    /// Starts a server on a free loopback port.
    pub fn start() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let address = listener.local_addr()?;
        let record = Shared::default();
        let router = router(Arc::clone(&record));
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = axum::serve(listener, router) => {}
                    _ = stopped => {}
                }
            });
            // Does not wait for streams in a pause.
            runtime.shutdown_background();
        });
        Ok(Self {
            address,
            record,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Returns the server's address as `http://ADDRESS`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the recorded requests, oldest first.
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.record).seen.iter().cloned().collect()
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        // The thread may have exited already.
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
