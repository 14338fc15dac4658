//! The daemon in itself: how it starts and stops, what it survives, what it costs, and what it reports.

#[path = "../support/mod.rs"]
mod support;

mod bad_input;
mod cannot_start;
mod crowd;
mod faults;
mod full_disk;
mod kill;
mod large_turn;
mod mcp;
mod memory;
mod monitoring;
mod notifications;
mod observability;
mod processes;
mod push;
mod retention;
mod shared_process;
mod shutdown;
mod starting;
mod upgrade;
