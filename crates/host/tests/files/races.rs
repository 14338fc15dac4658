//! A second thread swaps things while paths are looked up. Whatever wins, nothing leads out and nothing hangs.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags};

use crate::Scene;

/// Exchanges the two names, in one step, until `work` is done.
fn while_swapping(one: &Path, other: &Path, work: impl FnOnce()) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        // Also ends the thread when `work` panics.
        let _done = Done(&done);
        work();
    });
}

struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

const READS: usize = 4000;
/// Each is brought to the disk, which takes its time.
const WRITES: usize = 200;

fn hammer(scene: &Scene, path: &str, inside: &[&str]) {
    let outside = |scene: &Scene| {
        let all = scene.all().into_iter();
        all.filter(|(name, _)| !name.starts_with("w/") && name != "w")
            .collect::<Vec<_>>()
    };
    let before = outside(scene);
    for n in 0..READS {
        let lines = (n % 2 == 0).then_some(1);
        if let Ok(text) = scene.files.read_text(path, lines, None) {
            assert!(inside.contains(&text.as_str()), "{text:?} is from outside");
        }
    }
    for _ in 0..WRITES {
        let _ = scene.files.write_text(path, "inside");
        let _ = scene.files.write_text(&format!("{path}.new/x"), "inside");
    }
    assert_eq!(outside(scene), before);
}

#[test]
fn a_directory_that_becomes_a_link_to_outside() {
    for target in ["../outside", "/proc/self/cwd", ".."] {
        let scene = Scene::new();
        scene.write("w/dir/secret", "inside");
        scene.link("w/other", target);
        let (one, other) = (scene.base.join("w/dir"), scene.base.join("w/other"));
        while_swapping(&one, &other, || {
            hammer(&scene, &scene.path("w/dir/secret"), &["inside"]);
        });
    }
}

#[test]
fn a_directory_that_becomes_a_link_while_its_parent_is_asked_for() {
    let scene = Scene::new();
    std::fs::create_dir(scene.base.join("w/dir/sub")).unwrap();
    std::fs::create_dir_all(scene.base.join("outside/sub")).unwrap();
    scene.write("w/dir/secret", "inside");
    scene.link("w/other", "../outside");
    let (one, other) = (scene.base.join("w/dir"), scene.base.join("w/other"));
    while_swapping(&one, &other, || {
        hammer(&scene, &scene.path("w/dir/sub/../secret"), &["inside"]);
    });
}

#[test]
fn a_file_that_becomes_a_link_to_outside() {
    let scene = Scene::new();
    scene.link("w/other", "../outside/secret");
    let (one, other) = (scene.base.join("w/file"), scene.base.join("w/other"));
    while_swapping(&one, &other, || {
        hammer(&scene, &scene.path("w/file"), &["inside"]);
    });
}

#[test]
fn a_link_that_turns_from_inside_to_outside() {
    let scene = Scene::new();
    scene.link("w/one", "file");
    scene.link("w/other", "../outside/secret");
    let (one, other) = (scene.base.join("w/one"), scene.base.join("w/other"));
    while_swapping(&one, &other, || {
        hammer(&scene, &scene.path("w/one"), &["inside"]);
    });
}

#[test]
fn a_file_that_becomes_a_fifo() {
    let scene = Scene::new();
    scene.fifo("w/other");
    let (one, other) = (scene.base.join("w/file"), scene.base.join("w/other"));
    while_swapping(&one, &other, || {
        hammer(&scene, &scene.path("w/file"), &["inside"]);
    });
}

#[test]
fn a_directory_that_moves_out_and_back() {
    // What was moved is still what it was; but `..` of it must not be where it was moved to.
    let scene = Scene::new();
    std::fs::create_dir_all(scene.base.join("w/dir/sub")).unwrap();
    scene.write("w/dir/secret", "inside");
    std::fs::create_dir(scene.base.join("outside/other")).unwrap();
    let (one, other) = (scene.base.join("w/dir"), scene.base.join("outside/other"));
    while_swapping(&one, &other, || {
        for _ in 0..READS {
            let path = scene.path("w/dir/sub/../../secret");
            assert!(scene.files.read_text(&path, None, None).is_err());
        }
    });
    assert_eq!(scene.text("outside/secret"), "secret");
}
