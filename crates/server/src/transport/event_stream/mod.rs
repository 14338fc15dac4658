//! Editors whose messages are posted, and whose answers are read from event streams.

pub mod connection;
pub mod streams;
