//! Real processes, terminals, files and sandboxes.

#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;

mod files;
mod processes;
mod sandbox;
mod terminals;
