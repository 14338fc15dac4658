//! A program that a user runs in their terminal, on a terminal of its own.
//!
//! In: a program, and what the user types. Out: what the program writes, and its exit. Owns: the program and its descendants.
//! Never: gives the program the user's terminal. A program that has it as its controlling terminal can type into the shell that
//! reads it next.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use acpd_model::Failure;
use rustix::fs::{Mode, OFlags};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{SignalKind, signal};

use crate::command::Program;
use crate::exit::{Exit, cannot_start};
use crate::leader::{self, Leader};
use crate::pty;

/// Size of one read.
const READ_BYTES: usize = 4096;

/// Runs a program until it ends. On a terminal, it is shown there, and gets every key, also Ctrl-C. Otherwise it has the streams
/// of this process, and no terminal.
pub async fn run_for_user(program: &Program) -> Result<Exit, Failure> {
    let failed = |error: io::Error| Failure::invalid_params(cannot_start(program, &error));
    let streams = [
        io::stdin().as_fd().try_clone_to_owned(),
        io::stdout().as_fd().try_clone_to_owned(),
    ];
    let is_shown = streams.iter().flatten().all(isatty);
    let Some(screen) = is_shown.then(Screen::open).and_then(Result::ok) else {
        let mut command = leader::command(program);
        let leader = Leader::start(&mut command, program.sandbox.as_ref(), |_| Ok(())).map_err(failed)?;
        return Ok(end(leader).await);
    };
    let (master, slave) = pty::open_plain().map_err(failed)?;
    let mut command = leader::command(program);
    let mut leader = Leader::start(&mut command, program.sandbox.as_ref(), |command| {
        pty::attach(command, slave)
    })
    .map_err(failed)?;
    drop(command);
    let shown = screen.show(master, &mut leader).await;
    let exit = end(leader).await;
    shown.map_err(failed)?;
    Ok(exit)
}

async fn end(mut leader: Leader) -> Exit {
    leader.exited().await;
    leader.end(false).await.status.map(Exit::from).unwrap_or_default()
}

/// The user's terminal, which passes on every key. Dropping it restores its modes.
struct Screen {
    terminal: AsyncFd<OwnedFd>,
    before: Termios,
}

impl Screen {
    fn open() -> io::Result<Self> {
        // An open file of its own: others share the flags of the inherited ones.
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let terminal = rustix::fs::open("/dev/tty", flags, Mode::empty())?;
        let before = tcgetattr(&terminal)?;
        let mut modes = before.clone();
        modes.make_raw();
        let terminal = AsyncFd::with_interest(terminal, Interest::READABLE | Interest::WRITABLE)?;
        tcsetattr(&terminal, OptionalActions::Now, &modes)?;
        Ok(Self { terminal, before })
    }

    /// Passes bytes on in both directions until the program has ended and all of its output is shown.
    async fn show(&self, master: OwnedFd, leader: &mut Leader) -> io::Result<()> {
        let master = AsyncFd::with_interest(master, Interest::READABLE | Interest::WRITABLE)?;
        let mut resized = signal(SignalKind::window_change())?;
        let resize = || tcsetwinsize(&master, tcgetwinsize(&self.terminal)?);
        // A terminal without a size has a program that assumes one.
        let _ = resize();
        let (mut output, mut keys) = (Flow::default(), Flow::default());
        let mut ended = false;
        loop {
            tokio::select! {
                biased;
                passed = output.pass(&master, &self.terminal) => match passed {
                    // The program and all that it has started have closed the terminal.
                    Ok(false) | Err(_) if ended => return Ok(()),
                    Ok(true) => {}
                    Ok(false) => {
                        leader.exited().await;
                        return Ok(());
                    }
                    Err(error) => return Err(error),
                },
                passed = keys.pass(&self.terminal, &master), if !ended => {
                    if !passed? {
                        // The user's terminal is gone.
                        return Ok(());
                    }
                }
                () = leader.exited(), if !ended => ended = true,
                _ = resized.recv() => {
                    let _ = resize();
                }
                () = tokio::time::sleep(REST), if ended => return Ok(()),
            }
        }
    }
}

/// How long what an ended program has started may go on writing.
const REST: std::time::Duration = std::time::Duration::from_millis(200);

impl Drop for Screen {
    fn drop(&mut self) {
        // There is nothing else to do for a terminal that is gone.
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

/// Bytes on their way from one terminal to another.
#[derive(Default)]
struct Flow(Vec<u8>);

impl Flow {
    /// Reads bytes, or writes some of those that were read. Returns `false` at the end. Safe to cancel.
    async fn pass(&mut self, from: &AsyncFd<OwnedFd>, to: &AsyncFd<OwnedFd>) -> io::Result<bool> {
        if self.0.is_empty() {
            let mut buffer = [0; READ_BYTES];
            let read = from
                .async_io(Interest::READABLE, |from| {
                    match rustix::io::read(from, &mut buffer) {
                        // The other end of a pseudo-terminal is closed.
                        Err(rustix::io::Errno::IO) => Ok(0),
                        read => Ok(read?),
                    }
                })
                .await?;
            self.0.extend(&buffer[..read]);
            return Ok(read > 0);
        }
        let write = |to: &OwnedFd| Ok(rustix::io::write(to, &self.0)?);
        let written = to.async_io(Interest::WRITABLE, write).await?;
        self.0.drain(..written);
        Ok(true)
    }
}
