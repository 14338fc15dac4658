//! Runs the tests that depend on where the clone lies, or on who runs them, in other places, with the programs that are
//! built already.
//!
//! In: built test binaries of the workspace. Out: a failure with the output of the tests that fail elsewhere. Never: compiles
//! anything.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

use tempfile::TempDir;

use crate::not_tested::{CI, EXCEPTIONS, NOT_TESTED, not_tested, record_not_tested_in};

/// Programs that a clone has in `target/debug`.
const PROGRAMS: [&str; 2] = ["acpd", "acpd-fake-agent"];

/// The user `daemon`, which every system has. Tests take another one, 65534, for a stranger.
const OTHER_USER: u32 = 1;

/// A test binary, and the beginnings of the names of some tests of it. Several crates may have a binary of the same name.
type Tests = (&'static str, &'static [&'static str]);

/// Tests that depend on paths, links, owners and users. Tests that read files of the clone itself are not among them:
/// another user may be unable to.
const OF_PATHS: [Tests; 12] = [
    (
        "acpd_catalog",
        &["tests::install::", "tests::on_host::", "tests::unpack::"],
    ),
    (
        "acpd_files",
        &["draft::", "leftovers::", "private_file::", "state::"],
    ),
    (
        "acpd_host",
        &[
            "files::",
            "sandbox::fingerprint::",
            "sandbox::writable::",
            "script::",
            "walk::",
        ],
    ),
    (
        "acpd_runtime",
        &[
            "agent::sandbox::denial::",
            "agent::sandbox::git",
            "agent::sandbox::own_directories::",
            "agent::sandbox::package::",
            "agent::sandbox::places::",
            "agent::sandbox::programs::",
            "record::directory::",
            "service::same_directory::",
            "standby::initialize_cache::",
        ],
    ),
    (
        "acpd_server",
        &[
            "auth::shares::",
            "auth::stored_list::",
            "auth::tokens::",
            "net::unix_socket::",
        ],
    ),
    (
        "acpd",
        &[
            "backup::",
            "client::local::ssh_agent::",
            "config::paths::",
            "doctor::data::",
            "editors::known::",
            "first_run::terminal_info::",
            "own_program::",
            "replace_file::",
            "service::",
        ],
    ),
    // Without "a_long_way", which takes seconds.
    (
        "host",
        &[
            "files::reading::",
            "files::real::",
            "files::reserved::",
            "files::roots::a_missing_root",
            "files::roots::a_root",
            "files::roots::an_open_root",
            "files::roots::links",
            "files::writing::",
            "processes::start_failures_report_their_reason",
            "terminals::arguments_are_never_a_shell_line",
        ],
    ),
    (
        "log",
        &[
            "sqlite::a_copy_is_made_beside_a_writer_and_has_no_remains",
            "sqlite::a_place_that_takes_no_files_is_named",
            "sqlite::closing_leaves_one_file_and_the_lock",
            "sqlite::one_process_has_the_database",
            "sqlite::only_the_owner_can_read_the_files",
        ],
    ),
    (
        "cli",
        &[
            "codex::a_wrapper_that_is_named_as_codex_does_not_start_itself",
            "service::a_service_is_installed_shown_and_removed",
        ],
    ),
    (
        "daemon",
        &[
            "processes::a_process_that_hides_does_not_outlive_its_terminal",
            "starting::threads_are_found_by_each_name_of_their_directory",
        ],
    ),
    ("surfaces", &["folders::a_thread_follows_its_folder"]),
    (
        "security",
        &["secrets::a_process_of_an_agent_is_not_the_owner_at_the_sockets"],
    ),
];

/// Tests that also need Landlock or user namespaces.
const OF_SANDBOXES: [Tests; 4] = [
    (
        "host",
        &[
            "sandbox::a_workspace_that_holds_what_is_withheld_is_refused",
            "sandbox::a_workspace_that_was_made_again_is_another_one",
            "sandbox::files_outside_of_the_lists_are_out_of_reach",
            "sandbox::processes_outside_are_not_signalled_and_new_privileges_are_not_had",
            "sandbox::installed_programs_run_inside_of_withheld_folders",
        ],
    ),
    (
        "security",
        &[
            "sandbox::a_terminal_reaches_the_workspace_and_no_secrets",
            "sandbox::a_workspace_that_was_made_a_link_is_not_worked_in",
            "sandbox::a_program_that_is_not_granted_is_refused_with_the_setting",
            "sandbox::the_agent_itself_reaches_no_secrets",
            "sandbox::lists_of_the_configuration_grant_more",
            "sandbox::a_data_directory_among_temporary_files_is_said",
            "sandbox::git_commits_in_a_worktree",
            "sandbox::settings_that_an_agent_can_write_grant_nothing",
            "sandbox_defaults::a_",
            "sandbox_defaults::an_",
            "sandbox_defaults::the_",
        ],
    ),
    ("cli", &["agents::a_person_signs_in_with_the_agents_own_program"]),
    (
        "daemon",
        &[
            "cannot_start::a_read_only_data_directory",
            "cannot_start::no_network",
        ],
    ),
];

/// Returns the directory of the built programs and tests.
fn built() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().parent().unwrap().to_owned()
}

/// Returns tests by their binary and their name.
fn found(tests: &[Tests]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for (name, beginnings) in tests {
        for beginning in *beginnings {
            let (binary, names) = newest(name, beginning);
            found.extend(names.into_iter().map(|name| (binary.clone(), name)));
        }
    }
    found
}

/// Returns the newest build of a test binary that has tests whose names begin with `beginning`, and these names.
fn newest(name: &str, beginning: &str) -> (PathBuf, Vec<String>) {
    let is_it = |path: &PathBuf| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let hash = file.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
        hash.is_some_and(|hash| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let changed = |path: &PathBuf| {
        let changed = path.metadata().and_then(|found| found.modified());
        changed.unwrap_or(SystemTime::UNIX_EPOCH)
    };
    let all = fs::read_dir(built().join("deps")).unwrap();
    let mut all: Vec<_> = all.map(|entry| entry.unwrap().path()).filter(is_it).collect();
    all.sort_by_key(changed);
    let mut all = all.into_iter().rev().map(|binary| {
        let names = names(&binary, beginning);
        (binary, names)
    });
    let Some(found) = all.find(|(_, names)| !names.is_empty()) else {
        panic!("{name} {beginning} is not built: build it with cargo nextest run --workspace --no-run");
    };
    found
}

/// Returns the names of the tests of a binary that begin with `beginning`. A program that is no test binary has none.
fn names(binary: &Path, beginning: &str) -> Vec<String> {
    let listed = Command::new(binary).arg("--list").output();
    let listed = listed.map(|listed| listed.stdout).unwrap_or_default();
    String::from_utf8_lossy(&listed)
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .filter(|name| name.starts_with(beginning))
        .map(str::to_owned)
        .collect()
}

/// Who runs the tests of a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runner {
    /// The user who runs this test.
    Own,
    /// Another user, which only root can become.
    Other,
    /// A process without Landlock and user namespaces.
    Unsandboxed,
}

/// A place for a clone, with a home, and a directory for temporary files.
struct Place {
    directories: [TempDir; 2],
    clone: PathBuf,
    home: PathBuf,
    temporary: PathBuf,
    runner: Runner,
}

impl Place {
    /// Creates a clone below `root`, with copies of the programs. `way` creates the way to it. Temporary files have the same
    /// way, but a short one: paths of sockets have 108 bytes.
    fn new(root: TempDir, way: impl Fn(&Path) -> PathBuf, runner: Runner) -> Self {
        let short = temporary();
        let (base, clone) = (way(root.path()), way(root.path()).join("clone"));
        let place = Self {
            temporary: way(short.path()).join("tmp"),
            home: base.join("home"),
            clone,
            runner,
            directories: [root, short],
        };
        let target = place.clone.join("target");
        for made in [
            &target.join("debug/deps"),
            &target.join("tmp"),
            &place.home,
            &place.temporary,
        ] {
            fs::create_dir_all(made).unwrap();
        }
        for program in PROGRAMS {
            put(&built().join(program), &target.join("debug").join(program));
        }
        // Where another user runs the tests, it may enter.
        let roots = place.directories.iter().map(TempDir::path);
        let inside = ["", "debug", "debug/deps"].map(|name| target.join(name));
        let inside = inside.iter().map(PathBuf::as_path);
        for directory in roots.chain(inside).chain([place.clone.as_path()]) {
            fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
        }
        if runner == Runner::Other {
            for own in [&target.join("tmp"), &place.home, &place.temporary] {
                chown(own, Some(OTHER_USER), Some(OTHER_USER)).unwrap();
            }
        }
        place
    }

    /// Runs one test as nextest does: alone in its process.
    fn run(&self, binary: &Path, test: &str) -> Output {
        let mut command = match self.runner {
            Runner::Own => Command::new(binary),
            Runner::Other => self.by_other_user(binary),
            Runner::Unsandboxed => {
                let mut command = without_sandboxes();
                command.arg(binary);
                command
            }
        };
        command
            .args(["--exact", test, "--nocapture"])
            .current_dir(&self.clone)
            .env("ACPD_TESTS_CLONE", &self.clone)
            .env("HOME", &self.home)
            .env("TMPDIR", &self.temporary)
            .env("NEXTEST", "1")
            .env("NEXTEST_TEST_NAME", test)
            // It is recorded here, with the place.
            .env_remove(NOT_TESTED)
            .env_remove(CI)
            .output()
            .unwrap()
    }

    /// Returns the command of a binary for another user, which may be unable to read the clone.
    fn by_other_user(&self, binary: &Path) -> Command {
        let name = binary.file_name().unwrap();
        let copy = self.clone.join("target/debug/deps").join(name);
        if !copy.exists() {
            put(binary, &copy);
        }
        let mut command = Command::new(copy);
        command
            .uid(OTHER_USER)
            .gid(OTHER_USER)
            .env("PATH", path_of_others())
            .env_remove("XDG_RUNTIME_DIR");
        command
    }
}

/// Puts a program to another place, where every user may run it.
fn put(program: &Path, to: &Path) {
    const EVERYONE: u32 = 0o755;
    let mode = program.metadata().unwrap().permissions().mode();
    // A link needs the same file system.
    if mode & EVERYONE != EVERYONE || fs::hard_link(program, to).is_err() {
        fs::copy(program, to).unwrap();
        fs::set_permissions(to, Permissions::from_mode(EVERYONE)).unwrap();
    }
}

/// Returns `PATH` without the directories below this user's home, which others may not enter.
fn path_of_others() -> OsString {
    let home = std::env::home_dir().unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = std::env::split_paths(&path).filter(|directory| !directory.starts_with(&home));
    std::env::join_paths(others).unwrap()
}

/// Returns the beginning of a command that runs without Landlock and user namespaces.
fn without_sandboxes() -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/without_sandboxes.py");
    let mut command = Command::new("python3");
    command.arg(script);
    command
}

