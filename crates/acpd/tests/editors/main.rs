//! Editors over native ACP: each transport, the lease, and settings of real plugins.

#[path = "../support/mod.rs"]
mod support;

mod editor_http;
mod editor_killed;
mod editor_pipe;
mod editor_plugins;
mod editor_questions;
mod editor_shared;
mod editor_socket;
mod editor_terminals;
mod editor_ticket;
mod editor_v2;
