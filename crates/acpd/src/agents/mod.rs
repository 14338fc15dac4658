//! `acpd agents`: lists, installs and checks agents. On the daemon's host, only `acpd agents running` and `default` require a
//! daemon. `acpd acp-check` checks a program that no daemon knows.

use std::io::IsTerminal;

use acpd_catalog::{Catalog, CatalogError, Installed, Installer, LaunchMethod, Progress as Step, Watch};
use acpd_host::{Kernel, Reserved};
use acpd_model::text::shorten;
use acpd_model::{Failure, Limits};
use acpd_policy::shell_line;
use acpd_runtime::agent::config::AgentConfig;
use acpd_runtime::agent::probe::{Login, probe, terminal_logins};
use acpd_runtime::agent::registry::{Agents, ListedAgent, Runnable, search_path};
use acpd_runtime::agent::sandbox::for_installer;
use anyhow::{Context, bail};
use serde_json::json;

pub mod acp_check;
mod default;
mod far;
mod report;
mod running;

use self::report::{examined, print_report, source};
use crate::cli::{
    AgentsCommand, AgentsDoctorArgs, AgentsInstallArgs, AgentsLoginArgs, AgentsUninstallArgs,
    AgentsUpdateArgs,
};
use crate::client::connect::connect;
use crate::client::local;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::amounts::mebibytes;
use crate::terminal::confirm::confirm;
use crate::terminal::plain::{plain, plain_line, visible_line};
use crate::terminal::print;
use crate::terminal::progress::Progress;
use crate::terminal::table::table;

/// Maximum length of a line of an installer on the progress line, in characters.
const STEP_CHARS: usize = 40;

/// Runs an `acpd agents` command.
pub async fn agents(settings: Settings, command: &AgentsCommand) -> anyhow::Result<Exit> {
    match command {
        AgentsCommand::List(args) if settings.remote.is_some() => return far::list(&settings, args).await,
        AgentsCommand::Install(args) if settings.remote.is_some() => {
            return far::install(&settings, args).await;
        }
        AgentsCommand::Doctor(args) if settings.remote.is_some() => {
            return far::doctor(&settings, args).await;
        }
        AgentsCommand::Running(args) => return running::running(&settings, args).await,
        AgentsCommand::Default(args) => return default::default(&settings, args).await,
        AgentsCommand::Uninstall(args) => return uninstall(&settings, args).await,
        // What they start must not be the owner at the daemon's socket.
        AgentsCommand::Install(_) | AgentsCommand::Login(_) | AgentsCommand::Doctor(_) => {
            acpd_host::count_as_agent();
        }
        AgentsCommand::List(_) | AgentsCommand::Update(_) => {}
    }
    let registry_url = settings.registry_url().to_owned();
    let reserved = settings.daemon.reserved();
    let agents = Agents::fixed(settings.daemon.agent_book(), &settings.daemon.data_dir);
    let limits = settings.daemon.limits;
    match command {
        AgentsCommand::List(args) => list(&agents, args.json),
        AgentsCommand::Running(_) | AgentsCommand::Default(_) | AgentsCommand::Uninstall(_) => {}
        AgentsCommand::Install(args) => install(agents, reserved, args).await?,
        AgentsCommand::Update(args) => update(agents, &registry_url, args).await?,
        AgentsCommand::Login(args) => return login(&agents, &reserved, &limits, args).await,
        AgentsCommand::Doctor(args) => return doctor(&agents, &reserved, &limits, args).await,
    }
    Ok(Exit::Success)
}

fn list(agents: &Agents, as_json: bool) {
    let snapshot = agents.catalog().look();
    let listed = agents.list_of(&snapshot);
    print_skipped(&snapshot.registry.skipped);
    if as_json {
        for agent in listed {
            let mut line = json!(agent);
            line["command"] = json!(agent.command);
            print::json(&line.to_string());
        }
        return;
    }
    let rows: Vec<_> = listed.iter().map(row).collect();
    table(["NAME", "SOURCE", "VERSION", "RUNS"], &rows);
}

