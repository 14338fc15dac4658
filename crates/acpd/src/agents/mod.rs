//! `acpd agents`: lists, installs and checks agents. Only `acpd agents running` requires a daemon.

use acpd_catalog::{Catalog, LaunchMethod};
use acpd_host::Reserved;
use acpd_model::{Limits, RawJson};
use acpd_policy::shell_line;
use acpd_runtime::agent::probe::{InitializeResult, Login, ProbeReport, probe, terminal_logins};
use acpd_runtime::agent::registry::{Agents, ListedAgent, Runnable, search_path};
use acpd_runtime::agent::sandbox::{Confinement, closed};
use anyhow::{Context, bail};
use serde_json::{Value, json};

mod running;

use crate::cli::{
    AgentsCommand, AgentsDoctorArgs, AgentsInstallArgs, AgentsLoginArgs, AgentsUninstallArgs,
    AgentsUpdateArgs,
};
use crate::client::Client;
use crate::daemon::background;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::confirm::confirm;
use crate::terminal::plain::{plain, plain_line};
use crate::terminal::print;
use crate::terminal::table::table;

/// Runs an `acpd agents` command. Downloads block the thread: nothing else runs on it.
pub async fn agents(settings: Settings, command: &AgentsCommand) -> anyhow::Result<Exit> {
    match command {
        AgentsCommand::Running(args) => return running::running(&settings, args).await,
        AgentsCommand::Uninstall(args) => return uninstall(&settings, args).await,
        _ => {}
    }
    let registry_url = settings.registry_url;
    let reserved = settings.daemon.reserved();
    let agents = Agents::fixed(settings.daemon.agent_book(), &settings.daemon.data_dir);
    let limits = settings.daemon.limits;
    match command {
        AgentsCommand::List(args) => list(&agents, args.json),
        AgentsCommand::Running(_) | AgentsCommand::Uninstall(_) => {}
        AgentsCommand::Install(args) => install(&agents, args)?,
        AgentsCommand::Update(args) => update(&agents, &registry_url, args)?,
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
        agent.source.name().to_owned(),
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

fn install(agents: &Agents, args: &AgentsInstallArgs) -> anyhow::Result<()> {
    let installed = agents
        .catalog()
        .install(&args.name, args.unverified, &search_path())?;
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

/// Removes an installed agent. A running process may load a part of its files late, so it must end first.
async fn uninstall(settings: &Settings, args: &AgentsUninstallArgs) -> anyhow::Result<Exit> {
    let name = plain(&args.name);
    if background::try_connect(settings).await?.is_some() {
        let mut client = Client::connect(settings, false).await?;
        let running = client.request("agent/running", json!({})).await?["data"].take();
        let processes = running.as_array().map_or(&[][..], Vec::as_slice);
        if processes.iter().any(|process| process["agentType"] == args.name) {
            bail!(
                "{name} is running; see \"acpd agents running\", and uninstall it when its processes have ended"
            );
        }
    }
    let removed = Catalog::new(&settings.daemon.data_dir).uninstall(&args.name)?;
    let Some(version) = removed else {
        return Err(Exit::NotFound.error(format!("{name} is not installed by acpd")));
    };
    if args.json {
        print::json(&json!({ "id": args.name, "version": version }).to_string());
    } else {
        print::out(&format!("uninstalled {name} {}\n", plain(&version)));
    }
    Ok(Exit::Success)
}

fn update(agents: &Agents, configured: &str, args: &AgentsUpdateArgs) -> anyhow::Result<()> {
    let url = args.url.as_deref().unwrap_or(configured);
    let registry = agents.catalog().update(url)?;
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
    let found = agents
        .find(&args.name)
        .map_err(|failure| anyhow::anyhow!("{failure}"))?;
    let cwd = std::env::current_dir().context("this directory is gone")?;
    let report = probe(&found.config, reserved, cwd.clone(), limits).await;
    let Some(hello) = report.hello else {
        bail!("{}", report.error.unwrap_or_default());
    };
    let methods = terminal_logins(&hello);
    let ids: Vec<&str> = methods.iter().map(|method| method.id.as_str()).collect();
    let method = match (&args.method, &methods[..]) {
        (_, []) => bail!("agent {:?} has no terminal authentication method", args.name),
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
    if !args.yes && !confirm("Run it?")? {
        return Ok(Exit::Failure);
    }
    let status = login
        .into_command()
        .status()
        .with_context(|| format!("{} cannot be started", found.config.command))?;
    if status.success() {
        return Ok(Exit::Success);
    }
    bail!("the sign-in of {} ended with {status}", args.name)
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
        plain_line(&variables.concat()),
        plain_line(&line)
    ));
    if !login.dropped.is_empty() {
        let dropped = plain_line(&login.dropped.join(", "));
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
    let found = agents.find(&args.name).map_err(|failure| match &failure.detail {
        Some(detail) => anyhow::anyhow!("{failure} ({detail})"),
        None => anyhow::anyhow!("{failure}"),
    })?;
    let cwd = std::env::current_dir().context("this directory is gone")?;
    let mut report = probe(&found.config, reserved, cwd, limits).await;
    if let (Some(error), LaunchMethod::Npx | LaunchMethod::Uvx) = (&mut report.error, found.how) {
        error.push_str(&format!(
            " (what is not installed is fetched on first use; \"acpd agents install {}\" does that beforehand)",
            args.name
        ));
    }
    if args.json {
        let mut json = json!(report);
        json["id"] = json!(args.name);
        json["ok"] = json!(report.error.is_none());
        json["runs"] = json!(found.how);
        print::json(&format!("{json:#}"));
    } else {
        print::out(&report_text(&args.name, &report));
    }
    Ok(if report.error.is_none() {
        Exit::Success
    } else {
        Exit::Failure
    })
}

fn report_text(name: &str, report: &ProbeReport) -> String {
    let mut words = report.command.iter().map(String::as_str);
    let command = shell_line(words.next().unwrap_or_default(), words);
    let mut out = format!("{}: {}\n", plain(name), plain(&command));
    match (&report.hello, &report.error) {
        (Some(hello), _) => out.push_str(&greeting(hello, report.millis)),
        (None, error) => {
            let error = error.as_deref().unwrap_or("it does not work");
            out.push_str(&format!("failed after {} ms: {}\n", report.millis, plain(error)));
        }
    }
    out.push_str(&confined(&report.sandbox));
    for line in &report.stray_lines {
        out.push_str(&format!("no message: {}\n", plain(line)));
    }
    // A working agent may log much on standard error; the text only matters if the agent fails.
    if report.error.is_some() && !report.stderr.is_empty() {
        out.push_str("its standard error ends with:\n");
        for line in report.stderr.lines() {
            out.push_str(&format!("  {}\n", plain(line)));
        }
    }
    out
}

/// Describes what the sandbox allows, with the setting of each line.
fn confined(sandbox: &Confinement) -> String {
    let reason = sandbox
        .reason
        .as_ref()
        .map(|reason| format!(" ({})", plain(reason)));
    let mut out = format!("sandbox: {}{}\n", sandbox.mode, reason.unwrap_or_default());
    if sandbox.mode == "off" {
        return out;
    }
    let paths = |paths: &[std::path::PathBuf]| {
        let shown: Vec<_> = paths
            .iter()
            .map(|path| plain(&path.display().to_string()))
            .collect();
        shown.join(", ")
    };
    let workspace = if sandbox.mode == "readonly" {
        "reads"
    } else {
        "writes"
    };
    out.push_str(&format!("  {workspace} the workspace\n"));
    out.push_str(&format!("  writes (sandbox.write): {}\n", paths(&sandbox.write)));
    out.push_str(&format!("  reads (sandbox.read): {}\n", paths(&sandbox.read)));
    out.push_str(&format!("  TCP (sandbox.network): {}\n", plain(&sandbox.network)));
    for gap in &sandbox.gaps {
        out.push_str(&format!("  not enforced by this kernel: {gap}\n"));
    }
    for path in &sandbox.closed {
        out.push_str(&format!("  {}\n", plain(&closed(path))));
    }
    for path in &sandbox.missing {
        out.push_str(&format!("  does not exist: {}\n", plain(path)));
    }
    out
}

fn greeting(hello: &InitializeResult, millis: u128) -> String {
    let read = |json: &Option<RawJson>| -> Value {
        let text = json.as_ref().map_or("null", |json| json.get());
        serde_json::from_str(text).unwrap_or_default()
    };
    let mut out = format!(
        "works: ACP version {}, ready after {millis} ms\n",
        hello.protocol_version
    );
    let info = read(&hello.agent_info);
    let parts = [&info["name"], &info["version"]].map(|value| value.as_str().map(plain));
    let info: Vec<_> = parts.into_iter().flatten().collect();
    if !info.is_empty() {
        out.push_str(&format!("agent: {}\n", info.join(" ")));
    }
    let ways = read(&hello.auth_methods);
    let ways: Vec<_> = ways
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|way| way["id"].as_str().map(plain))
        .collect();
    let ways = if ways.is_empty() {
        "none named".to_owned()
    } else {
        ways.join(", ")
    };
    out.push_str(&format!("authentication methods: {ways}\n"));
    let (mut can, mut cannot) = (Vec::new(), Vec::new());
    capabilities("", &read(&hello.agent_capabilities), &mut can, &mut cannot);
    for (title, names) in [("can", can), ("cannot", cannot)] {
        if !names.is_empty() {
            out.push_str(&format!("{title}: {}\n", names.join(", ")));
        }
    }
    out
}

/// Collects the names of the leaves. The agent lacks a capability that is false or null, and has all others.
fn capabilities(at: &str, value: &Value, can: &mut Vec<String>, cannot: &mut Vec<String>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, value) in members.iter().filter(|(name, _)| *name != "_meta") {
                let dot = if at.is_empty() { "" } else { "." };
                capabilities(&format!("{at}{dot}{}", plain(name)), value, can, cannot);
            }
        }
        _ if at.is_empty() => {}
        Value::Bool(false) | Value::Null => cannot.push(at.to_owned()),
        _ => can.push(at.to_owned()),
    }
}
