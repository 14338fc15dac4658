//! `acpd backup` and `acpd restore`.
//!
//! In: a data directory, or a file. Out: a file, or a data directory. Owns: the format of backups, and a directory for
//! incomplete files beside the target. Never: leaves an incomplete target, or removes data that exists.
//!
//! | File | Subject |
//! |---|---|
//! | `archive` | the format: which files a backup has, how it is written and read |
//! | `create` | making a backup while the daemon runs |
//! | `restore` | making a data directory of a backup |
//! | `staging` | the directory for incomplete files |

mod archive;
mod create;
mod restore;
mod staging;

pub use create::backup;
pub use restore::restore;

/// The name of the log in a data directory.
const LOG: &str = "log.db";

/// Returns a number of threads in words.
fn threads(count: u64) -> String {
    match count {
        1 => "1 thread".to_owned(),
        count => format!("{count} threads"),
    }
}

/// Returns a size as users read it.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{} KiB", bytes.div_ceil(1 << 10)),
        bytes => format!("{} MiB", bytes.div_ceil(1 << 20)),
    }
}
