//! The shapes of JSON-RPC 2.0 messages, and the error codes that this agent uses.

use serde_json::{Value, json};

/// The message is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The message is no request, or comes at the wrong time.
pub const INVALID_REQUEST: i64 = -32600;
/// No method of this name.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The params do not fit the method.
pub const INVALID_PARAMS: i64 = -32602;
/// Anything else that is this agent's fault.
pub const INTERNAL_ERROR: i64 = -32603;
/// ACP: nobody has signed in.
pub const AUTH_REQUIRED: i64 = -32000;
/// ACP: what was named does not exist.
pub const RESOURCE_NOT_FOUND: i64 = -32002;

/// A JSON-RPC error object, ours or the client's.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    /// The number.
    pub code: i64,
    /// One sentence.
    pub message: String,
}

impl RpcError {
    /// An error with a code and a sentence.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// The params lack something, or have it in a wrong form.
    pub fn params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    /// There is no such session.
    pub fn no_session(id: &str) -> Self {
        Self::new(RESOURCE_NOT_FOUND, format!("session {id:?} not found"))
    }

    /// Reads the `error` member of a response; what is missing is filled in.
    pub fn read(error: &Value) -> Self {
        Self {
            code: error.get("code").and_then(Value::as_i64).unwrap_or(0),
            message: error
                .get("message")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
        }
    }
}

impl std::fmt::Display for RpcError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "error {}: {}", self.code, self.message)
    }
}

/// What became of a request.
pub type Answer = Result<Value, RpcError>;

/// A response to the request `id`.
pub fn response(id: &Value, answer: &Answer) -> Value {
    match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({
            "jsonrpc": "2.0", "id": id, "error": { "code": error.code, "message": error.message },
        }),
    }
}

/// A request of ours.
pub fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A notification.
pub fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// A `session/update` notification.
pub fn update(session: &str, update: &Value) -> Value {
    notification(
        "session/update",
        &json!({ "sessionId": session, "update": update }),
    )
}

/// A text block.
pub fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// An update that carries one content block of a message: `kind` is `agent_message_chunk` and the like.
pub fn chunk(kind: &str, content: &Value) -> Value {
    json!({ "sessionUpdate": kind, "content": content })
}
