//! Changes of the configuration file that clients of the daemon request.
//!
//! In: one change at a time, which the runtime has checked. Out: the file with the change. Never: writes a file that acpd would not
//! accept, that another program has changed meanwhile, or that is read-only.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use acpd_model::{ErrorCode, Failure};
use acpd_proto::surface::request::ConfigChange;
use acpd_runtime::config_file::{Changed, RequestedChange};

use crate::config::{MODE, edit, new_text};
use crate::replace_file;

/// Largest configuration file that acpd changes, in bytes.
const CONFIG_FILE_BYTES: u64 = 1 << 20;

/// What a change has done.
#[derive(Debug)]
pub struct Made {
    /// What the client receives.
    pub changed: Changed,
    /// The mode of the new file; `None` if nothing was written.
    pub mode: Option<u32>,
}

/// Makes a requested change in the file at `path`, which has the mode `known` as far as the daemon knows. Returns the request with its
/// result.
pub async fn carry_out(
    path: PathBuf,
    known: Option<u32>,
    requested: RequestedChange,
) -> (RequestedChange, Result<Made, Failure>) {
    let (wanted, default_agent) = (requested.change.clone(), requested.default_agent.clone());
    let change = move || change(&path, known, &wanted, default_agent.as_deref());
    let made = tokio::task::spawn_blocking(change).await;
    let result = made.unwrap_or_else(|_| {
        Err(Failure::new(
            ErrorCode::Internal,
            "internal error: the configuration could not be changed",
        ))
    });
    (requested, result)
}

fn change(
    path: &Path,
    known: Option<u32>,
    wanted: &ConfigChange,
    default_agent: Option<&str>,
) -> Result<Made, Failure> {
    let before = read(path)?;
    let text = before.clone().unwrap_or_else(new_text);
    let edited = edit(path, &text, wanted, default_agent)
        .map_err(|error| Failure::new(ErrorCode::Conflict, error.to_string()))?;
    let write = |edited: String| {
        write(path, before.as_deref(), &edited, known)
            .map_err(|error| not_written(path, before.as_deref(), &edited, &error))
    };
    let mode = edited.map(write).transpose()?;
    let changed = Changed {
        file: path.to_string_lossy().into_owned(),
        is_new: mode.is_some(),
    };
    Ok(Made { changed, mode })
}

/// Describes an error of writing by what is in the file now: its directory may have failed after the file was replaced.
fn not_written(path: &Path, before: Option<&str>, edited: &str, error: &std::io::Error) -> Failure {
    let state = match read(path) {
        Ok(now) if now.as_deref() == before => "; nothing was written",
        Ok(Some(now)) if now == edited => "; the file has the change, which a power failure may undo",
        _ => "",
    };
    let shown = path.display();
    Failure::new(
        ErrorCode::Conflict,
        format!("the configuration {shown} cannot be changed: {error}{state}"),
    )
}

/// Returns the text of the file; `None` if there is none.
fn read(path: &Path) -> Result<Option<String>, Failure> {
    let unreadable = |reason: &str| {
        let message = format!("the configuration {} cannot be read: {reason}", path.display());
        Err(Failure::new(ErrorCode::Conflict, message))
    };
    match path.metadata() {
        Ok(found) if !found.is_file() => return unreadable("it is not a file"),
        Ok(found) if found.len() > CONFIG_FILE_BYTES => {
            return unreadable(&format!("it has more than {CONFIG_FILE_BYTES} bytes"));
        }
        _ => {}
    }
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => unreadable(&error.to_string()),
    }
}

fn write(path: &Path, before: Option<&str>, text: &str, known: Option<u32>) -> std::io::Result<u32> {
    if let (None, Some(folder)) = (before, path.parent()) {
        std::fs::create_dir_all(folder)?;
    }
    replace_file::change(path, before, text, MODE, known)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use acpd_files::private_file::UserFile;

    use super::*;

    fn default_agent(name: &str) -> ConfigChange {
        ConfigChange::DefaultAgent {
            agent: Some(name.to_owned()),
        }
    }

    #[test]
    fn an_absent_file_is_made_as_setup_makes_it_and_closed_to_others() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("acpd/config.toml");
        let made = change(&path, None, &default_agent("demo"), None).unwrap();
        assert_eq!(made.mode, Some(MODE));
        let changed = made.changed;
        assert!(
            changed.is_new && changed.file == path.to_string_lossy(),
            "{changed:?}"
        );
        let text = std::fs::read_to_string(&path).unwrap();
        let setting = "\ndefault_agent = \"demo\"\n";
        assert!(text.contains(setting), "{text}");
        assert_eq!(text.replacen(setting, "\n", 1), new_text());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let again = change(&path, None, &default_agent("demo"), None).unwrap();
        assert!(!again.changed.is_new && again.mode.is_none());
    }

    /// An agent has opened the file since the daemon looked at it last.
    #[test]
    fn a_change_gives_others_nothing_that_the_user_has_not_given() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, "[agents.a]\ncommand = \"a\"\n").unwrap();
        let mode = || path.metadata().unwrap().permissions().mode() & 0o777;
        let set = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        set(0o600);
        let mut file = UserFile::new(path.clone());
        set(0o666);
        let made = change(&path, file.mode(), &default_agent("a"), None).unwrap();
        assert_eq!((made.mode, mode()), (Some(0o600), 0o600));
        // Before the daemon looks again, too.
        set(0o666);
        file.replaced(made.mode.unwrap());
        file.restore().unwrap();
        assert_eq!(mode(), 0o600);
    }

    #[test]
    fn an_error_says_what_is_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        let ends = |before, part: &str| {
            let error = std::io::Error::other("the disk failed");
            let failure = not_written(&path, before, "new", &error);
            assert!(failure.message.ends_with(part), "{part}: {failure}");
        };
        ends(None, "the disk failed; nothing was written");
        ends(Some("old"), "the disk failed");
        std::fs::write(&path, "old").unwrap();
        ends(Some("old"), "the disk failed; nothing was written");
        ends(None, "the disk failed");
        std::fs::write(&path, "new").unwrap();
        ends(
            Some("old"),
            "the file has the change, which a power failure may undo",
        );
    }

    #[test]
    fn a_file_that_cannot_be_changed_stays_and_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        let refused = |part: &str| {
            let before = std::fs::read(&path).ok();
            let refused = change(&path, None, &default_agent("a"), None).unwrap_err();
            assert_eq!(refused.code, ErrorCode::Conflict);
            assert!(refused.message.contains(part), "{part}: {refused}");
            assert!(refused.message.contains("config.toml"), "{refused}");
            assert_eq!(std::fs::read(&path).ok(), before);
        };
        std::fs::write(&path, "[agents\n").unwrap();
        refused("line 1");
        std::fs::write(&path, [0xff, b'\n']).unwrap();
        refused("cannot be read");
        std::fs::write(&path, "#".repeat(2 << 20)).unwrap();
        refused("more than 1048576 bytes");
        std::fs::write(&path, "[agents.a]\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o400)).unwrap();
        refused("read-only");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        refused("it is not a file");
    }
}
