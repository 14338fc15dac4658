//! The surface for Codex.

pub mod client;
pub mod connection;
mod items;
mod methods;
mod questions;
mod settings;
