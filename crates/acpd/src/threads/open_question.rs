//! The oldest open question of a thread.
//!
//! In: the daemon's question, and the user's answer. Out: requests that answer it, and how it was resolved. Never: shows a question,
//! or decides.

use std::sync::Arc;

use acpd_client::protocol::{Notification, QuestionAnswered, Resolved, ThreadResumeParams};
use acpd_client::{Client, Error, Notifications, Received, Update};
use acpd_model::{ErrorCode, json};
use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use crate::exit::Exit;
use crate::terminal::questions::Answer;

/// An open question, which this client and others may answer.
pub struct OpenQuestion {
    client: Client,
    notifications: Notifications,
    /// Its id.
    pub id: String,
    /// The question.
    pub asked: Notification,
    /// Its whole params.
    pub params: Value,
}

/// A message of the daemon, as its text.
#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    params: Value,
}

/// What every question has, also one that is newer than this program.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    request_id: String,
}

impl OpenQuestion {
    /// Returns the oldest open question of a thread, which the daemon sends to a new subscriber. The client keeps the
    /// texts of messages.
    pub async fn oldest(client: Client, thread_id: String) -> anyhow::Result<Self> {
        let mut notifications = client.notifications();
        let resume = ThreadResumeParams {
            after: None,
            limit: Some(1),
            start_agent: Some(false),
            thread_id,
        };
        let open = client.thread_resume(&resume).await?.thread.pending_request_ids;
        let Some(id) = open.into_iter().next() else {
            return Err(Exit::NotFound.error("the thread has no open question"));
        };
        loop {
            let received = next(&mut notifications).await?;
            if is_end_of(&received, &id).is_some() {
                return Err(Exit::NotFound.error("the question was answered a moment ago"));
            }
            // A client that may answer receives it as a request, and any other one as a notification. The daemon refuses an answer of
            // the latter.
            if !received.notification.is_question() {
                continue;
            }
            let Message { params } = message(&received)?;
            if Named::deserialize(&params).is_ok_and(|named| named.request_id == id) {
                return Ok(Self {
                    client,
                    notifications,
                    id,
                    asked: received.notification.clone(),
                    params,
                });
            }
        }
    }

    /// Sends an answer. [`resolved`](Self::resolved) returns whether it was the first one.
    pub async fn answer(&self, answer: &QuestionAnswered) -> anyhow::Result<()> {
        Ok(send_answer(&self.client, &self.id, answer).await?)
    }

    /// Waits until the question is resolved, and returns how, and the whole params of that. Cancel-safe.
    pub async fn resolved(&mut self) -> anyhow::Result<(Resolved, Value)> {
        loop {
            let received = next(&mut self.notifications).await?;
            if let Some(resolved) = is_end_of(&received, &self.id) {
                return Ok((resolved.clone(), message(&received)?.params));
            }
        }
    }
}

/// Sends the answer to a question. That another client was faster is not an error: the daemon reports how the question was resolved.
pub async fn send_answer(client: &Client, id: &str, answer: &QuestionAnswered) -> Result<(), Error> {
    let sent = match Answer::of(id, answer.clone()) {
        Answer::Approve(params) => client.item_approve(&params).await,
        Answer::Input(params) => client.item_answer(&params).await,
    };
    match sent {
        Err(Error::Refused(refusal)) if refusal.code == ErrorCode::AlreadyResolved.word() => Ok(()),
        sent => sent.map(drop),
    }
}

async fn next(notifications: &mut Notifications) -> anyhow::Result<Arc<Received>> {
    match notifications.next().await {
        Some(Ok(Update::Notification(received))) => Ok(received),
        Some(Ok(Update::Gap)) => Err(Exit::Failure.error(
            "the thread sent more than acpd could keep meanwhile; \"acpd show\" prints what became of the question",
        )),
        Some(Err(error)) => Err(error.into()),
        None => Err(Error::Closed.into()),
    }
}

/// Returns how a question was resolved, if a message says it.
fn is_end_of<'a>(received: &'a Received, id: &str) -> Option<&'a Resolved> {
    match &received.notification {
        Notification::ServerRequestResolved(resolved) if resolved.request_id == id => Some(resolved),
        _ => None,
    }
}

