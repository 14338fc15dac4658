//! JSON-RPC 2.0 messages, and the error codes that this agent uses.

use serde_json::{Value, json};

/// The message is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The message is not a request, or arrives at the wrong time.
pub const INVALID_REQUEST: i64 = -32600;
/// The method does not exist.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The params do not fit the method.
pub const INVALID_PARAMS: i64 = -32602;
/// Any other error of this agent.
pub const INTERNAL_ERROR: i64 = -32603;
/// ACP: the user has not signed in.
pub const AUTH_REQUIRED: i64 = -32000;
/// ACP: the named resource does not exist.
pub const RESOURCE_NOT_FOUND: i64 = -32002;

/// A JSON-RPC error object, from the agent or the client.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    /// The JSON-RPC error code.
    pub code: i64,
    /// The error message, one sentence.
    pub message: String,
}

impl RpcError {
    /// Creates an error with a code and a message.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// Creates an error for missing or malformed params.
    pub fn params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    /// Creates an error for an unknown session.
    pub fn no_session(id: &str) -> Self {
        Self::new(RESOURCE_NOT_FOUND, format!("session {id:?} not found"))
    }

    /// Reads the `error` member of a response; missing fields get defaults.
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

/// The result of a request.
pub type RpcResult = Result<Value, RpcError>;

/// Builds a response to the request `id`.
pub fn response(id: &Value, answer: &RpcResult) -> Value {
    match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({
            "jsonrpc": "2.0", "id": id, "error": { "code": error.code, "message": error.message },
        }),
    }
}

/// Builds a request of the agent.
pub fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// Builds a notification.
pub fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// Builds a `session/update` notification.
pub fn update(session: &str, update: &Value) -> Value {
    notification(
        "session/update",
        &json!({ "sessionId": session, "update": update }),
    )
}

/// Builds a text block.
pub fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Builds an update with one content block of a message: `kind` is `agent_message_chunk` or similar.
pub fn chunk(kind: &str, content: &Value) -> Value {
    json!({ "sessionUpdate": kind, "content": content })
}
