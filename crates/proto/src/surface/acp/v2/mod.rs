//! What ACP's version 2 says in other words than version 1.
//!
//! In: objects of version 1, which may be translations of version 2. Out: the same in version 2, or the original of the translation. Owns:
//! nothing. Never: knows a connection, or what an editor has.

mod options;
mod original;
mod parts;
mod question;
mod tool_call;
mod update;
mod welcome;

pub(super) use options::options;
pub(super) use original::{
    Output, begun_terminal, beside, ending, is_of_question, is_replacement, original_form, output,
    update_beside, with_own_terminal,
};
pub(super) use question::{form, permission};
pub(super) use update::{update_of_agent, without_skills};
pub(super) use welcome::welcome;
