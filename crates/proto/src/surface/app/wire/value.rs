//! How plain values are written: texts, numbers, ids, lists, and JSON of others.

use std::borrow::Cow;

use acpd_model::{BlobId, ErrorCode, ItemId, LaneId, RawJson, RequestId, ThreadId, TurnId};
use acpd_policy::{Rule, Scope};
use serde::Serialize;

#[cfg(test)]
use super::Described;
use super::Value;
#[cfg(test)]
use crate::surface::app::describe::{Acp, Json};
use crate::surface::reply::ProcessState;
use crate::wire::write_json;

/// A text without characters that JSON escapes, such as an id or a fixed word. It is copied.
#[derive(Clone, Copy)]
pub struct Plain<'a>(pub &'a str);

impl Value for Plain<'_> {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        debug_assert!(
            self.0
                .bytes()
                .all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\'),
            "not plain: {:?}",
            self.0
        );
        out.push(b'"');
        out.extend_from_slice(self.0.as_bytes());
        out.push(b'"');
    }
}

/// A value of the daemon that defines its own JSON, such as a policy.
pub struct Serde<'a, T>(pub &'a T);

impl<T: Serialize> Value for Serde<'_, T> {
    fn write(&self, out: &mut Vec<u8>) {
        write_json(out, self.0);
    }
}

/// A value or `null`, for a member that may also be absent.
pub struct OrNull<T>(pub Option<T>);

impl<T: Value> Value for OrNull<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }
}

#[cfg(test)]
impl<T: Described> Described for OrNull<T> {
    type Schema = Option<T::Schema>;
}

/// Types that serde writes, and the types that describe them.
macro_rules! by_serde {
    ($($type:ty as $schema:ty),+ $(,)?) => {$(
        impl Value for $type {
            #[inline]
            fn write(&self, out: &mut Vec<u8>) {
                write_json(out, self);
            }
        }
        described!($type as $schema);
    )+};
}

/// Types and what describes them.
macro_rules! described {
    ($($type:ty as $schema:ty),+ $(,)?) => {$(
        #[cfg(test)]
        impl Described for $type {
            type Schema = $schema;
        }
    )+};
}

by_serde!(
    str as String,
    String as String,
    bool as bool,
    i32 as i32,
    i64 as i64,
    f64 as f64
);
by_serde!(u32 as u32, u64 as u64, usize as u64);
by_serde!(
    ThreadId as String,
    RequestId as String,
    BlobId as String,
    Rule as String
);
by_serde!(ErrorCode as String, ProcessState as String, Scope as String);
described!(Plain<'_> as String, TurnId as String, ItemId as String, LaneId as String);
described!(RawJson as Json, Json as Json, Acp as Acp);

impl Value for TurnId {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        self.with_text(|text| Plain(text).write(out));
    }
}

impl Value for ItemId {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        self.with_text(|text| Plain(text).write(out));
    }
}

impl Value for LaneId {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        self.with_text(|text| Plain(text).write(out));
    }
}

impl Value for RawJson {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.get().as_bytes());
    }
}

impl<T: Value> Value for Option<T> {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.write(out),
            None => out.extend_from_slice(b"null"),
        }
    }

    #[inline]
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Value> Value for [T] {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        for (at, value) in self.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            value.write(out);
        }
        out.push(b']');
    }
}

#[cfg(test)]
impl<T: Described> Described for Option<T> {
    type Schema = Option<T::Schema>;
}

#[cfg(test)]
impl<T: Described> Described for [T] {
    type Schema = Vec<T::Schema>;
}

/// Types that are written and described like the value that they hold.
macro_rules! like_its_value {
    ($($type:ty, $target:ty, [$($bound:tt)*];)+) => {$(
        impl<T: Value $($bound)*> Value for $type {
            #[inline]
            fn write(&self, out: &mut Vec<u8>) {
                (**self).write(out);
            }
        }
        #[cfg(test)]
        impl<T: Described $($bound)*> Described for $type {
            type Schema = <$target as Described>::Schema;
        }
    )+};
}

like_its_value! {
    &T, T, [+ ?Sized];
    Box<T>, T, [+ ?Sized];
    Vec<T>, [T], [];
    Cow<'_, T>, T, [+ ToOwned + ?Sized];
}
