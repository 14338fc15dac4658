//! What went over the wire, as a client tells it, and what the client made of it.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use crate::support::check_acp;

/// Lines that a program told: `{"on", "sent"}` and `{"on", "got"}` are frames of a connection, the rest are steps.
pub struct Trace(Vec<Value>);

/// Of the client's methods, those that lend what is the editor's.
const LENDING: [&str; 2] = ["fs/", "terminal/"];

impl Trace {
    /// Of its text, a line each.
    pub fn read(text: &str) -> Self {
        let line = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        Self(text.lines().map(line).collect())
    }

    /// Lines of a step, in order.
    pub fn steps(&self, name: &str) -> Vec<&Value> {
        self.0.iter().filter(|line| line["step"] == name).collect()
    }

    fn frames<'a>(&'a self, direction: &'a str) -> impl Iterator<Item = (&'a Value, &'a Value)> {
        self.0
            .iter()
            .filter_map(move |line| Some((&line["on"], line.get(direction)?)))
    }

    /// How many messages of a method the client sent.
    pub fn did(&self, method: &str) -> usize {
        let sent = self.frames("sent");
        sent.filter(|(_, frame)| frame["method"] == method).count()
    }

    /// How many messages of a method the client got.
    pub fn asked(&self, method: &str) -> usize {
        let got = self.frames("got");
        got.filter(|(_, frame)| frame["method"] == method).count()
    }

    /// Which methods the editor served with what is its own.
    pub fn lent(&self) -> Vec<&str> {
        let methods = self
            .frames("got")
            .filter_map(|(_, frame)| frame["method"].as_str());
        let lent: BTreeSet<_> = methods
            .filter(|method| LENDING.iter().any(|prefix| method.starts_with(prefix)))
            .collect();
        lent.into_iter().collect()
    }

    /// Checks every frame of the daemon: it fits the schema, each answer answers something that was asked and was not
    /// answered yet, and in the end nothing is open on either side.
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

    /// What a connection shows of a session: prompts, from any client, and updates. Adjacent pieces of a text are one.
    /// Other connections do not have a terminal of this one: it reads as they get it, as the `output` of its command.
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
                // Of what the client sent itself it is not told when and as what it was stored.
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

/// Text that a tool call shows.
fn text_content(text: &str) -> Value {
    json!({ "type": "content", "content": { "type": "text", "text": text } })
}

/// Whether two updates are pieces of one text of the agent.
fn may_merge(one: &Value, other: &Value) -> bool {
    one["sessionUpdate"] != "user_message_chunk"
        && one["sessionUpdate"] == other["sessionUpdate"]
        && one["messageId"] == other["messageId"]
        && one["content"]["type"] == "text"
        && other["content"]["type"] == "text"
}
