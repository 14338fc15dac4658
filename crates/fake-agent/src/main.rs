//! `acpd-fake-agent`: a scripted ACP v1 agent over stdio, for tests, benchmarks and the demo.
//!
//! In: JSON-RPC lines on stdin. Out: JSON-RPC lines on stdout, a few plain ones on stderr. Owns: its sessions. Never:
//! imports another crate of this project, so that a shared mistake cannot hide a bug of either.
//!
//! The text of a prompt is a script (see [`script`]), whose words are the entries of one table ([`scenarios::TABLE`]);
//! any other text starts the demo turn. With `--play` it replays the agent's side of a recording instead (see
//! [`play`]).

mod agent;
mod calls;
mod clock;
mod flags;
mod input;
mod out;
mod play;
mod scenarios;
mod script;
mod session;
mod store;
mod template;
mod turn;
mod wire;

use std::process::ExitCode;
use std::sync::Arc;

use flags::{Flags, Request};
use out::Out;

fn main() -> ExitCode {
    match flags::parse(std::env::args().skip(1)) {
        Ok(Request::Help) => {
            print!("{}", flags::help());
            ExitCode::SUCCESS
        }
        Ok(Request::Version) => {
            println!("acpd-fake-agent {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Ok(Request::Run(flags)) => run(flags),
        Err(message) => refuse(&message),
    }
}

fn run(flags: Flags) -> ExitCode {
    let out = Arc::new(Out::stdout());
    let linger = flags.linger;
    let ended = match flags.play.clone() {
        Some(play) => play::run(&play, &out),
        None => agent::run(flags, &out),
    };
    match ended {
        Ok(()) if linger => loop {
            std::thread::park();
        },
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => refuse(&message),
    }
}

fn refuse(message: &str) -> ExitCode {
    eprintln!("acpd-fake-agent: {message}");
    ExitCode::from(2)
}
