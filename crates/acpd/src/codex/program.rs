//! The installed Codex program.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use acpd_catalog::find_program;
use acpd_runtime::agent::registry::search_path;

use crate::exit::Exit;
use crate::terminal::plain::plain_line;

/// Variable that marks the environment of Codex, so that a program that starts acpd again is recognized.
const MARK: &str = "ACPD_RUNS_CODEX";

/// The command that installs Codex.
const INSTALL: &str = "npm install -g @openai/codex@latest";

/// Time for Codex to print its help.
const PATIENCE: Duration = Duration::from_secs(20);

/// The Codex program.
#[derive(Debug)]
pub struct Program(PathBuf);

/// The kinds of addresses that Codex can connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remotes {
    /// A WebSocket on the network.
    Network,
    /// Also a WebSocket at a local socket.
    NetworkAndSocket,
}

impl Program {
    /// Finds Codex: the named program, or `codex` on `PATH`.
    pub fn find(named: Option<&Path>) -> anyhow::Result<Self> {
        let name = named.unwrap_or(Path::new("codex"));
        if std::env::var_os(MARK).is_some() {
            return Err(Exit::Usage.error(
                "the program that acpd started as Codex has started acpd again: name Codex itself with --codex PATH or \
                 ACPD_CODEX",
            ));
        }
        let found = name.to_str().and_then(|name| find_program(name, &search_path()));
        match (found, named) {
            (Some(path), _) => Ok(Self(path)),
            (None, Some(name)) => Err(Exit::Failure.error(format!(
                "{} is not a program: name Codex with --codex PATH or ACPD_CODEX, or install it with \"{INSTALL}\"",
                name.display()
            ))),
            (None, None) => Err(Exit::Failure.error(format!(
                "codex is not on PATH: install it with \"{INSTALL}\", or name it with --codex PATH"
            ))),
        }
    }

    /// Returns what this version of Codex can connect to. Fails if it is too old for any connection.
    pub async fn remotes(&self) -> anyhow::Result<Remotes> {
        let path = self.0.display();
        let help = tokio::process::Command::new(&self.0)
            .args(["resume", "--help"])
            .env(MARK, "1")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = match tokio::time::timeout(PATIENCE, help).await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => return Err(Exit::Failure.error(format!("{path} cannot be started: {error}"))),
            Err(_) => {
                let secs = PATIENCE.as_secs();
                return Err(
                    Exit::Failure.error(format!("{path} resume --help has not ended within {secs} s"))
                );
            }
        };
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = plain_line(said.trim());
            return Err(
                Exit::Failure.error(format!("{path} resume --help failed, {}: {said}", output.status))
            );
        }
        remotes(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
            Exit::Failure.error(format!(
                "{path} is too old, since it has no --remote: update it with \"{INSTALL}\""
            ))
        })
    }

    /// Becomes Codex, so that the terminal and all signals are its own. Returns only if that fails.
    pub fn run(&self, args: &[OsString], token: Option<(&str, &str)>) -> anyhow::Error {
        let mut command = std::process::Command::new(&self.0);
        command.args(args).env(MARK, "1");
        if let Some((variable, token)) = token {
            command.env(variable, token);
        }
        let error = command.exec();
        Exit::Failure.error(format!("{} cannot be started: {error}", self.0.display()))
    }
}

/// Reads from Codex's help what it can connect to.
fn remotes(help: &str) -> Option<Remotes> {
    let (_, rest) = help.split_once("--remote <")?;
    Some(if rest.contains("unix://PATH") {
        Remotes::NetworkAndSocket
    } else {
        Remotes::Network
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_of_codex_decides_how_it_connects() {
        for (help, expected) in [
            (
                "      --remote <ADDR>\n  Accepted forms: `ws://host:port`, `unix://`, or `unix://PATH`.",
                Some(Remotes::NetworkAndSocket),
            ),
            ("--remote <ADDR> `ws://host:port`", Some(Remotes::Network)),
            ("  --remote-auth-token-env <ENV_VAR>", None),
            ("", None),
        ] {
            assert_eq!(remotes(help), expected, "{help}");
        }
    }
}
