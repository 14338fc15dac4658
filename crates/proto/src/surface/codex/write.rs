//! Writes messages as Codex reads them: JSON-RPC without `jsonrpc`, each on one line.

use std::fmt::Display;

use acpd_model::{Failure, TurnId};

use super::turn_id::turn_id;
use crate::wire::{Object, RpcError, one_line};

/// Appends a notification.
pub(super) fn notification(out: &mut Vec<u8>, method: &str, params: impl FnOnce(&mut Object<'_>)) {
    let start = out.len();
    let mut message = Object::open(out);
    message.plain("method", method).object("params", params);
    message.close();
    one_line(&mut out[start..]);
}

/// Appends a request of the daemon. `id` is JSON text.
pub(super) fn request(out: &mut Vec<u8>, id: &str, method: &str, params: impl FnOnce(&mut Object<'_>)) {
    let mut message = Object::open(out);
    message
        .raw("id", id)
        .plain("method", method)
        .object("params", params);
    message.close();
}

/// Appends a result. `id` is JSON text.
pub(super) fn response(out: &mut Vec<u8>, id: &str, result: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    let mut message = Object::open(out);
    message.raw("id", id).with("result", result);
    message.close();
    one_line(&mut out[start..]);
}

/// Appends an error. `id` is JSON text.
pub(super) fn error(out: &mut Vec<u8>, id: &str, failure: &Failure) {
    let mut error = RpcError::from(failure);
    if let Some(detail) = &failure.detail {
        // Codex shows nothing but the message.
        error.message = format!("{}\n{detail}", error.message);
    }
    let mut message = Object::open(out);
    message.raw("id", id).put("error", &error);
    message.close();
}

/// Adds the member `turnId`.
pub(super) fn put_turn(params: &mut Object<'_>, thread: impl Display, turn: Option<TurnId>) {
    params.plain("turnId", &turn_id(thread, turn));
}
