//! `acpd shims end`.

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use acpd_shim::{Seen, remove_leftover};
use serde_json::json;

use super::found::{self, Looked};
use crate::cli::ShimsEndArgs;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::confirm::confirm;
use crate::terminal::plain::plain_line;
use crate::terminal::print;
use crate::terminal::progress::Progress;

/// Shims that end at once. Each needs a descriptor of this process.
const AT_ONCE: usize = 64;
/// Time for shims to end: they kill their processes after two seconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time for killed shims.
const KILL_PATIENCE: Duration = Duration::from_secs(2);

/// How a shim ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// With all that ran below it.
    Whole,
    /// It hung and was killed. What its process had started may be left.
    Killed,
    /// Only its socket was left.
    Removed,
    /// There was no such shim.
    None,
    /// It is still there.
    No,
}

impl Ended {
    fn word(self) -> &'static str {
        match self {
            Self::Whole => "ended",
            Self::Killed => "killed",
            Self::Removed => "removed",
            Self::None => "none",
            Self::No => "running",
        }
    }

    /// Returns the line about a shim of this name.
    fn line(self, name: &str) -> String {
        match self {
            Self::Whole => format!("ended {name}"),
            Self::Killed => {
                format!("killed {name}, which did not end; processes that its agent had started may be left")
            }
            Self::Removed => format!("removed {name}, of which only the socket was left"),
            Self::None => format!("no shim has the name {name}; \"acpd shims\" lists them"),
            Self::No => format!("{name} does not end; the system may wait for a device"),
        }
    }

    fn exit(self) -> Exit {
        match self {
            Self::Whole | Self::Killed | Self::Removed => Exit::Success,
            Self::None => Exit::NotFound,
            Self::No => Exit::Failure,
        }
    }
}

/// Ends the named shims, or all.
pub async fn end(settings: &Settings, args: &ShimsEndArgs) -> anyhow::Result<Exit> {
    let directory = found::directory(&settings.daemon.data_dir);
    let names = if args.all {
        found::names(&directory)?
    } else {
        args.names.clone()
    };
    if names.is_empty() {
        print::hint("no shim runs");
        return Ok(Exit::Success);
    }
    if !args.yes && !confirm(&question(&names)).await? {
        print::hint("no shim was ended");
        return Ok(Exit::Failure);
    }
    let mut progress = Progress::begin("ending shims");
    let ended = tokio::task::spawn_blocking(move || end_all(&directory, names)).await?;
    progress.end();
    let mut exit = Exit::Success;
    for (name, ended) in ended? {
        if ended.exit() != Exit::Success {
            exit = ended.exit();
        }
        let name = plain_line(&name);
        if args.json {
            print::json(&json!({ "name": name, "result": ended.word() }).to_string());
        } else if ended.exit() == Exit::Success {
            print::out(&format!("{}\n", ended.line(&name)));
        } else {
            print::err(&format!("acpd: {}\n", ended.line(&name)));
        }
    }
    Ok(exit)
}

/// Ends the shims that are still there after the daemon was stopped, and says so.
pub async fn end_left(settings: &Settings) -> anyhow::Result<()> {
    let directory = found::directory(&settings.daemon.data_dir);
    let names = found::names(&directory)?;
    if names.is_empty() {
        return Ok(());
    }
    let ended = tokio::task::spawn_blocking(move || end_all(&directory, names)).await??;
    for (name, ended) in &ended {
        match ended {
            Ended::Whole | Ended::Removed | Ended::None => {}
            Ended::Killed | Ended::No => print::hint(&ended.line(&plain_line(name))),
        }
    }
    Ok(())
}

fn question(names: &[String]) -> String {
    let what = match names {
        [one] => format!("the shim {}", plain_line(one)),
        many => format!("{} shims", many.len()),
    };
    format!("End {what} with all processes of its agent or terminal? A turn that runs there fails.")
}

fn end_all(directory: &Path, names: Vec<String>) -> anyhow::Result<Vec<(String, Ended)>> {
    let mut ended = Vec::new();
    let mut names = names.into_iter().peekable();
    while names.peek().is_some() {
        let mut begun = Vec::new();
        for name in names.by_ref().take(AT_ONCE) {
            let looked = found::look(directory, &name, Duration::ZERO)?;
            if let Looked::Seen(seen) = &looked {
                seen.terminate()?;
            }
            begun.push((name, looked));
        }
        let deadline = Instant::now() + PATIENCE;
        for (name, looked) in begun {
            let how = match looked {
                Looked::Seen(seen) => finish(directory, &name, &seen, deadline)?,
                Looked::Gone => {
                    remove_leftover(directory, OsStr::new(&name))?;
                    Ended::Removed
                }
                Looked::None => Ended::None,
            };
            ended.push((name, how));
        }
    }
    Ok(ended)
}

/// Waits for the end of a shim until the deadline, and kills it then.
fn finish(directory: &Path, name: &str, seen: &Seen, deadline: Instant) -> anyhow::Result<Ended> {
    if seen.has_ended_in(deadline.saturating_duration_since(Instant::now())) {
        return Ok(Ended::Whole);
    }
    seen.kill()?;
    if !seen.has_ended_in(KILL_PATIENCE) {
        return Ok(Ended::No);
    }
    remove_leftover(directory, OsStr::new(name))?;
    Ok(Ended::Killed)
}