/// What cannot be tested in a place: a test, and its reason.
type NotTested = (String, String);

/// Returns the reasons that a test has given on its standard error.
fn reasons_in<'e>(err: &'e str, test: &str) -> impl Iterator<Item = &'e str> {
    let begin = format!("not tested: {test}: ");
    err.lines().filter_map(move |line| line.strip_prefix(&begin))
}

/// Runs tests in a place. Returns how many could be run, and what cannot be tested there.
fn passes_in(place: &Place, tests: &[Tests]) -> (usize, Vec<NotTested>) {
    let mut tested = 0;
    let mut reasons = Vec::new();
    let where_it_is = place.clone.display();
    for (binary, test) in found(tests) {
        let done = place.run(&binary, &test);
        let (out, err) = (
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr),
        );
        let binary = binary.display();
        assert!(
            done.status.success(),
            "{binary} {test} fails in {where_it_is}:\n{out}\n{err}"
        );
        let before = reasons.len();
        reasons.extend(reasons_in(&err, &test).map(|reason| (test.clone(), reason.to_owned())));
        if reasons.len() == before {
            assert!(
                out.contains("1 passed"),
                "{binary} has no test {test}:\n{out}\n{err}"
            );
            tested += 1;
        }
    }
    (tested, reasons)
}

/// Runs all tests in a place, and records what cannot be tested there.
fn all_pass_in(place: &Place) {
    let (tested, reasons) = passes_in(place, &[&OF_PATHS[..], &OF_SANDBOXES[..]].concat());
    let shown = place.clone.display();
    assert!(tested > 0, "nothing could be tested in {shown}");
    for (test, reason) in reasons {
        record_not_tested_in(Some(&format!("{shown}, {test}")), &reason);
    }
}

