//! The scripted agent, as a client of ACP meets it.

#[path = "../driver/mod.rs"]
mod driver;

mod player;
mod protocol;
mod scenarios;
mod trouble;
