//! The files that acpd writes by their paths.
//!
//! In: paths, and new contents. Out: what a file contains, errors that say what to do. Owns: the names of incomplete files. Never:
//! leaves a part of a content under the name of a file, or follows a path that an agent has chosen: `acpd-host` does that, from open
//! directories.

pub mod data_files;
mod draft;
mod leftovers;
pub mod private_file;
mod state;

pub use data_files::{Backup, DATA_FILES, DataFile, backup_of};
pub use draft::{Draft, follow_links, publish, replace, sync_directory, sync_names};
pub use leftovers::remove_leftovers;
pub use state::{Form, StateError, StateFile};
