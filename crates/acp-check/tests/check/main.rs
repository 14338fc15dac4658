//! Runs against agents in this process: good ones, and ones with one fault each; and the evaluator against the `jsonschema` crate.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

mod agent;
mod faults;
mod property;
