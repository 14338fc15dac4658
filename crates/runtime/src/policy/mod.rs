//! Policies of the configuration, and remembered answers.
//!
//! In: the configuration, and answers from users. Out: the rules that apply to an agent. Owns: `answers.json`. Never:
//! decides a request; [`acpd_policy`] does that.

pub mod book;
pub mod remembered;
