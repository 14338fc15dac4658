//! Reading files.

use std::fs::File;
use std::os::unix::fs::FileExt;

use acpd_host::{Fit, Workspace};
use acpd_model::limits::{READ_CHUNK_BYTES, READ_FILE_BYTES};
use acpd_model::{ErrorCode, PreviousContent};

use super::{Roomy, Scene};

#[test]
fn lines_are_counted_from_one() {
    let scene = Scene::new();
    scene.write("w/file", "1\n2\r\n\n4");
    let path = scene.path("w/file");
    for (line, limit, expected) in [
        (None, None, "1\n2\r\n\n4"),
        (Some(1), None, "1\n2\r\n\n4"),
        (Some(0), Some(1), "1\n"),
        (Some(1), Some(1), "1\n"),
        (None, Some(2), "1\n2\r\n"),
        (Some(2), Some(2), "2\r\n\n"),
        (Some(4), Some(1), "4"),
        (Some(4), Some(u64::MAX), "4"),
        (Some(5), None, ""),
        (Some(u64::MAX), Some(u64::MAX), ""),
        (None, Some(0), ""),
    ] {
        let read = scene.files.read_text(&path, line, limit);
        assert_eq!(read.unwrap(), expected, "{line:?} {limit:?}");
    }
    scene.write("w/file", "");
    assert_eq!(scene.files.read_text(&path, None, None).unwrap(), "");
    assert_eq!(scene.files.read_text(&path, Some(1), Some(1)).unwrap(), "");
}

#[test]
fn a_file_is_read_up_to_the_bound() {
    let scene = Scene::new();
    let path = scene.path("w/big");
    let file = File::create(&path).unwrap();
    file.set_len(READ_FILE_BYTES).unwrap();
    let text = scene.files.read_text(&path, None, None).unwrap();
    assert_eq!(text.len() as u64, READ_FILE_BYTES);

    file.set_len(READ_FILE_BYTES + 1).unwrap();
    let failure = scene.files.read_text(&path, None, None).unwrap_err();
    assert_eq!(failure.code, ErrorCode::InvalidParams);
    assert_eq!(
        failure.message,
        format!("{path} is too large: 10485761 bytes, and 10485760 are allowed")
    );
}

#[test]
fn lines_are_read_of_a_file_beyond_the_bound() {
    let scene = Scene::new();
    let path = scene.path("w/big");
    let file = File::create(&path).unwrap();
    // Line 1 exceeds the limit. The lines after it cross the end of a chunk, and not all of them are text.
    let start = READ_FILE_BYTES + READ_CHUNK_BYTES as u64 - 3;
    file.write_all_at("\nzwei é\ndrei\n\u{ff}\n".as_bytes(), start)
        .unwrap();
    file.write_all_at(&[0xff, b'\n'], start + 100).unwrap();

    let read = |line, limit| scene.files.read_text(&path, Some(line), limit);
    assert_eq!(read(2, Some(1)).unwrap(), "zwei é\n");
    assert_eq!(read(2, Some(2)).unwrap(), "zwei é\ndrei\n");
    assert_eq!(read(3, Some(1)).unwrap(), "drei\n");
    assert_eq!(read(6, None).unwrap(), "");
    let failure = read(1, Some(1)).unwrap_err();
    assert_eq!(failure.code, ErrorCode::InvalidParams);
    assert_eq!(
        failure.message,
        format!(
            "{path} has more than 10485760 bytes in these lines, which is too large; fewer lines may be read"
        )
    );
    let failure = read(5, Some(1)).unwrap_err();
    assert_eq!(failure.message, format!("{path} is not UTF-8 text"));
}

#[test]
fn names_with_invalid_text_are_reached_through_links() {
    use std::os::unix::ffi::OsStrExt;
    let scene = Scene::new();
    let name = std::ffi::OsStr::from_bytes(b"w/\xff");
    std::fs::write(scene.base.join(name), "odd").unwrap();
    scene.link("w/link", std::ffi::OsStr::from_bytes(b"\xff"));
    assert_eq!(
        scene.files.read_text(&scene.path("w/link"), None, None).unwrap(),
        "odd"
    );
}

#[test]
fn texts_without_room_are_not_read_and_not_replaced() {
    let scene = Scene::new();
    let path = scene.path("w/file");
    scene.write("w/file", "one\ntwo\nthree\n");
    let needs = |line, room| scene.files.read_text_within(&path, line, None, room).unwrap();
    assert_eq!(needs(None, 14), Fit::Done("one\ntwo\nthree\n".into()));
    assert_eq!(needs(None, 13), Fit::Needs(14));
    assert_eq!(needs(Some(2), 10), Fit::Done("two\nthree\n".into()));
    assert_eq!(needs(Some(2), 9), Fit::Needs(14));
    // A virtual file of the kernel has size 0, whatever its content.
    let kernel = Workspace::open(std::iter::once("/proc/self".into()));
    for line in [None, Some(1)] {
        let status = kernel
            .read_text_within("/proc/self/status", line, None, 5)
            .unwrap();
        assert_eq!(status, Fit::Needs(READ_FILE_BYTES));
    }
    let write = |room| scene.files.write_text_within(&path, "new", room).unwrap();
    assert_eq!(write(13), Fit::Needs(14));
    assert_eq!(std::fs::read_to_string(&path).unwrap().len(), 14);
    assert_eq!(
        write(14),
        Fit::Done(PreviousContent::Text("one\ntwo\nthree\n".into()))
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    // Content that cannot be shown needs no room.
    scene.write("w/file", [0xff; 20]);
    assert_eq!(write(20), Fit::Done(PreviousContent::Unknown));
}
