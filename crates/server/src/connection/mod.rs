//! Connections of clients, one task each: [`acp`] for editors, [`app`] for clients of the app protocol.

pub mod acp;
pub mod app;
