//! Reserved files cannot be accessed under any name.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use acpd_host::{Reserved, Workspace};
use acpd_model::{ErrorCode, Failure};

use super::{Roomy, Scene};

/// Returns a workspace around `data`, where a daemon keeps its files, and `config/acpd.toml`.
fn around(scene: &Scene, roots: &[&str]) -> Workspace {
    let reserved = Reserved::new(
        vec![scene.base.join("w/data")],
        vec![
            scene.base.join("w/config/acpd.toml"),
            scene.base.join("w/new/acpd.toml"),
        ],
    );
    let roots: Vec<PathBuf> = roots.iter().map(|name| scene.base.join(name)).collect();
    Workspace::open(roots.into_iter()).without(Arc::new(reserved))
}

fn furnish(scene: &Scene) {
    for name in ["w/data/sub", "w/config"] {
        fs::create_dir_all(scene.base.join(name)).unwrap();
    }
    for name in [
        "w/data/token",
        "w/data/sub/deep",
        "w/config/acpd.toml",
        "w/config/other.toml",
    ] {
        scene.write(name, "secret");
    }
}

fn is_reserved(failure: &Failure) -> bool {
    failure.code == ErrorCode::Forbidden && failure.message.contains("belongs to acpd itself")
}

#[test]
fn reserved_files_are_neither_read_nor_written_by_any_name() {
    let scene = Scene::new();
    furnish(&scene);
    scene.link("w/link", "data/token");
    scene.link("w/linked", "data");
    scene.link("w/settings", scene.path("w/config/acpd.toml"));
    fs::hard_link(scene.base.join("w/data/token"), scene.base.join("w/hard")).unwrap();
    fs::hard_link(
        scene.base.join("w/config/acpd.toml"),
        scene.base.join("w/hard.toml"),
    )
    .unwrap();
    let files = around(&scene, &["w"]);
    for name in [
        "w/data/token",
        "w/data/../data/token",
        "w/dir/../data/sub/deep",
        "w/link",
        "w/linked/token",
        "w/settings",
        "w/config/acpd.toml",
        "w/hard",
        "w/hard.toml",
    ] {
        let path = scene.path(name);
        for line in [None, Some(1)] {
            let failure = files.read_text(&path, line, None).unwrap_err();
            assert!(is_reserved(&failure), "{name}: {failure}");
        }
        let before = scene.all();
        let written = files.write_text(&path, "mine").unwrap_err();
        assert!(
            is_reserved(&written) || written.message.contains("hard links"),
            "{name}: {written}"
        );
        assert!(scene.all() == before, "{name}");
    }
    for name in [
        "w/data/new",
        "w/data/sub/x/new",
        "w/linked/new",
        "w/new/acpd.toml",
    ] {
        let failure = files.write_text(&scene.path(name), "mine").unwrap_err();
        assert!(is_reserved(&failure), "{name}: {failure}");
        assert!(!scene.base.join(name).exists(), "{name}");
    }
    for name in ["w/data/token", "w/linked/new", "w/config/acpd.toml"] {
        let failure = files.real_path(&scene.path(name)).unwrap_err();
        assert!(is_reserved(&failure), "{name}: {failure}");
    }
}

#[test]
fn neighbouring_files_stay_accessible() {
    let scene = Scene::new();
    furnish(&scene);
    fs::hard_link(scene.base.join("w/file"), scene.base.join("w/second")).unwrap();
    let files = around(&scene, &["w"]);
    for name in ["w/file", "w/second", "w/config/other.toml"] {
        files.read_text(&scene.path(name), None, None).unwrap();
    }
    files.write_text(&scene.path("w/dir/acpd.toml"), "mine").unwrap();
    files.write_text(&scene.path("w/new/other.toml"), "mine").unwrap();
}

#[test]
fn a_workspace_inside_of_what_is_reserved_has_no_files() {
    let scene = Scene::new();
    furnish(&scene);
    for root in ["w/data", "w/data/sub"] {
        let files = around(&scene, &[root]);
        let path = scene.path(if root == "w/data" {
            "w/data/token"
        } else {
            "w/data/sub/deep"
        });
        assert!(
            is_reserved(&files.read_text(&path, None, None).unwrap_err()),
            "{root}"
        );
        assert!(
            is_reserved(&files.write_text(&path, "mine").unwrap_err()),
            "{root}"
        );
    }
}

#[test]
fn replaced_and_moved_files_stay_reserved() {
    let scene = Scene::new();
    furnish(&scene);
    let files = around(&scene, &["w"]);
    // Replaced like the daemon replaces a file, and an editor the configuration.
    scene.write("w/config/acpd.new", "newer");
    fs::rename(
        scene.base.join("w/config/acpd.new"),
        scene.base.join("w/config/acpd.toml"),
    )
    .unwrap();
    fs::hard_link(scene.base.join("w/config/acpd.toml"), scene.base.join("w/hard")).unwrap();
    for name in ["w/config/acpd.toml", "w/hard"] {
        let failure = files.read_text(&scene.path(name), None, None).unwrap_err();
        assert!(is_reserved(&failure), "{name}: {failure}");
    }
}

