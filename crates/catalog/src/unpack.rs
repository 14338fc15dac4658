//! Archives into a directory, so that nothing of them lands outside of it.
//!
//! Every path is reached through a handle of the directory, below directories that were made here. Nothing is
//! written over, and no link is followed: links that stay inside are made, others refuse the whole archive, as do
//! hard links, devices and FIFOs. Bounded in files and bytes, whatever the archive says of itself.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use acpd_model::limits::{UNPACKED_BYTES, UNPACKED_ENTRIES};
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};

use super::error::CatalogError;
use super::registry::inner_path;

/// What a download is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `.zip`.
    Zip,
    /// `.tar.gz`, `.tgz`.
    TarGz,
    /// `.tar.bz2`, `.tbz2`.
    TarBz2,
    /// The program itself.
    Program,
}

impl Kind {
    /// Told by the end of the address, as the registry's format says; `None` for installers.
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

/// What an archive may become at most.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of all files, and of the archive without its compression.
    pub bytes: u64,
    /// Entries.
    pub entries: usize,
}

/// For every archive of an agent.
pub const BOUNDS: Bounds = Bounds {
    bytes: UNPACKED_BYTES,
    entries: UNPACKED_ENTRIES,
};

/// Unpacks `archive` into `into`, which is empty. On an error, what was written so far stays for the caller to remove.
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
        Kind::Program => Err(refused("it is none")),
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
    /// Directories that were made here.
    made: HashSet<PathBuf>,
    bounds: Bounds,
    /// What may still come.
    left: Bounds,
}

impl Unpacker<'_> {
    fn tar(&mut self, stream: impl Read) -> Result<(), CatalogError> {
        // Also what is only skipped, or is part of a header, costs time and memory.
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
        // For its owner, and for others as far as the archive says; never with set-user-id and the like.
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

    /// Where a file goes; the directories above it are made.
    fn place(&mut self, name: &str) -> Result<PathBuf, CatalogError> {
        let parts = self.admit(name)?;
        let Some((_, above)) = parts.split_last() else {
            return Err(refused(format!("{name:?} is no name of a file")));
        };
        self.make(above)?;
        Ok(parts.iter().collect())
    }

    /// Counts an entry and looks at its path.
    fn admit<'n>(&mut self, name: &'n str) -> Result<Vec<&'n str>, CatalogError> {
        self.left.entries = self
            .left
            .entries
            .checked_sub(1)
            .ok_or_else(|| refused(format!("it has more than {} entries", self.bounds.entries)))?;
        inner_path(name).ok_or_else(|| refused(format!("{name:?} leads out of it")))
    }

    /// Makes a directory and those above it. Something else in its place, such as a link, is refused.
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

/// Whether a link at `path` leads to a place inside, wherever other links of the archive lead: `..` may only stand at
/// the beginning, where it climbs through directories that are no links, and not above the top.
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
