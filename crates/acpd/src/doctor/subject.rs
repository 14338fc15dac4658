//! What the checks are about.

use crate::client::local::daemon_file::DaemonFile;
use crate::client::local::process::is_daemon;
use crate::settings::Settings;

/// What the checks are about.
pub struct Subject {
    pub settings: Settings,
    /// Why the configuration cannot be read.
    pub unreadable: Option<String>,
}

impl Subject {
    /// Returns the notice of the daemon that runs on the data directory.
    pub fn notice(&self) -> Option<DaemonFile> {
        let notice = DaemonFile::read(&self.settings.daemon.data_dir).ok()?;
        is_daemon(notice.pid).then_some(notice)
    }

    /// Returns the process of the daemon that runs on the data directory.
    pub fn daemon_pid(&self) -> Option<u32> {
        self.notice().map(|notice| notice.pid)
    }
}
