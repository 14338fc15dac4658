//! Resolving paths without changing anything. An approved access happens at the resolved place or not at all.

use acpd_host::{Target, Workspace};
use acpd_model::ErrorCode;

use super::{Roomy, Scene};

#[test]
fn a_path_is_reported_without_links() {
    let scene = Scene::new();
    scene.link("w/in", "dir");
    scene.link("w/to-file", "in/f");
    scene.link("w/absolute", scene.path("w/dir"));
    scene.link("w/up", "../w/dir/../file");
    scene.link("w/out", "../outside");
    scene.link("w/to-new", "dir/new");
    scene.link("w/gone", "../outside/none");
    scene.link("outside/back", "../w/dir");
    scene.link("outside/dangling", "none");
    scene.link("w/round", "round");
    let before = scene.all();
    for (name, real) in [
        ("w", "w"),
        ("w/", "w"),
        ("w/.", "w"),
        ("w/file", "w/file"),
        ("w/dir/", "w/dir"),
        ("w/in", "w/dir"),
        ("w/in/f", "w/dir/f"),
        ("w/in/../file", "w/file"),
        ("w/to-file", "w/dir/f"),
        ("w/absolute/f", "w/dir/f"),
        ("w/up", "w/file"),
        ("w/new", "w/new"),
        ("w/in/new", "w/dir/new"),
        ("w/in/a/b/c", "w/dir/a/b/c"),
        ("w/to-new", "w/dir/new"),
        ("w/out/secret", "outside/secret"),
        ("w/out/new/f", "outside/new/f"),
        ("w/out/back/f", "w/dir/f"),
        ("outside/back/f", "w/dir/f"),
        ("w-evil/secret", "w-evil/secret"),
        ("w/gone", "outside/none"),
        ("none/f", "none/f"),
    ] {
        let found = scene.files.real_path(&scene.path(name));
        assert_eq!(found.as_deref(), Ok(scene.path(real).as_str()), "{name}");
    }
    for (name, code) in [
        ("w/round", ErrorCode::InvalidParams),
        ("w/file/f", ErrorCode::InvalidParams),
        ("w/none/../file", ErrorCode::NotFound),
        ("outside/dangling", ErrorCode::NotFound),
        ("outside/none/../f", ErrorCode::NotFound),
    ] {
        let found = scene.files.real_path(&scene.path(name));
        assert_eq!(found.unwrap_err().code, code, "{name}");
    }
    assert!(scene.files.real_path("w/file").is_err(), "a relative path");
    assert_eq!(scene.all(), before, "nothing is made");
}

#[test]
fn a_workspace_named_by_a_link_accepts_both_names() {
    let scene = Scene::new();
    scene.link("named", "w");
    let files = Workspace::open([scene.base.join("named"), scene.base.join("w-evil")].into_iter());
    assert_eq!(files.other_names(), [(scene.path("named"), scene.path("w"))]);
    assert_eq!(
        files.real_path(&scene.path("named/dir/f")),
        Ok(scene.path("w/dir/f"))
    );
}

#[test]
fn file_operations_happen_at_the_checked_path_or_fail() {
    let scene = Scene::new();
    std::fs::create_dir(scene.base.join("w/open")).unwrap();
    scene.link("w/way", "open");
    let (path, at) = (scene.path("w/way/f"), scene.path("w/open/f"));
    assert_eq!(scene.files.real_path(&path).unwrap(), at);
    let target = Target {
        path: &path,
        at: Some(&at),
    };
    scene.files.write_text(target, "decided").unwrap();
    assert_eq!(scene.text("w/open/f"), "decided");
    // The link leads elsewhere now, but the approved place is still the first one.
    std::fs::remove_file(scene.base.join("w/way")).unwrap();
    scene.link("w/way", "dir");
    scene.files.write_text(target, "again").unwrap();
    assert_eq!(
        (scene.text("w/open/f"), scene.text("w/dir/f")),
        ("again".into(), "in dir".into())
    );
    assert_eq!(scene.files.read_text(target, None, None).unwrap(), "again");
    // A link at that place itself is not followed.
    std::fs::remove_dir_all(scene.base.join("w/open")).unwrap();
    scene.link("w/open", "dir");
    let before = scene.all();
    for failure in [
        scene.files.write_text(target, "evil").unwrap_err(),
        scene.files.read_text(target, None, None).unwrap_err(),
    ] {
        assert_eq!(failure.code, ErrorCode::Conflict, "{failure}");
        assert!(
            failure
                .message
                .contains("resolves to a different file than the approved one"),
            "{failure}"
        );
    }
    std::fs::remove_file(scene.base.join("w/open")).unwrap();
    std::fs::create_dir(scene.base.join("w/open")).unwrap();
    scene.link("w/open/f", "../dir/f");
    let failure = scene.files.write_text(target, "evil").unwrap_err();
    assert_eq!(failure.code, ErrorCode::Conflict, "{failure}");
    assert_eq!(scene.text("w/dir/f"), "in dir");
    std::fs::remove_dir_all(scene.base.join("w/open")).unwrap();
    scene.link("w/open", "dir");
    assert_eq!(scene.all(), before, "nothing was touched");
    // A resolved path does not give access to a place outside.
    let outside = scene.path("outside/secret");
    let target = Target {
        path: &path,
        at: Some(&outside),
    };
    let failure = scene.files.write_text(target, "evil").unwrap_err();
    assert!(failure.message.contains("outside workspace"), "{failure}");
    assert_eq!(scene.text("outside/secret"), "secret");
}
