//! `acpd backup`.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use acpd_files::{Backup, DATA_FILES, DataFile, private_file, sync_names};
use acpd_log::backup::{BackupSource, check_copy};
use acpd_model::limits::BACKUP_FILE_BYTES;
use anyhow::{Context, bail, ensure};
use serde_json::json;

use super::archive::{self, Content, Description, LOG};
use super::staging::{Staging, parent};
use crate::cli::BackupArgs;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::amounts::{size, threads};
use crate::terminal::plain::visible_line;
use crate::terminal::print;
use crate::terminal::progress::Progress;

/// Buffer of the file that is written, in bytes.
const BUFFER_BYTES: usize = 1 << 20;

/// Makes a backup of the data directory, whether a daemon runs or not.
pub async fn backup(settings: &Settings, args: &BackupArgs) -> anyhow::Result<Exit> {
    let file = std::path::absolute(&args.file)?;
    let shown = visible_line(&file.display().to_string());
    check_target(&file, args.force)?;
    let data_dir = settings.daemon.data_dir.clone();
    let log = data_dir.join(LOG);
    ensure!(
        log.exists(),
        "there is nothing to back up: {} does not exist",
        log.display()
    );
    // Ctrl-C is waited for from here on; then it drops this future, which removes the directory.
    tokio::task::yield_now().await;
    let staging = Staging::beside(&file)?;
    let mut progress = Progress::begin("copying the log");
    let work = Work {
        data_dir,
        part: staging.path().to_owned(),
        with_secrets: args.with_secrets,
    };
    let (work, copied) = on_thread(move || work.copy().map(|copied| (work, copied))).await?;
    progress.set("writing the backup");
    let (work, written) = on_thread(move || work.write(copied).map(|written| (work, written))).await?;
    progress.set("checking the backup");
    let (work, checked) = on_thread(move || work.check().map(|checked| (work, checked))).await?;
    ensure!(
        checked.bytes() == written.bytes(),
        "the backup is not complete: it has {} bytes instead of {}",
        checked.bytes(),
        written.bytes()
    );
    std::fs::rename(work.archive(), &file)
        .and_then(|()| sync_names(&file))
        .with_context(|| format!("{shown} cannot be written"))?;
    progress.end();
    let bytes = file.metadata()?.len();
    if args.json {
        let done = json!({
            "file": file, "bytes": bytes, "threads": written.threads, "logVersion": written.log_version,
            "secrets": written.has_secrets(),
        });
        print::json(&done.to_string());
        return Ok(Exit::Success);
    }
    print::out(&format!(
        "backed up {} to {shown} ({})\n",
        threads(written.threads),
        size(bytes)
    ));
    print::hint(if args.with_secrets {
        "it has access tokens and keys: keep it as you keep a password; the configuration and installed agents are not in it"
    } else {
        "tokens, the configuration and installed agents are not in it"
    });
    Ok(Exit::Success)
}

fn check_target(file: &Path, may_replace: bool) -> anyhow::Result<()> {
    let shown = file.display();
    match file.metadata() {
        Ok(found) if found.is_dir() => bail!("{shown} is a directory: name a file in it"),
        Ok(_) if !may_replace => bail!("{shown} exists: name another file, or replace it with --force"),
        _ => {}
    }
    let directory = parent(file);
    ensure!(
        directory.is_dir(),
        "the directory {} does not exist: create it first",
        directory.display()
    );
    Ok(())
}

/// Runs what blocks on a thread of its own.
pub async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    tokio::task::spawn_blocking(work).await?
}

/// The steps of a backup.
struct Work {
    data_dir: PathBuf,
    /// The directory for incomplete files.
    part: PathBuf,
    with_secrets: bool,
}

impl Work {
    fn copy_of_log(&self) -> PathBuf {
        self.part.join(LOG)
    }

    fn archive(&self) -> PathBuf {
        self.part.join("backup.tar")
    }

    /// Copies the log, and checks the copy.
    fn copy(&self) -> anyhow::Result<acpd_log::backup::LogContents> {
        let log = self.data_dir.join(LOG);
        let source = BackupSource::open(&log)?;
        // The copy, and the archive of the copy.
        let needed = source.bytes()?.saturating_mul(2);
        let free = acpd_log::free_bytes(&self.part)?;
        ensure!(
            needed <= free,
            "a backup needs {} of free space in {}, but only {} are free: name a file on another disk",
            size(needed),
            parent(&self.part).display(),
            size(free)
        );
        let copy = self.copy_of_log();
        // SQLite accepts an empty file, and keeps its mode.
        create(&copy)?;
        source
            .copy_to(&copy)
            .with_context(|| format!("{} cannot be copied", log.display()))?;
        check_copy(&copy).with_context(|| format!("the backup of {} would be damaged", log.display()))
    }

    /// Writes the archive to the disk.
    fn write(&self, copied: acpd_log::backup::LogContents) -> anyhow::Result<Description> {
        let mut files = vec![(LOG, Content::File(File::open(self.copy_of_log())?))];
        for DataFile { name, backup, .. } in DATA_FILES {
            match backup {
                Backup::Always => {}
                Backup::WithSecrets if self.with_secrets => {}
                Backup::WithSecrets | Backup::Never => continue,
            }
            let path = self.data_dir.join(name);
            let content = private_file::read(&path, BACKUP_FILE_BYTES);
            if let Some(content) = content.with_context(|| format!("{} cannot be read", path.display()))? {
                files.push((name, Content::Bytes(content)));
            }
        }
        let mut file = BufWriter::with_capacity(BUFFER_BYTES, create(&self.archive())?);
        let written = archive::write(&mut file, copied, files).context("the backup cannot be written")?;
        file.flush()?;
        file.get_ref()
            .sync_all()
            .context("the backup cannot be written")?;
        std::fs::remove_file(self.copy_of_log())?;
        Ok(written)
    }

    /// Reads the archive as a restore does.
    fn check(&self) -> anyhow::Result<Description> {
        let file = BufReader::with_capacity(BUFFER_BYTES, File::open(self.archive())?);
        archive::read(file, |_| Ok(()), |_| Ok(std::io::sink())).context("the written backup is wrong")
    }
}

/// Creates a file that only the user can read.
pub fn create(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}
