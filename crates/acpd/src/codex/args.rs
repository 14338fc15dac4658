//! What acpd reads of Codex's arguments: the command, and the options that acpd would set itself.
//!
//! Codex's own parser has the last word on everything else.

use std::ffi::{OsStr, OsString};

use crate::exit::Exit;

/// Options of Codex that have a value, besides `--image`.
const WITH_VALUE: [&str; 20] = [
    "-c",
    "--config",
    "--enable",
    "--disable",
    "--remote",
    "--remote-auth-token-env",
    "--local-provider",
    "-m",
    "--model",
    "-p",
    "--profile",
    "-s",
    "--sandbox",
    "-C",
    "--cd",
    "--add-dir",
    "-a",
    "--ask-for-approval",
    // These are acpd's, in the wrong place.
    "--agent",
    "--connect",
];

/// Options of `codex app-server` that have a value.
const APP_SERVER_WITH_VALUE: [&str; 12] = [
    "-c",
    "--config",
    "--enable",
    "--disable",
    "--startup-client-info",
    "--cloud-skills-snapshot",
    "--code-mode-host",
    "--ws-auth",
    "--ws-token-file",
    "--ws-token-sha256",
    "--ws-shared-secret-file",
    "--listen",
];

/// Commands that Codex runs without an app server.
const WITHOUT_SERVER: [&str; 22] = [
    "exec",
    "e",
    "review",
    "login",
    "logout",
    "mcp",
    "plugin",
    "remote-control",
    "update",
    "doctor",
    "sandbox",
    "debug",
    "execpolicy",
    "apply",
    "a",
    "migrate-rollouts",
    "migrate-nfs-db",
    "cloud",
    "cloud-tasks",
    "exec-server",
    "features",
    "responses-api-proxy",
];

/// Commands about one thread, which end at once.
const WITHOUT_TUI: [&str; 4] = ["archive", "unarchive", "delete", "queue"];

/// What the arguments ask for.
#[derive(Debug, PartialEq, Eq)]
pub enum Task {
    /// A pipe between a client that starts Codex and the daemon.
    Pipe,
    /// Something that Codex answers by itself, such as its version.
    Print,
    /// Codex, connected to the daemon.
    Connect(Given),
}

/// What the arguments name, of what acpd would set itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The command, if it opens no TUI. Such a command has neither a directory nor a model.
    pub command: Option<String>,
    /// Whether they name a directory.
    pub directory: bool,
    /// Whether they name a model.
    pub model: bool,
}

/// Reads Codex's arguments.
pub fn read(args: &[OsString]) -> anyhow::Result<Task> {
    let before_end = args.split(|arg| arg == "--").next().unwrap_or_default();
    let has = |names: &[&str]| {
        before_end
            .iter()
            .any(|arg| names.iter().any(|name| is(arg, name)))
    };
    let (command, rest) = match command(before_end, &WITH_VALUE) {
        Some(at) => (before_end[at].to_str(), &before_end[at + 1..]),
        None => (None, &[][..]),
    };
    if has(&["--agent", "--connect"]) {
        return Err(Exit::Usage.error(
            "--agent and --connect come before the arguments of Codex: acpd codex --agent NAME --connect URL ARGS",
        ));
    }
    if command == Some("app-server") {
        return app_server(rest);
    }
    if has(&["-h", "--help", "-V", "--version"]) || matches!(command, Some("help" | "completion")) {
        return Ok(Task::Print);
    }
    if let Some(command) = command.filter(|command| WITHOUT_SERVER.contains(command)) {
        let instead = match command {
            "exec" | "e" => ", or use \"acpd run\" for one turn of an agent",
            _ => "",
        };
        return Err(Exit::Usage.error(format!(
            "\"codex {command}\" uses no daemon: run it without acpd{instead}"
        )));
    }
    if has(&["--remote", "--remote-auth-token-env"]) {
        return Err(Exit::Usage.error(
            "acpd sets Codex's --remote itself: remove it, and name another daemon with \"acpd codex --connect URL\"",
        ));
    }
    Ok(Task::Connect(Given {
        command: command
            .filter(|command| WITHOUT_TUI.contains(command))
            .map(str::to_owned),
        directory: has(&["-C", "--cd"]),
        model: has(&["-m", "--model"]),
    }))
}

