//! Paths of a sandbox, in directories that an agent can write and change.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use acpd_host::{Walk, Walks};

use crate::Target;
use crate::scratch::in_directory;

/// Lines `d PATH`, `f PATH`, `l PATH TARGET` make a directory, a file and a link; `m PATH PATH` moves something, `r PATH` removes it;
/// `p PATH` walks along a path, `k PATH` keeps the walk. Invariants: a walk leads where the system leads, or nowhere; it knows whether
/// there was a link; its real path has none. What was kept stays the file that was found first, whatever the path leads to by then, and
/// a later walk along that path finds the same file or is refused.
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
        "m a b",
        "m l a",
        "m b a",
        "r a/f",
        "k a/f",
        "k a",
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
    let walks = |line: &str| line.starts_with("p ") || line.starts_with("k ");
    if text.lines().take(LINES).any(walks) {
        in_directory(|root| follow(root, &text));
    }
}

fn follow(root: &Path, text: &str) {
    let mut kept = Kept::default();
    for line in text.lines().take(LINES) {
        let mut words = line.split(' ');
        let (verb, path, target) = (words.next(), words.next(), words.next());
        let Some(path) = path.filter(|path| is_usable(path)) else {
            continue;
        };
        match verb {
            Some("p") => walk(&below(root, path)),
            Some("k") => kept.keep(below(root, path)),
            Some(verb) => change(verb, root, path, target),
            None => {}
        }
    }
    kept.check();
}

fn is_usable(path: &str) -> bool {
    path.len() <= 200 && !path.contains('\0')
}

/// Returns a path in `root`, without the slash at its end, which the system reads as "a directory".
fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/')).components().collect()
}

/// Makes something, unless its name is taken; moves or removes something.
fn change(verb: &str, root: &Path, path: &str, target: Option<&str>) {
    let Some(place) = place_in(root, path) else {
        return;
    };
    let target = target.filter(|target| is_usable(target));
    let changed = match (verb, target) {
        ("d", _) => fs::create_dir(place),
        // Never through a link that leads out of the directory.
        ("f", _) => fs::File::create_new(place).map(drop),
        ("m", Some(target)) => match place_in(root, target) {
            Some(target) => fs::rename(place, target),
            None => Ok(()),
        },
        ("r", _) => fs::remove_file(&place).or_else(|_| fs::remove_dir(place)),
        ("l", Some(target)) if !target.is_empty() => {
            let target = match target.strip_prefix('/') {
                Some(rest) => below(root, rest),
                None => Path::new(target).components().collect(),
            };
            symlink(target, place)
        }
        _ => Ok(()),
    };
    if let Err(error) = changed {
        assert!(error.kind() != io::ErrorKind::PermissionDenied, "{error}");
    }
}

/// Returns where to change something; `None` outside of `root`.
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
                assert!(found.is_symlink(), "{} is not a symbolic link", link.display());
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

/// Walks that are kept while the directories change, as those of a sandbox that is being made.
#[derive(Default)]
struct Kept {
    walks: Walks,
    /// Each path with the file to which it led first.
    first: BTreeMap<PathBuf, Option<FileNumber>>,
}

/// The numbers that identify a file: of its device, and its own.
type FileNumber = (u64, u64);

impl Kept {
    fn keep(&mut self, path: PathBuf) {
        let walk = self.walks.along(&path);
        let first = self.first.entry(path);
        let path = first.key().clone();
        let first = *first.or_insert_with(|| leads_to(&path));
        assert_eq!(walk.as_deref().map(opened), first, "{}", path.display());
    }

    fn check(&self) {
        for (path, first) in &self.first {
            let walk = self.walks.along(path);
            assert_eq!(walk.as_deref().map(opened), *first, "{}", path.display());
            if let Some(again) = self.walks.trail(path).first() {
                assert_eq!(Some(opened(again)), *first, "{}", path.display());
                assert_eq!(leads_to(path), *first, "{}", path.display());
                let real = path.canonicalize().expect("it leads somewhere");
                assert_eq!(again.real(), real, "{}", path.display());
            }
        }
    }
}

/// Returns the file that a walk has opened.
fn opened(walk: &Walk) -> FileNumber {
    let file = walk.as_fd().try_clone_to_owned().expect("it is open");
    number(&File::from(file).metadata().expect("it is open"))
}

/// Returns the file to which a path leads now.
fn leads_to(path: &Path) -> Option<FileNumber> {
    path.metadata().ok().as_ref().map(number)
}

fn number(found: &Metadata) -> FileNumber {
    (found.dev(), found.ino())
}
