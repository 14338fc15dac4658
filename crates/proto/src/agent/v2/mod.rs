//! Version 2 of ACP, as an agent speaks it.
//!
//! In: requests in the form of version 1, and what an agent of version 2 sends. Out: the same in the form of the other version. Owns: what
//! version 1 repeats and version 2 does not, such as the content of tool calls and the output of terminals, and whether the agent has
//! taken the prompt. Never: decides what an update means for a thread, or drops what version 1 has no word for: that is in
//! `_meta.acpd`.
//!
//! The rest of the daemon, its log and its clients know version 1 alone.

mod allowance;
mod background;
mod calls;
mod compaction;
mod diff;
mod form;
mod hello;
mod message;
mod parts;
mod prompt;
mod question;
mod request;
mod session;
mod skill;
mod terminal;
#[cfg(test)]
mod tests;
mod tool;
mod translator;
mod update;

pub(super) use self::hello::{client_capabilities, has_sessions, hello};
pub(crate) use self::message::REVISION;
pub(super) use self::request::{check_mcp_servers, request};
pub(super) use self::session::{answer, session};
pub(super) use self::translator::Translator;
