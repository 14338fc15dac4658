//! A program that a user runs in their terminal, on a terminal of its own.
//!
//! In: a program, and what the user types. Out: what the program writes, and its exit. Owns: the program and its descendants.
//! Never: gives the program the user's terminal. A program that has it as its controlling terminal can type into the shell that
//! reads it next.

use std::io::{self, IsTerminal};
use std::os::fd::OwnedFd;
use std::time::Duration;

use acpd_model::Failure;
use rustix::fs::{Mode, OFlags};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::command::Program;
use crate::descriptors::watch;
use crate::exit::{Exit, cannot_start};
use crate::leader::{self, Leader};
use crate::pty;

/// Size of one read.
const READ_BYTES: usize = 4096;

/// How long a program that is to end may take before it is killed.
const GRACE: Duration = Duration::from_secs(1);

/// How long the output of a program that has ended is waited for. A process that cannot be killed may hold the terminal open.
const REST: Duration = Duration::from_millis(500);

/// Runs a program until it ends. On a terminal, it is shown there, and gets every key, also Ctrl-C. Otherwise it has the streams
/// of this process, and no terminal. A signal that would end this process ends the program first: it has a session of its own, which
/// the signals of this one do not reach.
pub async fn run_for_user(program: &Program) -> Result<Exit, Failure> {
    let failed = |error: io::Error| Failure::invalid_params(cannot_start(program, &error));
    // Before the program starts, so that none arrives without a handler.
    let mut signals = EndingSignals::new().map_err(failed)?;
    let sandbox = program.sandbox.as_ref();
    let mut command = leader::command(program);
    let is_shown = io::stdin().is_terminal() && io::stdout().is_terminal();
    let Some(screen) = is_shown.then(Screen::open).and_then(Result::ok) else {
        let mut leader = Leader::start(&mut command, sandbox, |_| Ok(())).map_err(failed)?;
        tokio::select! {
            biased;
            () = leader.exited() => {}
            () = signals.next() => {}
        }
        return Ok(end(leader).await);
    };
    let (master, slave) = pty::open_plain().map_err(failed)?;
    let master = watch(master, Interest::READABLE | Interest::WRITABLE).map_err(failed)?;
    screen.resize(&master);
    let mut leader =
        Leader::start(&mut command, sandbox, |command| pty::attach(command, slave)).map_err(failed)?;
    // It holds the program's end of the terminal, which would never be closed.
    drop(command);
    let mut output = Flow::default();
    let shown = screen.show(&master, &mut output, &mut leader, &mut signals).await;
    let exit = end(leader).await;
    let rest = async { while let Ok(true) = output.pass(&master, &screen.terminal).await {} };
    let _ = tokio::time::timeout(REST, rest).await;
    shown.map_err(failed)?;
    Ok(exit)
}

/// Ends a program, if it still runs, and all that it has started.
async fn end(mut leader: Leader) -> Exit {
    let is_running = leader.status().is_none();
    if is_running {
        leader.terminate();
        leader.exits_within(GRACE).await;
    }
    let ended = leader.end(is_running).await;
    ended.status.map(Exit::from).unwrap_or_default()
}

/// The signals that would end this process, and leave the program behind.
struct EndingSignals([Signal; 4]);

impl EndingSignals {
    /// Receives them from now on.
    fn new() -> io::Result<Self> {
        Ok(Self([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::quit())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        ]))
    }

    /// Waits for one of them. Safe to cancel.
    async fn next(&mut self) {
        let [interrupt, quit, terminate, hangup] = &mut self.0;
        tokio::select! {
            biased;
            _ = interrupt.recv() => {}
            _ = quit.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

/// The user's terminal, which passes on every key. Dropping it restores its modes.
struct Screen {
    terminal: AsyncFd<OwnedFd>,
    before: Termios,
}

impl Screen {
    fn open() -> io::Result<Self> {
        // An open file of its own: other processes share the flags of the inherited ones.
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let terminal = rustix::fs::open("/dev/tty", flags, Mode::empty())?;
        let before = tcgetattr(&terminal)?;
        let mut modes = before.clone();
        modes.make_raw();
        let terminal = watch(terminal, Interest::READABLE | Interest::WRITABLE)?;
        tcsetattr(&terminal, OptionalActions::Now, &modes)?;
        Ok(Self { terminal, before })
    }

    /// Gives the program's terminal the size of the user's.
    fn resize(&self, master: &AsyncFd<OwnedFd>) {
        if let Ok(size) = tcgetwinsize(&self.terminal) {
            // A program on a terminal without a size assumes one.
            let _ = tcsetwinsize(master, size);
        }
    }

    /// Passes bytes on in both directions until the program ends, the user's terminal is gone, or a signal ends this process.
    async fn show(
        &self,
        master: &AsyncFd<OwnedFd>,
        output: &mut Flow,
        leader: &mut Leader,
        signals: &mut EndingSignals,
    ) -> io::Result<()> {
        let mut resized = signal(SignalKind::window_change())?;
        let mut keys = Flow::default();
        let mut is_open = true;
        loop {
            // What ends comes first, and output, which may never cease, last.
            tokio::select! {
                biased;
                () = leader.exited() => return Ok(()),
                () = signals.next() => return Ok(()),
                _ = resized.recv() => self.resize(master),
                passed = keys.pass(&self.terminal, master) => {
                    if !passed? {
                        return Ok(());
                    }
                }
                // Once no process has the program's end open, there is only its exit to wait for.
                passed = output.pass(master, &self.terminal), if is_open => is_open = passed?,
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Discards what arrived and was not read: an answer of the terminal to the program's last output would be read as typed.
        // There is nothing else to do for a terminal that is gone.
        let _ = tcsetattr(&self.terminal, OptionalActions::Flush, &self.before);
    }
}

/// Bytes on their way from one terminal to another.
#[derive(Default)]
struct Flow(Vec<u8>);

impl Flow {
    /// Reads bytes, or writes some of those that were read. Returns `false` at the end. Safe to cancel.
    async fn pass(&mut self, from: &AsyncFd<OwnedFd>, to: &AsyncFd<OwnedFd>) -> io::Result<bool> {
        let bytes = &mut self.0;
        if bytes.is_empty() {
            let read = |from: &OwnedFd| -> io::Result<bool> {
                let mut buffer = [0_u8; READ_BYTES];
                let read = match rustix::io::read(from, &mut buffer) {
                    // The other end of a pseudo-terminal is closed.
                    Err(rustix::io::Errno::IO) => 0,
                    read => read?,
                };
                bytes.extend_from_slice(&buffer[..read]);
                Ok(read > 0)
            };
            return from.async_io(Interest::READABLE, read).await;
        }
        let write = |to: &OwnedFd| -> io::Result<usize> { Ok(rustix::io::write(to, bytes)?) };
        let written = to.async_io(Interest::WRITABLE, write).await?;
        self.0.drain(..written);
        Ok(true)
    }
}
