//! Programs of others, run against the real binary: agents, clients on the official SDKs, and Codex.

#[path = "../support/mod.rs"]
mod support;

mod codex_tui;
mod interop;
mod real_agents;
