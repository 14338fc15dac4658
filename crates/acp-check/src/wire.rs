//! Lines of the agent as JSON-RPC messages.

use serde_json::{Map, Value, json};

/// An error object's code for an unknown method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// An error object's code for wrong params.
pub const INVALID_PARAMS: i64 = -32602;
/// An error object's code for a missing sign-in.
pub const AUTH_REQUIRED: i64 = -32000;
/// An error object's code for a session or file that does not exist.
pub const NOT_FOUND: i64 = -32002;
/// An error object's code for a version that the agent does not support.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// Most values of a line. In memory, each takes many times its bytes.
const MOST_VALUES: usize = 500_000;

/// The result of a request, or its error object.
pub type Answer = Result<Value, Value>;

/// A message of the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// A request to the client.
    Request {
        /// The agent's id.
        id: Value,
        /// The method.
        method: String,
        /// The params; `null` if absent.
        params: Value,
    },
    /// A notification.
    Notification {
        /// The method.
        method: String,
        /// The params; `null` if absent.
        params: Value,
    },
    /// A response to a request of the client.
    Response {
        /// The client's id.
        id: Value,
        /// The result or the error.
        answer: Answer,
    },
}

/// Reads a line. Returns why it is not a JSON-RPC message.
pub fn read(line: &[u8]) -> Result<Frame, String> {
    if values(line) > MOST_VALUES {
        return Err(format!("more than {MOST_VALUES} values"));
    }
    let message: Value = serde_json::from_slice(line).map_err(|error| format!("not JSON ({error})"))?;
    let Value::Object(mut members) = message else {
        return Err("not an object".to_owned());
    };
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err("\"jsonrpc\" is not \"2.0\"".to_owned());
    }
    frame(&mut members).ok_or_else(|| "not a request, notification or response".to_owned())
}

/// Counts what begins a value: commas and brackets outside of texts.
fn values(line: &[u8]) -> usize {
    let (mut count, mut is_text, mut is_escaped) = (0, false, false);
    for byte in line {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' if !is_text => count += 1,
            _ => {}
        }
    }
    count
}

fn frame(members: &mut Map<String, Value>) -> Option<Frame> {
    let mut take = |name: &str| members.remove(name);
    let (id, method, params) = (take("id"), take("method"), take("params"));
    let (result, error) = (take("result"), take("error"));
    let params = params.unwrap_or(Value::Null);
    match (id, method, result, error) {
        (Some(id), Some(Value::String(method)), None, None) => Some(Frame::Request { id, method, params }),
        (None, Some(Value::String(method)), None, None) => Some(Frame::Notification { method, params }),
        (Some(id), None, Some(result), None) => Some(Frame::Response {
            id,
            answer: Ok(result),
        }),
        (Some(id), None, None, Some(error)) => Some(Frame::Response {
            id,
            answer: Err(error),
        }),
        _ => None,
    }
}

/// Returns the line of a request.
pub fn request(id: &Value, method: &str, params: &Value) -> String {
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// Returns the line of a notification.
pub fn notification(method: &str, params: &Value) -> String {
    line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

/// Returns the line of a response.
pub fn response(id: &Value, answer: &Answer) -> String {
    line(&match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
    })
}

fn line(message: &Value) -> String {
    format!("{message}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_too_many_values_is_not_parsed() {
        let line = |item: &str, count: usize| {
            let items = vec![item; count].join(",");
            format!(r#"{{"jsonrpc":"2.0","method":"m","params":[{items}]}}"#)
        };
        let refused = Err(format!("more than {MOST_VALUES} values"));
        for item in ["0", "[]", "{}", r#""\\""#, r#""\"""#] {
            assert_eq!(read(line(item, MOST_VALUES).as_bytes()), refused, "{item}");
            assert!(read(line(item, 100).as_bytes()).is_ok(), "{item}");
        }
        // A long text is one value, whatever it holds.
        let text = format!("\"{}\"", r#",[{\\\""#.repeat(MOST_VALUES / 2));
        assert!(read(line(&text, 1).as_bytes()).is_ok());
    }

    #[test]
    fn each_kind_is_read_and_the_rest_refused() {
        let is = |text: &str| read(text.as_bytes()).is_ok();
        assert!(is(r#"{"jsonrpc":"2.0","id":"a","method":"m"}"#));
        assert!(is(r#"{"jsonrpc":"2.0","method":"m","params":{}}"#));
        assert!(is(r#"{"jsonrpc":"2.0","id":1,"result":null}"#));
        assert!(is(
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#
        ));
        for wrong in [
            "",
            "hello",
            "[]",
            "{}",
            r#"{"id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
        ] {
            assert!(!is(wrong), "{wrong}");
        }
    }
}
