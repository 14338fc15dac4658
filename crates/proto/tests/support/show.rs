//! Formats logs, notifications and lines to the agent as short lines for snapshots.

use std::fmt::{self, Write as _};

use acpd_model::{Event, EventKind, ItemEvent, ItemId, Origin};
use acpd_proto::surface::app::Frame;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::scene::{Scene, Sent};

/// The maximum number of characters of a string.
const TEXT: usize = 40;
/// The maximum number of characters of a line.
const LINE: usize = 240;
/// The maximum depth of nesting.
const DEPTH: usize = 4;
/// The maximum number of elements of a list.
const ELEMENTS: usize = 3;

/// JSON with the members in their original order.
enum Tree {
    Object(Vec<(String, Tree)>),
    List(Vec<Tree>),
    Text(String),
    Other(String),
}

/// The maximum number of consecutive deltas of one message; the others are counted.
const DELTAS: usize = 6;

/// Returns all output of a scene: the log with the messages to the agent, then the notifications to clients.
pub fn story(scene: &Scene) -> String {
    let mut out = String::from("log, and → what which process of the agent was told\n\n");
    let mut sent = scene.sent.iter().peekable();
    let mut run = Run::default();
    for event in &scene.log {
        while let Some(line) = sent.next_if(|line| (line.after as u64) < event.seq) {
            run.end(&mut out);
            out += &shown_line(line);
        }
        run.add(&mut out, delta_of(event), || stored(event));
    }
    run.end(&mut out);
    for line in sent {
        out += &shown_line(line);
    }
    out += "\nwhat clients saw\n\n";
    for (event, frame) in scene.log.iter().zip(&scene.frames) {
        run.add(&mut out, delta_of(event), || shown(frame));
    }
    run.end(&mut out);
    out
}

/// Returns the item of a delta, and the length of its text.
fn delta_of(event: &Event) -> Option<(ItemId, usize)> {
    match &event.kind {
        EventKind::Item(ItemEvent::Delta { item, text, .. }) => Some((*item, text.len())),
        _ => None,
    }
}

/// Consecutive deltas of one message.
#[derive(Default)]
struct Run {
    item: Option<ItemId>,
    deltas: usize,
    left_out: usize,
    bytes: usize,
}

impl Run {
    fn add(&mut self, out: &mut String, delta: Option<(ItemId, usize)>, line: impl FnOnce() -> String) {
        let item = delta.map(|(item, _)| item);
        if item != self.item {
            self.end(out);
            self.item = item;
        }
        let Some((_, bytes)) = delta else {
            return *out += &line();
        };
        self.deltas += 1;
        if self.deltas > DELTAS {
            self.left_out += 1;
            self.bytes += bytes;
        } else {
            *out += &line();
        }
    }

    fn end(&mut self, out: &mut String) {
        if self.left_out > 0 {
            writeln!(out, "       … {} more deltas, {} B", self.left_out, self.bytes).unwrap();
        }
        *self = Self::default();
    }
}

fn shown_line(sent: &Sent) -> String {
    let message = tree(&sent.text);
    let method = sent.json["method"].as_str();
    let what = match (method, &sent.answers) {
        (Some(method), _) => method.to_owned(),
        (None, answers) => format!("answer to {}", answers.as_deref().unwrap_or("nothing")),
    };
    let members = message.without(&["jsonrpc", "method"]);
    line(&format!(
        "     → {} {what} {}",
        sent.process,
        members.short(DEPTH)
    ))
}

fn stored(event: &Event) -> String {
    let by = match event.by {
        Origin::Agent => "agent",
        Origin::Daemon => "daemon",
        Origin::Policy(_) => "policy",
        Origin::Client(_) => "client",
    };
    let turn = event.turn.map(|turn| turn.to_string()).unwrap_or_default();
    let kind = tree(&serde_json::to_string(&event.kind).unwrap());
    let (name, fields) = match kind {
        Tree::Object(mut members) => members.remove(0),
        _ => unreachable!("a kind is an object of one member"),
    };
    let mut text = format!(
        "{:>6} {turn:<7} {by:<6} {name} {}",
        event.seq,
        fields.short(DEPTH)
    );
    for (what, raw) in [("raw", &event.raw), ("params", &event.raw_params)] {
        if let Some(raw) = raw {
            write!(text, " {what}:{} B", raw.get().len()).unwrap();
        }
    }
    line(&text)
}

