//! The surface for Codex.

mod client;
mod connection;
mod items;
mod settings;
