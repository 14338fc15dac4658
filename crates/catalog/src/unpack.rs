//! Unpacks archives into a directory, so that no entry is written outside of it.
//!
//! Every path is resolved through a handle of the directory, below directories that were created here. No file is
//! overwritten, and no link is followed. Links that stay inside are created. Other links, hard links, devices and FIFOs
//! make the whole archive fail. The number of files and bytes is limited, regardless of the sizes that the archive
//! declares.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};

use super::error::CatalogError;
use super::registry::inner_path;

/// Largest unpacked size of an agent's archive, in bytes.
const UNPACKED_BYTES: u64 = 4 << 30;
/// Entries that an agent's archive may contain.
const UNPACKED_ENTRIES: usize = 200_000;

/// Format of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `.zip`.
    Zip,
    /// `.tar.gz`, `.tgz`.
    TarGz,
    /// `.tar.bz2`, `.tbz2`.
    TarBz2,
    /// The program itself, not an archive.
    Program,
}

impl Kind {
    /// Determines the format from the end of the address, as the registry's format defines. Returns `None` for
    /// installers.
    pub fn of(url: &str) -> Option<Self> {
        let path = url
            .split(['?', '#'])
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        let ends = |ends: &[&str]| ends.iter().any(|end| path.ends_with(end));
        if ends(&[".zip"]) {
            Some(Self::Zip)
        } else if ends(&[".tar.gz", ".tgz"]) {
            Some(Self::TarGz)
        } else if ends(&[".tar.bz2", ".tbz2"]) {
            Some(Self::TarBz2)
        } else if ends(&[
            ".dmg",
            ".pkg",
            ".deb",
            ".rpm",
            ".msi",
            ".appimage",
            ".tar.xz",
            ".7z",
        ]) {
            None
        } else {
            Some(Self::Program)
        }
    }
}

/// Limits on the unpacked size of an archive.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of all files, and of the archive without its compression.
    pub bytes: u64,
    /// Number of entries.
    pub entries: usize,
}

/// Limits for the archive of an agent.
pub const BOUNDS: Bounds = Bounds {
    bytes: UNPACKED_BYTES,
    entries: UNPACKED_ENTRIES,
};

/// Unpacks `archive` into the empty directory `into`. After an error, the caller must remove the files written so far.
pub fn unpack(archive: File, kind: Kind, into: &Dir, bounds: Bounds) -> Result<(), CatalogError> {
    let mut unpacker = Unpacker {
        into,
        made: HashSet::new(),
        bounds,
        left: bounds,
    };
    match kind {
        Kind::Zip => unpacker.zip(archive),
        Kind::TarGz => unpacker.tar(flate2::read::MultiGzDecoder::new(archive)),
        Kind::TarBz2 => unpacker.tar(bzip2::read::MultiBzDecoder::new(archive)),
        Kind::Program => Err(refused("it is a program, not an archive")),
    }
}

fn refused(reason: impl Into<String>) -> CatalogError {
    CatalogError::Archive(reason.into())
}

fn broken(error: impl std::fmt::Display) -> CatalogError {
    CatalogError::Archive(format!("it cannot be read: {error}"))
}

struct Unpacker<'a> {
    into: &'a Dir,
    /// Directories that were created here.
    made: HashSet<PathBuf>,
    bounds: Bounds,
    /// What remains of the limits.
    left: Bounds,
}

