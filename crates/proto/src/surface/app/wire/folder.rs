//! Folders of the daemon's host.

use crate::surface::reply::{Folder, FolderList};

wire! {
    /// Result of `folder/list`.
    struct FoldersListed for FolderList {
        /// Absolute path of the folder.
        path: String,
        /// Absolute path of the folder that contains it; absent for `/`.
        parent: Option<String>,
        /// The home directory of the daemon's user.
        home: String,
        /// Name of the daemon's host.
        host: String,
        /// The folders, sorted by name. Those whose name is not UTF-8 are left out.
        folders: Vec<Folder>,
        /// Whether there are more.
        truncated: bool,
    }

    /// A folder in another one.
    struct Folder for Folder {
        /// Name of the folder.
        name: String,
        /// Whether it is the root of a Git repository or worktree.
        repository: bool,
    }
}
