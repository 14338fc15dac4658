//! The `acpd` command.

mod acp;
mod agents;
mod attach;
mod cli;
mod client;
mod config;
mod daemon;
mod exit;
mod settings;
mod terminal;
mod threads;

use std::process::ExitCode;

use crate::cli::{Cli, Command, PolicyCommand};
use crate::daemon::{control, logs, open, policy, reference, serve, status, token};
use crate::exit::Exit;
use crate::terminal::{plain, print};
use crate::threads::{answer, export, lifecycle, list, run, search, show, steer};

fn main() -> ExitCode {
    let ended = cli::parse().map_or_else(Ok, execute);
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

/// Formats an error with its causes. Omits a cause that the message above it already contains, as in many libraries.
fn sentence(error: &anyhow::Error) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

fn execute(cli: Cli) -> anyhow::Result<Exit> {
    print::configure(&cli.common);
    match &cli.command {
        Command::Keep(args) => {
            // First of all: the keeper requires no settings, and must stay the only thread.
            acpd_host::keep(&args.run).map_err(anyhow::Error::msg)?;
            return Ok(Exit::Success);
        }
        Command::Schema => return Ok(reference::schema()),
        Command::Completions(args) => return Ok(reference::completions(args)),
        Command::Man(args) => return reference::man(args),
        _ => {}
    }
    if let Command::DemoAgent(args) = cli.command {
        return reference::demo_agent(args);
    }
    let mut settings = settings::Settings::load(&cli.common)?;
    if cli.command.needs_configuration() {
        settings = settings.checked()?;
    }
    if settings.remote.is_some() && !cli.command.works_from_afar() {
        return Err(Exit::Usage
            .error("this command works only on the daemon's host: remove --connect, or unset ACPD_CONNECT"));
    }
    let command = match cli.command {
        Command::Serve(args) => return serve::serve(settings, &cli.common, &args),
        Command::Config(command) => return config::config(&settings, &cli.common, &command),
        Command::Policy(PolicyCommand::Test(args)) => return policy::test(&settings, &args),
        command => command,
    };
    if let Some(wrong) = &settings.wrong {
        print::err(&plain::plain(&format!("acpd: warning: {wrong}\n")));
    }
    light()?.block_on(client_command(settings, command))
}

/// Runs a command that only talks to the daemon, or uses its files.
async fn client_command(settings: settings::Settings, command: Command) -> anyhow::Result<Exit> {
    let settings = &settings;
    match command {
        Command::Run(args) => run::run(settings, args).await,
        Command::Threads(args) => list::threads(settings, &args).await,
        Command::Search(args) => search::search(settings, &args).await,
        Command::Attach(args) => attach::attach(settings, &args).await,
        Command::Show(args) => show::show(settings, &args).await,
        Command::Send(args) => steer::send(settings, &args).await,
        Command::Answer(args) => answer::answer(settings, &args).await,
        Command::Interrupt(args) => steer::interrupt(settings, &args).await,
        Command::Rename(args) => lifecycle::rename(settings, &args).await,
        Command::Archive(args) => lifecycle::archive(settings, &args).await,
        Command::Unarchive(args) => lifecycle::unarchive(settings, &args).await,
        Command::Delete(args) => lifecycle::delete(settings, &args).await,
        Command::Export(args) => export::export(settings, &args).await,
        Command::Agents(command) => agents::agents(settings.clone(), &command).await,
        Command::Open(args) => open::open(settings, &args).await,
        Command::Status(args) => status::status(settings, &args).await,
        Command::Stop(args) => control::stop(settings, &args).await,
        Command::Restart(args) => control::restart(settings, &args).await,
        Command::Logs(args) => logs::logs(settings, &args).await,
        Command::Token(command) => token::token(settings, &command).await,
        Command::Acp(args) => acp::acp(settings, args).await,
        Command::Serve(_)
        | Command::Policy(_)
        | Command::Config(_)
        | Command::DemoAgent(_)
        | Command::Schema
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Keep(_) => Ok(Exit::Success),
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
