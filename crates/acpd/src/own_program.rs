//! The path of this program, also after an upgrade has replaced its file.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What Linux adds to the path of a program whose file was removed or replaced.
const REMOVED: &[u8] = b" (deleted)";

/// Returns the path of `acpd`. If its file was replaced, that is the new program. If it was removed, the path leads to
/// this process's own program.
pub fn own_program() -> io::Result<PathBuf> {
    Ok(present(std::env::current_exe()?))
}

fn present(program: PathBuf) -> PathBuf {
    if program.exists() {
        return program;
    }
    let own = PathBuf::from("/proc/self/exe");
    let Some(path) = program.as_os_str().as_bytes().strip_suffix(REMOVED) else {
        return program;
    };
    let replaced = Path::new(OsStr::from_bytes(path));
    if replaced.is_file() {
        replaced.to_owned()
    } else {
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_replaced_is_the_new_one() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("acpd");
        let removed = PathBuf::from(format!("{} (deleted)", program.display()));
        assert_eq!(present(removed.clone()), Path::new("/proc/self/exe"));
        std::fs::write(&program, "").unwrap();
        assert_eq!(present(program.clone()), program);
        assert_eq!(present(removed.clone()), program);
        // A file may have such a name.
        std::fs::write(&removed, "").unwrap();
        assert_eq!(present(removed.clone()), removed);
    }
}
