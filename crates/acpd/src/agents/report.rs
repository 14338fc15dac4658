//! The text of `acpd agents doctor`.

use std::path::Path;

use acpd_client::protocol::{AcpObject, AgentExamined, AgentHello, AgentSandbox};
use acpd_model::json;
use acpd_policy::shell_line;
use acpd_runtime::agent::probe::ProbeReport;
use acpd_runtime::agent::sandbox::closed;
use anyhow::Context;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::whole::Whole;
use crate::exit::Exit;
use crate::terminal::plain::{plain, plain_line, visible};
use crate::terminal::print;

/// Returns a probe on this host as a daemon's result of `agent/doctor`, and whole for `--json`. What the agent sent may be JSON that no
/// type can hold.
pub fn examined(name: &str, probe: &ProbeReport) -> anyhow::Result<Whole<AgentExamined>> {
    let unreadable = "what the agent answered cannot be read";
    let text = serde_json::to_string(probe).context(unreadable)?;
    let json: Value = json::read(&text).context(unreadable)?;
    let mut named = json.clone();
    named["agentType"] = json!(name);
    let known = AgentExamined::deserialize(named).context(unreadable)?;
    Ok(Whole { known, json })
}

/// Returns the findings about an agent as text. `command` is empty if another host started the agent.
fn text(name: &str, command: &[String], report: &AgentExamined) -> String {
    let mut words = command.iter().map(String::as_str);
    let mut out = match words.next() {
        Some(program) => format!("{}: {}\n", plain(name), visible(&shell_line(program, words))),
        None => format!("{}\n", plain(name)),
    };
    match &report.hello {
        Some(hello) => out.push_str(&greeting(hello, report.millis)),
        None => {
            let error = report.error.as_deref().unwrap_or("it does not work");
            out.push_str(&format!("failed after {} ms: {}\n", report.millis, plain(error)));
        }
    }
    if let Some(sandbox) = &report.sandbox {
        out.push_str(&confined(sandbox));
    }
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
fn confined(sandbox: &AgentSandbox) -> String {
    let reason = sandbox
        .reason
        .as_ref()
        .map(|reason| format!(" ({})", plain(reason)));
    let mut out = format!(
        "sandbox: {}{}\n",
        plain(&sandbox.mode),
        reason.unwrap_or_default()
    );
    if sandbox.mode == "off" {
        return out;
    }
    let paths = |paths: &[String]| {
        let paths: Vec<_> = paths.iter().map(|path| plain(path)).collect();
        paths.join(", ")
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
        out.push_str(&format!("  not enforced by this kernel: {}\n", plain(gap)));
    }
    for path in &sandbox.closed {
        out.push_str(&format!("  {}\n", plain(&closed(Path::new(path)))));
    }
    for path in &sandbox.missing {
        out.push_str(&format!("  does not exist: {}\n", plain(path)));
    }
    out
}

fn greeting(hello: &AgentHello, millis: u64) -> String {
    let mut out = format!(
        "works: ACP version {}, ready after {millis} ms\n",
        hello.protocol_version
    );
    let text = |object: &AcpObject, key: &str| object.get(key).and_then(Value::as_str).map(plain_line);
    let info = hello.agent_info.iter();
    let info = info.flat_map(|info| ["name", "version"].map(|key| text(info, key)));
    let info: Vec<_> = info.flatten().collect();
    if !info.is_empty() {
        out.push_str(&format!("agent: {}\n", info.join(" ")));
    }
    let methods = hello.auth_methods.iter().flatten();
    let methods: Vec<_> = methods.filter_map(|method| text(method, "id")).collect();
    let methods = if methods.is_empty() {
        "none named".to_owned()
    } else {
        methods.join(", ")
    };
    out.push_str(&format!("authentication methods: {methods}\n"));
    let (mut can, mut cannot) = (Vec::new(), Vec::new());
    if let Some(all) = &hello.agent_capabilities {
        capabilities("", all, &mut can, &mut cannot);
    }
    for (title, names) in [("can", can), ("cannot", cannot)] {
        if !names.is_empty() {
            out.push_str(&format!("{title}: {}\n", names.join(", ")));
        }
    }
    out
}

/// Collects the names of the leaves. The agent lacks a capability that is false or null, and has all others.
fn capabilities(at: &str, members: &AcpObject, can: &mut Vec<String>, cannot: &mut Vec<String>) {
    for (name, value) in members.iter().filter(|(name, _)| *name != "_meta") {
        let name = format!("{at}{}", plain(name));
        match value {
            Value::Object(below) if !below.is_empty() => {
                capabilities(&format!("{name}."), below, can, cannot);
            }
            Value::Bool(false) | Value::Null => cannot.push(name),
            _ => can.push(name),
        }
    }
}

/// Returns the source of an agent as the list shows it.
pub fn source(source: &str, is_default: bool) -> String {
    format!("{source}{}", if is_default { " (default)" } else { "" })
}

/// Prints the findings about an agent, which `command` started on this host. Returns whether it works.
pub fn print_report(name: &str, command: &[String], mut report: Whole<AgentExamined>, as_json: bool) -> Exit {
    let is_ok = report.error.is_none();
    if as_json {
        report.json["id"] = json!(name);
        report.json["ok"] = json!(is_ok);
        print::json(&report.json.to_string());
    } else {
        print::out(&text(name, command, &report));
    }
    if is_ok { Exit::Success } else { Exit::Failure }
}
