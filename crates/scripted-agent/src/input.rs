//! stdin: a separate thread reads it all the time, so that cancellations and responses arrive during a turn.

use std::io::{BufRead, BufReader};

use serde_json::Value;

use crate::wire::{self, RpcError, RpcResult};

/// One line of the client.
#[derive(Debug, PartialEq)]
pub enum Incoming {
    /// A request, which requires a response.
    Request {
        /// The client's id, returned unchanged in the response.
        id: Value,
        /// The requested method.
        method: String,
        /// The params; `null` if absent.
        params: Value,
    },
    /// A notification.
    Notification {
        /// The notification's method.
        method: String,
        /// The params; `null` if absent.
        params: Value,
    },
    /// A response to a request of the agent.
    Response {
        /// The id of the agent's request.
        id: Value,
        /// The result or error.
        answer: RpcResult,
    },
    /// Not a JSON-RPC message, and why.
    Unreadable(RpcError),
}

/// Parses one line, with or without its newline. Returns `None` for a blank line.
pub fn parse(line: &[u8]) -> Option<Incoming> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    let mut message: Value = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(error) => {
            return Some(Incoming::Unreadable(RpcError::new(
                wire::PARSE_ERROR,
                format!("not JSON: {error}"),
            )));
        }
    };
    let mut take = |key: &str| message.as_object_mut().and_then(|object| object.remove(key));
    let (version, id, method, params) = (take("jsonrpc"), take("id"), take("method"), take("params"));
    let (result, error) = (take("result"), take("error"));
    let versioned = version.as_ref().and_then(Value::as_str) == Some("2.0");
    let params = params.unwrap_or(Value::Null);
    Some(match (id, method, result, error) {
        (Some(id), Some(Value::String(method)), None, None) if versioned => {
            Incoming::Request { id, method, params }
        }
        (None, Some(Value::String(method)), None, None) if versioned => {
            Incoming::Notification { method, params }
        }
        (Some(id), None, Some(result), None) if versioned => Incoming::Response {
            id,
            answer: Ok(result),
        },
        (Some(id), None, None, Some(error)) if versioned => Incoming::Response {
            id,
            answer: Err(RpcError::read(&error)),
        },
        _ => Incoming::Unreadable(RpcError::new(wire::INVALID_REQUEST, "no JSON-RPC 2.0 message")),
    })
}

/// Starts the reader thread. It calls `forward` with each message, then with `None` once stdin is closed, and stops
/// when `forward` returns `false`.
pub fn spawn(mut forward: impl FnMut(Option<Incoming>) -> bool + Send + 'static) {
    std::thread::spawn(move || {
        let mut stdin = BufReader::with_capacity(64 << 10, std::io::stdin());
        let mut line = Vec::new();
        loop {
            line.clear();
            match stdin.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            if parse(&line).is_some_and(|message| !forward(Some(message))) {
                return;
            }
        }
        forward(None);
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_four_kinds() {
        let read = |text: &str| parse(text.as_bytes());
        assert_eq!(read(" \r\n"), None);
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":1}}"#),
            Some(Incoming::Request {
                id: json!("a"),
                method: "m".into(),
                params: json!({"x": 1})
            })
        );
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","method":"m"}"#),
            Some(Incoming::Notification {
                method: "m".into(),
                params: Value::Null
            })
        );
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":3,"result":null}"#),
            Some(Incoming::Response {
                id: json!(3),
                answer: Ok(Value::Null)
            })
        );
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no"}}"#),
            Some(Incoming::Response {
                id: json!(3),
                answer: Err(RpcError::new(-1, "no"))
            })
        );
    }

    #[test]
    fn rubbish_is_named() {
        for text in [
            "{",
            "[]",
            "7",
            "{}",
            r#"{"id":1,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
        ] {
            assert!(
                matches!(parse(text.as_bytes()), Some(Incoming::Unreadable(_))),
                "{text}"
            );
        }
        assert!(matches!(parse(b"\xff\xfe"), Some(Incoming::Unreadable(_))));
    }
}
