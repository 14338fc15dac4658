//! Archives of agents, as a registry names them.

use std::fs;
use std::io::{Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use acpd_catalog::{ArchiveKind, Bounds, unpack};
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::Target;
use crate::scratch::in_directory;

/// A byte that selects the archive format, then an archive. Invariants: nothing is created outside of the directory, no
/// link in it points outside, no file has more permissions than allowed, and the total is within the limits.
pub const ARCHIVES: Target = Target {
    name: "archives",
    run: archives,
    words: &[
        "../",
        "/etc/passwd",
        "PK\u{3}\u{4}",
        "PK\u{1}\u{2}",
        "PK\u{5}\u{6}",
        "ustar\u{0}00",
        "a/b",
        "..\\",
        "\u{0}",
    ],
};

const BOUNDS: Bounds = Bounds {
    bytes: 64 << 10,
    entries: 16,
};

fn archives(input: &[u8]) {
    let Some((kind, archive)) = input.split_first() else {
        return;
    };
    let kinds = [ArchiveKind::Zip, ArchiveKind::TarGz, ArchiveKind::TarBz2];
    let kind = kinds[usize::from(*kind) % kinds.len()];
    in_directory(|inside| {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(archive).unwrap();
        file.rewind().unwrap();
        let into = Dir::open_ambient_dir(inside, ambient_authority()).unwrap();
        // An invalid archive is rejected; the files unpacked before the error count too.
        let _ = unpack(file, kind, &into, BOUNDS);
        let mut found = Found::default();
        found.walk(inside, inside);
        // The bytes of the file that exceeded the limit stay on disk.
        assert!(found.bytes <= BOUNDS.bytes + 1, "{} bytes", found.bytes);
        assert!(found.files <= BOUNDS.entries, "{} files", found.files);
    });
}

#[derive(Default)]
struct Found {
    bytes: u64,
    files: usize,
}

impl Found {
    fn walk(&mut self, directory: &Path, top: &Path) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let kind = path.symlink_metadata().unwrap();
            if kind.is_dir() {
                self.walk(&path, top);
                continue;
            }
            self.files += 1;
            if kind.is_symlink() {
                if let Ok(place) = fs::canonicalize(&path) {
                    assert!(
                        place.starts_with(top),
                        "{} leads to {}",
                        path.display(),
                        place.display()
                    );
                }
                continue;
            }
            assert!(kind.is_file(), "{} is not a file", path.display());
            assert_eq!(kind.permissions().mode() & 0o7022, 0, "{}", path.display());
            self.bytes += kind.len();
        }
    }
}