/// Reads the arguments after `app-server`. Options about Codex's own server have no meaning for a pipe.
fn app_server(args: &[OsString]) -> anyhow::Result<Task> {
    let prints = args
        .iter()
        .any(|arg| arg == "-h" || arg == "--help" || arg == "--print-startup-config");
    if prints {
        return Ok(Task::Print);
    }
    if let Some(at) = command(args, &APP_SERVER_WITH_VALUE) {
        let command = args[at].to_string_lossy();
        return match &*command {
            "generate-ts" | "generate-json-schema" | "help" => Ok(Task::Print),
            _ => Err(Exit::Usage.error(format!(
                "\"codex app-server {command}\" is about Codex's own server: run it without acpd"
            ))),
        };
    }
    match value(args, "--listen") {
        None => Ok(Task::Pipe),
        Some(address) if address == "stdio://" => Ok(Task::Pipe),
        Some(address) => Err(Exit::Usage.error(format!(
            "\"acpd codex app-server\" serves stdio:// only, and --listen is {address:?}: connect to the daemon's own \
             address, or set codex.listen in the configuration"
        ))),
    }
}

/// Returns the index of the command: the first argument that is neither an option nor the value of one.
fn command(args: &[OsString], with_value: &[&str]) -> Option<usize> {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let text = arg.to_string_lossy();
        if matches!(&*text, "-i" | "--image") {
            // Takes all values up to the next option.
            at += 1 + args[at + 1..].iter().take_while(|arg| !is_option(arg)).count();
        } else if with_value.contains(&&*text) {
            at += 2;
        } else if is_option(arg) {
            at += 1;
        } else {
            return Some(at);
        }
    }
    None
}

fn is_option(arg: &OsStr) -> bool {
    arg.as_encoded_bytes().starts_with(b"-") && arg.len() > 1
}

/// Returns whether an argument is this option: `-C`, `-CDIR`, `--cd` or `--cd=DIR`.
fn is(arg: &OsStr, option: &str) -> bool {
    let rest = arg.as_encoded_bytes().strip_prefix(option.as_bytes());
    let is_long = option.starts_with("--");
    rest.is_some_and(|rest| rest.is_empty() || !is_long || rest.starts_with(b"="))
}

/// Returns the value of an option.
fn value(args: &[OsString], option: &str) -> Option<String> {
    let at = args.iter().position(|arg| is(arg, option))?;
    match args[at].to_string_lossy().split_once('=') {
        Some((_, value)) => Some(value.to_owned()),
        None => Some(args.get(at + 1)?.to_string_lossy().into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(line: &str) -> Result<Task, String> {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        read(&args).map_err(|error| error.to_string())
    }

    #[test]
    fn options_are_added_unless_they_are_given() {
        for (line, command, directory, model) in [
            ("", None, false, false),
            ("fix", None, false, false),
            ("-i a.png queue", None, false, false),
            ("-C /x fix", None, true, false),
            ("-C/x", None, true, false),
            ("resume --cd=/x ID", None, true, false),
            ("-m demo resume", None, false, true),
            ("--model=demo", None, false, true),
            ("agents", None, false, false),
            ("archive ID", Some("archive"), false, false),
            ("queue --thread x --message hi", Some("queue"), false, false),
            ("-c model=x queue", Some("queue"), false, false),
            ("fork -- --cd", None, false, false),
        ] {
            let command = command.map(str::to_owned);
            let given = Given {
                command,
                directory,
                model,
            };
            assert_eq!(task(line), Ok(Task::Connect(given)), "{line}");
        }
    }

    #[test]
    fn an_app_server_is_a_pipe() {
        for line in [
            "app-server",
            "app-server --listen stdio://",
            "app-server --listen=stdio:// --stdio",
            "--config k=v -c a=b app-server -c x=y --analytics-default-enabled",
        ] {
            assert_eq!(task(line), Ok(Task::Pipe), "{line}");
        }
        for line in [
            "--version",
            "-V",
            "resume --help",
            "completion bash",
            "app-server --help",
            "-c k=v app-server generate-json-schema --out /x",
        ] {
            assert_eq!(task(line), Ok(Task::Print), "{line}");
        }
    }

    #[test]
    fn codex_commands_without_the_daemon_are_refused() {
        for (line, said) in [
            ("exec hi", "\"codex exec\" uses no daemon"),
            ("-m x login", "\"codex login\" uses no daemon"),
            ("--remote ws://x", "acpd sets Codex's --remote itself"),
            (
                "resume --remote-auth-token-env=X",
                "acpd sets Codex's --remote itself",
            ),
            (
                "app-server --listen ws://127.0.0.1:1",
                "--listen is \"ws://127.0.0.1:1\"",
            ),
            ("app-server daemon start", "Codex's own server"),
        ] {
            let error = task(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        }
    }
}
