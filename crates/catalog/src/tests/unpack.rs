//! Tests with archives that try to write outside of their directory.

use std::io::{Seek, Write};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::super::unpack::{BOUNDS, Bounds, Kind, unpack};
use super::{Item, gz, tar, zip};

/// Unpacks into `dir/into`. Returns the error message if the archive was refused.
fn into(dir: &Path, kind: Kind, bytes: &[u8]) -> Result<(), String> {
    within(dir, kind, bytes, BOUNDS)
}

fn within(dir: &Path, kind: Kind, bytes: &[u8], bounds: Bounds) -> Result<(), String> {
    let inner = dir.join("into");
    std::fs::create_dir(&inner).unwrap();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.rewind().unwrap();
    let handle = Dir::open_ambient_dir(&inner, ambient_authority()).unwrap();
    unpack(file, kind, &handle, bounds).map_err(|error| error.to_string())
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Checks that both kinds of archive refuse these items and leave nothing outside.
fn refuses(items: &[Item<'_>], reason: &str) {
    refuses_one(Kind::TarGz, &gz(&tar(items)), reason);
    refuses_one(Kind::Zip, &zip(items), reason);
}

fn refuses_one(kind: Kind, archive: &[u8], reason: &str) {
    let dir = tempfile::tempdir().unwrap();
    let error = into(dir.path(), kind, archive).expect_err("it is refused");
    assert!(error.contains(reason), "{kind:?}: {error} lacks {reason:?}");
    assert_eq!(names(dir.path()), ["into"], "{kind:?}");
}

#[test]
fn paths_that_climb_are_refused() {
    for name in [
        "../evil",
        "a/../../evil",
        "/tmp/acpd-evil",
        "a/../b",
        "..",
        "a\\..\\b",
    ] {
        refuses(&[Item::File(name, "x", 0o644)], "leads out of it");
    }
}

#[test]
fn links_that_lead_out_are_refused() {
    for (name, target) in [
        ("link", "/etc/passwd"),
        ("link", "../out"),
        ("a/link", "../../out"),
        ("a/link", "b/../../../out"),
        ("link", "a/../.."),
        ("link", "a\\..\\.."),
        ("link", ".."),
    ] {
        refuses(&[Item::Link(name, target)], "leads out of it");
    }
}

#[test]
fn nothing_is_written_through_a_link() {
    let link = || Item::Link("dir", "real");
    let real = || Item::Dir("real/");
    refuses(
        &[real(), link(), Item::File("dir/evil", "x", 0o644)],
        "File exists",
    );
    // The zip writer itself refuses two entries with the same name, so this test uses tar only.
    let twice = tar(&[real(), link(), Item::File("dir", "x", 0o644)]);
    refuses_one(Kind::TarGz, &gz(&twice), "File exists");
    refuses(&[real(), link(), Item::Dir("dir/")], "File exists");
    refuses(&[real(), link(), Item::Link("dir/deep", "../x")], "File exists");
}

#[test]
fn links_do_not_climb_by_way_of_others() {
    // Lexically, "deep/down/jump/../.." is "deep". Through the link it would be above the top.
    let items = [
        Item::Dir("top/"),
        Item::Link("deep/down/jump", "../../top"),
        Item::Link("way", "deep/down/jump/../../out"),
    ];
    refuses(&items, "leads out of it");
}

#[test]
fn other_kinds_of_entries_are_refused() {
    for item in [
        Item::Hard("b", "a"),
        Item::Hard("b", "/etc/passwd"),
        Item::Fifo("b"),
    ] {
        let archive = gz(&tar(&[Item::File("a", "x", 0o644), item]));
        refuses_one(Kind::TarGz, &archive, "of a kind not allowed");
    }
}

#[test]
fn an_archive_that_grows_too_large_is_refused() {
    let items = [
        Item::File("a", &"x".repeat(60_000), 0o644),
        Item::File("b/c", "y", 0o644),
    ];
    for (kind, archive) in [(Kind::TarGz, gz(&tar(&items))), (Kind::Zip, zip(&items))] {
        let unpack = |bytes, entries| {
            let dir = tempfile::tempdir().unwrap();
            within(dir.path(), kind, &archive, Bounds { bytes, entries })
        };
        assert_eq!(unpack(100_000, 2), Ok(()), "{kind:?}");
        let error = unpack(100_000, 1).unwrap_err();
        assert!(error.contains("more than 1 entries"), "{kind:?}: {error}");
        // A tar archive is cut off when its whole stream exceeds the limit.
        assert!(unpack(50_000, 2).is_err(), "{kind:?}");
    }
    let dir = tempfile::tempdir().unwrap();
    let bounds = Bounds {
        bytes: 59_999,
        entries: 2,
    };
    let error = within(dir.path(), Kind::Zip, &zip(&items), bounds).unwrap_err();
    assert!(error.contains("larger than 59999 bytes"), "{error}");
    let written = std::fs::metadata(dir.path().join("into/a")).unwrap().len();
    assert_eq!(written, 60_000, "no more than one byte beyond the bound");
}

#[test]
fn files_other_than_archives_are_refused() {
    for kind in [Kind::TarGz, Kind::TarBz2, Kind::Zip] {
        let dir = tempfile::tempdir().unwrap();
        let error = into(dir.path(), kind, b"hello").expect_err("it is refused");
        assert!(error.contains("cannot be read"), "{error}");
    }
    let cut = gz(&tar(&[Item::File("a", &"x".repeat(5000), 0o644)]));
    let dir = tempfile::tempdir().unwrap();
    assert!(into(dir.path(), Kind::TarGz, &cut[..cut.len() / 2]).is_err());
}

#[test]
fn the_end_of_the_address_says_what_it_is() {
    for (url, kind) in [
        ("https://x/a.tar.gz", Some(Kind::TarGz)),
        ("https://x/a.TGZ?token=1.zip", Some(Kind::TarGz)),
        ("https://x/a.tbz2", Some(Kind::TarBz2)),
        ("https://x/a.zip#x", Some(Kind::Zip)),
        ("https://x/agent-1.0-linux", Some(Kind::Program)),
        ("https://x/a.deb", None),
        ("https://x/a.dmg", None),
    ] {
        assert_eq!(Kind::of(url), kind, "{url}");
    }
}