fn message(received: &Received) -> anyhow::Result<Message> {
    let text = received.text.as_deref().unwrap_or_default();
    json::read(text).context("the daemon sent a message that cannot be read")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use acpd_client::{ConnectError, Connection, Options};
    use futures_util::{SinkExt, StreamExt};
    use serde_json::json;
    use tokio::io::DuplexStream;
    use tokio_tungstenite::WebSocketStream;
    use tokio_tungstenite::tungstenite;

    use super::*;

    /// The daemon's end of a connection.
    struct Daemon(WebSocketStream<DuplexStream>);

    impl Daemon {
        async fn accept(far: DuplexStream) -> Self {
            let mut daemon = Self(tokio_tungstenite::accept_async(far).await.unwrap());
            let limits = json!({
                "messageBytes": 1000, "requestsPerWindow": 100, "requestWindowSecs": 10, "queuedTurns": 1, "requestsInFlight": 64,
                "threadCommands": 1, "outboundQueue": 1, "liveBatches": 1, "connections": 1, "pingSecs": 20, "pongSecs": 10,
                "writeSecs": 10,
            });
            let welcome = json!({
                "protocolVersion": 1, "serverInfo": { "name": "acpd", "version": "9" }, "limits": limits,
                "capabilities": {}, "identity": { "principal": "owner", "role": "owner" },
            });
            daemon.answer("initialize", &json!({ "result": welcome })).await;
            assert_eq!(daemon.read().await["method"], "initialized");
            daemon
        }

        async fn read(&mut self) -> Value {
            loop {
                if let tungstenite::Message::Text(text) = self.0.next().await.unwrap().unwrap() {
                    return serde_json::from_str(&text).unwrap();
                }
            }
        }

        async fn send(&mut self, message: &Value) {
            let text = tungstenite::Message::text(message.to_string());
            self.0.send(text).await.unwrap();
        }

        /// Answers the next request.
        async fn answer(&mut self, method: &str, answer: &Value) {
            let request = self.read().await;
            assert_eq!(request["method"], method);
            let mut answer = answer.clone();
            answer["id"] = request["id"].clone();
            self.send(&answer).await;
        }

        async fn resume(&mut self, open: &[&str]) {
            let thread = json!({
                "id": "t", "agentType": "demo", "cwd": "/", "status": "waiting", "archived": false, "createdAt": 1, "updatedAt": 1,
                "additionalDirectories": [], "latestSeq": 9, "turnCount": 1, "queuedTurnIds": [], "pendingRequestIds": open,
            });
            let resumed = json!({ "latestSeq": 9, "thread": thread });
            self.answer("thread/resume", &json!({ "result": resumed })).await;
        }

        async fn ask(&mut self, question: &str) {
            let params = json!({ "threadId": "t", "seq": 3, "ts": 1, "requestId": question, "newer": true });
            self.send(&json!({ "id": question, "method": "item/newer/requestApproval", "params": params }))
                .await;
        }

        async fn resolve(&mut self, question: &str) {
            let params = json!({
                "threadId": "t", "seq": 10, "ts": 1, "requestId": question, "outcome": "declined", "by": { "kind": "daemon" }, "newer": 1,
            });
            self.send(&json!({ "method": "serverRequest/resolved", "params": params }))
                .await;
        }
    }

    /// Returns a client, and the daemon's end of its connection.
    async fn connected() -> (Client, Daemon) {
        let (near, far) = tokio::io::duplex(64 << 10);
        let near = Mutex::new(Some(near));
        let options = Options::connector("test", move || {
            let near = near.lock().unwrap().take();
            async move {
                near.map(Connection::stream)
                    .ok_or_else(|| ConnectError::permanent("there is one connection"))
            }
        });
        let options = options.approvals(true).texts(true).reconnect(false);
        let (client, daemon) = tokio::join!(Client::connect(options), Daemon::accept(far));
        (client.unwrap(), daemon)
    }

    #[tokio::test(start_paused = true)]
    async fn the_answer_of_another_client_counts_if_it_was_first() {
        let (client, mut daemon) = connected().await;
        let script = async {
            daemon.resume(&["req_1", "req_2"]).await;
            daemon.ask("req_2").await;
            daemon.ask("req_1").await;
            let error = json!({ "code": -32004, "message": "late", "data": { "code": "already_resolved", "retryable": false } });
            daemon.answer("item/answer", &json!({ "error": error })).await;
            daemon.resolve("req_2").await;
            daemon.resolve("req_1").await;
            let error = json!({ "code": -32602, "message": "odd", "data": { "code": "invalid_params", "retryable": false } });
            daemon.answer("item/answer", &json!({ "error": error })).await;
            daemon
        };
        let command = async {
            let mut question = OpenQuestion::oldest(client, "t".to_owned()).await.unwrap();
            assert_eq!(question.id, "req_1");
            assert_eq!(question.params["newer"], true);
            let dismissed = serde_json::from_value(json!({ "dismissed": true })).unwrap();
            question.answer(&dismissed).await.unwrap();
            let (resolved, json) = question.resolved().await.unwrap();
            assert_eq!(
                (resolved.outcome.as_str(), &json["newer"]),
                ("declined", &json!(1))
            );
            // What the daemon does not accept is an error, and no wait without an end.
            let error = question.answer(&dismissed).await.unwrap_err();
            assert_eq!(error.to_string(), "odd");
        };
        tokio::join!(script, command);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_may_not_answer_sees_the_question_and_the_refusal() {
        let (client, mut daemon) = connected().await;
        let script = async {
            daemon.resume(&["req_1"]).await;
            let params = json!({ "threadId": "t", "seq": 3, "ts": 1, "requestId": "req_1", "newer": true });
            let question = json!({ "method": "item/newer/requestApproval", "params": params });
            daemon.send(&question).await;
            let error = json!({ "code": -32003, "message": "no", "data": { "code": "forbidden", "retryable": false } });
            daemon.answer("item/answer", &json!({ "error": error })).await;
            daemon
        };
        let command = async {
            let question = OpenQuestion::oldest(client, "t".to_owned()).await.unwrap();
            assert_eq!(
                (&*question.id, &question.params["newer"]),
                ("req_1", &json!(true))
            );
            let dismissed = serde_json::from_value(json!({ "dismissed": true })).unwrap();
            let error = question.answer(&dismissed).await.unwrap_err();
            assert_eq!(Exit::of(&error), Exit::Forbidden, "{error}");
        };
        tokio::join!(script, command);
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_that_is_gone_is_an_error() {
        let (client, mut daemon) = connected().await;
        let script = async {
            daemon.resume(&[]).await;
            daemon.resume(&["req_1"]).await;
            daemon.resolve("req_1").await;
            daemon
        };
        let command = async {
            for _ in 0..2 {
                let question = OpenQuestion::oldest(client.clone(), "t".to_owned()).await;
                let error = question.map(drop).unwrap_err();
                assert_eq!(Exit::of(&error), Exit::NotFound, "{error}");
            }
        };
        tokio::join!(script, command);
    }
}
