//! The surface for Codex.

mod client;
mod items;
