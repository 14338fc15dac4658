//! A recording as a list of entries.
//!
//! Its lines are `{"t": seconds, "proc": n, "dir": "c2a" | "a2c", "msg": {...}}`, with `raw` (a string) instead of
//! `msg` for a line that was not JSON. The agent's messages stay text, so that numbers, order and spacing are replayed
//! as recorded.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use serde_json::value::RawValue;

/// The fields by which two requests or notifications of the client match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The method of the message.
    pub method: String,
    /// `params.sessionId`.
    pub session: Option<String>,
}

/// One recorded message.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Seconds since the previous entry.
    pub after: f64,
    /// The sender and kind of the message.
    pub kind: Kind,
}

/// The sender and kind of a recorded message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A request of the client.
    Request(Key),
    /// A notification of the client.
    Notification(Key),
    /// The client's response to the agent's request with this id, as JSON text.
    Response(String),
    /// A line of the agent.
    Said(String),
    /// The agent's response to the request at this index: the line before the id, and after it.
    Answered(usize, String, String),
}

/// Reads the entries of one process. An error contains the line number.
pub fn read(text: &str, proc: u64) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    let mut asked = HashMap::new();
    let mut before = None;
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let fault = |what: &str| format!("line {}: {what}", at + 1);
        let fields: BTreeMap<String, &RawValue> =
            serde_json::from_str(line).map_err(|error| fault(&error.to_string()))?;
        if fields.get("proc").map(|proc| proc.get()) != Some(proc.to_string().as_str()) {
            continue;
        }
        let t: f64 = fields
            .get("t")
            .and_then(|t| t.get().parse().ok())
            .ok_or_else(|| fault("no t"))?;
        let from_client = match fields.get("dir").map(|dir| dir.get()) {
            Some(r#""c2a""#) => true,
            Some(r#""a2c""#) => false,
            _ => return Err(fault("no dir")),
        };
        let kind = match (fields.get("msg"), fields.get("raw")) {
            (Some(message), _) if from_client => client(message.get(), &mut asked, entries.len()),
            (Some(message), _) => Some(agent(message.get(), &asked)),
            (None, Some(raw)) => {
                let raw: String =
                    serde_json::from_str(raw.get()).map_err(|error| fault(&error.to_string()))?;
                (!from_client).then_some(Kind::Said(raw))
            }
            (None, None) => return Err(fault("neither msg nor raw")),
        };
        // Client input that is not a message cannot be matched.
        if let Some(kind) = kind {
            entries.push(Entry {
                after: f64::max(t - before.unwrap_or(t), 0.0),
                kind,
            });
            before = Some(t);
        }
    }
    Ok(entries)
}

fn client(message: &str, asked: &mut HashMap<String, usize>, at: usize) -> Option<Kind> {
    let message: Value = serde_json::from_str(message).ok()?;
    let id = message.get("id").map(Value::to_string);
    let Some(method) = message.get("method").and_then(Value::as_str) else {
        return id.map(Kind::Response);
    };
    let session = message.pointer("/params/sessionId").and_then(Value::as_str);
    let key = Key {
        method: method.to_owned(),
        session: session.map(String::from),
    };
    Some(match id {
        Some(id) => {
            asked.insert(id, at);
            Kind::Request(key)
        }
        None => Kind::Notification(key),
    })
}

fn agent(message: &str, asked: &HashMap<String, usize>) -> Kind {
    answer(message, asked).unwrap_or_else(|| Kind::Said(message.to_owned()))
}

/// Returns `None` if the message responds to no recorded request.
fn answer(message: &str, asked: &HashMap<String, usize>) -> Option<Kind> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(message).ok()?;
    let id = fields.get("id").filter(|_| !fields.contains_key("method"))?.get();
    let request = *asked.get(&serde_json::from_str::<Value>(id).ok()?.to_string())?;
    // The id borrows from the message: its address gives the text before and after it.
    let start = id.as_ptr() as usize - message.as_ptr() as usize;
    Some(Kind::Answered(
        request,
        message[..start].to_owned(),
        message[start + id.len()..].to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = concat!(
        r#"{"t":1.0,"proc":1,"dir":"c2a","msg":{"jsonrpc":"2.0","id":7,"method":"a","params":{"sessionId":"s"}}}"#,
        "\n",
        r#"{"t":1.5,"proc":2,"dir":"c2a","msg":{"jsonrpc":"2.0","id":7,"method":"other"}}"#,
        "\n\n",
        r#"{"t":2.0,"proc":1,"dir":"a2c","raw":"oh \"dear\""}"#,
        "\n",
        r#"{"t":2.5,"proc":1,"dir":"a2c","msg":{"big":18446744073709551616, "id" : 7,"result":1.10}}"#,
        "\n",
        r#"{"t":3.0,"proc":1,"dir":"a2c","msg":{"jsonrpc":"2.0","id":null,"error":{}}}"#,
        "\n",
        r#"{"t":3.0,"proc":1,"dir":"c2a","msg":{"jsonrpc":"2.0","id":"x","result":{}}}"#,
    );

    #[test]
    fn the_agents_words_are_kept_as_they_are() {
        let entries = read(TEXT, 1).unwrap();
        let kinds: Vec<Kind> = entries.iter().map(|entry| entry.kind.clone()).collect();
        assert_eq!(
            kinds,
            [
                Kind::Request(Key {
                    method: "a".into(),
                    session: Some("s".into())
                }),
                Kind::Said("oh \"dear\"".into()),
                Kind::Answered(
                    0,
                    r#"{"big":18446744073709551616, "id" : "#.into(),
                    r#","result":1.10}"#.into()
                ),
                Kind::Said(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#.into()),
                Kind::Response("\"x\"".into()),
            ]
        );
        assert!((entries[1].after - 1.0).abs() < 1e-9);
        assert_eq!(read(TEXT, 2).unwrap().len(), 1);
        assert!(read(TEXT, 3).unwrap().is_empty());
    }

    #[test]
    fn a_fault_names_its_line() {
        for line in [
            "{",
            "{\"proc\":1}",
            r#"{"t":1,"proc":1,"dir":"up","msg":{}}"#,
            r#"{"t":1,"proc":1,"dir":"a2c"}"#,
        ] {
            assert!(
                read(&format!("\n{line}"), 1).unwrap_err().starts_with("line 2: "),
                "{line}"
            );
        }
    }
}