/// Returns a workspace of `roots`, where `w` is the user's home and another agent keeps `.codex` and `.codex.json`.
fn at_home(scene: &Scene, roots: &[&str]) -> Workspace {
    let roots: Vec<PathBuf> = roots.iter().map(|name| scene.base.join(name)).collect();
    let others = ["w/.codex", "w/.codex.json"].map(|name| scene.base.join(name));
    let reserved = Reserved::default().and(others.into(), &roots);
    Workspace::open(roots.into_iter()).without(Arc::new(reserved))
}

#[test]
fn files_of_other_agents_are_reserved_unless_they_contain_the_workspace() {
    let scene = Scene::new();
    let files = at_home(&scene, &["w"]);
    // Refused even before the files exist.
    for name in ["w/.codex/auth.json", "w/.codex.json"] {
        let failure = files.write_text(&scene.path(name), "mine").unwrap_err();
        assert!(is_reserved(&failure), "{name}: {failure}");
    }
    fs::create_dir_all(scene.base.join("w/.codex/sub")).unwrap();
    for name in ["w/.codex/auth.json", "w/.codex/sub/deep", "w/.codex.json"] {
        scene.write(name, "secret");
    }
    std::os::unix::fs::symlink(".codex", scene.base.join("w/link")).unwrap();
    fs::hard_link(scene.base.join("w/.codex/auth.json"), scene.base.join("w/hard")).unwrap();
    let files = at_home(&scene, &["w"]);
    for name in [
        "w/.codex/auth.json",
        "w/.codex/sub/deep",
        "w/.codex.json",
        "w/link/auth.json",
        "w/hard",
    ] {
        let failure = files.read_text(&scene.path(name), None, None).unwrap_err();
        assert!(is_reserved(&failure), "{name}: {failure}");
    }
    assert_eq!(
        files.read_text(&scene.path("w/file"), None, None).unwrap(),
        "inside"
    );
    // A user who opens the directory as the workspace, or as an additional directory, does so on purpose.
    for roots in [&["w/.codex"][..], &["w", "w/.codex/sub"]] {
        let files = at_home(&scene, roots);
        let read = files.read_text(&scene.path("w/.codex/sub/deep"), None, None);
        assert_eq!(read.unwrap(), "secret", "{roots:?}");
    }
}

#[test]
fn a_directory_within_a_reserved_one_is_read_where_it_is_meant_to_be() {
    let scene = Scene::new();
    furnish(&scene);
    scene.link("w/data/sub/out", "../token");
    scene.link("w/link", "data/sub/deep");
    let files = around(&scene, &["w"]).and_readable(scene.base.join("w/data/sub"));
    for name in ["w/data/sub/deep", "w/link", "w/data/sub/../sub/deep"] {
        let path = scene.path(name);
        assert_eq!(files.read_text(&path, None, None).unwrap(), "secret", "{name}");
        assert!(!files.reserves(&path), "{name}");
    }
    // What is around it stays reserved, by whatever way.
    for name in ["w/data/token", "w/data/sub/out", "w/data/sub/../token"] {
        let path = scene.path(name);
        let failure = files.read_text(&path, None, None).unwrap_err();
        assert!(is_reserved(&failure), "{name}: {failure}");
        assert!(files.reserves(&path), "{name}");
    }
    let before = scene.all();
    for name in ["w/data/sub/deep", "w/data/sub/new", "w/data/sub/dir/new"] {
        let failure = files.write_text(&scene.path(name), "mine").unwrap_err();
        assert_eq!(failure.code, ErrorCode::Forbidden, "{name}: {failure}");
        assert!(failure.message.contains("may only be read"), "{name}: {failure}");
    }
    assert_eq!(scene.all(), before);
}

/// `data/copies` has some of the files of `data`, under the same names.
#[test]
fn files_that_are_copied_are_read_under_their_own_paths_and_no_others() {
    let scene = Scene::new();
    furnish(&scene);
    for name in ["w/data/copies/sub", "w/data/mine"] {
        fs::create_dir_all(scene.base.join(name)).unwrap();
    }
    scene.write("w/data/sub/other", "secret");
    let deep = scene.base.join("w/data/sub/deep");
    fs::hard_link(deep, scene.base.join("w/data/copies/sub/deep")).unwrap();
    scene.link("w/link", "data/sub/deep");
    let files = around(&scene, &["w"])
        .and_readable(scene.base.join("w/data/mine"))
        .and_readable_as(scene.base.join("w/data"), scene.base.join("w/data/copies"));
    for name in ["w/data/sub/deep", "w/data/copies/sub/deep", "w/link"] {
        let path = scene.path(name);
        assert_eq!(files.read_text(&path, None, None).unwrap(), "secret", "{name}");
        assert!(!files.reserves(&path), "{name}");
    }
    for name in [
        "w/data/token",
        "w/data/sub/other",
        "w/data/sub/../token",
        "w/data/mine/../token",
        "w/data/sub/../../data/token",
    ] {
        let path = scene.path(name);
        assert!(files.read_text(&path, None, None).is_err(), "{name}");
        assert!(files.reserves(&path), "{name}");
    }
    let before = scene.all();
    for name in ["w/data/sub/deep", "w/data/sub/new", "w/data/new"] {
        let failure = files.write_text(&scene.path(name), "mine").unwrap_err();
        assert_eq!(failure.code, ErrorCode::Forbidden, "{name}: {failure}");
    }
    assert_eq!(scene.all(), before);
}
