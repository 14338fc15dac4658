//! `acpd logs`.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::time::Duration;

use anyhow::Context;

use crate::cli::LogsArgs;
use crate::client::local::daemon_file::DaemonFile;
use crate::client::local::log_path;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::plain::plain;
use crate::terminal::print;

/// Interval at which new lines are read.
const LOOK: Duration = Duration::from_millis(250);

/// Bytes of the end of the log in which lines are counted.
const TAIL_BYTES: u64 = 8 << 20;

/// Prints the log of the daemon in the background.
pub async fn logs(settings: &Settings, args: &LogsArgs) -> anyhow::Result<Exit> {
    let path = log_path(settings);
    if let Ok(notice) = DaemonFile::read(&settings.daemon.data_dir)
        && notice.log_file.is_none()
    {
        print::hint(&format!(
            "process {} was started by \"acpd serve\" and logs to its terminal or service",
            notice.pid
        ));
    }
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Exit::NotFound.error(format!(
                "there is no log: no daemon was started in the background with the data directory {}",
                settings.daemon.data_dir.display()
            )));
        }
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", path.display())),
    };
    let bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub(TAIL_BYTES)))?;
    let text = rest(&mut file)?;
    let lines: Vec<&str> = text.lines().collect();
    for line in &lines[lines.len().saturating_sub(args.limit)..] {
        print::out(&format!("{line}\n"));
    }
    while args.follow && print::has_reader() {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => print::out(&rest(&mut file)?),
            _ = tokio::signal::ctrl_c() => break,
        }
    }
    Ok(Exit::Success)
}

fn rest(file: &mut File) -> anyhow::Result<String> {
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(plain(&String::from_utf8_lossy(&text)))
}
