//! `acpd export`: writes a thread to a file or to standard output. The daemon does the formatting.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use acpd_files::{Draft, follow_links};
use acpd_model::ThreadId;
use anyhow::Context;
use hyper::body::Incoming;
use hyper::{Request, Response};

use crate::cli::{ExportArgs, ExportFormat};
use crate::client::connect::connect;
use crate::client::reach::{self, reach};
use crate::client::response::{self, next};
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::plain::JsonPieces;
use crate::terminal::print;
use crate::threads::find::find_thread;

/// What to do about an export that breaks off.
const BROKEN_OFF: &str = "the export is not whole; if its log is damaged, --salvage exports what can be read";

/// The mode of a new file, before the umask.
const MODE: u32 = 0o666;

/// Exports a thread.
pub async fn export(settings: &Settings, args: &ExportArgs) -> anyhow::Result<Exit> {
    let thread = whole_id(settings, &args.thread.thread).await?;
    let format = args.format.unwrap_or_else(|| {
        // What is read on a terminal is read by a person; programs and files get all events.
        format_of(args.output.as_deref(), std::io::stdout().is_terminal())
    });
    let answer = ask(settings, thread, format, args.salvage).await?;
    let Some(path) = args.output.as_deref().filter(|path| *path != Path::new("-")) else {
        return to_stdout(answer.into_body(), format).await;
    };
    // Ctrl-C drops this future, which removes the partial file.
    let mut target = Target::open(path).with_context(|| format!("{} cannot be written", path.display()))?;
    let mut body = answer.into_body();
    while let Some(bytes) = next(&mut body).await.context(BROKEN_OFF)? {
        let written = target.write_all(&bytes);
        written.with_context(|| format!("{} cannot be written", path.display()))?;
    }
    target
        .keep()
        .with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(Exit::Success)
}

/// Returns the format that the ending of a file's name means. Without a file, a terminal shows a document.
fn format_of(output: Option<&Path>, is_terminal: bool) -> ExportFormat {
    let ending = output.and_then(Path::extension).and_then(OsStr::to_str);
    match ending.map(str::to_lowercase).as_deref() {
        Some("md" | "markdown") => ExportFormat::Md,
        Some("html" | "htm") => ExportFormat::Html,
        None if is_terminal && output.is_none_or(|output| output == Path::new("-")) => ExportFormat::Md,
        _ => ExportFormat::Jsonl,
    }
}

async fn whole_id(settings: &Settings, given: &str) -> anyhow::Result<ThreadId> {
    if let Ok(whole) = given.parse() {
        return Ok(whole);
    }
    let client = connect(settings, false).await?;
    Ok(find_thread(&client, given).await?.parse()?)
}

/// Requests the export, and starts a daemon if none runs.
async fn ask(
    settings: &Settings,
    thread: ThreadId,
    format: ExportFormat,
    salvage: bool,
) -> anyhow::Result<Response<Incoming>> {
    let reached = reach(settings).await?;
    let name = reached.name.clone();
    let format = format.word();
    let salvage = if salvage { "&salvage=true" } else { "" };
    let request = Request::get(format!("/api/threads/{thread}/export?format={format}{salvage}"))
        .body(String::new())
        .context("the address has odd characters")?;
    let answer = reach::ask(reached, request).await?;
    response::granted(answer, &name).await
}

async fn to_stdout(mut body: Incoming, format: ExportFormat) -> anyhow::Result<Exit> {
    let mut pieces = JsonPieces::default();
    while let Some(bytes) = next(&mut body).await.context(BROKEN_OFF)? {
        let bytes = match format {
            // The daemon sends events as stored. Only for documents does it escape control characters itself.
            ExportFormat::Jsonl => pieces.next(&bytes).into(),
            _ => bytes,
        };
        if !print::bytes(&bytes) {
            break;
        }
    }
    Ok(Exit::Success)
}

/// What an export is written to.
enum Target {
    /// A file, which the complete export replaces.
    File(Draft),
    /// A device or a pipe, which is written in place.
    InPlace(File),
}

impl Target {
    fn open(path: &Path) -> std::io::Result<Self> {
        let before = match path.metadata() {
            Ok(before) if before.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Ok(before) if !before.is_file() => {
                return Ok(Self::InPlace(OpenOptions::new().write(true).open(path)?));
            }
            before => before.ok(),
        };
        let draft = Draft::new(&follow_links(path)?, MODE)?;
        if let Some(before) = before {
            draft.set_mode(before.mode())?;
        }
        Ok(Self::File(draft))
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Self::File(draft) => draft.write_all(bytes),
            Self::InPlace(file) => file.write_all(bytes),
        }
    }

    /// Moves the complete file to its final path.
    fn keep(self) -> std::io::Result<()> {
        match self {
            Self::File(draft) => draft.keep(),
            Self::InPlace(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_complete_export_replaces_the_file_that_a_link_leads_to() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        symlink("file", &link).unwrap();
        let write = |text: &str| {
            let mut target = Target::open(&link).unwrap();
            target.write_all(text.as_bytes()).unwrap();
            target
        };
        write("first").keep().unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "first");
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        write("second").keep().unwrap();
        drop(write("half"));
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "second");
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o640);
        assert_eq!(dir.path().read_dir().unwrap().count(), 2);
        assert!(Target::open(dir.path()).is_err());
        // A device stays one.
        let mut null = Target::open(Path::new("/dev/null")).unwrap();
        null.write_all(b"text").unwrap();
        assert!(matches!(null, Target::InPlace(_)));
        null.keep().unwrap();
    }

    #[test]
    fn the_ending_of_the_file_is_the_format() {
        for (name, format) in [
            ("a.md", ExportFormat::Md),
            ("a.b/c.html", ExportFormat::Html),
            ("A.HTML", ExportFormat::Html),
            ("a.jsonl", ExportFormat::Jsonl),
            ("md", ExportFormat::Jsonl),
        ] {
            for is_terminal in [false, true] {
                assert_eq!(format_of(Some(Path::new(name)), is_terminal), format, "{name}");
            }
        }
        for output in [None, Some(Path::new("-"))] {
            assert_eq!(format_of(output, false), ExportFormat::Jsonl);
            assert_eq!(format_of(output, true), ExportFormat::Md);
        }
    }
}
