//! Paths of a sandbox, in directories that an agent can write.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};

use acpd_host::{Walk, Walks};

use crate::Target;

/// Lines `d PATH`, `f PATH`, `l PATH TARGET` make a directory, a file and a link; `p PATH` walks along a path. Invariants: a walk leads
/// where the system leads, or nowhere; it knows whether there was a link; and its real path has none.
pub const PATHS: Target = Target {
    name: "paths",
    run: paths,
    words: &[
        "\n",
        "d a",
        "d a/b",
        "f a/f",
        "l a/l ../b",
        "l l /a",
        "l o ..",
        "l l l",
        "l m l/..",
        "p a/l",
        "p l/../a",
        "p a/f/..",
        "/",
        "..",
        ".",
        "/./",
        "//",
    ],
};

/// Maximum number of lines; few enough that no chain of links has the system's maximum.
const LINES: usize = 24;

fn paths(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let place = tempfile::tempdir().expect("there is a temporary directory");
    let root = place.path().canonicalize().expect("it exists");
    for line in text.lines().take(LINES) {
        let mut words = line.split(' ');
        let (verb, path, target) = (words.next(), words.next(), words.next());
        let Some(path) = path.filter(|path| is_usable(path)) else {
            continue;
        };
        match verb {
            Some("p") => walk(&below(&root, path)),
            Some(verb) => make(verb, &root, path, target),
            None => {}
        }
    }
}

fn is_usable(path: &str) -> bool {
    path.len() <= 200 && !path.contains('\0')
}

/// Returns a path in `root`, without the slash at its end, which the system reads as "a directory".
fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/')).components().collect()
}

/// Makes something, unless its name is taken.
fn make(verb: &str, root: &Path, path: &str, target: Option<&str>) {
    let Some(place) = place_in(root, path) else {
        return;
    };
    let made = match (verb, target) {
        ("d", _) => fs::create_dir(place),
        // Never through a link that leads out of the directory.
        ("f", _) => fs::File::create_new(place).map(drop),
        ("l", Some(target)) if !target.is_empty() && is_usable(target) => {
            let target = match target.strip_prefix('/') {
                Some(rest) => below(root, rest),
                None => Path::new(target).components().collect(),
            };
            symlink(target, place)
        }
        _ => Ok(()),
    };
    if let Err(error) = made {
        assert!(error.kind() != io::ErrorKind::PermissionDenied, "{error}");
    }
}

/// Returns where to make something; `None` outside of `root`.
fn place_in(root: &Path, path: &str) -> Option<PathBuf> {
    let path = below(root, path);
    let name = path.file_name()?;
    let parent = path.parent()?.canonicalize().ok()?;
    parent.starts_with(root).then(|| parent.join(name))
}

fn walk(path: &Path) {
    let (walked, led) = (Walk::along(path), path.canonicalize());
    match (&walked, &led) {
        (Ok(walk), Ok(real)) => {
            assert_eq!(walk.real(), real, "{}", path.display());
            assert_eq!(walk.is_directory(), real.is_dir(), "{}", path.display());
            for part in walk.real().ancestors() {
                let found = fs::symlink_metadata(part).expect("it exists");
                assert!(!found.is_symlink(), "{} is a link", part.display());
            }
            for link in walk.links() {
                let found = fs::symlink_metadata(link).expect("it exists");
                assert!(found.is_symlink(), "{} is no link", link.display());
            }
            assert!(walk.links().is_empty() || !is_plain(path), "{}", path.display());
        }
        (Err(_), Err(_)) => {}
        (walked, led) => panic!("{}: {walked:?}, but {led:?}", path.display()),
    }
    let walks = Walks::default();
    let again = walks.along(path);
    assert_eq!(
        again.map(|walk| walk.real().to_owned()),
        led.as_ref().ok().cloned()
    );
    if let Ok(real) = led {
        assert_eq!(walks.real(path), real);
    }
}

/// Returns whether no part of a path is a link.
fn is_plain(path: &Path) -> bool {
    path.ancestors()
        .all(|part| fs::symlink_metadata(part).is_ok_and(|found| !found.is_symlink()))
}
