//! A second thread swaps files while paths are resolved. In any order, nothing leads out and nothing blocks.

use std::sync::atomic::{AtomicBool, Ordering};

use acpd_model::ErrorCode;
use rustix::fs::{CWD, RenameFlags};

use super::{Roomy, Scene};

/// Swaps two names atomically, again and again until `work` is done. Then checks that nothing outside has changed.
fn while_swapping(scene: &Scene, one: &str, other: &str, work: impl FnOnce()) {
    let (one, other) = (&scene.base.join(one), &scene.base.join(other));
    let before = scene.outside();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let swap = || rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
            // An even number of swaps restores the original state.
            while !done.load(Ordering::Relaxed) {
                swap();
                swap();
            }
        });
        // Also ends the thread if `work` panics.
        let _done = Done(&done);
        work();
    });
    assert_eq!(scene.outside(), before);
}

struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

const READS: usize = 4000;
/// Each write is synced to the disk, which takes time.
const WRITES: usize = 200;

/// Reads and writes a file that should be `inside`.
fn hammer(scene: &Scene, name: &str) {
    let path = scene.path(name);
    for n in 0..READS {
        let line = (n % 2 == 0).then_some(1);
        if let Ok(text) = scene.files.read_text(&path, line, None) {
            assert_eq!(text, "inside");
        }
    }
    for _ in 0..WRITES {
        let _ = scene.files.write_text(&path, "inside");
        let _ = scene.files.write_text(&format!("{path}.new/x"), "inside");
    }
}

#[test]
fn a_directory_that_becomes_a_link_to_outside() {
    for target in ["../outside", "/proc/self/cwd", ".."] {
        let scene = Scene::new();
        scene.write("w/dir/secret", "inside");
        scene.link("w/other", target);
        while_swapping(&scene, "w/dir", "w/other", || hammer(&scene, "w/dir/secret"));
    }
}

#[test]
fn a_directory_that_becomes_a_link_before_a_step_back() {
    let scene = Scene::new();
    std::fs::create_dir(scene.base.join("w/dir/sub")).unwrap();
    std::fs::create_dir_all(scene.base.join("outside/sub")).unwrap();
    scene.write("w/dir/secret", "inside");
    scene.link("w/other", "../outside");
    while_swapping(&scene, "w/dir", "w/other", || {
        hammer(&scene, "w/dir/sub/../secret");
    });
}

#[test]
fn a_file_that_becomes_a_link_to_outside() {
    let scene = Scene::new();
    scene.link("w/other", "../outside/secret");
    while_swapping(&scene, "w/file", "w/other", || hammer(&scene, "w/file"));
}

#[test]
fn a_link_that_turns_from_inside_to_outside() {
    let scene = Scene::new();
    scene.link("w/one", "file");
    scene.link("w/other", "../outside/secret");
    while_swapping(&scene, "w/one", "w/other", || hammer(&scene, "w/one"));
}

#[test]
fn a_file_that_becomes_a_fifo() {
    let scene = Scene::new();
    scene.fifo("w/other");
    while_swapping(&scene, "w/file", "w/other", || hammer(&scene, "w/file"));
}

#[test]
fn a_directory_that_moves_out_and_back() {
    // A moved directory keeps its content, but its `..` must not be the directory that it was moved to.
    let scene = Scene::new();
    std::fs::create_dir_all(scene.base.join("w/dir/sub")).unwrap();
    std::fs::create_dir(scene.base.join("outside/other")).unwrap();
    let path = scene.path("w/dir/sub/../../secret");
    while_swapping(&scene, "w/dir", "outside/other", || {
        for _ in 0..READS {
            let read = scene.files.read_text(&path, None, None);
            assert_eq!(read.unwrap_err().code, ErrorCode::NotFound);
        }
    });
}
