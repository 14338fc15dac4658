//! The files of a service, which a user can change.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::json;

use crate::terminal::plain::visible_line;
use crate::terminal::print;

/// The mode of a service's file. It has no secret, and the umask may close it.
const MODE: u32 = 0o666;

/// Refuses to change a file that is not as acpd wrote it.
pub(super) fn may_change(path: &Path, is_unchanged: bool, force: bool) -> anyhow::Result<()> {
    ensure!(
        force || is_unchanged,
        "{} was changed, or not written by acpd: keep it, or use --force",
        path.display()
    );
    Ok(())
}

pub(super) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
    }
}

/// Writes a file: the old one or the new one, and never a part.
pub(super) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let written = path
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| acpd_files::replace(path, text.as_bytes(), MODE));
    written.with_context(|| format!("{} cannot be written", path.display()))
}

/// Describes the file of a service.
pub(super) fn describe(path: &Path, exists: bool, is_changed: bool) -> String {
    let shown = visible_line(&path.display().to_string());
    match (exists, is_changed) {
        (false, _) => format!("not installed ({shown} does not exist)"),
        (true, false) => shown,
        (true, true) => format!("{shown} (changed, or not written by acpd)"),
    }
}

pub(super) fn report_removed(path: &Path, as_json: bool) {
    if as_json {
        print::json(&json!({ "unit": path }).to_string());
    } else {
        print::out("the service is stopped and removed; threads and settings are still there\n");
    }
}
