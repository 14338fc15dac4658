//! Directories of the workspace.

use std::fs;

use acpd_host::Workspace;
use acpd_model::{ErrorCode, PreviousContent};

use super::{Roomy, Scene};

fn workspace(scene: &Scene, names: &[&str]) -> Workspace {
    Workspace::open(names.iter().map(|name| scene.base.join(name)))
}

#[test]
fn a_root_behind_a_link_has_both_names() {
    let scene = Scene::new();
    scene.link("alias", "w");
    scene.link("aliases", "outside/..");
    for root in ["alias", "aliases/alias", "outside/../w"] {
        let files = workspace(&scene, &[root]);
        for path in [format!("{root}/file"), "w/file".to_owned()] {
            let path = scene.path(&path);
            assert_eq!(files.read_text(&path, None, None).unwrap(), "inside", "{path}");
            files.write_text(&path, "inside").unwrap();
        }
        let other = files.read_text(&scene.path("other/file"), None, None);
        assert_eq!(other.unwrap_err().code, ErrorCode::InvalidParams);
    }
}

#[test]
fn links_lead_from_one_root_to_another() {
    let scene = Scene::new();
    scene.link("w/link", "../outside/secret");
    let path = scene.path("w/link");
    scene.files.read_text(&path, None, None).unwrap_err();
    let files = workspace(&scene, &["w", "outside"]);
    assert_eq!(files.read_text(&path, None, None).unwrap(), "secret");
    files.write_text(&path, "new").unwrap();
    assert_eq!(scene.text("outside/secret"), "new");
}

#[test]
fn the_innermost_of_nested_roots_decides() {
    let scene = Scene::new();
    scene.link("w/link", "../outside");
    for roots in [["w", "w/link"], ["w/link", "w"]] {
        let files = workspace(&scene, &roots);
        let read = |name: &str| files.read_text(&scene.path(name), None, None);
        assert_eq!(read("w/link/secret").unwrap(), "secret");
        assert_eq!(read("w/dir/../link/secret").unwrap(), "secret");
        assert_eq!(read("w/file").unwrap(), "inside");
        // The `..` of a link is that of its target.
        assert_eq!(read("w/link/../file").unwrap_err().code, ErrorCode::InvalidParams);
    }
    let files = workspace(&scene, &["w", "w/dir"]);
    let read = |name: &str| files.read_text(&scene.path(name), None, None);
    assert_eq!(read("w/dir/../file").unwrap(), "inside");
    fs::rename(scene.base.join("w/dir"), scene.base.join("w/moved")).unwrap();
    fs::create_dir(scene.base.join("w/dir")).unwrap();
    assert_eq!(read("w/dir/f").unwrap(), "in dir");
}

#[test]
fn a_root_that_was_not_there_stays_closed() {
    let scene = Scene::new();
    let files = workspace(&scene, &["w", "later"]);
    let path = scene.path("later/f");
    let refused = |path: &str| {
        for failure in [
            files.read_text(path, None, None).unwrap_err(),
            files.write_text(path, "new").unwrap_err(),
        ] {
            assert_eq!(failure.code, ErrorCode::NotFound);
            let root = scene.path("later");
            assert!(
                failure
                    .message
                    .starts_with(&format!("the workspace directory {root} could not be opened: ")),
                "{failure}"
            );
        }
    };
    refused(&path);
    assert_eq!(
        files.read_text(&scene.path("w/file"), None, None).unwrap(),
        "inside"
    );
    // An agent has put a link there since.
    scene.link("later", "outside");
    refused(&scene.path("later/secret"));
    fs::remove_file(scene.base.join("later")).unwrap();
    fs::create_dir(scene.base.join("later")).unwrap();
    refused(&path);
    let files = workspace(&scene, &["w", "later"]);
    assert_eq!(files.write_text(&path, "new").unwrap(), PreviousContent::Nothing);
}

#[test]
fn a_missing_root_inside_another_cannot_be_made_a_way_out() {
    let scene = Scene::new();
    let files = workspace(&scene, &["w", "w/later"]);
    scene.link("w/later", "../outside");
    let failure = files
        .read_text(&scene.path("w/later/secret"), None, None)
        .unwrap_err();
    assert!(
        failure.message.starts_with("path outside workspace: "),
        "{failure}"
    );
    fs::remove_file(scene.base.join("w/later")).unwrap();
    files.write_text(&scene.path("w/later/f"), "new").unwrap();
    assert_eq!(scene.text("w/later/f"), "new");
}

#[test]
fn an_open_root_is_the_directory_it_was() {
    let scene = Scene::new();
    fs::rename(scene.base.join("w"), scene.base.join("moved")).unwrap();
    scene.link("w", "outside");
    let path = scene.path("w/secret");
    let failure = scene.files.read_text(&path, None, None).unwrap_err();
    assert_eq!(failure.code, ErrorCode::NotFound);
    scene.files.write_text(&path, "new").unwrap();
    assert_eq!(scene.text("moved/secret"), "new");
    assert_eq!(scene.text("outside/secret"), "secret");

    fs::remove_dir_all(scene.base.join("moved")).unwrap();
    for failure in [
        scene.files.read_text(&path, None, None).unwrap_err(),
        scene.files.write_text(&path, "new").unwrap_err(),
    ] {
        let root = scene.path("w");
        assert_eq!(failure.code, ErrorCode::NotFound);
        assert_eq!(
            failure.message,
            format!("the workspace directory {root} was removed; a new session opens it again")
        );
    }
}

#[test]
fn without_a_root_everything_is_outside() {
    let scene = Scene::new();
    for directories in [vec![], vec!["".into()], vec![".".into()], vec!["/".into()]] {
        let everything = directories.contains(&std::path::PathBuf::from("/"));
        let files = Workspace::open(directories.into_iter());
        let read = files.read_text(&scene.path("w/file"), None, None);
        assert_eq!(read.is_ok(), everything, "{read:?}");
    }
}

#[test]
fn a_long_way_needs_no_handle_a_step() {
    let scene = Scene::new();
    // More directories than a process may usually have open.
    let deep = "d/".repeat(1500);
    let path = scene.path(&format!("w/{deep}f"));
    scene.files.write_text(&path, "deep").unwrap();
    assert_eq!(scene.files.read_text(&path, None, None).unwrap(), "deep");
    // The number of restarts after `..` is limited.
    let path = scene.path(&format!("w/{}{}f", "d/".repeat(500), "../".repeat(500)));
    let failure = scene.files.read_text(&path, None, None).unwrap_err();
    assert_eq!(failure.message, format!("{path} takes too many steps to follow"));
    let path = scene.path(&format!("w/{}file", "d/../".repeat(500)));
    assert_eq!(scene.files.read_text(&path, None, None).unwrap(), "inside");
}
