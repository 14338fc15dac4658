//! Editors that post their messages, and read responses from event streams.

pub mod connection;
pub mod streams;
