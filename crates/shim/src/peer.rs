//! Whose process is at the other end of a socket.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

/// Fails if the other end was made by another user.
pub(crate) fn check_peer(socket: &OwnedFd) -> io::Result<()> {
    if socket_peercred(socket)?.uid == geteuid() {
        Ok(())
    } else {
        Err(Errno::PERM.into())
    }
}
