//! What this host cannot test. `make test` counts and names it at the end; CI fails, except for what is listed here.
//!
//! In: the reason, from a test. Out: a line in the file that the environment names. Other crates' tests include this file.

use std::ffi::OsStr;
use std::path::Path;

/// Names the file that collects what this host cannot test.
pub const NOT_TESTED: &str = "ACPD_NOT_TESTED";

/// Is `true` in CI.
pub const CI: &str = "CI";

/// What CI does not test: the reason as a test gives it, and why CI does without.
pub const EXCEPTIONS: [(&str, &str); 5] = [
    (
        "the history of git is missing or shallow",
        "subjects of commits are checked where the commits are made",
    ),
    (
        "the shell zsh is not installed",
        "`make test` installs it where it can; without it, bash and dash judge, and `make test-shells` names what is missing",
    ),
    ("uvx is not installed", "its hosts have no uv"),
    ("go is not installed", "its hosts have no Go"),
    (
        "no folder of the system can be opened for agents",
        "only tests that run as another user have their folders there; the same tests also run in CI's own clone",
    ),
];

/// Ends this test because the host cannot run it, and records that. It has a process of its own under nextest; other
/// runners share one between tests, so there the test fails. A test calls it before it starts anything, which would stay.
pub fn not_tested(reason: &str) -> ! {
    assert!(
        std::env::var_os("NEXTEST").is_some(),
        "this host cannot run the test: {reason}"
    );
    record_not_tested(reason);
    std::process::exit(0)
}

/// Records a part of this test that the host cannot run. The rest of the test goes on, but for CI, where the test fails
/// unless the reason is among [`EXCEPTIONS`].
pub fn record_not_tested(reason: &str) {
    record_not_tested_in(None, reason);
}

/// Does the same for what cannot be tested in one place only. The place may have a random name: no exception names it.
pub fn record_not_tested_in(place: Option<&str>, reason: &str) {
    let test = std::env::var("NEXTEST_TEST_NAME").unwrap_or_default();
    let place = place.map(|place| format!("in {place}: ")).unwrap_or_default();
    let line = format!("{test}: {place}{reason}\n");
    eprint!("not tested: {line}");
    assert!(
        may_be_untested(reason, std::env::var_os(CI).as_deref()),
        "CI cannot run this test: {reason}. Install what is missing, or add the reason to EXCEPTIONS in {}",
        file!()
    );
    if let Some(file) = std::env::var_os(NOT_TESTED) {
        use std::io::Write as _;
        let mut options = std::fs::OpenOptions::new();
        let written = options.append(true).create(true).open(&file);
        let written = written.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("{}: {error}", Path::new(&file).display()));
    }
}

/// Returns whether a run passes without what this reason prevents. `ci` is the value of the variable [`CI`].
pub fn may_be_untested(reason: &str, ci: Option<&OsStr>) -> bool {
    ci != Some(OsStr::new("true")) || EXCEPTIONS.iter().any(|(listed, _)| *listed == reason)
}
