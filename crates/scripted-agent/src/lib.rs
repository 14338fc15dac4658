//! The agent's side of ACP v1 over stdio, for agents that follow a script instead of a model.
//!
//! In: JSON-RPC lines on stdin. Out: JSON-RPC lines on stdout. Owns: sessions, running turns, and the requests that they
//! await. Never: decides what a turn does, or uses another crate of this project, so that a shared mistake cannot hide a
//! bug of either side.
//!
//! The demo agent and the fake agent of the tests are built on it. Each has its own main loop and its own turns.

pub mod calls;
pub mod clock;
pub mod content;
pub mod input;
pub mod out;
pub mod params;
pub mod running;
pub mod session;
pub mod terminal;
pub mod turn;
pub mod wire;
