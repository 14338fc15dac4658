//! Policies of the configuration, and remembered answers.
//!
//! In: the configuration, and answers of people. Out: which rules hold for an agent. Owns: `answers.json`. Never: decides about a
//! request; that is [`acpd_policy`]'s.

pub mod book;
pub mod remembered;
