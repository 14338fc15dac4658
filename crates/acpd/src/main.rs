//! The `acpd` command.

mod acp;
mod agents;
mod cli;
mod client;
mod daemon;
mod settings;
mod terminal;
mod threads;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command, PolicyCommand};
use crate::daemon::{open, policy, serve, token};
use crate::terminal::{plain, print};
use crate::threads::{export, lifecycle, list, run, search, show};

fn main() -> ExitCode {
    let cli = Cli::parse();
    match execute(cli) {
        Ok(code) => code,
        Err(error) => {
            // The error may quote an agent's text.
            print::err(&plain::plain(&format!("acpd: {}\n", sentence(&error))));
            ExitCode::FAILURE
        }
    }
}

/// Formats an error with its causes. Omits a cause that the message above it already ends with, as in many libraries.
fn sentence(error: &anyhow::Error) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !message.ends_with(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

fn execute(cli: Cli) -> anyhow::Result<ExitCode> {
    if let Command::Keep(args) = &cli.command {
        // First of all: the keeper requires no settings, and must stay the only thread.
        acpd_host::keep(&args.run).map_err(anyhow::Error::msg)?;
        return Ok(ExitCode::SUCCESS);
    }
    if matches!(cli.command, Command::Schema) {
        print::out(include_str!("../../../docs/app-protocol.schema.json"));
        return Ok(ExitCode::SUCCESS);
    }
    let settings = settings::Settings::load(&cli.common)?;
    let goes_elsewhere = matches!(
        cli.command,
        Command::Acp(_) | Command::Run(_) | Command::Threads(_) | Command::Show(_) | Command::Export(_)
    );
    if settings.remote.is_some() && !goes_elsewhere {
        anyhow::bail!("this command works only on the daemon's host: remove --connect and ACPD_CONNECT");
    }
    match cli.command {
        Command::Serve(args) => serve::serve(settings, &args),
        Command::Acp(args) => light()?.block_on(acp::acp(&settings, args)),
        Command::Open(args) => light()?.block_on(open::open(&settings, &args)),
        Command::Run(args) => light()?.block_on(run::run(&settings, args)),
        Command::Threads(args) => light()?.block_on(list::threads(&settings, &args)),
        Command::Search(args) => light()?.block_on(search::search(&settings, &args)),
        Command::Archive(args) => light()?.block_on(lifecycle::archive(&settings, &args)),
        Command::Unarchive(args) => light()?.block_on(lifecycle::unarchive(&settings, &args)),
        Command::Delete(args) => light()?.block_on(lifecycle::delete(&settings, &args)),
        Command::Rename(args) => light()?.block_on(lifecycle::rename(&settings, &args)),
        Command::Keep(_) | Command::Schema => Ok(ExitCode::SUCCESS),
        Command::Show(args) => light()?.block_on(show::show(&settings, &args)),
        Command::Policy(PolicyCommand::Test(args)) => policy::test(&settings, &args),
        Command::Agents(command) => light()?.block_on(agents::agents(settings, &command)),
        Command::Token(command) => light()?.block_on(token::token(&settings, &command)),
        Command::Export(args) => light()?.block_on(export::export(&settings, &args)),
    }
}

/// Builds a runtime for commands that only talk to the daemon.
fn light() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?)
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let error = anyhow!("no such file")
            .context("x cannot be read: no such file")
            .context("no settings");
        assert_eq!(sentence(&error), "no settings: x cannot be read: no such file");
    }
}
