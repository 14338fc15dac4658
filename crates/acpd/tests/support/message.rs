//! What the daemon sends by itself, and what it must be like.

use std::sync::Arc;

use serde_json::Value;

/// A notification or a request of the daemon.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    /// Its method.
    pub method: String,
    /// Its params.
    pub params: Value,
    /// For a request: under which id it is to be answered.
    pub id: Option<Value>,
}

impl Incoming {
    /// The event's number.
    pub fn seq(&self) -> u64 {
        self.params["seq"]
            .as_u64()
            .unwrap_or_else(|| panic!("no seq: {self:?}"))
    }

    /// A text among the params; empty if there is none.
    pub fn text(&self, key: &str) -> &str {
        self.params[key].as_str().unwrap_or_default()
    }

    /// Checks what holds for everything about a thread.
    pub fn check(&self) {
        let params = &self.params;
        assert!(params["threadId"].is_string(), "no threadId: {self:?}");
        assert!(params["seq"].is_u64(), "no seq: {self:?}");
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

    /// Whether a person is asked for something.
    pub fn is_question(&self) -> bool {
        self.method.ends_with("/requestApproval") || self.wants_information()
    }

    /// Whether the policy asks, about something that the agent wants without a tool call. That is about no item.
    fn is_the_policys(&self) -> bool {
        self.method.ends_with("/requestApproval") && self.params["toolCall"]["toolCallId"].is_null()
    }

    /// Whether a person is asked for more than a yes or a no. That is about no item.
    fn wants_information(&self) -> bool {
        self.method == "item/tool/requestUserInput"
    }
}

/// What came from a turn's start to its end.
#[derive(Debug)]
pub struct Turn {
    /// All of it, in order.
    pub messages: Vec<Arc<Incoming>>,
    /// The turn, as `turn/completed` tells it.
    pub end: Value,
}

impl Turn {
    /// How it ended.
    pub fn status(&self) -> &str {
        self.end["status"].as_str().expect("a turn has a status")
    }

    /// Why it ended so.
    pub fn error(&self) -> &str {
        self.end["error"].as_str().unwrap_or_default()
    }

    /// What the agent said: its text, whether that came as text or as a block of text.
    pub fn said(&self) -> String {
        let text = |message: &&Incoming| match &message.params["content"]["text"] {
            Value::String(block) => block.clone(),
            _ => message.text("text").to_owned(),
        };
        let deltas = self.of("item/agentMessage/delta");
        // Those of earlier turns may still be on their way when this one starts.
        let own = deltas
            .iter()
            .filter(|delta| delta.params["turnId"] == self.end["id"]);
        own.map(text).collect()
    }

    /// What came under one method.
    pub fn of(&self, method: &str) -> Vec<&Incoming> {
        self.messages
            .iter()
            .filter(|message| message.method == method)
            .map(AsRef::as_ref)
            .collect()
    }

    /// The only one that came under a method.
    pub fn one(&self, method: &str) -> &Incoming {
        let found = self.of(method);
        assert_eq!(found.len(), 1, "{method}: {found:#?}");
        found[0]
    }

    /// All methods, in order.
    pub fn methods(&self) -> Vec<&str> {
        self.messages
            .iter()
            .map(|message| message.method.as_str())
            .collect()
    }
}
