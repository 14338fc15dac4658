//! Supervises all processes of one daemon, from its start until after its end.
//!
//! In: the data directory; the keeper's program. Out: nothing. Owns: the keeper. Never: affects processes of another
//! daemon.
//!
//! While the daemon runs, it adopts the orphans of its agents, so that their parentage is not lost. When it stops, it
//! ends all remaining processes. If the daemon is killed, the keeper does that. The keeper is a separate process. It
//! waits for the end of a pipe whose other end only the daemon has. If both are killed, the next start finds the rest
//! by its mark.

use std::io::{self, PipeWriter, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use acpd_model::limits::LEFTOVER_MILLIS;

use crate::children;
use crate::mark::Run;
#[cfg(target_os = "linux")]
use crate::mark::{Mark, NUMBERS};
use crate::sweep::{self, ProcessScope};

/// Milliseconds between SIGTERM and SIGKILL for the processes that a killed daemon left behind.
const ORPHAN_MILLIS: u64 = 1_000;
/// Milliseconds that an ended process which the daemon adopted from an agent may wait to be reaped.
const REAP_MILLIS: u64 = 1_000;

/// Supervises this process's agents and terminals.
#[derive(Debug)]
pub struct Supervision {
    run: Run,
    keeper: Option<Keeper>,
}

#[derive(Debug)]
struct Keeper {
    child: Child,
    /// The write end of the keeper's pipe. It closes when the daemon ends.
    pipe: PipeWriter,
}

/// How long an idle keeper may take to exit.
const KEEPER_PATIENCE: Duration = Duration::from_secs(2);

impl Supervision {
    /// Starts supervision: adopts orphans from now on, and ends the processes that an earlier daemon with this data
    /// directory left behind. No other daemon may use the directory meanwhile. Blocks.
    pub fn begin(data_dir: &Path) -> io::Result<Self> {
        let run = Run::begin(data_dir)?;
        sweep::spare_children();
        #[cfg(target_os = "linux")]
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        sweep::end(
            ProcessScope::Instance(run.instance),
            Duration::from_millis(LEFTOVER_MILLIS),
        );
        Ok(Self { run, keeper: None })
    }

    /// Starts the keeper: `program keep RUN`, which must call [`keep`].
    pub fn start_keeper(&mut self, program: &Path) -> io::Result<()> {
        let (read, pipe) = io::pipe()?;
        let mut command = Command::new(program);
        command
            .arg("keep")
            .arg(self.run.text())
            .env_clear()
            .current_dir("/")
            .stdin(read)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        apart(&mut command);
        let pid = |child: &Child| rustix::process::Pid::from_raw(i32::try_from(child.id()).ok()?);
        let (child, _) = children::start(|_| command.spawn(), pid)?;
        self.keeper = Some(Keeper { child, pipe });
        Ok(())
    }

    /// Reaps adopted orphans that have ended, so that they do not remain as zombies. Never returns.
    pub async fn reap() {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut ended) = signal(SignalKind::child()) else {
            return;
        };
        while ended.recv().await.is_some() {
            // A scan costs more than a zombie does, and many processes end at once.
            tokio::time::sleep(Duration::from_millis(REAP_MILLIS)).await;
            if tokio::task::spawn_blocking(sweep::reap).await.is_err() {
                return;
            }
        }
    }

    /// Ends all remaining processes of agents and terminals, and the keeper. Blocks. Returns how many processes could
    /// not be ended.
    pub fn end(self) -> usize {
        let left = sweep::end(ProcessScope::Run(self.run), Duration::ZERO);
        if let Some(Keeper { mut child, pipe }) = self.keeper {
            drop(pipe);
            let deadline = Instant::now() + KEEPER_PATIENCE;
            // The keeper scans the list of processes once. If that takes this long, it may outlive us.
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        left
    }
}

/// Prepares a command that starts agents itself. From now on it counts as an agent at the local sockets of daemons, with all that it
/// starts, and orphans of its agents become its children, which it ends with them. Cannot be undone.
pub fn count_as_agent() {
    sweep::spare_children();
    #[cfg(target_os = "linux")]
    {
        let mark = Mark {
            run: Run::current(),
            // A limit can only be lowered: the marks of its agents have lower numbers.
            number: NUMBERS - 1,
        };
        // Refused in a process of an agent, which counts as one already.
        let _ = crate::leader::carry(mark.limit());
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// Runs the keeper: waits for the end of standard input, ends all processes of the run `text`, and returns. Must be the
/// only task of its process.
pub fn keep(text: &str) -> Result<(), String> {
    let run = Run::parse(text).ok_or_else(|| format!("invalid run of a daemon {text:?}"))?;
    unmoved();
    let mut rest = [0; 64];
    let mut daemon = io::stdin();
    loop {
        match daemon.read(&mut rest) {
            Ok(1..) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // After an error, no more input can arrive either.
            Ok(0) | Err(_) => break,
        }
    }
    match sweep::end(ProcessScope::Run(run), Duration::from_millis(ORPHAN_MILLIS)) {
        0 => Ok(()),
        left => Err(format!("{left} processes could not be ended")),
    }
}

/// Moves the keeper to a session of its own. Signals to the daemon's terminal or group must not reach it.
#[expect(
    unsafe_code,
    reason = "pre_exec has no safe form; the closure makes system calls and allocates nothing"
)]
fn apart(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; these are system calls.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            #[cfg(target_os = "linux")]
            crate::leader::close_others();
            Ok(())
        });
    }
}

/// Ignores signals that stop every process of the daemon. They are meant for the daemon, and the keeper exits after it.
#[expect(unsafe_code, reason = "there is no safe form of signal(2)")]
fn unmoved() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: SIG_IGN installs no handler, so no code of ours runs in a signal.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}
