//! A scripted ACP v1 agent over stdio, for tests and benchmarks.
//!
//! In: JSON-RPC lines on stdin. Out: JSON-RPC lines on stdout, a few plain ones on stderr. Owns: its sessions. Never:
//! uses a crate of the daemon, so that a shared mistake cannot hide a bug of either.
//!
//! The text of a prompt is a script (see [`scenarios::script`]), whose words are the entries of one table ([`scenarios::TABLE`]);
//! any other text starts the turn of the demo agent. With `--play` it replays the agent's side of a recording instead (see
//! [`play`]).

mod agent;
mod flags;
mod play;
mod scenarios;
mod session_file;
mod store;
mod template;
mod turn;

use std::sync::Arc;

use acpd_scripted_agent::{calls, clock, input, out, session, wire};

use flags::{Flags, Request};
use out::Out;

/// Runs the agent with these arguments, until its standard input ends. Returns an error if the arguments are wrong, or if
/// a recording cannot be played.
pub fn run_with(args: impl Iterator<Item = String>) -> Result<(), String> {
    match flags::parse(args)? {
        Request::Help => print!("{}", flags::help()),
        Request::Version => println!("acpd-fake-agent {}", env!("CARGO_PKG_VERSION")),
        Request::Run(flags) => return run(flags),
    }
    Ok(())
}

fn run(flags: Flags) -> Result<(), String> {
    let out = Arc::new(Out::stdout());
    let linger = flags.linger;
    let ended = match flags.play.clone() {
        Some(play) => play::run(&play, &out),
        None => agent::run(flags, &out),
    };
    ended?;
    if linger {
        loop {
            std::thread::park();
        }
    }
    Ok(())
}
