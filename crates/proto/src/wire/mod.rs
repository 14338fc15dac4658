//! Converts bytes to lines, lines to JSON-RPC envelopes, and back.
//!
//! In: bytes of a peer. Out: borrowed views of its messages. Owns: the unfinished line and the ids of requests that
//! wait for a response. Never: builds a `serde_json::Value` from a peer's message.

mod envelope;
mod lines;
mod members;
mod pending;
mod repeated;
mod splice;
mod text;
mod write;

pub use envelope::{Envelope, Malformed, Message, RpcError};
pub use lines::{Line, LineDecoder};
pub use members::members;
pub use pending::Pending;
pub use repeated::repeated_key;
pub(crate) use splice::{has_string, inside, member, others, splice, spliced};
pub use text::Text;
pub use write::{Object, notification, object, request, request_with, response};
pub(crate) use write::{error_response, notification_with, one_line, response_with, write_json};
