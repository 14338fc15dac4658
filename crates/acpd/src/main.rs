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
mod lenient;
mod options;
mod own_program;
mod pair;
mod path_text;
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
use crate::cli::{Agents, AgentsCommand, Cli, Command, Daemon, PolicyCommand, Threads, Tools, Work};
use crate::daemon::{answers, control, logs, notifications, open, policy, reference, serve, status, token};
use crate::exit::{Exit, sentence};
use crate::options::Common;
use crate::runtime::light;
use crate::settings::Settings;
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
        let settings = Settings::load(common).ok()?;
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
    let settings = Settings::load(common)?.checked()?;
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

/// Runs a command.
fn execute(cli: Cli) -> anyhow::Result<Exit> {
    let common = &cli.common;
    print::configure(common);
    match cli.command {
        // It requires no settings, and must stay the only thread.
        Command::Keep(args) => {
            acpd_host::keep(&args.run).map_err(anyhow::Error::msg)?;
            Ok(Exit::Success)
        }
        Command::DemoAgent(args) => Ok(reference::demo_agent(&args)),
        Command::Work(command) => work(&usable(common)?, command),
        Command::Threads(command) => threads(&usable(common)?, command),
        Command::Agents(command) => for_agents(common, command),
        Command::Daemon(command) => for_daemon(common, command),
        Command::Tools(command) => tools(common, command),
    }
}

fn work(settings: &Settings, command: Work) -> anyhow::Result<Exit> {
    match command {
        Work::Run(args) => to_its_end(run::run(settings, args)),
        Work::Attach(args) => to_its_end(attach::attach(settings, &args)),
        Work::Send(args) => until_ctrl_c(steer::send(settings, &args)),
        Work::Answer(args) => until_ctrl_c(answer::answer(settings, &args)),
        Work::Type(args) => until_ctrl_c(type_in::type_in(settings, &args)),
        Work::Interrupt(args) => until_ctrl_c(steer::interrupt(settings, &args)),
    }
}

fn threads(settings: &Settings, command: Threads) -> anyhow::Result<Exit> {
    match command {
        Threads::Threads(args) => until_ctrl_c(list::threads(settings, &args)),
        Threads::Show(args) => until_ctrl_c(show::show(settings, &args)),
        Threads::Search(args) => until_ctrl_c(search::search(settings, &args)),
        Threads::Rename(args) => until_ctrl_c(lifecycle::rename(settings, &args)),
        Threads::Move(args) => until_ctrl_c(lifecycle::set_directory(settings, &args)),
        Threads::AddDir(args) => until_ctrl_c(lifecycle::add_directory(settings, &args)),
        Threads::Pin(args) => until_ctrl_c(lifecycle::pin(settings, &args, true)),
        Threads::Unpin(args) => until_ctrl_c(lifecycle::pin(settings, &args, false)),
        Threads::Archive(args) => until_ctrl_c(lifecycle::archive(settings, &args)),
        Threads::Unarchive(args) => until_ctrl_c(lifecycle::unarchive(settings, &args)),
        Threads::Delete(args) => until_ctrl_c(lifecycle::delete(settings, &args)),
        Threads::Prune(args) => until_ctrl_c(prune::prune(settings, &args)),
        Threads::Usage(args) => until_ctrl_c(usage::usage(settings, &args)),
        Threads::Export(args) => until_ctrl_c(export::export(settings, &args)),
        Threads::Share(command) => until_ctrl_c(share::share(settings, &command)),
    }
}

