//! The log with its backends: what they agree on, what each stores, and what a kill leaves behind.

#[path = "../support/mod.rs"]
mod support;

mod agreement;
mod conformance;
mod deletion;
mod erasing;
mod forks;
mod kill;
mod lists;
mod memory;
mod sqlite;
