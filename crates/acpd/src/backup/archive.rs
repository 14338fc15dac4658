//! The format of backups: a tar archive, whose first entry describes the others.
//!
//! A reader accepts regular files with the known names, of the described sizes and hashes, and nothing else. So no name of
//! an archive becomes a path, and no entry can need more memory or space than the description says.

use std::fs::File;
use std::io::{self, Read, Write};

use acpd_files::{Backup, backup_of};
use acpd_model::limits::BACKUP_FILE_BYTES;
use acpd_server::auth::owner_token::hex;
use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tar::{Archive, Builder, EntryType, Header};

/// Largest description of a backup, in bytes.
const BACKUP_DESCRIPTION_BYTES: u64 = 64 << 10;

/// The name of the log in a data directory.
pub(super) const LOG: &str = "log.db";

/// The format that this acpd writes.
const FORMAT: u32 = 1;

/// The name of the description.
const DESCRIPTION: &str = "acpd-backup.json";

/// Bytes that are copied at once.
const COPIED_AT_ONCE: usize = 1 << 20;

/// The first entry of a backup.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    format: u32,
    /// The version of the acpd that made the backup.
    pub acpd: String,
    /// When the backup was made, in milliseconds since the epoch.
    pub created_at: i64,
    /// The version of the log.
    pub log_version: usize,
    /// The number of threads in the log.
    pub threads: u64,
    files: Vec<FileEntry>,
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    name: String,
    bytes: u64,
    sha256: String,
}

/// The content of a file of a backup.
#[derive(Debug)]
pub enum Content {
    /// A small file.
    Bytes(Vec<u8>),
    /// The log.
    File(File),
}

impl Content {
    fn entry(&mut self, name: &str) -> io::Result<FileEntry> {
        let mut hash = Sha256::new();
        let bytes = match self {
            Self::Bytes(bytes) => {
                hash.update(&bytes);
                bytes.len() as u64
            }
            Self::File(file) => {
                let bytes = copy(file, &mut hash, io::sink())?;
                io::Seek::rewind(file)?;
                bytes
            }
        };
        Ok(FileEntry {
            name: name.to_owned(),
            bytes,
            sha256: hex(&hash.finalize()),
        })
    }
}

impl Description {
    /// Returns whether the backup has files with secrets.
    pub fn has_secrets(&self) -> bool {
        self.files
            .iter()
            .any(|file| backup_of(&file.name) == Some(Backup::WithSecrets))
    }

    /// Returns the bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files
            .iter()
            .fold(0, |sum: u64, file| sum.saturating_add(file.bytes))
    }

    fn parse(text: &[u8]) -> anyhow::Result<Self> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
            #[serde(default)]
            acpd: String,
        }
        let Format { format, acpd } = acpd_model::json::from_bytes(text)
            .context("this is not a backup of acpd: its description cannot be read")?;
        ensure!(
            format <= FORMAT,
            "it was made by a newer acpd ({acpd:?}): it has format {format}, and this acpd knows {FORMAT}; use that acpd or a \
             newer one"
        );
        let description: Self =
            acpd_model::json::from_bytes(text).context("its description cannot be read")?;
        let known = acpd_log::backup::log_version();
        ensure!(
            description.log_version <= known,
            "its log was made by a newer acpd ({acpd:?}): it has version {}, and this acpd knows versions up to {known}; use \
             that acpd or a newer one",
            description.log_version
        );
        let mut names: Vec<&str> = Vec::new();
        for FileEntry { name, bytes, .. } in &description.files {
            let is_small = matches!(backup_of(name), Some(Backup::Always | Backup::WithSecrets));
            ensure!(name == LOG || is_small, "it has an unknown file: {name:?}");
            ensure!(!names.contains(&&**name), "it has two files {name:?}");
            ensure!(
                name == LOG || *bytes <= BACKUP_FILE_BYTES,
                "its file {name:?} is too large: {bytes} bytes, where {BACKUP_FILE_BYTES} are allowed"
            );
            names.push(name);
        }
        ensure!(names.contains(&LOG), "it has no log");
        Ok(description)
    }
}

