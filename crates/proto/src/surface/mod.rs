//! The protocols that clients speak. Each is a folder of one shape: what comes in is decoded into requests,
//! what happened is encoded into frames, and a `Peer` is one connection. [`request`] and [`reply`] are what all of them
//! can ask for and are answered. [`export`] only writes: a thread as a file.

pub mod acp;
pub mod app;
pub mod export;
pub mod reply;
pub mod request;
