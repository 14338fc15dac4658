//! A directory for one input at a time. `make fuzz` puts it into memory, because targets run millions of inputs.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

thread_local! {
    static PLACE: (TempDir, PathBuf) = {
        let place = tempfile::tempdir().expect("there is a temporary directory");
        let real = place.path().canonicalize().expect("it exists");
        (place, real)
    };
}

/// Runs `work` in an empty directory, which is the only entry of the one around it. Its path has no links.
pub fn in_directory(work: impl FnOnce(&Path)) {
    PLACE.with(|(_, place)| {
        let directory = place.join("input");
        // After a panic, its files are still there.
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).expect("it can be made");
        work(&directory);
        let names = fs::read_dir(place).expect("it can be listed").count();
        assert_eq!(names, 1, "something was made beside the directory");
        fs::remove_dir_all(&directory).expect("it can be removed");
    });
}
