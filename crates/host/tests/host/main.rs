//! Real processes, terminals, files and sandboxes.

#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;

mod child_terminals;
mod files;
mod held;
mod held_terminals;
mod left_terminals;
mod processes;
mod sandbox;
