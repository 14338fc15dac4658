//! The agent's process, and its pipes.

use std::path::Path;
use std::time::Duration;

use acpd_host::{AgentProcess, Environment, Program, StderrTail, StoppingProcess};
use tokio::io::{AsyncRead, AsyncWrite};

/// How long an agent may take to end after its standard input is closed, and again after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// How long to wait for the rest of standard error.
const STDERR_GRACE: Duration = Duration::from_millis(200);

/// Most of the end of standard error that is quoted, in bytes.
const STDERR_BYTES: usize = 200;

/// The pipes of a running agent.
pub struct Connection {
    /// What the agent writes.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// What the agent reads.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    process: Option<(StoppingProcess, StderrTail)>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects to an agent in this process.
    pub fn within(
        output: impl AsyncRead + Send + Unpin + 'static,
        input: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self {
            output: Box::new(output),
            input: Box::new(input),
            process: None,
        }
    }

    /// Returns the end of what the agent printed on standard error.
    pub async fn stderr(&self) -> String {
        if self.process.is_some() {
            // It may still be on its way.
            tokio::time::sleep(STDERR_GRACE).await;
        }
        let tail = self.process.as_ref().and_then(|(_, tail)| tail.since(0));
        let text = tail.map(|(text, _)| text).unwrap_or_default();
        let text = text.trim_end();
        let start = text.ceil_char_boundary(text.len().saturating_sub(STDERR_BYTES));
        text[start..].to_owned()
    }

    /// Closes the agent's standard input, and ends its process and all descendants.
    pub async fn end(self) {
        let Self {
            input,
            output: _output,
            process,
        } = self;
        drop(input);
        if let Some((process, _)) = process {
            process.stop(GRACE).await;
        }
    }
}

/// Starts an agent as often as a run needs it.
pub trait Start {
    /// Starts the agent with this working directory. Returns a sentence on failure.
    fn start(&mut self, directory: &Path) -> Result<Connection, String>;
}

/// Starts a program of the host with the environment of this process.
#[derive(Debug)]
pub struct Command {
    /// The program and its arguments.
    pub words: Vec<String>,
}

impl Start for Command {
    fn start(&mut self, directory: &Path) -> Result<Connection, String> {
        let (command, args) = self.words.split_first().ok_or("no command was given")?;
        let here = std::env::current_dir()
            .map_err(|error| format!("the current directory cannot be read: {error}"))?;
        // Any path of a program is one, but a word of the arguments may be anything.
        let command = if command.contains('/') {
            here.join(command).to_string_lossy().into_owned()
        } else {
            command.clone()
        };
        let program = Program {
            command,
            args: args.iter().map(|word| absolute(word, &here)).collect(),
            // The user runs the agent here, as from a shell.
            env: Environment::here(&["*".to_owned()], &std::collections::BTreeMap::new()),
            cwd: directory.to_owned(),
            sandbox: None,
        };
        let mut process = AgentProcess::spawn(&program).map_err(|failure| failure.message)?;
        let input = process
            .stdin
            .take()
            .ok_or("the agent's pipes could not be opened")?;
        let tail = process.stderr();
        let (process, output) = process.into_stopping();
        Ok(Connection {
            output: Box::new(output),
            input: Box::new(input),
            process: Some((process, tail)),
        })
    }
}

/// Makes a path that begins with `./` or `../` absolute: the agent starts in another directory.
fn absolute(word: &str, here: &Path) -> String {
    if word.starts_with("./") || word.starts_with("../") {
        here.join(word).to_string_lossy().into_owned()
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_users_directory_are_absolute() {
        let here = Path::new("/home/ann");
        assert_eq!(absolute("./agent", here), "/home/ann/./agent");
        assert_eq!(absolute("../agent.js", here), "/home/ann/../agent.js");
        for word in ["agent", "acp", "--acp", "/bin/agent", ".", "..", "a/b", ""] {
            assert_eq!(absolute(word, here), word);
        }
    }
}
