//! The text of `acpd agents doctor`.

use std::path::Path;

use acpd_policy::shell_line;
use acpd_runtime::agent::sandbox::closed;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::terminal::plain::{plain, plain_line, visible};
use crate::terminal::print;

/// Returns the findings about an agent as text. `report` has the members of the result of `agent/doctor`.
pub fn text(name: &str, report: &Value) -> String {
    let mut words = texts(&report["command"]);
    let mut out = match words.next() {
        Some(program) => format!("{}: {}\n", plain(name), visible(&shell_line(program, words))),
        None => format!("{}\n", plain(name)),
    };
    let millis = report["millis"].as_u64().unwrap_or_default();
    let error = report["error"].as_str();
    if report["hello"].is_object() {
        out.push_str(&greeting(&report["hello"], millis));
    } else {
        let error = error.unwrap_or("it does not work");
        out.push_str(&format!("failed after {millis} ms: {}\n", plain(error)));
    }
    out.push_str(&confined(&report["sandbox"]));
    for line in texts(&report["strayLines"]) {
        out.push_str(&format!("no message: {}\n", plain(line)));
    }
    // A working agent may log much on standard error; the text only matters if the agent fails.
    let stderr = report["stderr"].as_str().unwrap_or_default();
    if error.is_some() && !stderr.is_empty() {
        out.push_str("its standard error ends with:\n");
        for line in stderr.lines() {
            out.push_str(&format!("  {}\n", plain(line)));
        }
    }
    out
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Describes what the sandbox allows, with the setting of each line.
fn confined(sandbox: &Value) -> String {
    let text = |key: &str| plain(sandbox[key].as_str().unwrap_or_default());
    if sandbox.is_null() {
        return String::new();
    }
    let reason = sandbox["reason"]
        .as_str()
        .map(|reason| format!(" ({})", plain(reason)));
    let mut out = format!("sandbox: {}{}\n", text("mode"), reason.unwrap_or_default());
    if sandbox["mode"] == "off" {
        return out;
    }
    let paths = |key: &str| texts(&sandbox[key]).map(plain).collect::<Vec<_>>().join(", ");
    let workspace = if sandbox["mode"] == "readonly" {
        "reads"
    } else {
        "writes"
    };
    out.push_str(&format!("  {workspace} the workspace\n"));
    out.push_str(&format!("  writes (sandbox.write): {}\n", paths("write")));
    out.push_str(&format!("  reads (sandbox.read): {}\n", paths("read")));
    out.push_str(&format!("  TCP (sandbox.network): {}\n", text("network")));
    for gap in texts(&sandbox["gaps"]) {
        out.push_str(&format!("  not enforced by this kernel: {}\n", plain(gap)));
    }
    for path in texts(&sandbox["closed"]) {
        out.push_str(&format!("  {}\n", plain(&closed(Path::new(path)))));
    }
    for path in texts(&sandbox["missing"]) {
        out.push_str(&format!("  does not exist: {}\n", plain(path)));
    }
    out
}

fn greeting(hello: &Value, millis: u64) -> String {
    let mut out = format!(
        "works: ACP version {}, ready after {millis} ms\n",
        hello["protocolVersion"]
    );
    let info = &hello["agentInfo"];
    let parts = [&info["name"], &info["version"]].map(|value| value.as_str().map(plain_line));
    let info: Vec<_> = parts.into_iter().flatten().collect();
    if !info.is_empty() {
        out.push_str(&format!("agent: {}\n", info.join(" ")));
    }
    let methods: Vec<_> = hello["authMethods"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|method| method["id"].as_str().map(plain_line))
        .collect();
    let methods = if methods.is_empty() {
        "none named".to_owned()
    } else {
        methods.join(", ")
    };
    out.push_str(&format!("authentication methods: {methods}\n"));
    let (mut can, mut cannot) = (Vec::new(), Vec::new());
    capabilities("", &hello["agentCapabilities"], &mut can, &mut cannot);
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

/// Returns the source of an agent as the list shows it.
pub fn source(source: &str, is_default: bool) -> String {
    format!("{source}{}", if is_default { " (default)" } else { "" })
}

/// Prints the findings about an agent. Returns whether it works.
pub fn print_report(name: &str, mut report: Value, as_json: bool) -> Exit {
    if as_json {
        report["id"] = json!(name);
        print::json(&report.to_string());
    } else {
        print::out(&text(name, &report));
    }
    if report["ok"] == true {
        Exit::Success
    } else {
        Exit::Failure
    }
}
