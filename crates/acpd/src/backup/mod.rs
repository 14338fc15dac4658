//! `acpd backup` and `acpd restore`.
//!
//! In: a data directory, or a file. Out: a file, or a data directory. Owns: the format of backups, and a directory for
//! incomplete files beside the target. Never: leaves an incomplete target, or removes data that exists.
//!
//! | File | Subject |
//! |---|---|
//! | `archive` | the format: which files a backup has, how it is written and read |
//! | `create` | making a backup while the daemon runs |
//! | `restore` | restoring a data directory from a backup |
//! | `staging` | the directory for incomplete files |

mod archive;
mod create;
mod restore;
mod staging;

pub use create::backup;
pub use restore::restore;
