//! The effects of a write on the disk.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use acpd_model::limits::READ_FILE_BYTES;
use acpd_model::{ErrorCode, PreviousContent};

use super::{Roomy, Scene, Seen};

fn text(text: &str) -> PreviousContent {
    PreviousContent::Text(text.to_owned())
}

fn mode(scene: &Scene, name: &str) -> u32 {
    fs::metadata(scene.base.join(name)).unwrap().mode() & 0o7777
}

#[test]
fn the_old_text_is_answered_where_there_is_one() {
    let scene = Scene::new();
    let path = scene.path("w/new");
    assert_eq!(
        scene.files.write_text(&path, "one").unwrap(),
        PreviousContent::Nothing
    );
    assert_eq!(scene.files.write_text(&path, "two").unwrap(), text("one"));
    assert_eq!(scene.files.write_text(&path, "").unwrap(), text("two"));
    assert_eq!(scene.files.write_text(&path, "é\0\r\n").unwrap(), text(""));
    assert_eq!(scene.text("w/new"), "é\0\r\n");
    // Content that cannot be shown can still be replaced.
    scene.write("w/new", [0xff]);
    assert_eq!(
        scene.files.write_text(&path, "three").unwrap(),
        PreviousContent::Unknown
    );
    let large = fs::File::create(&path).unwrap();
    large.set_len(READ_FILE_BYTES + 1).unwrap();
    assert_eq!(
        scene.files.write_text(&path, "four").unwrap(),
        PreviousContent::Unknown
    );
    assert_eq!(scene.text("w/new"), "four");
}

#[test]
fn permissions_are_kept_and_new_ones_are_anybodys() {
    let scene = Scene::new();
    for bits in [0o755, 0o600, 0o666, 0o640] {
        fs::set_permissions(scene.base.join("w/file"), Permissions::from_mode(bits)).unwrap();
        scene.files.write_text(&scene.path("w/file"), "new").unwrap();
        assert_eq!(mode(&scene, "w/file"), bits);
    }
    // A set-user-ID program must not stay one with new content.
    fs::set_permissions(scene.base.join("w/file"), Permissions::from_mode(0o6755)).unwrap();
    scene.files.write_text(&scene.path("w/file"), "new").unwrap();
    assert_eq!(mode(&scene, "w/file"), 0o755);

    scene.files.write_text(&scene.path("w/a/b"), "new").unwrap();
    fs::create_dir(scene.base.join("w/c")).unwrap();
    scene.write("w/c/d", "");
    assert_eq!(mode(&scene, "w/a"), mode(&scene, "w/c"));
    assert_eq!(mode(&scene, "w/a/b"), mode(&scene, "w/c/d"));
}

#[test]
fn the_owner_is_kept() {
    let scene = Scene::new();
    let path = scene.base.join("w/file");
    // Only root can change the owner. For others the owner stays the same.
    let _ = std::os::unix::fs::chown(&path, Some(1234), Some(2345));
    let owner = |path| fs::metadata(path).map(|file| (file.uid(), file.gid())).unwrap();
    let before = owner(&path);
    scene.files.write_text(&scene.path("w/file"), "new").unwrap();
    assert_eq!(owner(&path), before);
}

#[test]
fn a_file_that_may_not_be_written_is_not_replaced() {
    let scene = Scene::new();
    let path = scene.path("w/file");
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    // Root may write it. The daemon may write what any program of this user may.
    let allowed = fs::OpenOptions::new().write(true).open(&path).is_ok();
    match scene.files.write_text(&path, "new") {
        Ok(_) => assert!(allowed),
        Err(failure) => assert_eq!((failure.code, allowed), (ErrorCode::Forbidden, false)),
    }
    assert_eq!(mode(&scene, "w/file"), 0o444);
}

#[test]
fn a_reader_of_the_old_file_keeps_it() {
    let scene = Scene::new();
    let mut old = fs::File::open(scene.base.join("w/file")).unwrap();
    scene.files.write_text(&scene.path("w/file"), "new").unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut old, &mut text).unwrap();
    assert_eq!(text, "inside");
}

#[test]
fn a_link_stays_a_link() {
    let scene = Scene::new();
    scene.link("w/link", "dir/f");
    scene.files.write_text(&scene.path("w/link"), "new").unwrap();
    assert_eq!(scene.all()["w/link"], Seen::Link("dir/f".into()));
    assert_eq!(scene.text("w/dir/f"), "new");
}

#[test]
fn both_names_of_a_file_keep_it() {
    let scene = Scene::new();
    let one = scene.base.join("w/file");
    fs::hard_link(&one, scene.base.join("w/other")).unwrap();
    let before = scene.all();
    let failure = scene.files.write_text(&scene.path("w/file"), "new").unwrap_err();
    assert_eq!(failure.code, ErrorCode::InvalidParams);
    assert_eq!(scene.all(), before);
    fs::remove_file(scene.base.join("w/other")).unwrap();
    scene.files.write_text(&scene.path("w/file"), "new").unwrap();
}

#[test]
fn concurrent_writes_are_each_whole() {
    let scene = Scene::new();
    let path = scene.path("w/deep/er/f");
    let texts = ["a".repeat(100_000), "b".repeat(100_000)];
    std::thread::scope(|scope| {
        for text in &texts {
            scope.spawn(|| {
                for _ in 0..20 {
                    let old = scene.files.write_text(&path, text).unwrap();
                    assert!(
                        old == PreviousContent::Nothing
                            || texts
                                .iter()
                                .any(|known| old == PreviousContent::Text(known.clone()))
                    );
                }
            });
        }
    });
    assert!(texts.contains(&scene.text("w/deep/er/f")));
    let names: Vec<_> = scene.all().into_keys().collect();
    assert_eq!(names.iter().filter(|name| name.starts_with("w/deep")).count(), 3);
}
