//! Writes JSON-RPC messages directly as bytes.

use acpd_model::RawJson;
use serde::Serialize;

use super::{RpcError, members};

/// Writes one JSON object member by member. Values that are already JSON text are copied, not parsed.
#[derive(Debug)]
pub struct Object<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

impl<'a> Object<'a> {
    /// Starts an object at the end of `out`.
    pub fn open(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, empty: true }
    }

    // Inlined, so that a key known at compile time is copied in one step.
    #[inline]
    fn key(&mut self, key: &str) {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    /// Adds a member. `key` must not need escapes.
    #[inline]
    pub fn put<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> &mut Self {
        self.key(key);
        write_json(self.out, value);
        self
    }

    /// Adds a member whose value `write` appends as JSON text.
    #[inline]
    pub fn with(&mut self, key: &str, write: impl FnOnce(&mut Vec<u8>)) {
        self.key(key);
        write(self.out);
    }

    /// Adds a string that may be large. The text grows once for it, not in steps that each copy all.
    pub fn large(&mut self, key: &str, text: &str) -> &mut Self {
        self.out.reserve(key.len() + text.len() + text.len() / 16);
        self.put(key, text)
    }

    /// Adds a string that needs no escapes, such as a method or an id. It is copied, not escaped.
    #[inline]
    pub fn plain(&mut self, key: &str, text: &str) -> &mut Self {
        debug_assert!(
            text.bytes()
                .all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\'),
            "not plain: {text:?}"
        );
        self.key(key);
        self.out.push(b'"');
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'"');
        self
    }

    /// Adds a member unless it is `None`.
    pub fn maybe<T: Serialize>(&mut self, key: &str, value: Option<&T>) -> &mut Self {
        if let Some(value) = value {
            self.put(key, value);
        }
        self
    }

    /// Adds a member that is already JSON text.
    pub fn raw(&mut self, key: &str, json: &str) -> &mut Self {
        self.key(key);
        self.out.extend_from_slice(json.as_bytes());
        self
    }

    /// Adds a member that was received as JSON, unless it is `None`. It is copied, not parsed.
    pub fn json(&mut self, key: &str, value: Option<&RawJson>) -> &mut Self {
        if let Some(value) = value {
            self.raw(key, value.get());
        }
        self
    }

    /// Adds the members of another object, as written there.
    pub fn others(&mut self, object: Option<&RawJson>) -> &mut Self {
        if let Some(object) = object {
            members(object, |key, value| {
                self.raw(key, value);
            });
        }
        self
    }

    /// Adds a member that is a list of JSON texts.
    pub fn list(&mut self, key: &str, values: &[RawJson]) -> &mut Self {
        self.key(key);
        write_list(self.out, values);
        self
    }

    /// Adds a member that is an object.
    pub fn object(&mut self, key: &str, fill: impl FnOnce(&mut Object<'_>)) -> &mut Self {
        self.key(key);
        let mut inner = Object::open(self.out);
        fill(&mut inner);
        inner.close();
        self
    }

    /// Ends the object.
    pub fn close(self) {
        self.out.push(b'}');
    }
}

/// Appends a value as JSON text.
#[inline]
pub fn write_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let before = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        // Only a map with keys that are not strings can fail, and the daemon writes none.
        out.truncate(before);
        out.extend_from_slice(b"null");
    }
}

/// Returns an object as a separate value.
pub fn object(fill: impl FnOnce(&mut Object<'_>)) -> RawJson {
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    fill(&mut object);
    object.close();
    text(&out)
}

/// Wraps the written JSON. It is valid, because received members were validated on arrival.
fn text(out: &[u8]) -> RawJson {
    RawJson::trusted(&String::from_utf8_lossy(out))
}

fn write_list(out: &mut Vec<u8>, values: &[RawJson]) {
    out.push(b'[');
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(value.get().as_bytes());
    }
    out.push(b']');
}

fn message(out: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>)) {
    let mut object = Object::open(out);
    object.raw("jsonrpc", "\"2.0\"");
    fill(&mut object);
    object.close();
}

/// Appends a request.
pub fn request(out: &mut Vec<u8>, id: u64, method: &str, params: impl FnOnce(&mut Object<'_>)) {
    message(out, |m| {
        m.put("id", &id).put("method", method).object("params", params);
    });
}

/// Appends a notification.
pub fn notification(out: &mut Vec<u8>, method: &str, params: impl FnOnce(&mut Object<'_>)) {
    message(out, |m| {
        m.put("method", method).object("params", params);
    });
}

/// Appends a request whose params are already JSON text.
pub fn request_with(out: &mut Vec<u8>, id: u64, method: &str, params: Option<&RawJson>) {
    message(out, |m| {
        m.put("id", &id).put("method", method).json("params", params);
    });
}

/// Appends a notification whose params are already JSON text.
pub fn notification_with(out: &mut Vec<u8>, method: &str, params: Option<&RawJson>) {
    message(out, |m| {
        m.put("method", method).json("params", params);
    });
}

/// Appends a result under the peer's own id, which is JSON text.
pub fn response(out: &mut Vec<u8>, id: &str, result: &str) {
    response_with(out, id, |out| out.extend_from_slice(result.as_bytes()));
}

/// Appends a result that `write` appends, under the peer's own id, which is JSON text.
pub fn response_with(out: &mut Vec<u8>, id: &str, write: impl FnOnce(&mut Vec<u8>)) {
    message(out, |m| {
        m.raw("id", id).with("result", write);
    });
}

/// Appends an error under the peer's own id, which is JSON text.
pub fn error_response(out: &mut Vec<u8>, id: &str, error: &RpcError) {
    message(out, |m| {
        m.raw("id", id).put("error", error);
    });
}

/// Replaces line breaks, which would end the message on a pipe. Text from elsewhere has them only between its tokens.
pub fn one_line(out: &mut [u8]) {
    let mut at = 0;
    while let Some(next) = memchr::memchr2(b'\n', b'\r', &out[at..]) {
        at += next;
        out[at] = b' ';
    }
}
