//! The access token.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use subtle::ConstantTimeEq;

/// What a client must show. Compared in constant time, and never printed.
#[derive(Clone)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file could not be read or written.
    #[error("the token file {path} cannot be used: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Other people can read the file.
    #[error("the token file {path} can be read by other users: run chmod 600 {path}")]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// The token is too short to be one.
    #[error("the token must have at least 16 characters")]
    Short,
}

impl Token {
    /// A token that was chosen by a person.
    pub fn given(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if text.len() < 16 {
            Err(TokenError::Short)
        } else {
            Ok(Self(text.to_owned()))
        }
    }

    /// The token of a data directory; made, readable for its owner alone, if there is none.
    pub fn load_or_create(data_dir: &Path) -> Result<Self, TokenError> {
        let path = Self::path(data_dir);
        let fail = |source| TokenError::File {
            path: path.clone(),
            source,
        };
        let mut random = [0; 32];
        getrandom::fill(&mut random).map_err(|error| fail(std::io::Error::other(error)))?;
        let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
        {
            Ok(mut file) => {
                file.write_all(token.as_bytes())
                    .and_then(|()| file.sync_all())
                    .map_err(fail)?;
                Ok(Self(token))
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Self::load(data_dir),
            Err(error) => Err(fail(error)),
        }
    }

    /// The token of a data directory.
    pub fn load(data_dir: &Path) -> Result<Self, TokenError> {
        let path = Self::path(data_dir);
        let fail = |source| TokenError::File {
            path: path.clone(),
            source,
        };
        let mode = std::fs::metadata(&path).map_err(fail)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(TokenError::Open { path });
        }
        Self::given(&std::fs::read_to_string(&path).map_err(fail)?)
    }

    /// Where the token of a data directory stands.
    pub fn path(data_dir: &Path) -> PathBuf {
        data_dir.join("token")
    }

    /// Whether `shown` is the token.
    pub fn matches(&self, shown: &str) -> bool {
        self.0.as_bytes().ct_eq(shown.as_bytes()).into()
    }

    /// The token itself, to be sent and not to be shown.
    pub fn secret(&self) -> &str {
        &self.0
    }
}
