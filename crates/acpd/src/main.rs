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

use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;

use crate::cli::help::{self, Parsed};
use crate::cli::{Cli, Command, PolicyCommand};
use crate::daemon::{answers, control, logs, notifications, open, policy, reference, serve, status, token};
use crate::exit::{Exit, sentence};
use crate::options::Common;
use crate::runtime::light;
use crate::terminal::{plain, print};
use crate::threads::{
    answer, export, lifecycle, list, prune, run, search, share, show, steer, type_in, usage,
};

/// Time for the tasks of an interrupted command to end.
const ENDING: Duration = Duration::from_millis(250);

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
    let begun = block_on(async {
        next = Some(first_run::begin(&settings).await?);
        Ok(Exit::Success)
    })?;
    match next {
        // Interrupted.
        None => Ok(begun),
        Some(first_run::Next::Help) => Ok(welcome(Some(common))),
        Some(next) => run_to_its_end(first_run::go_on(&settings, next)),
    }
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
        Command::DemoAgent(args) => return Ok(reference::demo_agent(args)),
        _ => {}
    }
    if let Command::Doctor(_) | Command::Setup(_) = &cli.command {
        // They work with a configuration that is missing or wrong.
        let (settings, unreadable) = settings::Settings::load_anyway(&cli.common)?;
        return match &cli.command {
            Command::Doctor(args) => block_on(doctor::doctor(settings, unreadable, args)),
            Command::Setup(args) => block_on(setup::setup(&settings, args)),
            _ => Ok(Exit::Success),
        };
    }
    let settings = settings::Settings::load(&cli.common).and_then(|settings| {
        if cli.command.needs_configuration() {
            settings.checked()
        } else {
            Ok(settings)
        }
    });
    let settings = match settings {
        Err(error) if matches!(cli.command, Command::Acp(_)) => {
            light()?.block_on(acp::refuse(&error));
            return Err(error);
        }
        settings => settings?,
    };
    let command = match cli.command {
        Command::Serve(args) => return serve::serve(settings, &cli.common, &args),
        Command::Config(command) => return daemon::config::config(&settings, &cli.common, &command),
        Command::Policy(PolicyCommand::Test(args)) => return policy::test(&settings, &args),
        command => command,
    };
    if let Some(wrong) = &settings.wrong {
        print::err(&plain::plain(&format!("acpd: warning: {wrong}\n")));
    }
    let handles_ctrl_c = command.handles_ctrl_c();
    let ended = client_command(settings, command);
    if handles_ctrl_c {
        run_to_its_end(ended)
    } else {
        block_on(ended)
    }
}

/// Runs a command that decides itself what Ctrl-C does.
fn run_to_its_end(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    let runtime = light()?;
    let ended = runtime.block_on(Box::pin(command));
    if matches!(ended, Ok(Exit::Interrupted)) {
        // Input that nobody types any more must not keep the process; what ends an agent's processes may.
        runtime.shutdown_timeout(ENDING);
    }
    ended
}

/// Runs a command until Ctrl-C.
fn block_on(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    run_to_its_end(async {
        tokio::select! {
            ended = Box::pin(command) => ended,
            pressed = tokio::signal::ctrl_c() => {
                pressed?;
                print::err("\nacpd: interrupted\n");
                Ok(Exit::Interrupted)
            }
        }
    })
}

/// Runs a command that only talks to the daemon, or uses its files.
async fn client_command(settings: settings::Settings, command: Command) -> anyhow::Result<Exit> {
    let settings = &settings;
    match command {
        Command::Run(args) => run::run(settings, args).await,
        Command::Threads(args) => list::threads(settings, &args).await,
        Command::Search(args) => search::search(settings, &args).await,
        Command::Attach(args) => Box::pin(attach::attach(settings, &args)).await,
        Command::Show(args) => show::show(settings, &args).await,
        Command::Send(args) => steer::send(settings, &args).await,
        Command::Answer(args) => answer::answer(settings, &args).await,
        Command::Type(args) => type_in::type_in(settings, &args).await,
        Command::Interrupt(args) => steer::interrupt(settings, &args).await,
        Command::Rename(args) => lifecycle::rename(settings, &args).await,
        Command::Move(args) => lifecycle::set_directory(settings, &args).await,
        Command::AddDir(args) => lifecycle::add_directory(settings, &args).await,
        Command::Pin(args) => lifecycle::pin(settings, &args, true).await,
        Command::Unpin(args) => lifecycle::pin(settings, &args, false).await,
        Command::Archive(args) => lifecycle::archive(settings, &args).await,
        Command::Unarchive(args) => lifecycle::unarchive(settings, &args).await,
        Command::Delete(args) => lifecycle::delete(settings, &args).await,
        Command::Prune(args) => prune::prune(settings, &args).await,
        Command::Usage(args) => usage::usage(settings, &args).await,
        Command::Export(args) => export::export(settings, &args).await,
        Command::Share(command) => share::share(settings, &command).await,
        Command::Agents(command) => agents::agents(settings.clone(), &command).await,
        Command::Open(args) => open::open(settings, &args).await,
        Command::Pair(args) => pair::pair(settings, &args).await,
        Command::Status(args) => status::status(settings, &args).await,
        Command::Stop(args) => control::stop(settings, &args).await,
        Command::Restart(args) => control::restart(settings, &args).await,
        Command::Logs(args) => logs::logs(settings, &args).await,
        Command::Service(command) => service::service(settings, &command).await,
        Command::Editors(command) => editors::editors(settings, &command).await,
        Command::Backup(args) => backup::backup(settings, &args).await,
        Command::Restore(args) => backup::restore(settings, &args).await,
        Command::Notifications(command) => notifications::notifications(settings, &command).await,
        Command::Token(command) => token::token(settings, &command).await,
        Command::Policy(PolicyCommand::Answers(args)) => answers::list(settings, &args).await,
        Command::Policy(PolicyCommand::Revoke(args)) => answers::revoke(settings, &args).await,
        Command::Acp(args) => acp::acp(settings, args).await,
        Command::Codex(args) => codex::codex(settings, args).await,
        Command::Serve(_)
        | Command::Policy(PolicyCommand::Test(_))
        | Command::Config(_)
        | Command::Doctor(_)
        | Command::Setup(_)
        | Command::DemoAgent(_)
        | Command::Schema
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Keep(_) => Ok(Exit::Success),
    }
}
