//! Converts bytes to lines, lines to JSON-RPC envelopes, and back.
//!
//! In: bytes of a peer. Out: borrowed views of its messages. Owns: the unfinished line and the ids of requests that
//! wait for a response. Never: builds a `serde_json::Value` from a peer's message.

mod controls;
mod envelope;
mod frame;
mod lines;
mod members;
mod pending;
mod repeated;
mod scan;
mod splice;
mod text;
mod write;

pub(crate) use controls::without_sequences;
pub use envelope::{Envelope, Malformed, Message, RpcError};
pub use frame::{Flaw, Mended, UTF_16, Unreadable, read_ends, read_unclean, read_unclean_message};
pub use lines::{Line, LineDecoder};
pub use members::members;
pub use pending::{Pending, number};
pub use repeated::repeated_key;
pub use scan::Found;
pub(crate) use splice::{
    decoded, has_string, inside, may_have, member, others, plain_key, splice, spliced, string_in,
};
pub use text::Text;
pub use write::{Object, notification, object, request, request_with, response};
pub(crate) use write::{error_response, notification_with, one_line, response_with, write_json};