fn row(agent: &ListedAgent) -> [String; 4] {
    let runs = match (&agent.reason, agent.runs) {
        (Some(reason), _) => format!("not yet: {reason}"),
        (None, Some(LaunchMethod::Installed)) => format!("installed: {}", short(&agent.command)),
        (None, _) => short(&agent.command),
    };
    [
        plain(&agent.id),
        source(agent.source.name(), agent.is_default),
        plain(agent.version.as_deref().unwrap_or("-")),
        plain(&runs),
    ]
}

/// Returns a command line with the program's name instead of its path.
fn short(command: &[String]) -> String {
    let program = command.first().map(String::as_str).unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or(program);
    shell_line(name, command.iter().skip(1).map(String::as_str))
}

/// Returns the error for an agent that cannot be started.
fn not_found(failure: &Failure) -> anyhow::Error {
    let detail = failure.detail.as_ref().map(|detail| format!(" ({detail})"));
    Exit::of_code(Some(failure.code)).error(format!("{failure}{}", detail.unwrap_or_default()))
}

/// Returns the error for an agent that cannot be installed.
fn not_installed(agents: &Agents, error: CatalogError) -> anyhow::Error {
    let CatalogError::Unknown(name) = &error else {
        return error.into();
    };
    match agents.find(name) {
        Ok(_) => Exit::Usage.error(format!(
            "the registry has no agent {name:?}: the configuration names its command, so install that program yourself"
        )),
        Err(failure) => not_found(&failure),
    }
}

/// What the user permits an installation.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    /// A download without a checksum.
    pub unverified: bool,
    /// Code of packages while they are installed.
    pub scripts: bool,
}

/// Installs an agent of the registry, with its progress on a terminal. Names the packages whose install scripts were not run.
pub async fn install_agent(
    agents: Agents,
    reserved: Reserved,
    name: &str,
    wanted: Wanted,
) -> anyhow::Result<(Agents, Installed)> {
    let name = name.to_owned();
    let (agents, installed) = tokio::task::spawn_blocking(move || {
        let installed = install_with_progress(&agents, &reserved, &name, wanted);
        (agents, installed)
    })
    .await?;
    let installed = installed.map_err(|error| not_installed(&agents, error))?;
    if !installed.scripts_left.is_empty() {
        print::err(&format!(
            "acpd: install scripts of these packages were not run, and most agents work without them: {}\n",
            plain_line(&installed.scripts_left.join(", "))
        ));
    }
    Ok((agents, installed))
}

async fn install(agents: Agents, reserved: Reserved, args: &AgentsInstallArgs) -> anyhow::Result<()> {
    let wanted = Wanted {
        unverified: args.unverified,
        scripts: args.run_scripts,
    };
    let (mut agents, mut installed) = install_agent(agents, reserved.clone(), &args.name, wanted).await?;
    if !installed.scripts_left.is_empty() && may_run_scripts(args).await? {
        let scripts = Wanted {
            scripts: true,
            ..wanted
        };
        (agents, installed) = install_agent(agents, reserved, &args.name, scripts).await?;
    }
    if args.json {
        let (version, command) = (&installed.version, &installed.command);
        let done = json!({ "id": args.name, "version": version, "command": command });
        print::json(&done.to_string());
        return Ok(());
    }
    print::out(&format!(
        "installed {} {}: {}\n",
        plain(&args.name),
        plain(&installed.version),
        installed.command.display()
    ));
    if let Ok(Runnable {
        config,
        how: LaunchMethod::Path,
    }) = agents.find(&args.name)
    {
        print::hint(&format!(
            "{} is used instead, since it is on PATH",
            plain(&config.command)
        ));
    }
    Ok(())
}

/// Asks whether packages may run their install scripts, if there is a terminal.
async fn may_run_scripts(args: &AgentsInstallArgs) -> anyhow::Result<bool> {
    let place = if Kernel::here().has_sandboxes() {
        "in a sandbox"
    } else {
        "without a sandbox, which this system does not have"
    };
    if args.json || !std::io::stdin().is_terminal() {
        let name = plain_line(&args.name);
        print::hint(&format!(
            "\"acpd agents install {name} --run-scripts\" runs them, {place}"
        ));
        return Ok(false);
    }
    confirm(&format!("Run them, {place}?")).await
}