impl Unpacker<'_> {
    fn tar(&mut self, stream: impl Read) -> Result<(), CatalogError> {
        // Skipped data and headers count too, since they cost time and memory.
        let mut archive = tar::Archive::new(stream.take(self.bounds.bytes));
        for entry in archive.entries().map_err(broken)? {
            let mut entry = entry.map_err(broken)?;
            let kind = entry.header().entry_type();
            if matches!(kind, tar::EntryType::XGlobalHeader) {
                continue;
            }
            let name = String::from_utf8(entry.path_bytes().into_owned())
                .map_err(|_| refused("a name in it is not UTF-8"))?;
            let mode = entry.header().mode().unwrap_or(0o644);
            match kind {
                tar::EntryType::Directory => self.directory(&name)?,
                tar::EntryType::Regular | tar::EntryType::Continuous => self.file(&name, mode, &mut entry)?,
                tar::EntryType::Symlink => {
                    let target = entry.link_name_bytes().unwrap_or_default().into_owned();
                    self.link(&name, target)?;
                }
                other => return Err(refused(format!("{name:?} is of a kind not allowed ({other:?})"))),
            }
        }
        Ok(())
    }

    fn zip(&mut self, file: impl Read + Seek) -> Result<(), CatalogError> {
        let mut archive = zip::ZipArchive::new(file).map_err(broken)?;
        for index in 0..archive.len() {
            let mut entry = archive.by_index(index).map_err(broken)?;
            let name = entry.name().map_err(broken)?.into_owned();
            let mode = entry.unix_mode().unwrap_or(0o644);
            if entry.is_dir() {
                self.directory(&name)?;
            } else if entry.is_symlink() {
                let mut target = Vec::new();
                (&mut entry).take(4096).read_to_end(&mut target).map_err(broken)?;
                self.link(&name, target)?;
            } else {
                self.file(&name, mode, &mut entry)?;
            }
        }
        Ok(())
    }

    fn directory(&mut self, name: &str) -> Result<(), CatalogError> {
        let parts = self.admit(name)?;
        self.make(&parts)
    }

    fn file(&mut self, name: &str, mode: u32, content: &mut impl Read) -> Result<(), CatalogError> {
        let path = self.place(name)?;
        let mut options = OpenOptions::new();
        // The owner has access, and others as far as the archive permits. Set-user-id and similar bits are never set.
        options.write(true).create_new(true).mode(mode & 0o755 | 0o600);
        let mut file = self
            .into
            .open_with(&path, &options)
            .map_err(|error| refused(format!("{name:?}: {error}")))?;
        let written = std::io::copy(&mut content.take(self.left.bytes + 1), &mut file).map_err(broken)?;
        self.left.bytes = self
            .left
            .bytes
            .checked_sub(written)
            .ok_or_else(|| refused(format!("it is larger than {} bytes", self.bounds.bytes)))?;
        Ok(())
    }

    fn link(&mut self, name: &str, target: Vec<u8>) -> Result<(), CatalogError> {
        let path = self.place(name)?;
        let target = String::from_utf8(target).map_err(|_| refused("a link in it is not UTF-8"))?;
        if !stays_inside(&path, &target) {
            return Err(refused(format!(
                "the link {name:?} to {target:?} leads out of it"
            )));
        }
        self.into
            .symlink(&target, &path)
            .map_err(|error| refused(format!("{name:?}: {error}")))
    }

    /// Returns the path for a file, and creates the directories above it.
    fn place(&mut self, name: &str) -> Result<PathBuf, CatalogError> {
        let parts = self.admit(name)?;
        let Some((_, above)) = parts.split_last() else {
            return Err(refused(format!("{name:?} is not a file name")));
        };
        self.make(above)?;
        Ok(parts.iter().collect())
    }

    /// Counts an entry and checks its path.
    fn admit<'n>(&mut self, name: &'n str) -> Result<Vec<&'n str>, CatalogError> {
        self.left.entries = self
            .left
            .entries
            .checked_sub(1)
            .ok_or_else(|| refused(format!("it has more than {} entries", self.bounds.entries)))?;
        inner_path(name).ok_or_else(|| refused(format!("{name:?} leads out of it")))
    }

    /// Creates a directory and those above it. Fails if something else exists at the path, such as a link.
    fn make(&mut self, parts: &[&str]) -> Result<(), CatalogError> {
        let mut path = PathBuf::new();
        for part in parts {
            path.push(part);
            if !self.made.contains(&path) {
                self.into
                    .create_dir(&path)
                    .map_err(|error| refused(format!("{:?}: {error}", path.display())))?;
                self.made.insert(path.clone());
            }
        }
        Ok(())
    }
}

/// Returns whether a link at `path` leads to a place inside, wherever other links of the archive lead. `..` is only
/// allowed at the beginning, where it climbs through real directories, and not above the top.
fn stays_inside(path: &Path, target: &str) -> bool {
    if target.is_empty() || target.starts_with('/') || target.contains(['\\', '\0']) {
        return false;
    }
    let parts: Vec<_> = target
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let climbs = parts.iter().take_while(|part| **part == "..").count();
    climbs < path.components().count() && !parts[climbs..].contains(&"..")
}
