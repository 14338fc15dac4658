//! One JSON-RPC message, borrowed from its line and read in one pass.

use acpd_model::limits::{AGENT_STATE_BYTES, AGENT_TEXT_BYTES};
use acpd_model::text::clip;
use acpd_model::{ErrorCode, Failure, RawJson};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Text;
use super::scan::is_id;

/// The members of a message. Their values are skipped, not parsed.
#[derive(Debug, Deserialize)]
pub struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Distinguishes `"id": null` from an absent id.
fn present<'de: 'a, 'a, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// A JSON-RPC message.
#[derive(Debug)]
pub enum Message<'a> {
    /// Expects a response with `id`, which is kept as written: a number is returned as the same number.
    Request {
        /// The sender's id.
        id: &'a RawValue,
        /// The method to call.
        method: Text<'a>,
        /// The method's params; `None` if absent.
        params: Option<&'a RawValue>,
    },
    /// Expects no response.
    Notification {
        /// The notification's method.
        method: Text<'a>,
        /// The notification's params; `None` if absent.
        params: Option<&'a RawValue>,
    },
    /// Responds to a request of the daemon.
    Response {
        /// The id of the daemon's request.
        id: &'a RawValue,
        /// The result or the error, as received.
        result: Result<&'a RawValue, RpcError>,
    },
}

/// Why a text is not a JSON-RPC message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// Explanation for people.
    pub reason: String,
    /// Whether the text is valid JSON.
    pub is_json: bool,
}

impl From<Malformed> for Failure {
    fn from(malformed: Malformed) -> Self {
        let code = if malformed.is_json {
            ErrorCode::InvalidRequest
        } else {
            ErrorCode::ParseError
        };
        Self::new(code, malformed.reason)
    }
}

impl<'a> Message<'a> {
    /// Parses one message.
    pub fn parse(text: &'a str) -> Result<Self, Malformed> {
        // A list would be read as an object whose members are in this order.
        let envelope = if text.trim_ascii_start().starts_with('[') {
            Err(serde::de::Error::custom("a list"))
        } else {
            serde_json::from_str(text)
        };
        let envelope: Envelope<'a> = envelope.map_err(|error: serde_json::Error| {
            let is_json = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
            let reason = if is_json {
                "not a JSON-RPC message".to_owned()
            } else {
                format!("not JSON: {error}")
            };
            Malformed { reason, is_json }
        })?;
        match envelope {
            Envelope {
                id: Some(id),
                method: Some(method),
                params,
                ..
            } => Ok(Self::Request { id, method, params }),
            Envelope {
                id: None,
                method: Some(method),
                params,
                ..
            } => Ok(Self::Notification { method, params }),
            Envelope {
                id: Some(id),
                method: None,
                error: Some(error),
                ..
            } if error.get() != "null" => Ok(Self::Response {
                id,
                result: Err(RpcError::read(error)),
            }),
            Envelope {
                id: Some(id),
                method: None,
                result: Some(result),
                ..
            } => Ok(Self::Response {
                id,
                result: Ok(result),
            }),
            // Some peers leave out a result without content. Without a version, it may be a line of a log.
            Envelope {
                jsonrpc: Some(_),
                id: Some(id),
                method: None,
                ..
            } if id.get() != "null" => Ok(Self::Response {
                id,
                result: Ok(RawValue::NULL),
            }),
            // An answer to a message without an id that can be one.
            Envelope {
                id: Some(id),
                method: None,
                error: Some(_),
                ..
            } if !is_id(id.get()) => Ok(Self::Response {
                id,
                result: Ok(RawValue::NULL),
            }),
            _ => Err(Malformed {
                reason: "neither request, notification nor response".into(),
                is_json: true,
            }),
        }
    }
}

/// A JSON-RPC error object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RpcError {
    /// The JSON-RPC error code.
    #[serde(default)]
    pub code: i64,
    /// Explanation for people.
    #[serde(default)]
    pub message: String,
    /// Additional data from the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<RawJson>,
}

impl RpcError {
    /// Creates an error without data. A message that quotes a peer's absurdly long text is shortened.
    pub fn new(code: i64, message: impl AsRef<str>) -> Self {
        Self {
            code,
            message: clip(message.as_ref(), AGENT_TEXT_BYTES),
            data: None,
        }
    }

    /// Returns the length of its message and data, in bytes.
    pub fn bytes(&self) -> usize {
        self.message.len() + self.data.as_ref().map_or(0, |data| data.get().len())
    }

    /// Reads an error object. A value of another shape is kept as `data`. What is absurdly long is shortened, or left out.
    fn read(raw: &RawValue) -> Self {
        let error = acpd_model::json::read(raw.get()).unwrap_or_else(|_| Self {
            code: -32603,
            message: "an error without a message".into(),
            data: Some(raw.into()),
        });
        Self {
            data: error.data.filter(|data| data.get().len() <= AGENT_STATE_BYTES),
            ..Self::new(error.code, error.message)
        }
    }
}

impl std::fmt::Display for RpcError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.message, self.code)?;
        match &self.data {
            Some(data) if data.get() != "null" => write!(f, ": {}", cut(data.get(), 500)),
            _ => Ok(()),
        }
    }
}

/// Returns the first `max` bytes of `text`, cut between characters.
fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_responses_and_notifications_are_told_apart() {
        let request =
            Message::parse(r#"{"jsonrpc":"2.0","id":1e2,"method":"a","params":{"x":1.10}}"#).unwrap();
        assert!(matches!(request, Message::Request { id, .. } if id.get() == "1e2"));
        let null_id = Message::parse(r#"{"id":null,"method":"a"}"#).unwrap();
        assert!(matches!(null_id, Message::Request { .. }));
        assert!(
            matches!(Message::parse(r#"{"method":"\u0061"}"#).unwrap(), Message::Notification { method, .. } if &*method == "a")
        );
        let null = Message::parse(r#"{"id":"x","result":null}"#).unwrap();
        assert!(matches!(null, Message::Response { result: Ok(_), .. }));
        let both = Message::parse(r#"{"id":1,"result":{},"error":null}"#).unwrap();
        assert!(matches!(both, Message::Response { result: Ok(result), .. } if result.get() == "{}"));
        for neither in [
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":null}"#,
            r#"{"id":null,"error":null}"#,
            r#"{"id":[],"error":null}"#,
        ] {
            let neither = Message::parse(neither).unwrap();
            assert!(
                matches!(neither, Message::Response { result: Ok(result), .. } if result.get() == "null")
            );
        }
        let error = Message::parse(r#"{"id":1,"error":{"code":-1,"message":"m","data":[1]}}"#).unwrap();
        assert!(
            matches!(error, Message::Response { result: Err(e), .. } if e.code == -1 && e.to_string() == "m (-1): [1]")
        );
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, is_json) in [
            ("hello", false),
            ("{", false),
            ("[]", true),
            (r#"["2.0",1,"a"]"#, true),
            (r#" [1,{"id":1}]"#, true),
            ("1", true),
            ("{}", true),
            (r#"{"method":1}"#, true),
            (r#"{"id":1}"#, true),
            (r#"{"id":1,"error":null,"ms":12}"#, true),
        ] {
            let malformed = Message::parse(text).unwrap_err();
            assert_eq!(malformed.is_json, is_json, "{text}: {malformed:?}");
        }
        let odd = Message::parse(r#"{"id":1,"error":"boom"}"#).unwrap();
        assert!(
            matches!(odd, Message::Response { result: Err(e), .. } if e.data.as_ref().unwrap().get() == "\"boom\"")
        );
    }
}
