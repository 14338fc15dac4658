//! A test host: a data directory, a `PATH` with fake programs, and a web server on loopback.

mod install;
mod on_host;
mod registry;
mod resolve;
mod unpack;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::registry::platform;
use super::{Catalog, Installer};

struct Machine {
    root: TempDir,
}

impl Machine {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        std::fs::create_dir(root.path().join("bin")).expect("it can be written");
        Self { root }
    }

    /// Returns the only directory on `PATH`.
    fn bin(&self) -> PathBuf {
        self.root.path().join("bin")
    }

    fn path(&self) -> String {
        self.bin().display().to_string()
    }

    fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    fn catalog(&self) -> Catalog {
        Catalog::new(&self.data())
    }

    /// Puts a program on `PATH`.
    fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.bin().join(name);
        executable(&path, script);
        path
    }

    /// Sets `agents` as the entries of the registry in use.
    fn registry(&self, agents: &str) {
        std::fs::create_dir_all(self.data()).expect("it can be written");
        let text = format!(r#"{{ "version": "1.0.0", "agents": [{agents}] }}"#);
        std::fs::write(self.data().join("registry.json"), text).expect("it can be written");
    }

    /// Returns the names below `agents/ID`, without the lock.
    fn left(&self, id: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.data().join("agents").join(id));
        let mut names: Vec<_> = entries
            .into_iter()
            .flatten()
            .map(|entry| {
                entry
                    .expect("it can be listed")
                    .file_name()
                    .into_string()
                    .expect("UTF-8")
            })
            .filter(|name| name != "lock")
            .collect();
        names.sort();
        names
    }
}

/// Installs without a sandbox, and without code of packages.
fn plainly(path: &str) -> Installer<'_> {
    Installer {
        path,
        watch: None,
        unverified: false,
        scripts: false,
        confine: &|_, _, _| Ok(None),
    }
}

fn executable(path: &Path, script: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{script}\n")).expect("it can be written");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("its mode can be set");
}

/// Returns an entry whose binary for this platform is at `archive`.
fn binary(id: &str, archive: &str, cmd: &str, sha256: Option<&str>) -> String {
    let platform = platform();
    let sum = sha256
        .map(|sum| format!(r#", "sha256": "{sum}""#))
        .unwrap_or_default();
    format!(
        r#"{{ "id": "{id}", "name": "{id}", "version": "1.0.0", "description": "d", "distribution": {{ "binary": {{
            "{platform}": {{ "archive": "{archive}", "cmd": "{cmd}", "args": ["acp"]{sum} }} }} }} }}"#
    )
}

/// An entry of a test archive.
enum Item<'a> {
    File(&'a str, &'a str, u32),
    Dir(&'a str),
    Link(&'a str, &'a str),
    Hard(&'a str, &'a str),
    Fifo(&'a str),
}

fn tar(items: &[Item<'_>]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for item in items {
        let mut header = tar::Header::new_gnu();
        let (name, target, kind, content, mode) = match *item {
            Item::File(name, content, mode) => (name, "", tar::EntryType::Regular, content, mode),
            Item::Dir(name) => (name, "", tar::EntryType::Directory, "", 0o755),
            Item::Link(name, target) => (name, target, tar::EntryType::Symlink, "", 0o777),
            Item::Hard(name, target) => (name, target, tar::EntryType::Link, "", 0o644),
            Item::Fifo(name) => (name, "", tar::EntryType::Fifo, "", 0o644),
        };
        // Write the name directly: the builder itself would refuse an attacker's name.
        let old = header.as_old_mut();
        old.name[..name.len()].copy_from_slice(name.as_bytes());
        old.linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(content.len() as u64);
        header.set_cksum();
        builder
            .append(&header, content.as_bytes())
            .expect("it can be written");
    }
    builder.into_inner().expect("it can be written")
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("it can be written");
    encoder.finish().expect("it can be written")
}

fn bz2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).expect("it can be written");
    encoder.finish().expect("it can be written")
}

fn zip(items: &[Item<'_>]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for item in items {
        match *item {
            Item::File(name, content, mode) => {
                writer
                    .start_file(name, options.unix_permissions(mode))
                    .expect("it can be written");
                writer.write_all(content.as_bytes()).expect("it can be written");
            }
            Item::Dir(name) => writer.add_directory(name, options).expect("it can be written"),
            Item::Link(name, target) => writer
                .add_symlink(name, target, options)
                .expect("it can be written"),
            Item::Hard(..) | Item::Fifo(_) => panic!("a zip archive has none"),
        }
    }
    writer.finish().expect("it can be written").into_inner()
}
