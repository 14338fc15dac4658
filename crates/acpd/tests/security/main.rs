//! Who may do what: clients, users, agents in a sandbox, and files that an agent meets.

#[path = "../support/mod.rs"]
mod support;

mod policy;
mod repository;
mod roles;
mod sandbox;
mod sandbox_defaults;
mod secrets;
mod security;
mod share_link;
mod tokens;
