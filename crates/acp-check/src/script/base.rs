//! The state of a run, and the requests that have one expected kind of answer.

use serde_json::{Value, json};

use super::methods::{self, Method};
use crate::link::{Link, Outcome};
use crate::options::Options;
use crate::report::Rows;
use crate::rule::Rule;
use crate::version::Version;
use crate::wire::{AUTH_REQUIRED, METHOD_NOT_FOUND};

/// A session that no agent has.
pub(super) const NO_SESSION: &str = "acp-check-no-such-session";

/// A run with one process.
#[derive(Debug)]
pub struct Script<'a> {
    pub(super) link: &'a mut Link,
    pub(super) version: Version,
    pub(super) options: &'a Options,
    /// The working directory of all sessions.
    pub(super) cwd: String,
    /// The result of `initialize`.
    pub(super) hello: Value,
    /// Why the agent needs a sign-in, in its words.
    pub sign_in: Option<String>,
}

impl<'a> Script<'a> {
    /// Begins a run after `initialize`, which had this result.
    pub fn new(
        link: &'a mut Link,
        version: Version,
        options: &'a Options,
        cwd: String,
        hello: Value,
    ) -> Self {
        Self {
            link,
            version,
            options,
            cwd,
            hello,
            sign_in: None,
        }
    }

    pub(super) fn rows(&mut self) -> &mut Rows {
        &mut self.link.watch.rows
    }

    /// Returns whether the agent declares a method.
    pub(super) fn declares(&self, name: &str) -> bool {
        methods::find(self.version, name).is_some_and(|method| self.declares_method(method))
    }

    pub(super) fn declares_method(&self, method: &Method) -> bool {
        let declared = self.hello.pointer(method.declared(self.version));
        declared.is_some_and(|declared| declared.is_object() || *declared == Value::Bool(true))
    }

    /// Returns the params of a method for a session.
    pub(super) fn params(&self, method: &str, session: &str) -> Value {
        match method {
            "session/load" | "session/resume" | "session/fork" => {
                json!({ "sessionId": session, "cwd": self.cwd, "mcpServers": [] })
            }
            "session/options" => json!({ "cwd": self.cwd }),
            "session/set_title" => json!({ "sessionId": session, "title": "acp-check" }),
            "session/list" | "auth/status" | "providers/list" => json!({}),
            _ => json!({ "sessionId": session }),
        }
    }

    /// Sends a request that must fail, with this code if there is one.
    pub(super) async fn refused(&mut self, row: &str, rule: Rule, call: (&str, Value), code: Option<i64>) {
        let (method, params) = call;
        match self.link.call(method, params).await {
            Outcome::Error { code: found, text } => {
                if code.is_none_or(|code| code == found) {
                    self.rows().ok(row, rule);
                } else if found == AUTH_REQUIRED {
                    // The sign-in may be checked before all else.
                    self.failed(row, rule, found, &text);
                } else {
                    self.rows().violated_by(row, rule, &text);
                }
            }
            Outcome::Result(result) => {
                let reason = format!("no error, but the result {result}");
                self.rows().violated_by(row, rule, &reason);
            }
            Outcome::Silent | Outcome::Gone => {}
        }
    }

    /// Sends a request of a method that the agent declares, and returns its result. Records why there is none.
    pub(super) async fn offered(&mut self, method: &str, params: Value) -> Option<Value> {
        match self.link.call(method, params).await {
            Outcome::Result(result) => {
                self.rows().ok(method, Rule::Declared);
                Some(result)
            }
            Outcome::Error { code, text } => {
                self.failed(method, Rule::Declared, code, &text);
                None
            }
            Outcome::Silent | Outcome::Gone => None,
        }
    }

    /// Records an error that the protocol permits, or that shows that a declared method does not exist.
    pub(super) fn failed(&mut self, method: &str, rule: Rule, code: i64, text: &str) {
        match code {
            METHOD_NOT_FOUND => self.rows().violated_by(method, Rule::Declared, text),
            AUTH_REQUIRED => {
                self.sign_in.get_or_insert_with(|| text.to_owned());
                self.rows()
                    .not_tried(method, rule, &format!("needs a sign-in: {text}"));
            }
            _ => self.rows().not_tried(method, rule, text),
        }
    }
}
