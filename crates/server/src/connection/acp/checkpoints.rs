//! What a connection that wants to go on elsewhere is told beside the messages: where it stands. Extension
//! notifications, which no other connection sees.

use acpd_model::{RawJson, RequestId, Seq, ThreadId};
use acpd_proto::wire::{self, Message};
use bytes::Bytes;

/// The id of a request, if a message is one.
pub fn request_id(text: &str) -> Option<RawJson> {
    match Message::parse(text) {
        Ok(Message::Request { id, .. }) => Some(id.into()),
        _ => None,
    }
}

/// The prompt of request `id` will be known as `name`.
pub fn prompt(id: &RawJson, name: &str) -> Bytes {
    let mut out = Vec::new();
    wire::notification(&mut out, "_acpd/prompt", |params| {
        params.raw("id", id.get()).put("name", name);
    });
    out.into()
}

/// A session is open. It will be told what comes after `seq`; these questions are open in its thread.
pub fn opened(thread: ThreadId, seq: Seq, open: &[RequestId]) -> Bytes {
    let mut out = Vec::new();
    wire::notification(&mut out, "_acpd/mark", |params| {
        params
            .put("sessionId", &thread)
            .put("seq", &seq)
            .put("open", &open);
    });
    out.into()
}

/// All of a session up to `seq` was told; `is_live`: and with it all that was there when it was opened.
pub fn reached(thread: ThreadId, seq: Seq, is_live: bool) -> Bytes {
    let mut out = Vec::new();
    wire::notification(&mut out, "_acpd/mark", |params| {
        params
            .put("sessionId", &thread)
            .put("seq", &seq)
            .put("live", &is_live);
    });
    out.into()
}
