//! Turns: one that ends by itself, one that is cancelled, and two at once.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::base::Script;
use crate::link::Outcome;
use crate::rule::Rule;
use crate::version::Version;

/// Error code of a request that was cancelled.
const REQUEST_CANCELLED: i64 = -32800;

/// How often a turn is cancelled: one that ended just then proves nothing.
const ATTEMPTS: u32 = 2;

/// How long a turn that has begun is watched before it is cancelled.
const BEGINNING: Duration = Duration::from_millis(50);

/// How a turn ended.
#[derive(Debug)]
pub(super) enum Turn {
    /// With a reason, if the agent gave one, and the result of the prompt.
    Ended(Option<String>, Value),
    /// With an error instead of an answer.
    Refused(i64, String),
    /// Not in time.
    Silent,
    /// The process is gone.
    Gone,
}

/// A prompt on its way.
#[derive(Debug)]
pub(super) struct Prompt {
    id: Value,
    session: String,
    updates: u64,
    started: u64,
}

impl Script<'_> {
    /// Returns the params of a prompt.
    pub(super) fn prompt_params(session: &str, text: &str) -> Value {
        json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
    }

    async fn prompt(&mut self, session: &str, text: &str) -> Prompt {
        let known = self.link.watch.session(session);
        let (updates, started) = known.map_or((0, 0), |known| (known.updates, known.started));
        let params = Self::prompt_params(session, text);
        let id = self.link.ask("session/prompt", params).await;
        Prompt {
            id,
            session: session.to_owned(),
            updates,
            started,
        }
    }

    /// Returns whether foreground work has begun and ended since the prompt, in version 2.
    fn is_idle(&self, prompt: &Prompt) -> bool {
        let known = self.link.watch.session(&prompt.session);
        known.is_some_and(|known| known.started > prompt.started && known.state == "idle")
    }

    /// Waits for the end of a turn.
    async fn end(&mut self, prompt: &Prompt) -> Turn {
        let until = Instant::now() + self.options.turn_limit;
        let answered = self.link.answer_within(&prompt.id, self.options.turn_limit).await;
        let result = match answered {
            Outcome::Result(result) => result,
            Outcome::Error { code, text } => return Turn::Refused(code, text),
            Outcome::Silent => return Turn::Silent,
            Outcome::Gone => return Turn::Gone,
        };
        if self.version == Version::One {
            let reason = result
                .get("stopReason")
                .and_then(Value::as_str)
                .map(str::to_owned);
            return Turn::Ended(reason, result);
        }
        while !self.is_idle(prompt) {
            if self.link.gone.is_some() {
                return Turn::Gone;
            }
            if !self.link.step(until).await && self.link.gone.is_none() {
                return Turn::Silent;
            }
        }
        let known = self.link.watch.session(&prompt.session);
        Turn::Ended(known.and_then(|known| known.stop_reason.clone()), result)
    }

    /// Runs a turn that ends by itself. Returns whether it did.
    pub(super) async fn whole_turn(&mut self, session: &str) -> bool {
        let text = self.options.prompt.clone();
        let prompt = self.prompt(session, &text).await;
        let result = match self.end(&prompt).await {
            Turn::Ended(_, result) => result,
            Turn::Refused(code, text) => {
                self.failed("session/prompt", Rule::Turn, code, &text);
                return false;
            }
            Turn::Silent => {
                let reason = format!("no end within {} s", self.options.turn_limit.as_secs());
                self.rows().violated_by("session/prompt", Rule::Turn, &reason);
                self.cancel(session).await;
                return false;
            }
            Turn::Gone => return false,
        };
        self.rows().ok("session/prompt", Rule::Turn);
        if self.version == Version::Two {
            let id = result
                .get("messageId")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let is_echoed = self
                .link
                .watch
                .session(session)
                .is_some_and(|known| known.has_echo(id));
            if is_echoed {
                self.rows().ok("session/prompt", Rule::Echo);
            } else {
                let reason = format!("no user_message or user_message_chunk has the id {id:?}");
                self.rows().violated_by("session/prompt", Rule::Echo, &reason);
            }
        }
        true
    }

    async fn cancel(&mut self, session: &str) {
        self.link.client.set_cancelled(session, true);
        self.link
            .notify("session/cancel", json!({ "sessionId": session }))
            .await;
    }

    /// Cancels a turn in its middle.
    pub(super) async fn cancelled_turn(&mut self, session: &str) {
        let mut fault = None;
        for _ in 0..ATTEMPTS {
            let text = self.options.long_prompt.clone();
            let prompt = self.prompt(session, &text).await;
            let until = Instant::now() + self.options.limit;
            while self.is_quiet(&prompt) && self.link.step(until).await {}
            // Its end may already be on its way.
            self.link.settle(BEGINNING).await;
            let is_over = match self.version {
                Version::One => self.link.is_answered(&prompt.id),
                Version::Two => self.is_idle(&prompt),
            };
            if is_over {
                // It ended before.
                self.end(&prompt).await;
                continue;
            }
            self.cancel(session).await;
            let end = self.end(&prompt).await;
            self.link.client.set_cancelled(session, false);
            match end {
                Turn::Ended(Some(reason), _) if reason == "cancelled" => {
                    self.rows().ok("session/cancel", Rule::Cancelled);
                    return;
                }
                // A prompt that waited behind another turn.
                Turn::Refused(REQUEST_CANCELLED, _) if self.version == Version::Two => {
                    self.rows().ok("session/cancel", Rule::Cancelled);
                    return;
                }
                Turn::Ended(reason, _) => {
                    fault = Some(format!(
                        "the turn ended with {}",
                        reason.as_deref().unwrap_or("no reason")
                    ));
                }
                Turn::Refused(_, text) => fault = Some(text),
                Turn::Silent => {
                    let limit = self.options.turn_limit.as_secs();
                    fault = Some(format!("no end within {limit} s"));
                    break;
                }
                Turn::Gone => return,
            }
        }
        match fault {
            Some(fault) => self.rows().violated_by("session/cancel", Rule::Cancelled, &fault),
            None => self.rows().not_tried(
                "session/cancel",
                Rule::Cancelled,
                "the turn ended before it could be cancelled; --long-prompt sets a longer one",
            ),
        }
    }

    /// Returns whether the agent has sent nothing of a turn yet.
    fn is_quiet(&self, prompt: &Prompt) -> bool {
        let known = self.link.watch.session(&prompt.session);
        let has_begun = known.is_some_and(|known| known.updates > prompt.updates);
        !has_begun && !self.link.is_answered(&prompt.id) && self.link.gone.is_none()
    }

    /// Sends two prompts at once, and cancels them. Agents may refuse or queue the second one, but answer both.
    pub(super) async fn two_prompts(&mut self, session: &str) {
        let (long, short) = (self.options.long_prompt.clone(), self.options.prompt.clone());
        let first = self.prompt(session, &long).await;
        let second = self.prompt(session, &short).await;
        self.cancel(session).await;
        let row = "session/prompt (two at once)";
        for prompt in [&first, &second] {
            let limit = self.options.turn_limit;
            match self.link.answer_within(&prompt.id, limit).await {
                Outcome::Silent => {
                    let reason = format!("no answer within {} s", limit.as_secs());
                    self.rows().violated_by(row, Rule::Answered, &reason);
                }
                Outcome::Result(_) | Outcome::Error { .. } => self.rows().ok(row, Rule::Answered),
                Outcome::Gone => return,
            }
        }
        self.link.client.set_cancelled(session, false);
        let until = Instant::now() + self.options.limit;
        let is_busy = |script: &Self| {
            let known = script.link.watch.session(session);
            known.is_some_and(|known| known.state != "idle")
        };
        while is_busy(self) && self.link.step(until).await {}
    }
}
