//! A small file system for the data directory, which only the daemon sees.

use std::process::Command;

use super::Place;

/// Runs a program where it may mount file systems that it alone sees.
const UNSHARE: [&str; 4] = ["unshare", "--user", "--map-root-user", "--mount"];

/// Returns a program that copies the place's data directory to a file system of this size, which hides the directory from
/// then on, and becomes another program. Returns `None` where a user cannot mount one.
pub fn on_small_disk(place: &Place, size: &str) -> Option<Vec<String>> {
    let may_mount = Command::new(UNSHARE[0])
        .args(&UNSHARE[1..])
        .args(["mount", "-t", "tmpfs", "none", "/mnt"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !may_mount {
        println!("skipped: a user cannot mount a file system here");
        return None;
    }
    let script = format!(
        r#"
mkdir "$0.small" && mount -t tmpfs -o size={size},mode=700 none "$0.small" &&
cp -a "$0/." "$0.small" && mount --bind "$0.small" "$0" && exec "$@"
"#
    );
    let data = place.data().display().to_string();
    let program = UNSHARE.map(str::to_owned).into_iter();
    Some(
        program
            .chain(["sh".to_owned(), "-c".to_owned(), script, data])
            .collect(),
    )
}
