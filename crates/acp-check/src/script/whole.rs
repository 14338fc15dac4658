//! The order of a run.

use serde_json::{Value, json};

use super::base::{NO_SESSION, Script};
use super::methods;
use crate::link::Outcome;
use crate::rule::Rule;
use crate::version::Version;
use crate::wire::{INVALID_PARAMS, METHOD_NOT_FOUND};

/// A method and a notification that ACP does not have.
const NO_METHOD: &str = "acp_check/no_such_method";

/// An extension that no agent has.
const NO_EXTENSION: &str = "_acp-check/no_such_extension";

impl Script<'_> {
    /// Checks everything behind `initialize`.
    pub async fn run(&mut self) {
        self.unknown_methods().await;
        self.authentication().await;
        let has_sessions = self.version == Version::One
            || self
                .hello
                .pointer("/capabilities/session")
                .is_some_and(Value::is_object);
        if has_sessions {
            self.sessions().await;
        } else {
            self.rows().not_offered("session/new", Rule::Declared);
        }
        self.noise().await;
        if let Some(reason) = self.link.gone.clone() {
            let reason = format!("the process is gone: {reason}");
            self.rows().not_tried("(rest of the run)", Rule::Running, &reason);
        } else {
            self.rows().ok("process", Rule::Running);
        }
    }

    async fn sessions(&mut self) {
        let wrong = ("session/new", json!({}));
        self.refused("session/new", Rule::Params, wrong, Some(INVALID_PARAMS))
            .await;
        let Some((session, opened)) = self.new_session().await else {
            self.without_session().await;
            return;
        };
        let Some((spare, _)) = self.new_session().await else {
            return;
        };
        self.wrong_requests(&session).await;
        self.undeclared(&spare).await;
        if self.version == Version::One {
            self.modes(&session).await;
        }
        self.config(&session, &opened).await;
        if self.whole_turn(&session).await {
            self.cancelled_turn(&session).await;
            self.two_prompts(&session).await;
        } else {
            let reason = "no turn was possible";
            self.rows().not_tried("session/cancel", Rule::Cancelled, reason);
            self.rows()
                .not_tried("session/prompt (two at once)", Rule::Answered, reason);
        }
        self.declared(&session, &spare).await;
        self.close_and_open(&session).await;
        self.delete(&spare).await;
    }

    /// Tries what needs no session, and records what does.
    async fn without_session(&mut self) {
        let reason = match &self.sign_in {
            Some(text) => format!("needs a sign-in: {text}"),
            None => "no session could be opened".to_owned(),
        };
        let mut rows = vec![
            ("session/prompt", Rule::Turn),
            ("session/cancel", Rule::Cancelled),
        ];
        let declared = methods::of(self.version).filter(|method| self.declares_method(method));
        rows.extend(declared.map(|method| (method.name, Rule::Declared)));
        self.wrong_requests(NO_SESSION).await;
        self.undeclared(NO_SESSION).await;
        for (method, rule) in rows {
            self.rows().not_tried(method, rule, &reason);
        }
    }

    /// Unknown methods, with a number and with a text as the id.
    async fn unknown_methods(&mut self) {
        for method in [NO_METHOD, NO_EXTENSION] {
            self.refused(method, Rule::Unknown, (method, json!({})), Some(METHOD_NOT_FOUND))
                .await;
        }
        let row = "(request with a text as its id)";
        let id = self.link.ask_as(json!("acp-check"), NO_METHOD, json!({})).await;
        match self.link.answer(&id, row).await {
            Outcome::Result(_) | Outcome::Error { .. } => self.rows().ok(row, Rule::Answered),
            Outcome::Silent | Outcome::Gone => {}
        }
    }

    /// Lists the ways to sign in, and takes the one that the user chose.
    async fn authentication(&mut self) {
        let (method, id) = match self.version {
            Version::One => ("authenticate", "id"),
            Version::Two => ("auth/login", "methodId"),
        };
        let listed = self.hello.get("authMethods").and_then(Value::as_array);
        let ids: Vec<String> = listed
            .into_iter()
            .flatten()
            .filter_map(|method| method.get(id)?.as_str().map(str::to_owned))
            .collect();
        if ids.is_empty() {
            self.rows().not_offered(method, Rule::Declared);
            return;
        }
        let params = json!({ "methodId": NO_SESSION });
        self.refused(method, Rule::Choice, (method, params), None).await;
        match self.options.sign_in.clone() {
            Some(chosen) => {
                self.offered(method, json!({ "methodId": chosen })).await;
            }
            None => {
                let reason = format!("--sign-in takes one of {}", ids.join(", "));
                self.rows().not_tried(method, Rule::Declared, &reason);
            }
        }
    }

    /// What an agent must survive: it comes last, since some do not.
    async fn noise(&mut self) {
        if self.link.gone.is_some() {
            return;
        }
        for method in [NO_METHOD, NO_EXTENSION] {
            self.link.notify(method, json!({})).await;
        }
        self.still_answers("(unknown notification)", Rule::Ignored).await;
        if self.link.gone.is_some() {
            return;
        }
        self.link
            .malformed("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\":\n")
            .await;
        self.still_answers("(malformed line)", Rule::Malformed).await;
    }

    /// Checks that the agent answers a request after something that it must ignore.
    async fn still_answers(&mut self, row: &str, rule: Rule) {
        let id = self.link.ask(NO_METHOD, json!({})).await;
        match self.link.answer_within(&id, self.options.limit).await {
            Outcome::Result(_) | Outcome::Error { .. } => self.rows().ok(row, rule),
            Outcome::Silent => {
                let reason = "the next request was not answered";
                self.rows().violated_by(row, rule, reason);
            }
            Outcome::Gone => {
                let reason = self.link.gone.clone().unwrap_or_default();
                self.rows().violated_by(row, rule, &reason);
            }
        }
    }
}
