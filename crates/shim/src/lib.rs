//! Shims: processes that hold what connects an agent or a terminal with the daemon, so that it outlives the daemon.
//!
//! In: a program to run, and what the daemon that is attached asks for. Out: the program's output, its stdin and its exit.
//! Owns: the form of frames, rings and journals, which daemons and shims of other versions read. Never: knows a protocol of agents,
//! or loses or repeats a byte because a daemon was killed.
//!
//! This library has what both sides share, and [`Attached`], the side of the daemon. The shim itself is the binary of this package.
//!
//! Output moves from the agent's pipe into a [`Ring`] and input from a [`Journal`] into the agent's pipe, both with `splice(2)` and
//! without an offset. The kernel then keeps the file positions of ring and journal together with the bytes, and both sides share
//! them: each byte is in the pipe or in the file, whenever a process is killed. While a daemon is attached it moves the bytes itself,
//! otherwise the shim does. Where splice does not work as it should ([`splice_works`]), the shim copies, in the same frames.

#![cfg(target_os = "linux")]

mod attached;
mod backlog;
mod channel;
mod error;
mod frame;
mod journal;
mod peer;
mod place;
mod ring;
mod splice;
mod start;

pub use attached::{Attached, News, Pipes, Starting, Streams, Terminal};
pub use backlog::{Backlog, Piece};
pub use channel::{Channel, MOST_DESCRIPTORS, Received};
pub use error::ShimError;
pub use frame::{FRAME_BYTES, Facts, Farewell, Frame, Hello, PROTOCOL, Status, Token};
pub use journal::{Flushed, Journal};
pub use place::Place;
pub use ring::{Moved, Ring};
pub use splice::splice_works;
pub use start::{MOST_START_BYTES, OpenFiles, Start, StreamKind};
