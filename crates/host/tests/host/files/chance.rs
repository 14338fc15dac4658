//! Random paths reach the file that the system says they reach, or fail.

use std::fs;

use proptest::prelude::*;

use super::{Roomy, Scene};

/// Names that occur in paths. Those that lead out on their own come last.
const NAMES: [&str; 18] = [
    "..", ".", "", "file", "dir", "f", "none", "in", "up", "here", "loop", "half", "...",
    "lost", // inside
    "out", "out_abs", "root", "far",
];
const LEAD_OUT: usize = 14;

fn scene() -> Scene {
    let scene = Scene::new();
    for (name, target) in [
        ("in", "dir"),
        ("dir/up", ".."),
        ("up", "dir/../dir/./up"),
        ("here", "."),
        ("dir/here", "./"),
        ("loop", "loop"),
        ("half", "dir/loop"),
        ("dir/loop", "../half"),
        ("lost", "dir/none"),
        ("dir/file", "../file"),
        ("out", "../outside"),
        ("dir/out", "../../outside"),
        ("root", "/"),
        ("far", "dir/out/secret"),
    ] {
        scene.link(&format!("w/{name}"), target);
    }
    scene.link("w/out_abs", scene.base.join("outside"));
    scene
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_path_reaches_what_the_system_says_or_nothing(parts in prop::collection::vec(0..NAMES.len(), 0..9)) {
        let scene = scene();
        let names: Vec<_> = parts.iter().map(|part| NAMES[*part]).collect();
        let path = scene.path(&format!("w/{}", names.join("/")));
        let inside = fs::canonicalize(&path).ok().filter(|real| real.starts_with(scene.base.join("w")));
        let expected = inside.and_then(|real| fs::read_to_string(real).ok());
        let leads_out = parts.iter().any(|part| *part >= LEAD_OUT);

        match scene.files.read_text(&path, None, None) {
            Ok(text) => prop_assert_eq!(Some(text), expected),
            // A path that is never outside is not refused either.
            Err(failure) => prop_assert!(expected.is_none() || leads_out, "{}: {}", path, failure),
        }

        let (before, all) = (scene.outside(), scene.all());
        if scene.files.write_text(&path, "new").is_ok() {
            prop_assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        } else {
            prop_assert_eq!(scene.all(), all);
        }
        prop_assert_eq!(scene.outside(), before);
    }
}