/// Installs an agent, with its progress on a terminal; elsewhere, its installer writes to standard error.
fn install_with_progress(
    agents: &Agents,
    reserved: &Reserved,
    name: &str,
    Wanted { unverified, scripts }: Wanted,
) -> Result<Installed, CatalogError> {
    let (path, book) = (search_path(), agents.book());
    let install = |watch: Option<Watch<'_>>| {
        let installer = Installer {
            path: &path,
            watch,
            unverified,
            scripts,
            confine: &|program, target, phase| for_installer(&book.sandbox, reserved, program, target, phase),
        };
        agents.catalog().install(name, installer)
    };
    if unverified || !Progress::is_shown() {
        return install(None);
    }
    let progress = Progress::begin(&format!("installing {}", plain_line(name)));
    let watch = |step: Step<'_>| {
        let step = match step {
            Step::Received { bytes, of: Some(of) } => format!("{} of {}", mebibytes(bytes), mebibytes(of)),
            Step::Received { bytes, of: None } => mebibytes(bytes),
            Step::Unpacking => "unpacking".to_owned(),
            Step::Wrote(line) => shorten(&plain_line(line), STEP_CHARS),
        };
        progress.set(&format!("installing {}: {step}", plain_line(name)));
    };
    install(Some(&watch))
}

/// Removes an installed agent. A running process may load a part of its files late, so it must end first.
async fn uninstall(settings: &Settings, args: &AgentsUninstallArgs) -> anyhow::Result<Exit> {
    let name = plain(&args.name);
    if local::try_connect(settings).await?.is_some() {
        let running = connect(settings, false).await?.agent_running().await?.data;
        if running.iter().any(|process| process.agent_type == args.name) {
            bail!(
                "{name} is running; see \"acpd agents running\", and uninstall it when its processes have ended"
            );
        }
    }
    let removed = Catalog::new(&settings.daemon.data_dir).uninstall(&args.name)?;
    let Some(version) = removed else {
        return Err(Exit::NotFound.error(format!(
            "{name} is not installed by acpd; \"acpd agents list\" shows which agents are"
        )));
    };
    if args.json {
        print::json(&json!({ "id": args.name, "version": version }).to_string());
    } else {
        print::out(&format!("uninstalled {name} {}\n", plain(&version)));
    }
    Ok(Exit::Success)
}

async fn update(agents: Agents, configured: &str, args: &AgentsUpdateArgs) -> anyhow::Result<()> {
    let url = args.url.as_deref().unwrap_or(configured);
    let mut progress = Progress::begin("downloading the registry");
    let wanted = url.to_owned();
    let updated = tokio::task::spawn_blocking(move || agents.catalog().update(&wanted)).await?;
    progress.end();
    let registry = updated?;
    print_skipped(&registry.skipped);
    let count = registry.agents.len();
    if args.json {
        print::json(&json!({ "agents": count, "url": url }).to_string());
    } else {
        print::out(&format!("{count} agents from {}\n", plain(url)));
    }
    Ok(())
}

fn print_skipped(skipped: &[String]) {
    for reason in skipped {
        print::err(&format!("acpd: left out of the registry: {}\n", plain(reason)));
    }
}

