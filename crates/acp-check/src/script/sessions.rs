//! Sessions: new ones, their choices, and what becomes of them by methods that an agent may leave out.

use std::time::Duration;

use serde_json::{Value, json};

use super::base::{NO_SESSION, Script};
use super::methods;
use crate::link::Outcome;
use crate::rule::Rule;
use crate::version::Version;
use crate::watch::values;
use crate::wire::INVALID_PARAMS;

/// How long a closed session is watched.
const SILENCE: Duration = Duration::from_millis(300);

/// Most pages of a list that are read.
const MOST_PAGES: usize = 20;

/// A mode or value that is not offered.
const NO_CHOICE: &str = "acp-check-no-such-value";

impl Script<'_> {
    /// Opens a session. Returns its id and the result.
    pub(super) async fn new_session(&mut self) -> Option<(String, Value)> {
        let params = json!({ "cwd": self.cwd, "mcpServers": [] });
        match self.link.call("session/new", params).await {
            Outcome::Result(result) => {
                let id = result.get("sessionId")?.as_str()?.to_owned();
                Some((id, result))
            }
            Outcome::Error { code, text } => {
                self.failed("session/new", Rule::NewId, code, &text);
                None
            }
            Outcome::Silent | Outcome::Gone => None,
        }
    }

    /// Picks another mode, and one that is not offered.
    pub(super) async fn modes(&mut self, session: &str) {
        let method = "session/set_mode";
        let known = self.link.watch.session(session);
        let (modes, current) = known
            .map(|known| (known.modes.clone(), known.mode.clone()))
            .unwrap_or_default();
        if modes.is_empty() {
            self.rows().not_offered(method, Rule::Declared);
            return;
        }
        let set = |mode: &str| json!({ "sessionId": session, "modeId": mode });
        let other = modes.iter().find(|mode| Some(*mode) != current.as_ref());
        if let Some(mode) = other.or(current.as_ref()) {
            self.offered(method, set(mode)).await;
        }
        self.refused(method, Rule::Choice, (method, set(NO_CHOICE)), None)
            .await;
        if let Some(mode) = current {
            self.offered(method, set(&mode)).await;
        }
    }

    /// Sets an option to another value, and to one that is not offered.
    pub(super) async fn config(&mut self, session: &str, opened: &Value) {
        let method = "session/set_config_option";
        let name = match self.version {
            Version::One => "id",
            Version::Two => "configId",
        };
        let options = opened.get("configOptions").and_then(Value::as_array);
        let Some(options) = options.filter(|options| !options.is_empty()) else {
            self.rows().not_offered(method, Rule::Declared);
            return;
        };
        let select = options.iter().find_map(|option| {
            let current = option.get("currentValue")?.as_str()?;
            let other = values(option).into_iter().find(|value| *value != current)?;
            Some((option.get(name)?.as_str()?, current, other))
        });
        let Some((id, current, other)) = select else {
            self.rows()
                .not_tried(method, Rule::Effect, "no option has two values");
            return;
        };
        let set = |value: &str| {
            let mut params = json!({ "sessionId": session, "configId": id, "value": value });
            if self.version == Version::Two {
                params["type"] = json!("id");
            }
            params
        };
        let (new, wrong, old) = (set(other), set(NO_CHOICE), set(current));
        if let Some(result) = self.offered(method, new).await {
            let listed = result.get("configOptions").and_then(Value::as_array);
            let found = listed.into_iter().flatten().find(|option| option[name] == id);
            if found.is_some_and(|option| option["currentValue"] == other) {
                self.rows().ok(method, Rule::Effect);
            } else {
                let reason = format!("{id} was set to {other}, and the answer is {result}");
                self.rows().violated_by(method, Rule::Effect, &reason);
            }
        }
        self.refused(method, Rule::Choice, (method, wrong), None).await;
        self.offered(method, old).await;
    }

    /// Requests of sessions that do not exist, and without required params.
    pub(super) async fn wrong_requests(&mut self, session: &str) {
        let wrong = json!({ "sessionId": session });
        self.refused(
            "session/prompt",
            Rule::Params,
            ("session/prompt", wrong),
            Some(INVALID_PARAMS),
        )
        .await;
        let params = Self::prompt_params(NO_SESSION, "hello");
        self.refused(
            "session/prompt",
            Rule::NoSession,
            ("session/prompt", params),
            None,
        )
        .await;
        for method in ["session/load", "session/resume"] {
            if self.declares(method) {
                let params = self.params(method, NO_SESSION);
                self.refused(method, Rule::NoSession, (method, params), None)
                    .await;
            }
        }
        // Nothing answers it.
        self.link
            .notify("session/cancel", json!({ "sessionId": NO_SESSION }))
            .await;
    }

    /// Calls the methods that the agent does not declare.
    pub(super) async fn undeclared(&mut self, session: &str) {
        for method in methods::of(self.version) {
            if self.declares_method(method) {
                continue;
            }
            self.rows().not_offered(method.name, Rule::Declared);
            if let Some(reason) = method.untried {
                self.rows().not_tried(method.name, Rule::Undeclared, reason);
                continue;
            }
            let params = self.params(method.name, session);
            self.refused(method.name, Rule::Undeclared, (method.name, params), None)
                .await;
        }
    }

    /// Calls the declared methods that change nothing, or nothing for good.
    pub(super) async fn declared(&mut self, session: &str, spare: &str) {
        for method in methods::of(self.version) {
            if self.declares_method(method)
                && let Some(reason) = method.untried
            {
                self.rows().not_tried(method.name, Rule::Declared, reason);
            }
        }
        for (method, about) in [
            ("auth/status", ""),
            ("providers/list", ""),
            ("session/status", session),
            ("session/options", ""),
            ("session/set_title", session),
            ("session/archive", spare),
            ("session/unarchive", spare),
        ] {
            if self.declares(method) {
                let params = self.params(method, about);
                self.offered(method, params).await;
            }
        }
        if self.declares("session/list") {
            self.list().await;
        }
        if self.declares("session/fork") {
            let params = self.params("session/fork", session);
            let forked = self.offered("session/fork", params).await;
            let id = forked.and_then(|result| result.get("sessionId")?.as_str().map(str::to_owned));
            if let Some(id) = id.filter(|_| self.declares("session/close")) {
                let params = self.params("session/close", &id);
                self.offered("session/close", params).await;
            }
        }
    }

    /// Returns the ids of listed sessions, of the first pages.
    async fn list(&mut self) -> Option<Vec<String>> {
        let mut ids = Vec::new();
        let mut params = json!({});
        for _ in 0..MOST_PAGES {
            let result = self.offered("session/list", params).await?;
            let sessions = result.get("sessions").and_then(Value::as_array);
            ids.extend(
                sessions
                    .into_iter()
                    .flatten()
                    .filter_map(|session| session.get("sessionId")?.as_str().map(str::to_owned)),
            );
            match result.get("nextCursor").and_then(Value::as_str) {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => break,
            }
        }
        Some(ids)
    }

    /// Closes a session, and opens it again.
    pub(super) async fn close_and_open(&mut self, session: &str) {
        self.close(session, true).await;
        match self.version {
            Version::One if self.declares("session/load") => {
                let params = self.params("session/load", session);
                self.offered("session/load", params).await;
            }
            Version::One => {}
            Version::Two => self.replay(session).await,
        }
        if self.declares("session/resume") {
            self.close(session, false).await;
            let params = self.params("session/resume", session);
            self.offered("session/resume", params).await;
        }
    }

    /// Closes a session, and checks once that it is.
    async fn close(&mut self, session: &str, is_first: bool) {
        if !self.declares("session/close") {
            return;
        }
        let params = self.params("session/close", session);
        if self.offered("session/close", params).await.is_some() && is_first {
            self.is_closed("session/close", session).await;
        }
    }

    /// Checks that a session is silent, and refuses prompts.
    async fn is_closed(&mut self, method: &str, session: &str) {
        self.link.settle(SILENCE).await;
        let params = Self::prompt_params(session, "hello");
        self.refused(method, Rule::Effect, ("session/prompt", params), None)
            .await;
    }

    /// Opens a session with its history, in version 2.
    async fn replay(&mut self, session: &str) {
        let method = "session/resume";
        let mut params = self.params(method, session);
        params["replayFrom"] = json!({ "type": "start" });
        if self.offered(method, params).await.is_none() {
            return;
        }
        let known = self.link.watch.session(session);
        match known.map_or(0, |known| known.replays) {
            1 => self.rows().ok(method, Rule::Replay),
            count => {
                let reason = format!("{count} replay_complete updates before the answer");
                self.rows().violated_by(method, Rule::Replay, &reason);
            }
        }
    }

    /// Deletes a session.
    pub(super) async fn delete(&mut self, session: &str) {
        let method = "session/delete";
        if !self.declares(method) {
            return;
        }
        let params = self.params(method, session);
        if self.offered(method, params).await.is_none() {
            return;
        }
        self.is_closed(method, session).await;
        if self.declares("session/list")
            && let Some(ids) = self.list().await
            && ids.iter().any(|id| id == session)
        {
            let reason = format!("session/list still has {session}");
            self.rows().violated_by(method, Rule::Effect, &reason);
        }
    }
}