fn for_agents(common: &Common, command: Agents) -> anyhow::Result<Exit> {
    match command {
        Agents::Agents(command) => {
            let settings = match &command {
                AgentsCommand::Running(_) | AgentsCommand::Default(_) | AgentsCommand::Uninstall(_) => {
                    usable(common)?
                }
                _ => correct(common)?,
            };
            until_ctrl_c(agents::agents(settings, &command))
        }
        Agents::Editors(command) => until_ctrl_c(editors::editors(&usable(common)?, &command)),
        Agents::Acp(args) => match usable(common) {
            Ok(settings) => to_its_end(acp::acp(&settings, args)),
            // The editor is told as well.
            Err(error) => {
                light()?.block_on(acp::refuse(&error));
                Err(error)
            }
        },
        // Its subject is a program, not an agent of the configuration.
        Agents::AcpCheck(args) => until_ctrl_c(agents::acp_check::check(args)),
        Agents::Codex(args) => to_its_end(codex::codex(&usable(common)?, args)),
    }
}

fn for_daemon(common: &Common, command: Daemon) -> anyhow::Result<Exit> {
    match command {
        Daemon::Serve(args) => serve::serve(correct(common)?, common, &args),
        Daemon::Open(args) => to_its_end(open::open(&usable(common)?, &args)),
        Daemon::Pair(args) => to_its_end(pair::pair(&usable(common)?, &args)),
        Daemon::Status(args) => until_ctrl_c(status::status(&usable(common)?, &args)),
        Daemon::Stop(args) => until_ctrl_c(control::stop(&usable(common)?, &args)),
        Daemon::Restart(args) => until_ctrl_c(control::restart(&correct(common)?, &args)),
        Daemon::Logs(args) => to_its_end(logs::logs(&usable(common)?, &args)),
        Daemon::Doctor(args) => {
            let (settings, unreadable) = Settings::load_anyway(common)?;
            until_ctrl_c(doctor::doctor(settings, unreadable, &args))
        }
        Daemon::Service(command) => until_ctrl_c(service::service(&usable(common)?, &command)),
        Daemon::Backup(args) => until_ctrl_c(backup::backup(&usable(common)?, &args)),
        Daemon::Restore(args) => until_ctrl_c(backup::restore(&usable(common)?, &args)),
    }
}

fn tools(common: &Common, command: Tools) -> anyhow::Result<Exit> {
    match command {
        Tools::Setup(args) => {
            let (settings, _) = Settings::load_anyway(common)?;
            until_ctrl_c(setup::setup(&settings, &args))
        }
        Tools::Config(command) => daemon::config::config(&Settings::load(common)?, common, &command),
        Tools::Notifications(command) => {
            until_ctrl_c(notifications::notifications(&usable(common)?, &command))
        }
        Tools::Token(command) => until_ctrl_c(token::token(&usable(common)?, &command)),
        Tools::Policy(PolicyCommand::Test(args)) => policy::test(&correct(common)?, &args),
        Tools::Policy(PolicyCommand::Answers(args)) => until_ctrl_c(answers::list(&usable(common)?, &args)),
        Tools::Policy(PolicyCommand::Revoke(args)) => until_ctrl_c(answers::revoke(&usable(common)?, &args)),
        Tools::Schema => reference::schema(),
        Tools::Completions(args) => Ok(reference::completions(&args)),
        Tools::Man(args) => reference::man(&args),
    }
}

/// Reads the settings of a command that uses the daemon as it runs. It warns if the configuration file is wrong.
fn usable(common: &Common) -> anyhow::Result<Settings> {
    let settings = Settings::load(common)?;
    if let Some(wrong) = &settings.wrong {
        print::err(&plain::plain(&format!("acpd: warning: {wrong}\n")));
    }
    Ok(settings)
}

/// Reads the settings of a command that needs a correct configuration file.
fn correct(common: &Common) -> anyhow::Result<Settings> {
    Settings::load(common)?.checked()
}

/// Runs a command that decides itself what Ctrl-C does.
fn to_its_end(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    let runtime = light()?;
    let ended = runtime.block_on(Box::pin(command));
    if matches!(ended, Ok(Exit::Interrupted)) {
        // Input that nobody types any more must not keep the process; what ends an agent's processes may.
        runtime.shutdown_timeout(ENDING);
    }
    ended
}

/// Runs a command until Ctrl-C.
fn until_ctrl_c(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    to_its_end(async {
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
