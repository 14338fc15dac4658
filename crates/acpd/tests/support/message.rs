//! The daemon's notifications and requests, and their invariants.

use std::sync::Arc;

use serde_json::Value;

/// A notification or a request of the daemon.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    /// The method of the message.
    pub method: String,
    /// The unparsed params.
    pub params: Value,
    /// The id of a request; `None` for a notification.
    pub id: Option<Value>,
}

impl Incoming {
    /// Returns the event's number.
    pub fn seq(&self) -> u64 {
        self.params["seq"]
            .as_u64()
            .unwrap_or_else(|| panic!("no seq: {self:?}"))
    }

    /// Returns whether it only shows the current state, and is no event.
    pub fn is_live(&self) -> bool {
        const LIVE: [&str; 3] = [
            "item/terminalCommand/output",
            "thread/suggestions/updated",
            "turn/diff/updated",
        ];
        LIVE.contains(&self.method.as_str()) && self.params["seq"].is_null()
    }

    /// Returns a text member of the params; empty if there is none.
    pub fn text(&self, key: &str) -> &str {
        self.params[key].as_str().unwrap_or_default()
    }

    /// Checks the invariants of all messages about a thread.
    pub fn check(&self) {
        let params = &self.params;
        assert!(params["threadId"].is_string(), "no threadId: {self:?}");
        assert!(params["seq"].is_u64() || self.is_live(), "no seq: {self:?}");
        assert!(
            params["ts"].as_u64().is_some_and(|ts| ts > 1_700_000_000_000),
            "no ts in milliseconds: {self:?}"
        );
        assert!(
            !self.method.starts_with("turn/") || params["turnId"].is_string(),
            "no turnId: {self:?}"
        );
        assert!(
            !self.method.starts_with("item/")
                || self.wants_information()
                || self.is_the_policys()
                || params["itemId"].is_string(),
            "no itemId: {self:?}"
        );
        if let Some(id) = &self.id {
            assert!(self.is_question(), "a request of an unknown kind: {self:?}");
            assert_eq!(*id, params["requestId"], "a question's two ids differ");
        }
    }

    /// Returns whether it asks the user for a decision or for information.
    pub fn is_question(&self) -> bool {
        self.method.ends_with("/requestApproval") || self.wants_information()
    }

    /// Returns whether the policy asks about an action without a tool call. Such a request has no item.
    fn is_the_policys(&self) -> bool {
        self.method.ends_with("/requestApproval") && self.params["toolCall"]["toolCallId"].is_null()
    }

    /// Returns whether it asks the user for more than a yes or a no. Such a request has no item.
    fn wants_information(&self) -> bool {
        self.method == "item/tool/requestUserInput"
    }
}

/// The messages from a turn's start to its end.
#[derive(Debug)]
pub struct Turn {
    /// All messages, in order.
    pub messages: Vec<Arc<Incoming>>,
    /// The turn in `turn/completed`.
    pub end: Value,
}

impl Turn {
    /// Returns its final status.
    pub fn status(&self) -> &str {
        self.end["status"].as_str().expect("a turn has a status")
    }

    /// Returns its error; empty if there is none.
    pub fn error(&self) -> &str {
        self.end["error"].as_str().unwrap_or_default()
    }

    /// Returns the agent's text, sent as plain text or as a text block.
    pub fn said(&self) -> String {
        let text = |message: &&Incoming| match &message.params["content"]["text"] {
            Value::String(block) => block.clone(),
            _ => message.text("text").to_owned(),
        };
        let deltas = self.of("item/agentMessage/delta");
        // Chunks of earlier turns may arrive after this turn has started.
        let own = deltas
            .iter()
            .filter(|delta| delta.params["turnId"] == self.end["id"]);
        own.map(text).collect()
    }

    /// Returns the messages of one method.
    pub fn of(&self, method: &str) -> Vec<&Incoming> {
        self.messages
            .iter()
            .filter(|message| message.method == method)
            .map(AsRef::as_ref)
            .collect()
    }

    /// Returns the only message of a method.
    pub fn one(&self, method: &str) -> &Incoming {
        let found = self.of(method);
        assert_eq!(found.len(), 1, "{method}: {found:#?}");
        found[0]
    }

    /// Returns all methods, in order.
    pub fn methods(&self) -> Vec<&str> {
        self.messages
            .iter()
            .map(|message| message.method.as_str())
            .collect()
    }
}
