//! The protocols that clients speak. Each protocol is a folder of the same shape: it decodes messages into requests,
//! encodes events into frames, and has a `Peer` for each connection. [`contract`] is what each provides; [`frames`] lists
//! them. [`request`] and [`reply`] are the requests and replies that all protocols share. [`export`] only writes: it turns
//! a thread into a file.

#![deny(clippy::wildcard_enum_match_arm)] // A surface names the kinds of events that it leaves out.
#![allow(
    clippy::unnested_or_patterns,
    reason = "each pattern of `ours` is one of several kinds"
)]

pub mod acp;
pub mod app;
pub mod codex;
pub mod contract;
mod elicitation;
pub mod export;
pub mod frames;
mod idempotency;
mod ours;
mod remark;
pub mod reply;
pub mod request;
