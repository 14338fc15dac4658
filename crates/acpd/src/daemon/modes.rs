//! The modes of the daemon's directory and files, and of the user's files with its secrets, while it runs. Agents cannot open these, but
//! the sandbox cannot keep them from changing modes, and so from opening them to other users.
//!
//! In: the data directory, and what is reserved elsewhere. Out: which files were open. Owns: nothing. Never: opens a file to others.

use std::path::{Path, PathBuf};

use acpd_files::DATA_FILES;
use acpd_files::private_file::{self, UserFile};

/// What is as private as the private ones of [`DATA_FILES`].
const OTHERS: [&str; 5] = ["log.db", "log.db-wal", "daemon.log", "acpd.sock", "acp.sock"];

/// Closes what other users can use, or this user cannot. Returns each path that had to be closed, with the mode that it had.
pub fn close(data_dir: &Path) -> Vec<(PathBuf, u32)> {
    let private = DATA_FILES.iter().filter(|file| file.is_private);
    let names = private.map(|file| file.name).chain(OTHERS);
    // The directory first, which closes everything in it.
    let paths = std::iter::once(data_dir.to_owned()).chain(names.map(|name| data_dir.join(name)));
    let closed = paths.filter_map(|path| match private_file::close(&path) {
        Ok(mode) => Some((path, mode?)),
        Err(error) => {
            // It is tried again each second.
            tracing::debug!(path = %path.display(), %error, "its mode cannot be restored");
            None
        }
    });
    closed.collect()
}

/// Closes what was opened since the last time, and reports it. Of the user's own files, such as the configuration, what the user has
/// opened stays open.
pub fn watch(data_dir: &Path, user_files: &mut [UserFile]) {
    for (path, mode) in close(data_dir) {
        tracing::error!(
            "{} had mode {mode:04o}, so a process of this user has opened it to other users, or closed it to acpd; acpd has restored \
             its mode. If other people use this host, renew the tokens",
            path.display()
        );
    }
    for file in user_files {
        match file.restore() {
            Ok(Some(mode)) => tracing::error!(
                "{} had mode {mode:04o}, which it did not have when acpd started, so an agent may have opened it to other users, or closed \
                 it to acpd; acpd has restored its mode. If other people use this host, renew the secrets in it. To open it yourself, \
                 stop acpd first",
                file.path().display()
            ),
            Ok(None) => {}
            Err(error) => {
                tracing::debug!(path = %file.path().display(), %error, "its mode cannot be restored");
            }
        }
    }
}