#[test]
fn a_reason_of_a_place_is_found_as_exceptions_have_it() {
    for (reason, _) in EXCEPTIONS {
        let err = format!("a warning\nnot tested: a::test: {reason}\n");
        assert_eq!(reasons_in(&err, "a::test").collect::<Vec<_>>(), [reason]);
    }
}

/// Creates a directory below the one for temporary files, whatever TMPDIR says.
fn temporary() -> TempDir {
    directory_in(Path::new("/tmp"))
}

fn directory_in(parent: &Path) -> TempDir {
    let mut builder = tempfile::Builder::new();
    builder.prefix("acpd-place-").tempdir_in(parent).unwrap()
}

fn in_target() -> TempDir {
    directory_in(Path::new(env!("CARGO_TARGET_TMPDIR")))
}

#[test]
fn the_tests_pass_below_the_directory_for_temporary_files() {
    all_pass_in(&Place::new(temporary(), Path::to_owned, Runner::Own));
}

#[test]
fn the_tests_pass_in_a_path_with_blanks_and_umlauts() {
    let way = |root: &Path| root.join("x y ü");
    all_pass_in(&Place::new(in_target(), way, Runner::Own));
}

#[test]
fn the_tests_pass_behind_a_link() {
    let way = |root: &Path| {
        let link = root.join("link");
        if !link.exists() {
            fs::create_dir(root.join("real")).unwrap();
            symlink("real", &link).unwrap();
        }
        link
    };
    all_pass_in(&Place::new(in_target(), way, Runner::Own));
}

