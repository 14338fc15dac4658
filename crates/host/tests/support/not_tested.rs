//! What this host cannot test. `make test` counts and names it at the end.
//!
//! In: the reason, from a test. Out: a line in the file that the environment names. Other crates' tests include this file.

use std::path::Path;

/// Names the file that collects what this host cannot test.
pub const NOT_TESTED: &str = "ACPD_NOT_TESTED";

/// Ends this test because the host cannot run it, and records that. It has a process of its own under nextest; other
/// runners share one between tests, so there the test fails.
pub fn not_tested(reason: &str) -> ! {
    assert!(
        std::env::var_os("NEXTEST").is_some(),
        "this host cannot run the test: {reason}"
    );
    record_not_tested(reason);
    std::process::exit(0)
}

/// Records a part of this test that the host cannot run. The rest of the test goes on.
pub fn record_not_tested(reason: &str) {
    let test = std::env::var("NEXTEST_TEST_NAME").unwrap_or_default();
    let line = format!("{test}: {reason}\n");
    eprint!("not tested: {line}");
    if let Some(file) = std::env::var_os(NOT_TESTED) {
        use std::io::Write as _;
        let mut options = std::fs::OpenOptions::new();
        let written = options.append(true).create(true).open(&file);
        let written = written.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("{}: {error}", Path::new(&file).display()));
    }
}
