//! Editors over native ACP, where we are the agent.

mod carried;
mod garbage;
mod handshake;
mod load;
mod questions;
mod schema;
mod stage;
mod transcripts;
mod turns;
