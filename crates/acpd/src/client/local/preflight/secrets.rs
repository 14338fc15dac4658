//! The files of the data directory without which a daemon would let others in, or ask again: it starts only if it can use them.

use std::path::{Path, PathBuf};

use acpd_files::data_files;
use acpd_runtime::policy::remembered::remembered;
use acpd_server::StartError;
use acpd_server::auth::owner_token::Token;
use acpd_server::auth::tokens;

use super::hindrance::Hindrance;
use crate::settings::Settings;

/// Returns what hinders a daemon that reads these files.
pub fn unusable(settings: &Settings) -> Vec<Hindrance> {
    let data_dir = &settings.daemon.data_dir;
    let mut found: Vec<StartError> = Vec::new();
    // A token of the environment needs no file, and the first daemon creates one.
    if settings.token.is_none() && Token::path(data_dir).symlink_metadata().is_ok() {
        found.extend(Token::load(data_dir).err().map(StartError::from));
    }
    found.extend(tokens::load(data_dir).err().map(StartError::from));
    // Any agent: the answers are one file.
    found.extend(remembered(data_dir, "").err().map(StartError::from));
    found
        .iter()
        .filter_map(|error| of_error(error, data_dir))
        .collect()
}

/// Returns what hinders a start that ended with this error, if it is about one of these files.
pub fn of_error(error: &StartError, data_dir: &Path) -> Option<Hindrance> {
    let hindrance = |path: PathBuf, advice: &str| Hindrance::File {
        path,
        reason: error.to_string(),
        advice: advice.to_owned(),
    };
    match error {
        StartError::Token(_) => Some(hindrance(
            Token::path(data_dir),
            "correct the file, or remove it: then the daemon creates another token",
        )),
        StartError::Keys(_) => Some(hindrance(
            data_files::TOKENS.path(data_dir),
            "correct the file, or remove it and create its tokens again",
        )),
        StartError::Answers(wrong) => {
            let words = wrong.to_string();
            let (reason, advice) = words.rsplit_once("; ").unwrap_or((&words, "correct the file"));
            Some(Hindrance::File {
                path: data_files::ANSWERS.path(data_dir),
                reason: reason.to_owned(),
                advice: advice.to_owned(),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::options::Common;

    #[test]
    fn each_file_that_cannot_be_used_hinders() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("acpd.toml");
        std::fs::write(&config, "").unwrap();
        let common = Common {
            config: Some(config),
            data_dir: Some(dir.path().to_owned()),
            ..Common::default()
        };
        let settings = Settings::load(&common).unwrap().checked().unwrap();
        assert!(unusable(&settings).is_empty());
        for (file, content, mode, part, advice) in [
            (
                "token",
                "a-token-of-some-length",
                0o644,
                "the token file",
                "another token",
            ),
            ("token", "short", 0o600, "at least 16 characters", "another token"),
            ("tokens.json", "{", 0o600, "is damaged", "create its tokens again"),
            (
                "tokens.json",
                "{}",
                0o640,
                "other users can use it",
                "create its tokens again",
            ),
            (
                "answers.json",
                "{",
                0o600,
                "the remembered answers in",
                "remove it to forget them all",
            ),
        ] {
            let path = dir.path().join(file);
            std::fs::write(&path, content).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let found = unusable(&settings);
            assert_eq!(found.len(), 1, "{file}: {found:?}");
            let (words, said) = (found[0].reason(), found[0].advice());
            assert!(words.contains(part), "{part}: {words}");
            assert!(words.contains(&*path.to_string_lossy()), "{words}");
            assert!(said.ends_with(advice), "{said}");
            std::fs::remove_file(&path).unwrap();
        }
        // With a token of the environment, the daemon does not read the file.
        let mut given = settings;
        given.token = Some("a-token-of-some-length".to_owned());
        std::fs::write(dir.path().join("token"), "short").unwrap();
        assert!(unusable(&given).is_empty());
    }
}
