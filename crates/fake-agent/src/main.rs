//! `acpd-fake-agent`: the scripted agent as a program of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    match acpd_fake_agent::run_with(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("acpd-fake-agent: {message}");
            ExitCode::from(2)
        }
    }
}