fn shown(frame: &Frame) -> String {
    let message = tree(std::str::from_utf8(&frame.text).unwrap());
    let params = message.member("params").without(&["threadId", "seq", "ts"]);
    let asked = if frame.ask.is_some() { " (asked)" } else { "" };
    line(&format!(
        "{:>6} {}{asked} {}",
        frame.seq,
        frame.method,
        params.short(DEPTH)
    ))
}

fn line(text: &str) -> String {
    let text = text.trim_end();
    match text.char_indices().nth(LINE) {
        Some((at, _)) => format!("{}…+{} B\n", &text[..at], text.len() - at),
        None => format!("{text}\n"),
    }
}

fn tree(json: &str) -> Tree {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

impl Tree {
    fn member(self, name: &str) -> Self {
        match self {
            Self::Object(members) => {
                let found = members.into_iter().find(|(key, _)| key == name);
                found.unwrap_or_else(|| panic!("there is no {name}")).1
            }
            _ => panic!("{name} of something that is no object"),
        }
    }

    fn without(self, names: &[&str]) -> Self {
        match self {
            Self::Object(mut members) => {
                members.retain(|(key, _)| !names.contains(&key.as_str()));
                Self::Object(members)
            }
            other => other,
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Object(members) => members.iter().map(|(key, value)| key.len() + value.size()).sum(),
            Self::List(elements) => elements.iter().map(Self::size).sum(),
            Self::Text(text) | Self::Other(text) => text.len(),
        }
    }

    /// Formats the value without quotes around names, with limited length, breadth and depth.
    fn short(&self, depth: usize) -> String {
        match self {
            Self::Text(text) => {
                let quoted = |text: &str| serde_json::Value::from(text).to_string();
                match text.char_indices().nth(TEXT + 10) {
                    Some(_) => {
                        let at = text.char_indices().nth(TEXT).unwrap().0;
                        format!("{}…+{}", quoted(&text[..at]), text.len() - at)
                    }
                    None => quoted(text),
                }
            }
            Self::Other(text) => text.clone(),
            Self::Object(members) if members.is_empty() => "{}".to_owned(),
            Self::List(elements) if elements.is_empty() => "[]".to_owned(),
            Self::Object(_) if depth == 0 => format!("{{{} B}}", self.size()),
            Self::List(_) if depth == 0 => format!("[{} B]", self.size()),
            Self::Object(members) => {
                let members = members
                    .iter()
                    .map(|(key, value)| format!("{key}:{}", value.short(depth - 1)));
                format!("{{{}}}", members.collect::<Vec<_>>().join(" "))
            }
            Self::List(elements) => {
                let mut shown: Vec<_> = elements
                    .iter()
                    .take(ELEMENTS)
                    .map(|element| element.short(depth - 1))
                    .collect();
                if elements.len() > ELEMENTS {
                    shown.push(format!("…+{}", elements.len() - ELEMENTS));
                }
                format!("[{}]", shown.join(" "))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Tree;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }
            fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
                Ok(Tree::Other(value.to_string()))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
                Ok(Tree::Other(value.to_string()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
                Ok(Tree::Other(value.to_string()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
                Ok(Tree::Other(value.to_string()))
            }
            fn visit_unit<E>(self) -> Result<Tree, E> {
                Ok(Tree::Other("null".to_owned()))
            }
            fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
                Ok(Tree::Text(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tree, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = seq.next_element()? {
                    elements.push(element);
                }
                Ok(Tree::List(elements))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Tree::Object(members))
            }
        }
        deserializer.deserialize_any(Any)
    }
}