/// In a directory that no sandbox opens, so that those are tested too.
#[test]
fn the_tests_pass_as_another_user() {
    let root = tempfile::Builder::new()
        .prefix("acpd-place-")
        .tempdir_in("/var/lib");
    let mut python = Command::new("python3");
    let python = python.arg("-V").env("PATH", path_of_others());
    let runs = python.current_dir("/").uid(OTHER_USER).gid(OTHER_USER).output();
    let (Ok(root), Ok(_)) = (root, runs) else {
        not_tested("only root can run tests as another user, who needs a python3 that is not in root's home");
    };
    all_pass_in(&Place::new(root, Path::to_owned, Runner::Other));
}

/// What cannot be tested there is named; on this host it may well be tested, so it is not recorded.
#[test]
fn the_tests_pass_without_landlock_and_user_namespaces() {
    let works = without_sandboxes().arg("true").status();
    if !works.is_ok_and(|status| status.success()) {
        not_tested("the kernel has no filters of system calls");
    }
    let place = Place::new(in_target(), Path::to_owned, Runner::Unsandboxed);
    let (_, named) = passes_in(&place, &OF_SANDBOXES[..]);
    for part in ["Landlock", "user namespaces"] {
        assert!(
            named.iter().any(|(_, reason)| reason.contains(part)),
            "{part}: {named:?}"
        );
    }
}
