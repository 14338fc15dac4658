//! The recorded frames of a client, and its view of them.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use crate::support::check_acp;

/// The lines of a program: `{"on", "sent"}` and `{"on", "got"}` are frames of a connection, the others are steps.
pub struct Trace(Vec<Value>);

/// Prefixes of the client methods that serve the editor's own files and terminals.
const LENDING: [&str; 2] = ["fs/", "terminal/"];

impl Trace {
    /// Parses the text of a trace, one JSON object per line.
    pub fn read(text: &str) -> Self {
        let line = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        Self(text.lines().map(line).collect())
    }

    /// Returns the lines of a step, in order.
    pub fn steps(&self, name: &str) -> Vec<&Value> {
        self.0.iter().filter(|line| line["step"] == name).collect()
    }

    fn frames<'a>(&'a self, direction: &'a str) -> impl Iterator<Item = (&'a Value, &'a Value)> {
        self.0
            .iter()
            .filter_map(move |line| Some((&line["on"], line.get(direction)?)))
    }

    /// Returns how many messages of a method the client sent.
    pub fn did(&self, method: &str) -> usize {
        let sent = self.frames("sent");
        sent.filter(|(_, frame)| frame["method"] == method).count()
    }

    /// Returns how many messages of a method the client received.
    pub fn asked(&self, method: &str) -> usize {
        let got = self.frames("got");
        got.filter(|(_, frame)| frame["method"] == method).count()
    }

    /// Returns the methods that the editor served with its own files and terminals.
    pub fn lent(&self) -> Vec<&str> {
        let methods = self
            .frames("got")
            .filter_map(|(_, frame)| frame["method"].as_str());
        let lent: BTreeSet<_> = methods
            .filter(|method| LENDING.iter().any(|prefix| method.starts_with(prefix)))
            .collect();
        lent.into_iter().collect()
    }

    /// Checks every frame of the daemon: it fits the schema, each response belongs to a pending request, and in the end
    /// no request is pending on either side.
    pub fn check_frames(&self) {
        let (mut theirs, mut ours) = (HashMap::new(), HashMap::new());
        for line in &self.0 {
            let key = |frame: &Value| (line["on"].to_string(), frame["id"].to_string());
            if let Some(frame) = line.get("sent") {
                match (frame["method"].as_str(), frame.get("id")) {
                    (Some(method), Some(_)) => drop(theirs.insert(key(frame), method)),
                    (None, _) => {
                        assert!(ours.remove(&key(frame)).is_some(), "nobody asked: {frame}");
                        assert!(frame.get("error").is_none(), "the client refuses: {frame}");
                    }
                    (Some(_), None) => {}
                }
            } else if let Some(frame) = line.get("got") {
                match (frame["method"].as_str(), frame.get("id")) {
                    (Some(method), Some(_)) => {
                        check_acp(frame, None);
                        let before = ours.insert(key(frame), method);
                        assert!(before.is_none(), "its id is in use: {frame}");
                    }
                    (Some(_), None) => check_acp(frame, None),
                    (None, _) => {
                        let method = theirs.remove(&key(frame));
                        let method = method.unwrap_or_else(|| panic!("it was never asked: {frame}"));
                        check_acp(frame, Some(method));
                        assert!(frame.get("error").is_none(), "{method} fails: {frame}");
                    }
                }
            }
        }
        assert!(theirs.is_empty() && ours.is_empty(), "open: {theirs:?} {ours:?}");
    }

    /// Returns a connection's view of a session: prompts, from any client, and updates. Merges adjacent chunks of a
    /// text. Other connections do not have this connection's terminals. So a terminal appears as they receive it, as
    /// the `output` of its command.
    pub fn story(&self, on: u64, output: &str) -> Vec<Value> {
        let mut story: Vec<Value> = Vec::new();
        for line in self.0.iter().filter(|line| line["on"] == on) {
            let sent = line
                .get("sent")
                .filter(|frame| frame["method"] == "session/prompt");
            let got = line
                .get("got")
                .filter(|frame| frame["method"] == "session/update");
            let mut next = match (sent, got) {
                (Some(frame), _) => {
                    json!({ "sessionUpdate": "user_message_chunk", "content": frame["params"]["prompt"][0] })
                }
                (_, Some(frame)) => frame["params"]["update"].clone(),
                _ => continue,
            };
            if next["sessionUpdate"] == "user_message_chunk" {
                // A client receives no storage time and id for its own prompts.
                next = json!({ "sessionUpdate": "user_message_chunk", "content": next["content"] });
            }
            let mut terminals = 0;
            for shown in next["content"].as_array_mut().into_iter().flatten() {
                if shown["type"] == "terminal" {
                    *shown = text_content("");
                    terminals += 1;
                }
            }
            if terminals > 0 {
                let ended = json!({
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": next["toolCallId"],
                    "content": vec![text_content(output); terminals],
                });
                story.extend([next, ended]);
                continue;
            }
            let more = next["content"]["text"].as_str();
            match (story.last_mut(), more) {
                (Some(last), Some(more)) if may_merge(last, &next) => {
                    let text = format!("{}{more}", last["content"]["text"].as_str().expect("it is text"));
                    last["content"]["text"] = text.into();
                }
                _ => story.push(next),
            }
        }
        story
    }
}

/// Builds text content of a tool call.
fn text_content(text: &str) -> Value {
    json!({ "type": "content", "content": { "type": "text", "text": text } })
}

/// Returns whether two updates are chunks of one text of the agent.
fn may_merge(one: &Value, other: &Value) -> bool {
    one["sessionUpdate"] != "user_message_chunk"
        && one["sessionUpdate"] == other["sessionUpdate"]
        && one["messageId"] == other["messageId"]
        && one["content"]["type"] == "text"
        && other["content"]["type"] == "text"
}
