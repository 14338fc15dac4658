//! The conversation with one process of the agent.
//!
//! In: requests of the run, and bytes of the agent. Out: answers, with all that the agent sent meanwhile checked and answered. Owns: the
//! process, its limits in time and bytes. Never: knows what a request is for.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};

use crate::client::Client;
use crate::evidence::cut;
use crate::lines::{LONGEST_LINE, Lines};
use crate::process::Connection;
use crate::rule::Rule;
use crate::watch::Watch;
use crate::wire::{self, Answer, Frame};

/// Most that one process may send, in bytes.
const MOST_BYTES: u64 = 256 << 20;

/// Longest time of one process.
const LONGEST_RUN: Duration = Duration::from_mins(30);

/// Most answers that wait to leave. Each may have the bytes of a file.
const MOST_REPLIES: usize = 64;

/// Bytes that are read at once.
const PIECE_BYTES: usize = 64 << 10;

/// What became of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Its result.
    Result(Value),
    /// Its error.
    Error {
        /// The code; 0 if it has none.
        code: i64,
        /// The code and the message, cut.
        text: String,
    },
    /// No answer in time.
    Silent,
    /// The process cannot be used any more.
    Gone,
}

/// A connection with a checked and answered agent.
#[derive(Debug)]
pub struct Link {
    connection: Connection,
    /// What is known of the agent, with the verdicts.
    pub watch: Watch,
    /// What answers the agent.
    pub client: Client,
    lines: Lines,
    answers: BTreeMap<String, Answer>,
    /// Answers for the agent, which leave when no line of it waits to be read, or when they are many.
    replies: VecDeque<(Value, Answer)>,
    received: u64,
    next: u64,
    limit: Duration,
    end: Instant,
    /// Why the process cannot be used any more.
    pub gone: Option<String>,
}

impl Link {
    /// Takes over a new process. `limit` is the time for an answer.
    pub fn new(connection: Connection, watch: Watch, client: Client, limit: Duration) -> Self {
        Self {
            connection,
            watch,
            client,
            lines: Lines::default(),
            answers: BTreeMap::new(),
            replies: VecDeque::new(),
            received: 0,
            next: 0,
            limit,
            end: Instant::now() + LONGEST_RUN,
            gone: None,
        }
    }

    /// Sends a request with a number as its id, and waits for the answer.
    pub async fn call(&mut self, method: &str, params: Value) -> Outcome {
        let id = self.ask(method, params).await;
        self.answer(&id, method).await
    }

    /// Sends the first request, which waits that long for the agent to start.
    pub async fn initialize(&mut self, params: Value, limit: Duration) -> Outcome {
        let method = "initialize";
        let id = self.ask(method, params).await;
        self.answer_or_record(&id, method, limit).await
    }

