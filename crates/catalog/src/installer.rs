//! Runs npm, uv and pip.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use acpd_host::{Environment, Tail};
use acpd_model::limits::{INSTALL_SECS, STDERR_TAIL_BYTES};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::error::CatalogError;
use super::progress::{Progress, Watch};

/// Settings of installers, which users put into the environment. [`Environment`] leaves out what it does not know, such as
/// the keys of other services.
const SETTINGS: [&str; 5] = ["NPM_*", "npm_*", "UV_*", "PIP_*", "NODE_OPTIONS"];

/// Longest line of an installer that is read as one.
const LINE_BYTES: u64 = 4 << 10;

/// What installers run with.
#[derive(Clone, Copy)]
pub struct Installer<'a> {
    /// The search path for programs.
    pub path: &'a str,
    /// Receives the progress. Without it, installers write to stderr.
    pub watch: Option<Watch<'a>>,
}

impl Installer<'_> {
    /// Reports progress.
    pub fn report(self, progress: Progress<'_>) {
        if let Some(watch) = self.watch {
            watch(progress);
        }
    }

    /// Runs an installer until it exits.
    pub fn run(self, program: &Path, args: &[&str], package: &str, cwd: &Path) -> Result<(), CatalogError> {
        let failed = |reason: String| CatalogError::Installer {
            program: program.display().to_string(),
            package: package.to_owned(),
            reason,
        };
        let environment = Environment::here(
            &SETTINGS.map(str::to_owned),
            &BTreeMap::from([("PATH".to_owned(), self.path.to_owned())]),
        );
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(cwd)
            .env_clear()
            .envs(environment)
            .stdin(Stdio::null());
        let (status, said) = match self.watch {
            None => (run_visibly(&mut command), String::new()),
            Some(watch) => run_watched(&mut command, watch),
        };
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(failed(format!("it ended with {status}{said}"))),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

/// Runs a command whose output goes to stderr, since another program may read acpd's stdout.
fn run_visibly(command: &mut Command) -> io::Result<ExitStatus> {
    let says = io::stderr().as_fd().try_clone_to_owned()?;
    command.stdout(says).status()
}

/// Runs a command whose lines go to `watch`, for a limited time. Returns the end of its output as well.
fn run_watched(command: &mut Command, watch: Watch<'_>) -> (io::Result<ExitStatus>, String) {
    let mut tail = Tail::new(STDERR_TAIL_BYTES);
    let status = spawn_with_pipe(command).and_then(|(mut child, output)| {
        let pid = Pid::from_child(&child);
        std::thread::scope(|scope| {
            let (running, ended) = channel::<()>();
            scope.spawn(move || {
                if ended.recv_timeout(Duration::from_secs(INSTALL_SECS)) == Err(RecvTimeoutError::Timeout) {
                    let _ = kill_process_group(pid, Signal::KILL);
                }
            });
            pass_on(output, &mut tail, watch);
            // The process is not reaped before the timer has ended, so that its id cannot belong to another one.
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
            drop(running);
        });
        child.wait()
    });
    let (said, _) = tail.text(true);
    let said = match said.trim() {
        "" => String::new(),
        said => format!(":\n{said}"),
    };
    (status, said)
}

/// Starts a command in a process group of its own, with stdout and stderr in one pipe.
fn spawn_with_pipe(command: &mut Command) -> io::Result<(std::process::Child, PipeReader)> {
    let (reader, writer) = io::pipe()?;
    let child = command
        .process_group(0)
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn();
    // Otherwise the command's own copies of the writer would keep the pipe open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Ok((child?, reader))
}

/// Passes on lines until the output ends. A longer line arrives in parts.
fn pass_on(output: PipeReader, tail: &mut Tail, watch: Watch<'_>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while matches!(
        output.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line),
        Ok(1..)
    ) {
        tail.push(&line);
        watch(Progress::Wrote(String::from_utf8_lossy(&line).trim_end()));
        line.clear();
    }
}
