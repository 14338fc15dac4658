//! What clients of the app protocol and browsers can do, and how they are connected.

#[path = "../support/mod.rs"]
mod support;

mod attachments;
mod folders;
mod handshake;
mod http2;
mod networks;
mod page;
mod replay;
mod rust_client;
mod search;
mod steps;
mod threads;
mod tls;
mod turns;
mod usage;
mod user_command;
mod verbs;
