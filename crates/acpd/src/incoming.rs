//! What the daemon sends to a client.

use acpd_client::protocol::Notification;
use serde_json::Value;

/// A notification or request from the daemon.
#[derive(Clone)]
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

impl Incoming {
    /// Returns the message as the typed client reads it.
    pub fn notification(&self) -> Notification {
        // The text has the order of a form's fields, which the params have lost. What it is was read before.
        let read = Notification::from_message(&self.text);
        read.unwrap_or_else(|_| Notification::from_params(&self.method, &self.params))
    }
}
