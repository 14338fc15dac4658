//! Runs npm, uv and pip.
//!
//! In: their arguments, and the directory of the installation. Out: their exit, and the lines that they write. Never: has them
//! use caches that agents may write, or start outside of that directory.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, BufReader, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use acpd_host::{Environment, Sandbox, Tail, confine};
use acpd_model::limits::{INSTALL_SECS, STDERR_TAIL_BYTES};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::error::CatalogError;
use super::progress::{Progress, Watch};

/// Settings of installers, which users put into the environment. [`Environment`] leaves out what it does not know, such as
/// the keys of other services.
pub const INSTALLER_VARIABLES: [&str; 5] = ["NPM_*", "npm_*", "UV_*", "PIP_*", "NODE_OPTIONS"];

/// Longest line of an installer that is read as one.
const LINE_BYTES: u64 = 4 << 10;

/// The directory for caches and temporary files of installers, in that of the installation. Agents may write the usual caches, and
/// would choose what is installed.
const CACHE: &str = "cache";

/// The program that npm runs as git: none. Dependencies from git are refused (`--allow-git=none`), and npm before 11.10 knows no such
/// option: it clones the repository, and then follows settings in it, which may name another program.
const NO_GIT: &str = "/dev/null";

/// What an installer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It fetches and unpacks packages, and runs no code of theirs.
    Fetch,
    /// It runs code of packages: their install scripts, or their builds.
    Scripts,
}

/// Returns the sandbox in which an installer (the first path) may write a directory (the second); `None` on a system without
/// sandboxes.
pub type Confine<'a> = &'a (dyn Fn(&Path, &Path, Phase) -> Result<Option<Sandbox>, String> + Sync);

/// How an agent is installed.
#[derive(Clone, Copy)]
pub struct Installer<'a> {
    /// The search path for programs.
    pub path: &'a str,
    /// Receives the progress. Without it, installers write to stderr and have no time limit.
    pub watch: Option<Watch<'a>>,
    /// Whether a download without a checksum is accepted.
    pub unverified: bool,
    /// Whether packages may run code while they are installed.
    pub scripts: bool,
    /// Confines installers.
    pub confine: Confine<'a>,
}

impl fmt::Debug for Installer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Installer")
            .field("path", &self.path)
            .field("unverified", &self.unverified)
            .field("scripts", &self.scripts)
            .finish_non_exhaustive()
    }
}

impl Installer<'_> {
    /// Returns what a program does that installs packages and would build them as well.
    pub fn phase(self) -> Phase {
        if self.scripts {
            Phase::Scripts
        } else {
            Phase::Fetch
        }
    }

    /// Reports progress.
    pub fn report(self, progress: Progress<'_>) {
        if let Some(watch) = self.watch {
            watch(progress);
        }
    }

    /// Runs an installer in the directory of an installation until it exits.
    pub fn run(
        self,
        program: &Path,
        args: &[&str],
        package: &str,
        into: &Path,
        phase: Phase,
    ) -> Result<(), CatalogError> {
        let failed = |reason: String| CatalogError::Installer {
            program: program.display().to_string(),
            package: package.to_owned(),
            reason,
        };
        let sandbox = (self.confine)(program, into, phase).map_err(failed)?;
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(into)
            .env_clear()
            .envs(self.environment(into, phase)?)
            .stdin(Stdio::null());
        if sandbox.is_some() {
            confine(&mut command, sandbox);
        }
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

    /// Returns the environment of installers. Makes the directory for their temporary files. Code of packages gets none of the
    /// settings, which may have passwords for registries, and nothing that is installed gets the user's SSH agent.
    fn environment(self, into: &Path, phase: Phase) -> Result<BTreeMap<String, String>, CatalogError> {
        let cache = cache(into);
        let temporary = cache.join("tmp");
        std::fs::create_dir_all(&temporary).map_err(CatalogError::disk(&temporary))?;
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let set = [
            ("PATH", self.path.to_owned()),
            ("TMPDIR", text(temporary)),
            ("UV_CACHE_DIR", text(cache.join("uv"))),
            // The cache is removed, so that no file may be a link into it.
            ("UV_LINK_MODE", "copy".to_owned()),
            // A Python that uv downloads is the agent's own: uv may write no other directory.
            ("UV_PYTHON_INSTALL_DIR", text(into.join("python"))),
            ("PIP_CACHE_DIR", text(cache.join("pip"))),
            ("npm_config_git", NO_GIT.to_owned()),
        ];
        let set = set.map(|(name, value)| (name.to_owned(), value)).into();
        let settings = match phase {
            Phase::Fetch => INSTALLER_VARIABLES.map(str::to_owned).to_vec(),
            Phase::Scripts => Vec::new(),
        };
        let mut environment = Environment::here(&settings, &set);
        environment.remove("SSH_AUTH_SOCK");
        Ok(environment)
    }
}

/// Returns the directory for caches of an installation.
pub fn cache(into: &Path) -> PathBuf {
    into.join(CACHE)
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
