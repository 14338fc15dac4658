//! File systems that only the daemon sees: a small one for the data directory, and one that cannot be written.

use std::path::Path;
use std::process::Command;

use super::{Place, not_tested};

/// Runs a program where it may mount file systems that it alone sees.
const UNSHARE: [&str; 4] = ["unshare", "--user", "--map-root-user", "--mount"];

/// Returns a program that copies the place's data directory to a file system of this size, which hides the directory from
/// then on, and becomes another program. Call [`needs_mounts`] first.
pub fn on_small_disk(place: &Place, size: &str) -> Vec<String> {
    let script = format!(
        r#"
mkdir "$0.small" && mount -t tmpfs -o size={size},mode=700 none "$0.small" &&
cp -a "$0/." "$0.small" && mount --bind "$0.small" "$0" && exec "$@"
"#
    );
    unshared(script, &place.data())
}

/// Returns a program that puts a file system of 64 KiB in the place of a directory, and becomes another program. Call
/// [`needs_mounts`] first.
pub fn tiny_disk(directory: &Path) -> Vec<String> {
    let script = r#"mount -t tmpfs -o size=64k,mode=700 none "$0" && exec "$@""#;
    unshared(script.to_owned(), directory)
}

/// Returns a program that makes a directory read-only, also for root, and becomes another program. Call
/// [`needs_mounts`] first.
pub fn read_only(directory: &Path) -> Vec<String> {
    let script = r#"mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@""#;
    unshared(script.to_owned(), directory)
}

/// Returns a program that has no network, and becomes another program. Ends the test as not tested where a user cannot do
/// that.
pub fn without_network() -> Vec<String> {
    let program = ["unshare", "--user", "--map-root-user", "--net"];
    if !works(&program, &["true"]) {
        not_tested("a user cannot leave the network here (no user namespaces)");
    }
    program.map(str::to_owned).to_vec()
}

/// Ends the test as not tested where a user cannot mount a file system.
pub fn needs_mounts() {
    if !works(&UNSHARE, &["mount", "-t", "tmpfs", "none", "/mnt"]) {
        not_tested("a user cannot mount a file system here (no user namespaces)");
    }
}

/// Returns a program that runs a script where it may mount file systems, with a directory as `$0`.
fn unshared(script: String, directory: &Path) -> Vec<String> {
    let directory = directory.display().to_string();
    let script = ["sh".to_owned(), "-c".to_owned(), script, directory];
    UNSHARE.map(str::to_owned).into_iter().chain(script).collect()
}

fn works(program: &[&str], args: &[&str]) -> bool {
    Command::new(program[0])
        .args(&program[1..])
        .args(args)
        .output()
        .is_ok_and(|output| output.status.success())
}
