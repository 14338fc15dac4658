//! Where the tests run: the built programs, and directories for tests.
//!
//! A clone may lie anywhere: below `/tmp`, to which every sandbox grants access, or in a path with blanks. So no test
//! asks for a path of the clone itself; it asks here.

use std::path::{Path, PathBuf};

use acpd_host::Kernel;
use tempfile::TempDir;

use super::not_tested::not_tested;

/// Names a directory that has the layout of a clone, with copies of the built programs. Tests that are built already can
/// run there, to see whether they depend on the place of the clone.
const CLONE: &str = "ACPD_TESTS_CLONE";

/// Directories that the sandbox opens to every agent.
const OPEN: [&str; 12] = [
    "/tmp", "/var/tmp", "/dev", "/usr", "/bin", "/sbin", "/lib", "/etc", "/opt", "/nix", "/proc", "/sys",
];

/// Returns a built program: `acpd`, or one that is built beside it.
pub fn built(name: &str) -> PathBuf {
    let path = match std::env::var_os(CLONE) {
        Some(clone) => Path::new(&clone).join("target/debug").join(name),
        None => Path::new(env!("CARGO_BIN_EXE_acpd")).with_file_name(name),
    };
    assert!(
        path.is_file(),
        "{} is missing: build it with cargo build --workspace",
        path.display()
    );
    path
}

/// Returns the directory for files of tests, in the clone's own `target`.
pub fn scratch() -> PathBuf {
    let path = match std::env::var_os(CLONE) {
        Some(clone) => Path::new(&clone).join("target/tmp"),
        None => PathBuf::from(env!("CARGO_TARGET_TMPDIR")),
    };
    std::fs::create_dir_all(&path).expect("the directory for tests can be made");
    path
}

/// Creates a directory to which no sandbox grants access by default, and whose path `fits`. Ends the test as not tested if
/// this host has none.
pub fn closed_directory(fits: impl Fn(&Path) -> bool) -> TempDir {
    let user = rustix::process::getuid().as_raw();
    let places = [
        Some(scratch()),
        std::env::home_dir(),
        Some(format!("/run/user/{user}").into()),
        Some("/var/lib".into()),
    ];
    let made = places.into_iter().flatten().find_map(|place| {
        let real = place
            .canonicalize()
            .ok()
            .filter(|real| !is_open(real) && fits(real))?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".acpd-test-").tempdir_in(real).ok()
    });
    made.unwrap_or_else(|| {
        not_tested(
            "no directory of this user is outside of what sandboxes grant: the clone and HOME are below /tmp, or have a \
             blank in a path that must have none",
        )
    })
}

/// Ends the test as not tested if the kernel has no sandboxes.
pub fn needs_sandboxes() {
    if !Kernel::here().has_sandboxes() {
        not_tested("the kernel has no Landlock");
    }
}

fn is_open(directory: &Path) -> bool {
    let own = std::env::temp_dir();
    let own = own.canonicalize().unwrap_or(own);
    directory.starts_with(own) || OPEN.iter().any(|open| directory.starts_with(open))
}
