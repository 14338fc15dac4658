//! What ACP's version 2 says in other words than version 1.
//!
//! In: objects of version 1. Out: the same in version 2. Owns: nothing. Never: knows a connection, or what an editor has.

mod options;
mod question;
mod tool_call;
mod update;
mod welcome;

pub(super) use options::options;
pub(super) use question::{form, permission};
pub(super) use update::update_of_agent;
pub(super) use welcome::welcome;
