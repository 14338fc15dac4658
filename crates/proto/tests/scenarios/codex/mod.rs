//! The surface for Codex.

pub mod client;
pub mod connection;
mod items;
mod questions;
mod settings;