    /// Sends a request with a number as its id.
    pub async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = json!(self.next);
        self.next += 1;
        self.ask_as(id, method, params).await
    }

    /// Sends a request with this id.
    pub async fn ask_as(&mut self, id: Value, method: &str, params: Value) -> Value {
        self.watch.request(&id, method, &params);
        let line = wire::request(&id, method, &params);
        self.write(line.as_bytes()).await;
        id
    }

    /// Sends a notification.
    pub async fn notify(&mut self, method: &str, params: Value) {
        self.write(wire::notification(method, &params).as_bytes()).await;
    }

    /// Sends a line as it is.
    pub async fn malformed(&mut self, line: &str) {
        self.watch.malformed();
        self.write(line.as_bytes()).await;
    }

    /// Waits for an answer, and records it if none comes in time.
    pub async fn answer(&mut self, id: &Value, method: &str) -> Outcome {
        self.answer_or_record(id, method, self.limit).await
    }

    async fn answer_or_record(&mut self, id: &Value, method: &str, limit: Duration) -> Outcome {
        let outcome = self.answer_within(id, limit).await;
        if outcome == Outcome::Silent {
            let reason = format!("no answer within {} s", limit.as_secs());
            self.watch.rows.violated_by(method, Rule::Answered, &reason);
        }
        outcome
    }

    /// Waits that long for an answer.
    pub async fn answer_within(&mut self, id: &Value, limit: Duration) -> Outcome {
        let until = Instant::now() + limit;
        let key = id.to_string();
        loop {
            if let Some(answer) = self.answers.remove(&key) {
                return outcome(answer);
            }
            if self.gone.is_some() {
                return Outcome::Gone;
            }
            if !self.step(until).await && self.gone.is_none() {
                return Outcome::Silent;
            }
        }
    }

    /// Returns whether the answer of a request is there, and was not taken yet.
    pub fn is_answered(&self, id: &Value) -> bool {
        self.answers.contains_key(&id.to_string())
    }

    /// Reads for a while, for messages that should not come.
    pub async fn settle(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while self.gone.is_none() && self.step(until).await {}
    }

    /// Reads and checks the next line. Returns false if none came until then.
    pub async fn step(&mut self, until: Instant) -> bool {
        if self.replies.len() >= MOST_REPLIES {
            self.reply().await;
        }
        if let Some(line) = self.lines.next() {
            self.line(&line);
            return true;
        }
        self.reply().await;
        // An agent that sends all the time has limits as well.
        let now = Instant::now();
        if now >= self.end {
            self.overrun().await;
        }
        if self.gone.is_some() || now >= until {
            return false;
        }
        let mut piece = vec![0; PIECE_BYTES];
        let until = until.min(self.end);
        match timeout_at(until, self.connection.output.read(&mut piece)).await {
            Err(_) if until == self.end => {
                self.overrun().await;
                false
            }
            Err(_) => false,
            Ok(Ok(0)) => {
                self.ended().await;
                false
            }
            Ok(Ok(count)) => {
                self.received += count as u64;
                self.lines.push(&piece[..count]);
                if self.lines.is_over() {
                    self.fail(&format!("a line has more than {LONGEST_LINE} bytes"))
                        .await;
                } else if self.received > MOST_BYTES {
                    self.fail(&format!("the agent sent more than {MOST_BYTES} bytes"))
                        .await;
                }
                true
            }
            Ok(Err(error)) => {
                self.fail(&format!("standard output cannot be read: {error}"))
                    .await;
                false
            }
        }
    }

    /// Sends the answers that wait.
    async fn reply(&mut self) {
        while let Some((id, answer)) = self.replies.pop_front() {
            self.watch.answered(&id);
            self.write(wire::response(&id, &answer).as_bytes()).await;
        }
    }

    fn line(&mut self, line: &[u8]) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match self.watch.line(line) {
            Some(Frame::Request { id, method, params }) => {
                let answer = self.client.answer(&method, &params);
                if let (Ok(result), Some(session)) =
                    (&answer, params.get("sessionId").and_then(Value::as_str))
                    && let Some(terminal) = result.get("terminalId").and_then(Value::as_str)
                {
                    self.watch.created_terminal(session, terminal);
                }
                self.replies.push_back((id, answer));
            }
            Some(Frame::Response { id, answer }) if self.watch.has_asked(&id) => {
                self.answers.entry(id.to_string()).or_insert(answer);
            }
            Some(Frame::Response { .. } | Frame::Notification { .. }) | None => {}
        }
    }

    async fn ended(&mut self) {
        let rest = self.lines.rest().to_vec();
        if !rest.is_empty() {
            self.line(&rest);
        }
        self.fail("the agent closed its standard output").await;
    }

    /// Gives up the process.
    async fn fail(&mut self, reason: &str) {
        if self.gone.is_some() {
            return;
        }
        let stderr = self.connection.stderr().await;
        let reason = if stderr.is_empty() {
            reason.to_owned()
        } else {
            format!("{reason}; standard error ends with: {stderr}")
        };
        self.watch.rows.violated_by("process", Rule::Running, &reason);
        self.gone = Some(reason);
    }

    /// Gives up a process whose time is over.
    async fn overrun(&mut self) {
        let limit = LONGEST_RUN.as_secs();
        self.fail(&format!("the run took more than {limit} s")).await;
    }

    async fn write(&mut self, bytes: &[u8]) {
        if self.gone.is_some() {
            return;
        }
        let input = &mut self.connection.input;
        let writing = async {
            input.write_all(bytes).await?;
            input.flush().await
        };
        // Answers that an agent takes one by one, each just in time, end with the run.
        let until = self.end.min(Instant::now() + self.limit);
        match timeout_at(until, writing).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => self.fail("the agent closed its standard input").await,
            Err(_) if until == self.end => self.overrun().await,
            Err(_) => {
                let limit = self.limit.as_secs();
                self.fail(&format!(
                    "the agent did not read its standard input for {limit} s"
                ))
                .await;
            }
        }
    }

    /// Ends the process, and returns what was found out.
    pub async fn end(self) -> Watch {
        self.connection.end().await;
        self.watch
    }
}

fn outcome(answer: Answer) -> Outcome {
    match answer {
        Ok(result) => Outcome::Result(result),
        Err(error) => {
            let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
            let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
            Outcome::Error {
                code,
                text: cut(&format!("error {code}: {message}"), 200),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{DuplexStream, duplex};

    use super::*;
    use crate::report::Rows;
    use crate::version::Version;

    fn link(pipe: usize, limit: Duration) -> (Link, DuplexStream) {
        let (ours, theirs) = duplex(pipe);
        let (output, input) = tokio::io::split(ours);
        let watch = Watch::new(Version::One, Rows::default());
        let link = Link::new(
            Connection::within(output, input),
            watch,
            Client::new("/w", false),
            limit,
        );
        (link, theirs)
    }

    #[tokio::test(start_paused = true)]
    async fn writing_ends_with_the_run() {
        let (mut link, _theirs) = link(16, 2 * LONGEST_RUN);
        let begin = Instant::now();
        assert_eq!(link.call("initialize", json!({})).await, Outcome::Gone);
        assert!(begin.elapsed() <= LONGEST_RUN + Duration::from_secs(1));
        assert_eq!(link.gone.as_deref(), Some("the run took more than 1800 s"));
    }

    #[tokio::test(start_paused = true)]
    async fn few_answers_wait_to_leave() {
        let (mut link, mut theirs) = link(1 << 20, Duration::from_secs(30));
        let request = wire::request(&json!(1), "fs/read_text_file", &json!({ "path": "/w/none" }));
        theirs
            .write_all(request.repeat(1_000).as_bytes())
            .await
            .expect("the pipe has room");
        let until = Instant::now() + Duration::from_secs(1);
        while link.step(until).await {
            assert!(link.replies.len() <= MOST_REPLIES);
        }
        assert_eq!((link.gone.as_deref(), link.replies.len()), (None, 0));
        let mut answers = vec![0; 1 << 20];
        let count = theirs.read(&mut answers).await.expect("they are answered");
        let ended = answers[..count].iter().filter(|byte| **byte == b'\n');
        assert_eq!(ended.count(), 1_000);
    }
}
