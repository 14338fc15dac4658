//! Confined files from the caller's view: what an agent can access, and that it can access nothing else.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod chance;
mod escapes;
mod races;
mod reading;
mod real;
mod reserved;
mod roots;
mod writing;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};

use acpd_host::{Fit, Target, Workspace};
use acpd_model::limits::READ_FILE_BYTES;
use acpd_model::{Failure, PreviousContent};
use rustix::fs::{CWD, FileType, Mode};

/// Access without a memory limit.
trait Roomy {
    fn read_text<'a>(
        &self,
        target: impl Into<Target<'a>>,
        line: Option<u64>,
        limit: Option<u64>,
    ) -> Result<String, Failure>;
    fn write_text<'a>(
        &self,
        target: impl Into<Target<'a>>,
        content: &str,
    ) -> Result<PreviousContent, Failure>;
}

impl Roomy for Workspace {
    fn read_text<'a>(
        &self,
        target: impl Into<Target<'a>>,
        line: Option<u64>,
        limit: Option<u64>,
    ) -> Result<String, Failure> {
        self.read_text_within(target, line, limit, READ_FILE_BYTES)
            .map(done)
    }

    fn write_text<'a>(
        &self,
        target: impl Into<Target<'a>>,
        content: &str,
    ) -> Result<PreviousContent, Failure> {
        self.write_text_within(target, content, READ_FILE_BYTES).map(done)
    }
}

fn done<T: std::fmt::Debug>(fit: Fit<T>) -> T {
    match fit {
        Fit::Done(done) => done,
        Fit::Needs(bytes) => panic!("{bytes} bytes are more than may be read"),
    }
}

/// A directory with a workspace `w`, and beside it the forbidden directories `outside` and `w-evil`.
struct Scene {
    _dir: tempfile::TempDir,
    base: PathBuf,
    files: Workspace,
}

impl Scene {
    /// Creates `w/file`, `w/dir/f`, and the secrets.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for name in ["w/dir", "outside", "w-evil"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        for (name, text) in [
            ("w/file", "inside"),
            ("w/dir/f", "in dir"),
            ("outside/secret", "secret"),
            ("w-evil/secret", "secret"),
        ] {
            fs::write(base.join(name), text).unwrap();
        }
        let files = Workspace::open(std::iter::once(base.join("w")));
        Self {
            _dir: dir,
            base,
            files,
        }
    }

    /// Returns the path of `name`, as an agent would name it.
    fn path(&self, name: &str) -> String {
        self.base.join(name).into_os_string().into_string().unwrap()
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.base.join(name), text).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.base.join(name)).unwrap()
    }

    fn link(&self, name: &str, target: impl AsRef<Path>) {
        symlink(target, self.base.join(name)).unwrap();
    }

    fn fifo(&self, name: &str) {
        let path = self.base.join(name);
        rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    }

    /// Returns all files, by name.
    fn all(&self) -> BTreeMap<String, Seen> {
        let mut all = BTreeMap::new();
        self.look("", &mut all);
        all
    }

    /// Returns all files outside the workspace.
    fn outside(&self) -> BTreeMap<String, Seen> {
        let mut all = self.all();
        all.retain(|name, _| name != "w" && !name.starts_with("w/"));
        all
    }

    fn look(&self, below: &str, all: &mut BTreeMap<String, Seen>) {
        for entry in fs::read_dir(self.base.join(below)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let name = if below.is_empty() {
                name
            } else {
                format!("{below}/{name}")
            };
            let kind = entry.file_type().unwrap();
            let seen = if kind.is_dir() {
                self.look(&name, all);
                Seen::Dir
            } else if kind.is_symlink() {
                Seen::Link(fs::read_link(entry.path()).unwrap())
            } else if kind.is_fifo() || kind.is_socket() {
                Seen::Special
            } else if entry.metadata().unwrap().len() > 1 << 20 {
                Seen::Large
            } else {
                Seen::File(fs::read(entry.path()).unwrap())
            };
            all.insert(name, seen);
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Dir,
    File(Vec<u8>),
    Large,
    Link(PathBuf),
    Special,
}
