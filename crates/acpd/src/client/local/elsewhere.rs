//! Daemons of other hosts that use the same data directory, as on a home that is shared over a network.
//!
//! Locks and sockets do not reach across hosts. A running daemon therefore names its host in `daemon.json`, and touches the file
//! from time to time.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::daemon_file::{DaemonFile, HostMark};
use super::process::is_daemon;
use crate::exit::Exit;
use crate::terminal::plain::plain_line;

/// Interval at which a daemon touches its file.
pub const TOUCH: Duration = Duration::from_secs(30);

/// Age at which the file of another host's daemon is that of one which was killed.
const STALE: Duration = Duration::from_secs(5 * TOUCH.as_secs());

/// A daemon of another host that uses the data directory.
#[derive(Debug, Clone)]
pub struct Elsewhere {
    host: String,
    pid: u32,
    /// `None` if the file was touched in the future, by the clock of this host.
    age: Option<Duration>,
    file: PathBuf,
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.reason(), self.advice())
    }
}

impl Elsewhere {
    /// Returns why the directory must not be used here.
    pub fn reason(&self) -> String {
        let Self { host, pid, age, file } = self;
        let (folder, host) = (file.parent().unwrap_or(file).display(), plain_line(host));
        format!(
            "a daemon on the host {host:?} uses {folder} (process {pid}, seen {} s ago), and two hosts would damage its log",
            age.unwrap_or_default().as_secs()
        )
    }

    /// Returns what to do.
    pub fn advice(&self) -> String {
        format!(
            "use acpd there, or stop it there with \"acpd stop\", or name another directory with --data-dir; if it is gone, remove {}",
            self.file.display()
        )
    }

    /// Returns the error of a command that finds such a daemon.
    pub fn error(&self) -> anyhow::Error {
        Exit::Unreachable.error(self.to_string())
    }
}

/// Returns the daemon of another host that uses the data directory, if there is one.
pub fn find(data_dir: &Path) -> Option<Elsewhere> {
    let (notice, file) = (DaemonFile::read(data_dir).ok()?, DaemonFile::path(data_dir));
    let touched = file.metadata().and_then(|found| found.modified()).ok()?;
    let age = SystemTime::now().duration_since(touched).ok();
    let runs_here = notice.pid != std::process::id() && is_daemon(notice.pid);
    is_elsewhere(notice.host.as_ref()?, &HostMark::own(), age, uptime(), runs_here).then(|| Elsewhere {
        host: notice.host.map(|host| host.name).unwrap_or_default(),
        pid: notice.pid,
        age,
        file,
    })
}

/// Returns for how long this host has been up.
fn uptime() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/uptime").ok()?;
    let secs: f64 = text.split(' ').next()?.parse().ok()?;
    Duration::try_from_secs_f64(secs).ok()
}

/// Decides whether a file names the running daemon of another host. `age` is `None` for a time in the future, which a host set whose
/// clock differs, or this one before its clock was corrected. `runs_here`: a daemon of this host has the process id.
fn is_elsewhere(
    named: &HostMark,
    own: &HostMark,
    age: Option<Duration>,
    uptime: Option<Duration>,
    runs_here: bool,
) -> bool {
    if age.is_some_and(|age| age > STALE) {
        return false;
    }
    let differs = named.name != own.name;
    match (&named.boot_id, &own.boot_id) {
        // Containers of one host: locks work between them, unless its daemon still runs under another name.
        (Some(named), Some(own)) if named == own => differs && runs_here,
        // This host was started again, if it is not another one of the same name.
        (Some(_), Some(_)) => differs || age.zip(uptime).is_some_and(|(age, uptime)| age < uptime),
        _ => differs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(name: &str, boot_id: Option<&str>) -> HostMark {
        HostMark {
            name: name.to_owned(),
            boot_id: boot_id.map(str::to_owned),
        }
    }

    #[test]
    fn another_host_is_known_by_its_name_and_its_start() {
        let own = mark("a", Some("1"));
        let (fresh, old) = (Some(Duration::from_secs(20)), Some(STALE + TOUCH));
        let up = Some(Duration::from_hours(1));
        for (named, age, uptime, runs_here, elsewhere) in [
            (mark("a", Some("1")), fresh, up, false, false),
            (mark("a", Some("1")), fresh, up, true, false),
            // Another container, whose daemon was killed or cannot be seen.
            (mark("c", Some("1")), fresh, up, false, false),
            (mark("c", Some("1")), fresh, up, true, true),
            (mark("b", Some("2")), fresh, up, false, true),
            (mark("b", Some("2")), old, up, false, false),
            (mark("b", None), fresh, up, false, true),
            (mark("a", None), fresh, up, false, false),
            // Another host of the same name, or this one before it was started again.
            (mark("a", Some("2")), fresh, up, false, true),
            (
                mark("a", Some("2")),
                fresh,
                Some(Duration::from_secs(10)),
                false,
                false,
            ),
            // The clock of this host is behind the file.
            (mark("b", Some("2")), None, up, false, true),
            (mark("a", Some("2")), None, up, false, false),
        ] {
            let found = is_elsewhere(&named, &own, age, uptime, runs_here);
            assert_eq!(found, elsewhere, "{named:?} {age:?} {uptime:?} {runs_here}");
        }
    }
}