/// Signs the user in with the agent's own program. Returns the program's exit code.
async fn login(
    agents: &Agents,
    reserved: &Reserved,
    limits: &Limits,
    args: &AgentsLoginArgs,
) -> anyhow::Result<Exit> {
    let found = agents.find(&args.name).map_err(|failure| not_found(&failure))?;
    let cwd = std::env::current_dir().context("this directory is gone")?;
    let report = probe(&found.config, reserved, cwd.clone(), limits).await;
    let Some(hello) = report.hello else {
        bail!("{}", report.error.unwrap_or_default());
    };
    let methods = terminal_logins(&hello);
    let ids: Vec<&str> = methods.iter().map(|method| method.id.as_str()).collect();
    let method = match (&args.method, &methods[..]) {
        (_, []) => return Err(no_login(&args.name, &found.config)),
        (None, [only]) => only,
        (None, _) => bail!(
            "name an authentication method after the agent: {}",
            ids.join(", ")
        ),
        (Some(id), methods) => methods.iter().find(|method| method.id == *id).with_context(|| {
            format!(
                "unknown authentication method {id:?}; available: {}",
                ids.join(", ")
            )
        })?,
    };
    let login =
        Login::new(&found.config, reserved, &cwd, method).map_err(|failure| anyhow::anyhow!("{failure}"))?;
    show_login(&args.name, &login);
    if !args.yes && !confirm("Run it?").await? {
        return Ok(Exit::Failure);
    }
    let ended = login
        .run()
        .await
        .map_err(|failure| anyhow::anyhow!("{failure}"))?;
    match (ended.code, ended.signal.as_deref()) {
        (Some(0), _) => Ok(Exit::Success),
        (None, Some("SIGINT")) => Ok(Exit::Interrupted),
        (Some(code), _) => bail!("the sign-in of {} ended with exit status: {code}", args.name),
        (None, signal) => bail!(
            "the sign-in of {} was ended by {}",
            args.name,
            signal.unwrap_or("a signal")
        ),
    }
}

/// Returns the error for an agent that cannot be signed in to by acpd, with the ways that remain.
fn no_login(name: &str, config: &AgentConfig) -> anyhow::Error {
    let program = config.command.rsplit('/').next().unwrap_or(&config.command);
    anyhow::anyhow!(
        "the agent {name:?} has no sign-in that acpd can run: run {program:?} itself and sign in there, or set the \
         variable with its key where the daemon starts and add the variable's name to pass_env in [agents.{name}]"
    )
}

/// Prints the command of a sign-in. The user must see it, since the agent itself supplies a part of it.
fn show_login(name: &str, login: &Login) {
    let place = if login.is_confined() {
        "in its sandbox"
    } else {
        "without a sandbox"
    };
    let variables = login.env.iter().map(|(name, value)| format!("{name}={value}"));
    let variables: Vec<_> = variables
        .map(|variable| shell_line(&variable, std::iter::empty()) + " ")
        .collect();
    let program = login.command.first().map(String::as_str).unwrap_or_default();
    let line = shell_line(program, login.command.iter().skip(1).map(String::as_str));
    print::err(&format!(
        "acpd: the agent {} signs in by this command, {place}:\n  {}{}\n",
        plain(name),
        visible_line(&variables.concat()),
        visible_line(&line)
    ));
    if !login.dropped.is_empty() {
        let dropped = visible_line(&login.dropped.join(", "));
        print::err(&format!(
            "acpd: variables are left out: {dropped} (an agent sets those that begin as a PREFIX* of its pass_env)\n"
        ));
    }
}

/// Starts an agent and prints its capabilities.
async fn doctor(
    agents: &Agents,
    reserved: &Reserved,
    limits: &Limits,
    args: &AgentsDoctorArgs,
) -> anyhow::Result<Exit> {
    let found = agents.find(&args.name).map_err(|failure| not_found(&failure))?;
    let cwd = std::env::current_dir().context("this directory is gone")?;
    let mut progress = Progress::begin(&format!("starting {}", plain_line(&args.name)));
    let mut report = probe(&found.config, reserved, cwd, limits).await;
    progress.end();
    if let (Some(error), LaunchMethod::Npx | LaunchMethod::Uvx) = (&mut report.error, found.how) {
        error.push_str(&format!(
            " (what is not installed is fetched on first use; \"acpd agents install {}\" does that beforehand)",
            args.name
        ));
    }
    let mut examined = examined(&args.name, &report)?;
    examined.json["runs"] = json!(found.how);
    Ok(print_report(&args.name, &report.command, examined, args.json))
}
