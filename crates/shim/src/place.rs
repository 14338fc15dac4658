//! Where a shim's socket is: a name in a directory that only its user can reach.
//!
//! In: a directory and a name. Out: sockets. Owns: the socket's file. Never: uses the directory's path again after it was opened:
//! a path may be longer than a socket's address, or lead elsewhere.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::geteuid;

use crate::channel::Channel;
use crate::peer::check_peer;

/// Longest name of a socket, in bytes. With the directory's descriptor it fits into the address of a socket.
const MOST_NAME_BYTES: usize = 64;

/// Connections that may wait for the shim to accept them.
const WAITING_CONNECTIONS: i32 = 16;

/// The place of one shim's socket.
#[derive(Debug)]
pub struct Place {
    directory: OwnedFd,
    name: OsString,
}

impl Place {
    /// Opens the directory. Fails if another user could reach it.
    pub fn open(directory: &Path, name: &OsStr) -> io::Result<Self> {
        let is_plain = name
            .as_encoded_bytes()
            .iter()
            .all(|byte| !matches!(*byte, 0 | b'/'));
        if !is_plain || name.is_empty() || name.len() > MOST_NAME_BYTES || name == "." || name == ".." {
            return Err(Errno::INVAL.into());
        }
        let how = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::open(directory, how, Mode::empty())?;
        let stat = rustix::fs::fstat(&opened)?;
        let for_others = Mode::from_raw_mode(stat.st_mode) & (Mode::RWXG | Mode::RWXO);
        if stat.st_uid != geteuid().as_raw() || !for_others.is_empty() {
            return Err(Errno::PERM.into());
        }
        Ok(Self {
            directory: opened,
            name: name.to_owned(),
        })
    }

    /// Returns a path that is short, and leads into the opened directory even if it was renamed.
    fn address(&self) -> io::Result<SocketAddrUnix> {
        let mut path = PathBuf::from(format!("/proc/self/fd/{}", self.directory.as_raw_fd()));
        path.push(&self.name);
        Ok(SocketAddrUnix::new(path)?)
    }

    /// Makes the socket and listens. Fails if there is a file of this name. Returns the file's inode.
    pub fn listen(&self) -> io::Result<(OwnedFd, u64)> {
        let socket = socket()?;
        rustix::net::bind(&socket, &self.address()?)?;
        let listens = rustix::net::listen(&socket, WAITING_CONNECTIONS).map_err(io::Error::from);
        let inode = listens.and_then(|()| Ok(self.inode()?.ok_or(Errno::NOENT)?));
        if inode.is_err() {
            // It was just made here. If it is gone already, nothing is left to do.
            let _ = rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty());
        }
        Ok((socket, inode?))
    }

    /// Connects to the shim that listens here.
    pub fn connect(&self) -> io::Result<Channel> {
        let socket = socket()?;
        rustix::net::connect(&socket, &self.address()?)?;
        check_peer(&socket)?;
        Ok(Channel::new(socket))
    }

    /// Returns the inode of the file here; `None` if there is none.
    pub fn inode(&self) -> io::Result<Option<u64>> {
        match rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat.st_ino)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the socket, if it has this inode.
    pub fn remove(&self, inode: u64) -> io::Result<()> {
        if self.inode()? == Some(inode) {
            rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty())?;
        }
        Ok(())
    }

    fn beside(&self, ending: &str) -> OsString {
        let mut name = self.name.clone();
        name.push(ending);
        name
    }

    /// Gives a file beside the socket another ending. Fails if there is a file with that name.
    pub fn rename_beside(&self, ending: &str, other: &str) -> io::Result<()> {
        let (from, to) = (self.beside(ending), self.beside(other));
        match rustix::fs::renameat_with(
            &self.directory,
            &from,
            &self.directory,
            &to,
            RenameFlags::NOREPLACE,
        ) {
            // Some file systems have no such flag. The shim's own name is used once, so no file is there.
            Err(Errno::INVAL) => Ok(rustix::fs::renameat(
                &self.directory,
                &from,
                &self.directory,
                &to,
            )?),
            renamed => Ok(renamed?),
        }
    }

    /// Removes a file beside the socket.
    pub fn remove_beside(&self, ending: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(
            &self.directory,
            self.beside(ending),
            AtFlags::empty(),
        )?)
    }

    /// Makes a file beside the socket, with its name and this ending.
    pub fn file_beside(&self, ending: &str) -> io::Result<OwnedFd> {
        let name = self.beside(ending);
        let how = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(rustix::fs::openat(&self.directory, name, how, mode)?)
    }
}

fn socket() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}
