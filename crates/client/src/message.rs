//! JSON-RPC messages.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::Error;
use crate::json::read;
use crate::protocol::{self, Notification};

/// A message of the daemon.
#[derive(Deserialize)]
pub(crate) struct Incoming<'a> {
    #[serde(borrow)]
    pub(crate) method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl<'a> Incoming<'a> {
    pub(crate) fn read(text: &'a str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|error| {
            Error::Malformed(format!("the daemon sent a message that is not JSON-RPC: {error}"))
        })
    }

    /// Returns the id of the request that it answers.
    pub(crate) fn request_id(&self) -> Option<u64> {
        serde_json::from_str(self.id?.get()).ok()
    }

    /// Returns the daemon's reason for refusing the request, if it did.
    pub(crate) fn refusal(&self) -> Option<Error> {
        let error = self.error?;
        Some(match read::<protocol::Error>(error) {
            Ok(error) => error.into(),
            Err(why) => Error::Malformed(format!("the daemon sent an error that cannot be read: {why}")),
        })
    }
}

impl Notification {
    /// Reads a notification or a question from the text of its message, for programs that have a connection of their own.
    pub fn from_message(text: &str) -> Result<Self, Error> {
        match Incoming::read(text)? {
            Incoming {
                method: Some(method),
                params: Some(params),
                ..
            } => Ok(Self::read(&method, params)),
            _ => Err(Error::Malformed(
                "the message is a response, or has no params".to_owned(),
            )),
        }
    }

    /// Reads the params of a notification or a question, for programs that receive the daemon's messages by themselves. What
    /// this version does not know, or cannot read, is [`Unrecognized`](Self::Unrecognized).
    pub fn from_params(method: &str, params: &Value) -> Self {
        match serde_json::value::to_raw_value(params) {
            Ok(params) => Self::read(method, &params),
            Err(_) => Self::Unrecognized {
                method: method.to_owned(),
                params: params.clone(),
            },
        }
    }
}

#[derive(Serialize)]
struct Request<'a, P: ?Sized> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    params: &'a P,
}

/// Writes params.
pub(crate) fn raw<P: Serialize + ?Sized>(method: &str, params: &P) -> Result<Box<RawValue>, Error> {
    serde_json::value::to_raw_value(params).map_err(|error| {
        Error::Malformed(format!(
            "the params of {method} cannot be written as JSON: {error}"
        ))
    })
}

/// Writes a request.
pub(crate) fn request<P: Serialize + ?Sized>(id: u64, method: &str, params: &P) -> Result<String, Error> {
    let request = Request {
        jsonrpc: "2.0",
        id,
        method,
        params,
    };
    serde_json::to_string(&request)
        .map_err(|error| Error::Malformed(format!("a request {method} cannot be written as JSON: {error}")))
}

/// Reads a result.
pub(crate) fn result<R: DeserializeOwned>(method: &str, text: &RawValue) -> Result<R, Error> {
    read(text).map_err(|error| Error::Malformed(format!("the result of {method} cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn params_that_cannot_be_read_are_kept() {
        let delta = json!({ "threadId": "t", "seq": 2, "ts": 0, "itemId": "i", "text": "x" });
        let read = Notification::from_params("item/agentMessage/delta", &delta);
        assert!(
            matches!(&read, Notification::ItemAgentMessageDelta(delta) if delta.text == "x"),
            "{read:?}"
        );
        for (method, params) in [
            ("item/agentMessage/delta", json!({ "threadId": "t", "seq": 2 })),
            ("item/later", delta),
            ("item/later", Value::Null),
        ] {
            let kept = Notification::Unrecognized {
                method: method.to_owned(),
                params: params.clone(),
            };
            assert_eq!(Notification::from_params(method, &params), kept);
        }
    }
}
