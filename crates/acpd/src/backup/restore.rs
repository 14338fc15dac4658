//! `acpd restore`.

use std::fs::{DirBuilder, File};
use std::io::{BufReader, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use acpd_files::{sync_directory, sync_names};
use acpd_log::LogError;
use acpd_log::backup::check_copy;
use anyhow::{Context, bail, ensure};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use serde_json::json;

use super::archive::{self, Description, LOG};
use super::create::{create, on_thread};
use super::staging::{Staging, parent};
use crate::cli::RestoreArgs;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::amounts::{size, threads};
use crate::terminal::plain::visible_line;
use crate::terminal::print;
use crate::terminal::progress::Progress;
use crate::terminal::time::when;

/// Restores a data directory from a backup.
pub async fn restore(settings: &Settings, args: &RestoreArgs) -> anyhow::Result<Exit> {
    let data_dir = target_of(&settings.daemon.data_dir)?;
    let target = Target::look(&data_dir, args.force, &settings.own_command("stop"))?;
    let file = File::open(&args.file).with_context(|| format!("{} cannot be read", args.file.display()))?;
    // Ctrl-C is waited for from here on; then it drops this future, which removes the directory.
    tokio::task::yield_now().await;
    let mut staging = Staging::beside(&data_dir)?;
    let mut progress = Progress::begin("restoring the backup");
    let part = staging.path().to_owned();
    let name = args.file.display().to_string();
    let unpacked = on_thread(move || unpack(file, &part).with_context(|| format!("{name} was not restored")));
    let restored = unpacked.await?;
    // From here on it takes no time, and cannot be interrupted.
    let kept = target.replace(&data_dir, &mut staging)?;
    progress.end();
    if args.json {
        let done = json!({
            "dataDir": data_dir, "threads": restored.threads, "createdAt": restored.created_at,
            "secrets": restored.has_secrets(), "previous": kept,
        });
        print::json(&done.to_string());
        return Ok(Exit::Success);
    }
    print::out(&format!(
        "restored {} of {} to {}\n",
        threads(restored.threads),
        when(&json!(restored.created_at)),
        visible_line(&data_dir.display().to_string())
    ));
    if let Some(kept) = kept {
        print::hint(&format!(
            "the previous data directory, with its tokens and installed agents, is {}: remove it if nothing in it is needed",
            kept.display()
        ));
    }
    if !restored.has_secrets() {
        print::hint(
            "the daemon makes a new access token when it starts; browsers and other clients must sign in again",
        );
    }
    Ok(Exit::Success)
}

/// Returns the data directory itself, where the settings name a link to it, and creates the directory above it.
fn target_of(data_dir: &Path) -> anyhow::Result<PathBuf> {
    match data_dir.canonicalize() {
        Ok(found) => Ok(found),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let above = parent(data_dir);
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(above)
                .with_context(|| format!("{} cannot be created", above.display()))?;
            Ok(data_dir.to_owned())
        }
        Err(error) => Err(error).with_context(|| format!("{} cannot be used", data_dir.display())),
    }
}

/// What is at the path of the data directory.
enum Target {
    /// Nothing, or an empty directory.
    Empty,
    /// A data directory that no daemon uses, and none can use until the lock is dropped.
    Filled { _lock: File },
}

impl Target {
    /// Refuses a directory that must not be replaced. `stop` is the command that stops its daemon.
    fn look(data_dir: &Path, may_replace: bool, stop: &str) -> anyhow::Result<Self> {
        let shown = data_dir.display();
        let mut entries = match data_dir.read_dir() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::Empty),
            entries => entries.with_context(|| format!("{shown} cannot be used"))?,
        };
        if entries.next().is_none() {
            return Ok(Self::Empty);
        }
        let log = data_dir.join(LOG);
        ensure!(
            log.exists() || data_dir.join("daemon.log").exists(),
            "{shown} is neither empty nor a data directory of acpd: name another directory with --data-dir"
        );
        let lock = match acpd_log::backup::lock(&log) {
            Ok(lock) => lock,
            Err(LogError::InUse(_)) => bail!("a daemon uses {shown}: stop it first, with \"{stop}\""),
            Err(error) => return Err(error.into()),
        };
        ensure!(
            may_replace,
            "{shown} is not empty: with --force it is replaced, and kept under another name; --data-dir names another \
             directory"
        );
        Ok(Self::Filled { _lock: lock })
    }

    /// Puts the staged directory in place of the data directory. Returns the path of the previous one.
    fn replace(self, data_dir: &Path, staging: &mut Staging) -> anyhow::Result<Option<PathBuf>> {
        let shown = data_dir.display();
        match self {
            Self::Empty => {
                // Refused by the system if a daemon has started there meanwhile.
                std::fs::rename(staging.path(), data_dir)
                    .with_context(|| format!("{shown} cannot be replaced"))?;
                staging.keep();
                sync_names(data_dir)?;
                Ok(None)
            }
            Self::Filled { _lock } => {
                let kept = name_of_previous(data_dir)?;
                match renameat_with(CWD, staging.path(), CWD, data_dir, RenameFlags::EXCHANGE) {
                    Ok(()) => {
                        staging.keep();
                        std::fs::rename(staging.path(), &kept).with_context(|| {
                            format!(
                                "{shown} is restored; the previous one is {}",
                                staging.path().display()
                            )
                        })?;
                    }
                    // File systems that cannot exchange names. After a crash between both, the data is at the other name.
                    Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                        std::fs::rename(data_dir, &kept)
                            .with_context(|| format!("{shown} cannot be renamed"))?;
                        if let Err(error) = std::fs::rename(staging.path(), data_dir) {
                            std::fs::rename(&kept, data_dir)
                                .with_context(|| format!("the data directory is now {}", kept.display()))?;
                            return Err(error).with_context(|| format!("{shown} cannot be replaced"));
                        }
                        staging.keep();
                    }
                    Err(error) => return Err(error).with_context(|| format!("{shown} cannot be replaced")),
                }
                sync_names(data_dir)?;
                Ok(Some(kept))
            }
        }
    }
}

/// Returns a name for the previous data directory that nothing has: `acpd.before-restore-1`.
fn name_of_previous(data_dir: &Path) -> anyhow::Result<PathBuf> {
    let name = data_dir.file_name().context("the data directory has no name")?;
    let free = (1..1000).map(|number| {
        let mut name = name.to_owned();
        name.push(format!(".before-restore-{number}"));
        data_dir.with_file_name(name)
    });
    let mut free = free.filter(|path| path.symlink_metadata().is_err());
    free.next().with_context(|| {
        let data_dir = data_dir.display();
        format!("remove some of the directories {data_dir}.before-restore-N")
    })
}

/// Unpacks a backup into an empty directory, and checks it.
fn unpack(file: File, part: &Path) -> anyhow::Result<Description> {
    let has_space = |description: &Description| {
        let (needed, free) = (description.bytes(), acpd_log::free_bytes(part)?);
        ensure!(
            needed <= free,
            "it needs {} of free space, but only {} are free",
            size(needed),
            size(free)
        );
        Ok(())
    };
    let description = archive::read(BufReader::new(file), has_space, |name| create(&part.join(name)))?;
    let contents = check_copy(&part.join(LOG)).context("its log is damaged")?;
    ensure!(
        (contents.version, contents.threads) == (description.log_version, description.threads),
        "its log has other content than described"
    );
    for entry in part.read_dir()? {
        File::open(entry?.path())?.sync_all()?;
    }
    sync_directory(part)?;
    Ok(description)
}
