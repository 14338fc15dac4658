//! The binary of shims, as bytes of the program that starts them.
//!
//! In: a path. Out: the binary there. Owns: its bytes, which `build.rs` makes of `crates/shim`. Never: writes to a file that a process
//! runs: that one keeps what it has.
//!
//! See `docs/adr/0064-the-shim-in-the-binary.md`.

use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use acpd_files::Draft;
use flate2::read::ZlibDecoder;

static COMPRESSED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shim"));

/// The mode of the file: others have no use for it.
const MODE: u32 = 0o700;

/// Returns the binary. It is empty on systems that have no shims.
pub fn binary() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    ZlibDecoder::new(COMPRESSED).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Makes sure that the file at this path is the binary, and that this user can run it. Returns whether it was another one, or none.
/// Fails with [`io::ErrorKind::Unsupported`] on systems that have no shims.
pub fn install(path: &Path) -> io::Result<bool> {
    let bytes = binary()?;
    if bytes.is_empty() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    if is_installed(path, &bytes) {
        return Ok(false);
    }
    let mut draft = Draft::new(path, MODE)?;
    draft.write_all(&bytes)?;
    // The umask may have taken the right to run it.
    draft.set_mode(MODE)?;
    draft.keep()?;
    Ok(true)
}

/// Returns whether the file is this binary, and nothing else than a file: a link may lead elsewhere tomorrow.
fn is_installed(path: &Path, bytes: &[u8]) -> bool {
    let found = path.symlink_metadata();
    let is_ours = found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o777 == MODE);
    is_ours && std::fs::read(path).is_ok_and(|content| content == bytes)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    /// Bound of the binary, in bytes. Its memory depends on it.
    const MOST_BYTES: usize = 3 << 19;

    #[test]
    fn the_binary_is_small_and_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("acpd-shim");
        assert!(install(&path).unwrap());
        let size = binary().unwrap().len();
        assert!(size <= MOST_BYTES, "{size} bytes");
        let ran = Command::new(&path).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(
            !ran.status.success() && said.contains("it is not for users"),
            "{said}"
        );
    }

    #[test]
    fn a_file_that_differs_is_replaced_and_the_same_one_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("acpd-shim");
        assert!(install(&path).unwrap());
        assert!(!install(&path).unwrap());
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o777);
        assert!(install(&path).unwrap(), "others could write to it");
        let mut damaged = binary().unwrap();
        damaged[100] ^= 1;
        std::fs::write(&path, damaged).unwrap();
        assert!(install(&path).unwrap());
        let elsewhere = folder.path().join("elsewhere");
        std::fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert!(install(&path).unwrap());
        assert!(path.symlink_metadata().unwrap().is_file());
        assert_eq!(folder.path().read_dir().unwrap().count(), 2);
    }
}
