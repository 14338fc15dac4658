//! The `acpd` command.

mod acp;
mod agents;
mod attach;
mod backup;
mod cli;
mod client;
mod codex;
mod config;
mod daemon;
mod dispatch;
mod doctor;
mod editors;
mod exit;
mod file_system;
mod first_run;
mod incoming;
mod options;
mod own_program;
mod pair;
mod remote;
mod replace_file;
mod runtime;
mod service;
mod settings;
mod setup;
mod terminal;
mod threads;
mod traces;

use std::process::ExitCode;

use crate::cli::help::{self, Parsed};
use crate::daemon::status;
use crate::dispatch::{execute, to_its_end, until_ctrl_c};
use crate::exit::{Exit, sentence};
use crate::options::Common;
use crate::runtime::light;
use crate::terminal::{plain, print};

fn main() -> ExitCode {
    let ended = match help::parse() {
        Parsed::Command(cli) => execute(*cli),
        Parsed::Bare(Some(common)) if first_run::is_wanted(&common) => alone(&common),
        Parsed::Bare(common) => Ok(welcome(common.as_ref())),
        Parsed::Done(exit) => Ok(exit),
    };
    let exit = match ended.and_then(|exit| print::finish().map(|()| exit)) {
        Ok(exit) => exit,
        Err(error) => {
            // The error may quote an agent's text.
            print::err(&plain::plain(&format!("acpd: {}\n", sentence(&error))));
            Exit::of(&error)
        }
    };
    exit.into()
}

/// Prints the help of `acpd`, and whether the daemon runs.
fn welcome(common: Option<&Common>) -> Exit {
    print::out(&help::help());
    let state = common.and_then(|common| {
        let settings = settings::Settings::load(common).ok()?;
        light().ok()?.block_on(status::state(&settings)).ok()
    });
    if let Some(state) = state {
        print::out(&format!("\n{state}\n"));
    }
    Exit::Success
}

/// Runs `acpd` without a command, on a terminal.
fn alone(common: &Common) -> anyhow::Result<Exit> {
    print::configure(common);
    let settings = settings::Settings::load(common)?.checked()?;
    let mut next = None;
    let begun = until_ctrl_c(async {
        next = Some(first_run::begin(&settings).await?);
        Ok(Exit::Success)
    })?;
    match next {
        // Interrupted.
        None => Ok(begun),
        Some(first_run::Next::Help) => Ok(welcome(Some(common))),
        Some(next) => to_its_end(first_run::go_on(&settings, next)),
    }
}
