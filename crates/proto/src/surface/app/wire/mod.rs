//! The objects of the app protocol. Each is defined once, with `wire!`: how it is written and what the schema says about it.
//!
//! In: events, views and replies. Out: JSON text, and in tests the types that the schema is made of. Owns: names, order and
//! docs of all members that the daemon sends. Never: builds a value in between, or copies what it can borrow.

#![allow(clippy::struct_field_names, reason = "the names are those of the wire")]

use crate::wire::Object;

#[macro_use]
mod macros;

mod agent;
mod at;
pub mod error;
pub mod event;
pub mod folder;
pub mod item;
pub mod item_event;
pub mod lane;
mod name;
pub mod notice;
pub mod origin;
pub mod plan;
pub mod question;
pub mod results;
mod retention;
pub mod share;
pub mod thread;
pub mod turn;
mod usage;
mod value;
pub mod welcome;
pub mod words;

pub use at::At;
pub use name::Camel;
pub use value::{OrNull, Plain, Serde};

/// A JSON value that the daemon sends.
pub trait Value {
    /// Appends the value as JSON text.
    fn write(&self, out: &mut Vec<u8>);

    /// Returns whether a member with this value is left out of its object.
    #[inline]
    fn is_absent(&self) -> bool {
        false
    }
}

/// A JSON object that the daemon sends.
pub trait Members {
    /// Adds all members to an object.
    fn write_into(&self, out: &mut Object<'_>);
}

/// A type that the schema describes.
#[cfg(test)]
pub trait Described {
    /// The type whose schema describes it.
    type Schema: schemars::JsonSchema;
}
