//! What the daemon sends to a client.

use serde_json::Value;

/// A notification or request from the daemon.
pub struct Incoming {
    /// The method of the notification or request.
    pub method: String,
    /// The unparsed params.
    pub params: Value,
    /// The whole message, as received.
    pub text: String,
    /// The id of a request; `None` for a notification.
    pub id: Option<Value>,
}