/// Writes a backup of these files. Returns its description.
pub fn write(
    to: impl Write,
    contents: acpd_log::backup::LogContents,
    mut files: Vec<(&'static str, Content)>,
) -> anyhow::Result<Description> {
    let entries = files.iter_mut().map(|(name, content)| content.entry(name));
    let created_at = jiff::Timestamp::now().as_millisecond();
    let description = Description {
        format: FORMAT,
        acpd: env!("CARGO_PKG_VERSION").to_owned(),
        created_at,
        log_version: contents.version,
        threads: contents.threads,
        files: entries.collect::<io::Result<_>>()?,
    };
    let mut builder = Builder::new(to);
    let text = serde_json::to_vec(&description)?;
    builder.append(&header(DESCRIPTION, text.len() as u64, created_at)?, &text[..])?;
    for ((name, content), entry) in files.into_iter().zip(&description.files) {
        let header = header(name, entry.bytes, created_at)?;
        match content {
            Content::Bytes(bytes) => builder.append(&header, &bytes[..])?,
            Content::File(file) => builder.append(&header, file.take(entry.bytes))?,
        }
    }
    builder.into_inner()?.flush()?;
    Ok(description)
}

fn header(name: &str, bytes: u64, created_at: i64) -> io::Result<Header> {
    let mut header = Header::new_gnu();
    header.set_path(name)?;
    header.set_size(bytes);
    header.set_mode(0o600);
    header.set_mtime(u64::try_from(created_at / 1000).unwrap_or(0));
    header.set_entry_type(EntryType::Regular);
    header.set_cksum();
    Ok(header)
}

/// Reads a backup. `begin` receives the description before anything is read beyond it. `place` returns where a file's
/// content goes, by one of the known names.
pub fn read<W: Write>(
    from: impl Read,
    begin: impl FnOnce(&Description) -> anyhow::Result<()>,
    mut place: impl FnMut(&str) -> io::Result<W>,
) -> anyhow::Result<Description> {
    let mut archive = Archive::new(from);
    // Raw entries: else extensions of the format would be read into memory, whatever their size.
    let mut entries = archive
        .entries()
        .context("this is not a backup of acpd")?
        .raw(true);
    let mut next = |wanted: &str, bytes: Option<u64>| {
        let entry = match entries.next() {
            Some(entry) => {
                entry.with_context(|| format!("it is damaged or not a backup of acpd, before {wanted:?}"))?
            }
            None => bail!("it ends before {wanted:?}"),
        };
        let header = entry.header();
        ensure!(
            *entry.path_bytes() == *wanted.as_bytes() && header.entry_type() == EntryType::Regular,
            "it has another entry where {wanted:?} should be: {:?}",
            String::from_utf8_lossy(&entry.path_bytes())
        );
        ensure!(
            bytes.is_none_or(|bytes| entry.size() == bytes),
            "its file {wanted:?} has another size than described"
        );
        Ok(entry)
    };
    let first = next(DESCRIPTION, None)?;
    ensure!(
        first.size() <= BACKUP_DESCRIPTION_BYTES,
        "its description is too large: {} bytes, where {BACKUP_DESCRIPTION_BYTES} are allowed",
        first.size()
    );
    let mut text = Vec::new();
    first.take(BACKUP_DESCRIPTION_BYTES).read_to_end(&mut text)?;
    let description = Description::parse(&text)?;
    begin(&description)?;
    for FileEntry { name, bytes, sha256 } in &description.files {
        let mut entry = next(name, Some(*bytes))?;
        let mut hash = Sha256::new();
        let copied = copy(&mut entry, &mut hash, place(name)?)?;
        ensure!(copied == *bytes, "it ends within {name:?}");
        ensure!(
            hex(&hash.finalize()) == *sha256,
            "it is damaged: the checksum of {name:?} does not match"
        );
    }
    Ok(description)
}

/// Copies and hashes. Returns the number of bytes.
fn copy(from: &mut impl Read, hash: &mut Sha256, mut to: impl Write) -> io::Result<u64> {
    let mut buffer = vec![0; COPIED_AT_ONCE];
    let mut copied = 0;
    loop {
        let read = match from.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            to.flush()?;
            return Ok(copied);
        }
        hash.update(&buffer[..read]);
        to.write_all(&buffer[..read])?;
        copied += read as u64;
    }
}

#[cfg(test)]
mod tests;
