//! The demo agent: an ACP v1 agent over stdio without a model, which shows what an agent does.
//!
//! In: JSON-RPC lines on stdin. Out: JSON-RPC lines on stdout. Owns: its sessions, which end with its process. Never:
//! uses a crate of the daemon, which runs it as it runs any agent.
//!
//! A prompt `say TEXT` is answered with that text, for examples of programs. Any other prompt starts [`story`].

mod agent;
pub mod story;

pub use agent::run;
