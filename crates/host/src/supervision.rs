//! The care for all processes of one daemon, from its start to its end, and after it.
//!
//! In: the data directory; the program that keeps. Out: nothing. Owns: the keeper. Never: touches what
//! belongs to another daemon.
//!
//! While the daemon runs, orphans of its agents become its own children, so that their parentage is not lost.
//! When it stops, it ends whatever is left. When it is killed, the keeper does that: a process of its own
//! that waits for the end of a pipe, whose other end the daemon alone has. When both are killed, the next
//! start finds the rest by its mark.

use std::io::{self, PipeWriter, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use acpd_model::limits::{LEFTOVER_MILLIS, ORPHAN_MILLIS, REAP_MILLIS};

use crate::children;
use crate::mark::Run;
use crate::sweep::{self, ProcessScope};

/// The care for this process's agents and terminals.
#[derive(Debug)]
pub struct Supervision {
    run: Run,
    keeper: Option<Keeper>,
}

#[derive(Debug)]
struct Keeper {
    child: Child,
    /// The end of this is the end of the daemon.
    pipe: PipeWriter,
}

/// How long a keeper that has nothing to do may take to go.
const KEEPER_PATIENCE: Duration = Duration::from_secs(2);

impl Supervision {
    /// Begins: takes orphans from now on, and ends what an earlier daemon with this data directory left
    /// behind. Nobody else may use the directory meanwhile. Blocks.
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

    /// Waits for orphans that have ended, so that they do not stay in the list of processes; never ends.
    pub async fn reap() {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut ended) = signal(SignalKind::child()) else {
            return;
        };
        while ended.recv().await.is_some() {
            // A look costs more than a dead process does, and many end at once.
            tokio::time::sleep(Duration::from_millis(REAP_MILLIS)).await;
            if tokio::task::spawn_blocking(sweep::reap).await.is_err() {
                return;
            }
        }
    }

    /// Ends all that is left of any agent or terminal, and the keeper. Blocks. Says how many processes could
    /// not be ended.
    pub fn end(self) -> usize {
        let left = sweep::end(ProcessScope::Run(self.run), Duration::ZERO);
        if let Some(Keeper { mut child, pipe }) = self.keeper {
            drop(pipe);
            let deadline = Instant::now() + KEEPER_PATIENCE;
            // It looks once at the list of processes. If that takes so long, it may as well outlive us.
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        left
    }
}

/// The keeper: waits for the end of its standard input, ends all processes of the run `text`, and is done.
/// Must be the only thing that its process does.
pub fn keep(text: &str) -> Result<(), String> {
    let run = Run::parse(text).ok_or_else(|| format!("{text:?} is no run of a daemon"))?;
    unmoved();
    let mut rest = [0; 64];
    let mut daemon = io::stdin();
    loop {
        match daemon.read(&mut rest) {
            Ok(1..) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // An error means that there will be nothing more either.
            Ok(0) | Err(_) => break,
        }
    }
    match sweep::end(ProcessScope::Run(run), Duration::from_millis(ORPHAN_MILLIS)) {
        0 => Ok(()),
        left => Err(format!("{left} processes could not be ended")),
    }
}

/// A session of its own: what ends the daemon's terminal or group is not meant for the keeper.
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

/// Whoever tells every process of the daemon to stop means the daemon; the keeper goes after it.
#[expect(unsafe_code, reason = "there is no safe form of signal(2)")]
fn unmoved() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: SIG_IGN installs no handler, so no code of ours runs in a signal.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}
