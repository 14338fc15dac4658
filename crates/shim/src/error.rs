//! Why a daemon cannot start a shim or attach to it.

use std::io;

use rustix::io::Errno;

/// The number of a step in [`crate::Farewell::Failed`]. Numbers are only added.
pub(crate) const STEP_PLACE: u32 = 1;
pub(crate) const STEP_BLOCK: u32 = 2;
pub(crate) const STEP_STREAMS: u32 = 3;
pub(crate) const STEP_PROGRAM: u32 = 4;

/// The reason why a daemon has no shim.
#[derive(Debug)]
pub enum ShimError {
    /// The shim's own binary cannot be started.
    Binary(io::Error),
    /// The directory for sockets is not usable: another user may reach it, or it cannot be opened.
    Place(io::Error),
    /// The program to run could not be passed on.
    Block(io::Error),
    /// Pipes, the terminal or memory could not be made.
    Streams(io::Error),
    /// The program cannot be started. [`io::Error::kind`] says why, as for [`std::process::Command::spawn`].
    Program(io::Error),
    /// The connection failed, or the shim is gone.
    Connection(io::Error),
    /// The shim did not answer in time.
    Silent,
    /// Another daemon is attached.
    Busy,
    /// The shim has another token.
    Denied,
    /// Output behind the cursor was overwritten, or has not arrived yet.
    Cursor {
        /// Bytes of output that may be overwritten.
        tail: u64,
        /// Bytes of output that have arrived.
        head: u64,
    },
    /// The shim is of a version that this daemon cannot use.
    Version,
}

impl std::fmt::Display for ShimError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Binary(error) => write!(f, "acpd-shim cannot be started: {error}; install it beside acpd"),
            Self::Place(error) => write!(
                f,
                "the directory for the sockets of shims cannot be used: {error}"
            ),
            Self::Block(error) => write!(f, "the program could not be passed to its shim: {error}"),
            Self::Streams(error) => write!(f, "the program's streams could not be opened: {error}"),
            Self::Program(error) => write!(f, "the program cannot be started: {error}"),
            Self::Connection(error) => write!(f, "the shim cannot be reached: {error}"),
            Self::Silent => f.write_str("the shim does not answer"),
            Self::Busy => f.write_str("another daemon is attached to the shim"),
            Self::Denied => f.write_str("the shim denied access: its token is another one"),
            Self::Cursor { tail, head } => write!(
                f,
                "the shim does not have the output behind the cursor, only that from byte {tail} to {head}"
            ),
            Self::Version => f.write_str("the shim is of another version, which this daemon cannot use"),
        }
    }
}

impl std::error::Error for ShimError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Binary(error)
            | Self::Place(error)
            | Self::Block(error)
            | Self::Streams(error)
            | Self::Program(error)
            | Self::Connection(error) => Some(error),
            Self::Silent | Self::Busy | Self::Denied | Self::Cursor { .. } | Self::Version => None,
        }
    }
}

impl ShimError {
    /// Returns the error of a step that a shim has reported.
    pub(crate) fn of_step(step: u32, errno: u32) -> Self {
        let errno = i32::try_from(errno).unwrap_or_default();
        let error = if errno == 0 {
            io::Error::from(io::ErrorKind::InvalidInput)
        } else {
            io::Error::from_raw_os_error(errno)
        };
        match step {
            STEP_PLACE => Self::Place(error),
            STEP_BLOCK => Self::Block(error),
            STEP_STREAMS => Self::Streams(error),
            STEP_PROGRAM => Self::Program(error),
            _ => Self::Version,
        }
    }

    /// Returns the step and the error number, for the daemon that started this shim.
    pub fn step(&self) -> (u32, u32) {
        let (step, error) = match self {
            Self::Place(error) => (STEP_PLACE, error),
            Self::Block(error) => (STEP_BLOCK, error),
            Self::Program(error) => (STEP_PROGRAM, error),
            Self::Streams(error) | Self::Binary(error) | Self::Connection(error) => (STEP_STREAMS, error),
            Self::Silent | Self::Busy | Self::Denied | Self::Cursor { .. } | Self::Version => return (0, 0),
        };
        let errno = error.raw_os_error().unwrap_or_default();
        (step, u32::try_from(errno).unwrap_or_default())
    }
}

/// Repeats a call that a signal interrupts.
pub(crate) fn retried<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}
