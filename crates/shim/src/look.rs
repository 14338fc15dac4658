//! Shims as their user sees them, without their tokens.
//!
//! In: a directory and a name. Out: the shim's state, and the end of it. Owns: nothing of the shim. Never: attaches, or keeps a daemon
//! from it.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::sockopt::socket_peercred;
use rustix::process::Signal;

use crate::attached::Process;
use crate::channel::Channel;
use crate::error::ShimError;
use crate::frame::{Frame, State};
use crate::place::Place;

/// A shim that was found by its socket.
#[derive(Debug)]
pub struct Seen {
    process: Process,
    state: Option<State>,
}

impl Seen {
    /// Asks the shim at this place. A shim that does not answer in time is seen without its state. Fails with
    /// [`io::ErrorKind::ConnectionRefused`] if only the socket's file is left of it.
    pub fn look(directory: &Path, name: &OsStr, patience: Duration) -> Result<Self, ShimError> {
        let place = Place::open(directory, name).map_err(ShimError::Place)?;
        let channel = place.connect().map_err(ShimError::Connection)?;
        let peer = socket_peercred(&channel).map_err(io::Error::from);
        let process = peer.and_then(|peer| Process::open(peer.pid));
        let process = process.map_err(ShimError::Connection)?;
        let state = ask(&channel, Instant::now() + patience);
        Ok(Self { process, state })
    }

    /// Returns the id of the shim.
    pub fn shim(&self) -> u32 {
        self.process.id()
    }

    /// Returns what the shim has answered.
    pub fn state(&self) -> Option<State> {
        self.state
    }

    /// Asks the shim to end, with its process and all descendants. It kills them after two seconds.
    pub fn terminate(&self) -> io::Result<()> {
        // Its process may have stopped it.
        self.process.signal(Signal::CONT)?;
        self.process.signal(Signal::TERM)
    }

    /// Kills the shim, which did not end when it should. Its process ends with it, and descendants of that may be left.
    pub fn kill(&self) -> io::Result<()> {
        self.process.signal(Signal::KILL)
    }

    /// Waits for the end of the shim. Returns whether it has ended within this time.
    pub fn has_ended_in(&self, patience: Duration) -> bool {
        self.process.has_ended_in(patience)
    }
}

fn ask(channel: &Channel, deadline: Instant) -> Option<State> {
    channel.send(&Frame::Look, &[]).ok()?;
    // A shim of an earlier version refuses the question, and one that hangs is silent.
    match channel.wait(deadline).ok()??.frame {
        Frame::State(state) => Some(state),
        _ => None,
    }
}

/// Removes the socket of a shim that is gone. Returns whether there was one. A shim that accepts connections keeps its socket.
pub fn remove_leftover(directory: &Path, name: &OsStr) -> Result<bool, ShimError> {
    let place = Place::open(directory, name).map_err(ShimError::Place)?;
    let Some(inode) = place.inode().map_err(ShimError::Place)? else {
        return Ok(false);
    };
    match place.connect() {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            place.remove(inode).map_err(ShimError::Place)?;
            Ok(true)
        }
        Ok(_) => Ok(false),
        Err(error) => Err(ShimError::Connection(error)),
    }
}
