//! Runs the tests that depend on where the clone lies in three other places, with the programs that are built already.
//!
//! In: built test binaries of `crates/acpd`. Out: a failure with the output of the tests that fail elsewhere. Never:
//! compiles anything.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

/// Programs that a clone has in `target/debug`.
const PROGRAMS: [&str; 2] = ["acpd", "acpd-fake-agent"];

/// The tests that depend on the location: the binary, and the tests of it.
const TESTS: [(&str, &[&str]); 4] = [
    (
        "sandbox",
        &[
            "a_terminal_reaches_the_workspace_and_no_secrets",
            "a_workspace_that_was_made_a_link_is_not_worked_in",
            "a_program_that_is_not_granted_is_refused_with_the_setting",
            "the_agent_itself_reaches_no_secrets",
            "lists_of_the_configuration_grant_more",
            "a_data_directory_among_temporary_files_is_said",
            "git_commits_in_a_worktree",
        ],
    ),
    (
        "secrets",
        &["a_process_of_an_agent_is_not_the_owner_at_the_sockets"],
    ),
    (
        "processes",
        &["a_process_that_hides_does_not_outlive_its_terminal"],
    ),
    (
        "codex",
        &["a_wrapper_that_is_named_as_codex_does_not_start_itself"],
    ),
];

/// Returns the directory of the built programs and tests.
fn built() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().parent().unwrap().to_owned()
}

/// Returns the newest build of a test binary that has `test`. Several crates may have a binary of this name.
fn binary(name: &str, test: &str) -> PathBuf {
    let is_it = |path: &PathBuf| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let hash = file.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
        hash.is_some_and(|hash| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let changed = |path: &PathBuf| {
        let changed = path.metadata().and_then(|found| found.modified());
        changed.unwrap_or(SystemTime::UNIX_EPOCH)
    };
    let all = std::fs::read_dir(built().join("deps")).unwrap();
    let mut all: Vec<_> = all.map(|entry| entry.unwrap().path()).filter(is_it).collect();
    all.sort_by_key(changed);
    all.into_iter()
        .rev()
        .find(|binary| has_test(binary, test))
        .unwrap_or_else(|| {
            panic!("{name} {test} is not built: build it with cargo nextest run --workspace --no-run")
        })
}

fn has_test(binary: &Path, test: &str) -> bool {
    let listed = Command::new(binary).args(["--list", "--exact", test]).output();
    listed.is_ok_and(|listed| String::from_utf8_lossy(&listed.stdout).contains(&format!("{test}: test")))
}

/// A place for a clone, with a home beside it.
struct Place {
    _root: tempfile::TempDir,
    clone: PathBuf,
    home: PathBuf,
}

impl Place {
    /// Creates a clone at `path` below `root`, with copies of the programs.
    fn new(root: tempfile::TempDir, path: &str) -> Self {
        let clone = root.path().join(path);
        let home = root.path().join("home");
        std::fs::create_dir_all(clone.join("target/debug")).unwrap();
        std::fs::create_dir_all(clone.join("target/tmp")).unwrap();
        std::fs::create_dir(&home).unwrap();
        for program in PROGRAMS {
            let copy = clone.join("target/debug").join(program);
            // A link needs the same file system.
            if std::fs::hard_link(built().join(program), &copy).is_err() {
                std::fs::copy(built().join(program), &copy).unwrap();
            }
        }
        // Where a test runs as another user, it may enter.
        std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        Self {
            _root: root,
            clone,
            home,
        }
    }

    /// Runs one test as nextest does: alone in its process.
    fn run(&self, name: &str, test: &str) -> Output {
        Command::new(binary(name, test))
            .args(["--exact", test, "--nocapture"])
            .current_dir(&self.clone)
            .env("ACPD_TESTS_CLONE", &self.clone)
            .env("HOME", &self.home)
            .env("NEXTEST", "1")
            .env("NEXTEST_TEST_NAME", test)
            .output()
            .unwrap()
    }
}

/// Runs all tests in a place. Those that this place cannot test say so, and at least one is tested.
fn passes_in(place: &Place) {
    let mut tested = 0;
    for (name, tests) in TESTS {
        for test in tests {
            let done = place.run(name, test);
            let (out, err) = (
                String::from_utf8_lossy(&done.stdout),
                String::from_utf8_lossy(&done.stderr),
            );
            let where_it_is = place.clone.display();
            assert!(
                done.status.success(),
                "{name} {test} fails in {where_it_is}:\n{out}\n{err}"
            );
            if err.contains("not tested: ") {
                eprintln!("{where_it_is}: {err}");
            } else {
                assert!(
                    out.contains("1 passed"),
                    "{name} has no test {test}:\n{out}\n{err}"
                );
                tested += 1;
            }
        }
    }
    assert!(tested > 0, "nothing could be tested in {}", place.clone.display());
}

fn temporary() -> tempfile::TempDir {
    tempfile::Builder::new()
        .prefix("acpd-place-")
        .tempdir_in("/tmp")
        .unwrap()
}

#[test]
fn the_tests_pass_below_the_directory_for_temporary_files() {
    passes_in(&Place::new(temporary(), "clone"));
}

#[test]
fn the_tests_pass_in_a_path_with_blanks_and_umlauts() {
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    passes_in(&Place::new(root, "x y ü/clone"));
}

#[test]
fn the_tests_pass_behind_a_link() {
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut place = Place::new(root, "real/clone");
    let link = place.clone.parent().unwrap().with_file_name("link");
    symlink(Path::new("real"), &link).unwrap();
    place.clone = link.join("clone");
    passes_in(&place);
}
