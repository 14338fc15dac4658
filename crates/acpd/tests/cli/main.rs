//! The command line: every command as a user at a terminal, a script or systemd meets it.

#[path = "../support/mod.rs"]
mod support;

mod acp_check;
mod agents;
mod attach;
mod backup;
mod cli;
mod codex;
mod command_line;
mod config;
mod doctor;
mod editors;
mod exit_codes;
mod export;
mod first_run;
mod odd_json;
mod pair;
mod run;
mod service;
mod setup;
mod terminal;
