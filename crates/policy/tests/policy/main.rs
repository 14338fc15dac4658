//! Table tests of the permission policy. Each module has one subject.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../support/grammar.rs"]
mod grammar;
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "real shells run real lines here"
)]
#[path = "../support/judges.rs"]
mod judges;
mod policy_commands;
mod policy_layers;
mod policy_links;
mod policy_presets;
mod policy_properties;
mod policy_reader;
mod policy_remembered;
mod policy_rules;
mod policy_shells;
mod policy_tool_calls;
mod table;
