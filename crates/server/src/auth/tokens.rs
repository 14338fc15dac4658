//! The tokens that the owner has issued. `tokens.json` in the data directory holds their hashes.
//!
//! The CLI writes the file, whether or not a daemon runs. A running daemon reloads it when it changes, and corrects tokens that
//! were created while the clock was ahead.

use std::path::{Path, PathBuf};

use acpd_files::{Form, StateError, StateFile, data_files, private_file};
use acpd_model::Role;
use acpd_model::limits::{PAIRED_OF_ONE, SESSION_MAX_DAYS, TOKEN_NAME_BYTES, TOKENS};
use serde::{Deserialize, Serialize};

use crate::auth::lifetime;
use crate::auth::owner_token::{Hash, random};

/// Largest file of access tokens, in bytes.
const TOKENS_FILE_BYTES: u64 = 256 << 10;

/// The record of an issued token. It does not contain the secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IssuedToken {
    /// The name of the token's holder in the log.
    pub name: String,
    /// The permissions of the token.
    pub role: Role,
    /// The hash of the secret.
    pub(crate) hash: Hash,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// Milliseconds since the epoch; `None` if the token never expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// Whether it is the token of a paired device. No client has its secret: only the device's session uses it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paired: bool,
    /// The token that paired the device, unless it is the owner's. This one is revoked with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<Hash>,
}

/// A device that is to be paired.
#[derive(Debug, Clone)]
pub struct NewDevice {
    /// The name of its token. If that is taken, the token has a number behind it.
    pub name: String,
    /// The role of its token.
    pub role: Role,
    /// The token that pairs it, and when that expires.
    parent: Option<(Hash, Option<i64>)>,
}

impl NewDevice {
    /// Describes a device.
    pub fn new(name: &str, role: Role) -> Self {
        Self {
            name: name.to_owned(),
            role,
            parent: None,
        }
    }

    /// Lets the device's token end with another one.
    pub(crate) fn below(self, parent: Option<(Hash, Option<i64>)>) -> Self {
        Self { parent, ..self }
    }
}

impl IssuedToken {
    /// Creates the record of a token with this secret.
    pub(crate) fn new(
        name: &str,
        role: Role,
        secret: &str,
        created_at: i64,
        expires_at: Option<i64>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            role,
            hash: Hash::of(secret),
            created_at,
            expires_at,
            paired: false,
            parent: None,
        }
    }

    /// Returns whether both are the same token, whose lifetime may have been corrected.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.hash == other.hash && self.name == other.name && self.role == other.role
    }

    /// Returns whether the token expires, and was created while the clock was ahead.
    pub(crate) fn is_ahead(&self, now: i64) -> bool {
        self.expires_at.is_some() && lifetime::is_ahead(self.created_at, now)
    }
}

/// The form of the file.
const FORM: Form = Form {
    versions: &[1],
    bytes: TOKENS_FILE_BYTES,
    is_pretty: true,
    is_private: true,
};

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct TokensFile {
    tokens: Vec<IssuedToken>,
}

/// A day in milliseconds.
const DAY: i64 = 24 * 3600 * 1000;

/// The principal of the owner's token in the data directory.
pub const OWNER: &str = "owner";

/// An error of reading or changing the tokens.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// The file could not be read or written.
    #[error("the tokens file {path} cannot be used: {source}")]
    File {
        /// The path of the tokens file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The content of the file is invalid.
    #[error("the tokens file {path} is damaged: {reason}")]
    Damaged {
        /// The path of the tokens file.
        path: PathBuf,
        /// The reason why the content is invalid.
        reason: String,
    },
    /// The name has invalid characters or an invalid length, or is reserved.
    #[error(
        "{0:?} cannot be a token's name: use 1 to {TOKEN_NAME_BYTES} letters, digits and .-_@, and not \"owner\""
    )]
    Name(String),
    /// Another token has the name.
    #[error("there is a token {0:?} already: revoke it first, or choose another name")]
    Taken(String),
    /// No token has the name.
    #[error("there is no token {0:?}")]
    Unknown(String),
    /// The limit of tokens is reached.
    #[error("there are {TOKENS} tokens already: revoke one first")]
    Full,
    /// The limit of paired devices is reached.
    #[error(
        "the client that made this link has paired {PAIRED_OF_ONE} devices already: the owner signs one out with \"acpd token revoke NAME\", or it \
         expires"
    )]
    Paired,
}

/// Returns the path of the tokens file in a data directory.
pub fn path(data_dir: &Path) -> PathBuf {
    data_files::TOKENS.path(data_dir)
}

fn file_in(data_dir: &Path) -> StateFile<TokensFile> {
    StateFile::new(path(data_dir), &FORM)
}

/// Loads all tokens of a data directory.
pub fn load(data_dir: &Path) -> Result<Vec<IssuedToken>, TokensError> {
    let file = file_in(data_dir);
    let damaged = |reason: String| TokensError::Damaged {
        path: file.path().to_owned(),
        reason,
    };
    let content = file.read().map_err(|error| match error {
        StateError::File(source) => TokensError::File {
            path: file.path().to_owned(),
            source,
        },
        StateError::Damaged(reason) => damaged(reason),
    })?;
    let Some(TokensFile { tokens }) = content else {
        return Ok(Vec::new());
    };
    if tokens.len() > TOKENS {
        return Err(TokensError::Full);
    }
    for (place, key) in tokens.iter().enumerate() {
        check_name(&key.name)?;
        if tokens[..place].iter().any(|other| other.name == key.name) {
            return Err(damaged(format!("it has two tokens {:?}", key.name)));
        }
    }
    Ok(tokens)
}

/// Creates a token, and returns its secret, which is stored nowhere.
pub fn create(
    data_dir: &Path,
    name: &str,
    role: Role,
    now: i64,
    expires_at: Option<i64>,
) -> Result<String, TokensError> {
    check_name(name)?;
    let secret = random().map_err(|source| TokensError::File {
        path: path(data_dir),
        source,
    })?;
    // The prefix identifies a leaked token to readers and to secret scanners.
    let secret = format!("acpd_{secret}");
    change(data_dir, |tokens| {
        if tokens.iter().any(|key| key.name == name) {
            return Err(TokensError::Taken(name.to_owned()));
        }
        if tokens.len() >= TOKENS {
            return Err(TokensError::Full);
        }
        tokens.push(IssuedToken::new(name, role, &secret, now, expires_at));
        Ok(())
    })?;
    Ok(secret)
}

/// Creates the token of a paired device, and returns its name. It expires with the longest session that the device can have.
pub(crate) fn pair(data_dir: &Path, device: &NewDevice, now: i64) -> Result<String, TokensError> {
    check_name(&device.name)?;
    let secret = random().map_err(|source| TokensError::File {
        path: path(data_dir),
        source,
    })?;
    let parent = device.parent.map(|(hash, _)| hash);
    let longest = now.saturating_add(SESSION_MAX_DAYS * DAY);
    let of_parent = device.parent.and_then(|(_, expires_at)| expires_at);
    let expires_at = of_parent.map_or(longest, |end| end.min(longest));
    let mut name = device.name.clone();
    change(data_dir, |tokens| {
        // Devices of the past. The clock may have leapt, so those that have just expired stay.
        let is_past = |end: i64| end.saturating_add(SESSION_MAX_DAYS * DAY) <= now;
        tokens.retain(|token| !token.paired || !token.expires_at.is_some_and(is_past));
        let is_over = |token: &&IssuedToken| token.expires_at.is_some_and(|end| end <= now);
        let of_one = tokens.iter().filter(|token| token.parent == parent);
        let of_one = of_one.filter(|token| !is_over(token)).count();
        if parent.is_some() && of_one >= PAIRED_OF_ONE {
            return Err(TokensError::Paired);
        }
        if tokens.len() >= TOKENS {
            return Err(TokensError::Full);
        }
        let is_free = |name: &String| tokens.iter().all(|token| token.name != *name);
        let numbered = (2..=TOKENS + 1).map(|number| numbered(&device.name, number));
        name = std::iter::once(device.name.clone())
            .chain(numbered)
            .find(is_free)
            .ok_or(TokensError::Full)?;
        check_name(&name)?;
        tokens.push(IssuedToken {
            paired: true,
            parent,
            ..IssuedToken::new(&name, device.role, &secret, now, Some(expires_at))
        });
        Ok(())
    })?;
    Ok(name)
}

/// Returns a name with a number behind it, which is cut so that it stays one.
fn numbered(name: &str, number: usize) -> String {
    let number = format!("-{number}");
    // It is plain ASCII.
    let room = TOKEN_NAME_BYTES.saturating_sub(number.len());
    format!("{}{number}", name.get(..room).unwrap_or(name))
}

/// Revokes a token, and those of the devices that it has paired.
pub fn revoke(data_dir: &Path, name: &str) -> Result<(), TokensError> {
    change(data_dir, |tokens| {
        let named = tokens.iter().find(|token| token.name == name);
        let mut ended = vec![named.ok_or_else(|| TokensError::Unknown(name.to_owned()))?.hash];
        while let Some(hash) = ended.pop() {
            let children = tokens.iter().filter(|token| token.parent == Some(hash));
            ended.extend(children.map(|token| token.hash));
            tokens.retain(|token| token.hash != hash);
        }
        Ok(())
    })
}

/// Lets the tokens that were created while the clock was ahead begin now. Returns all tokens.
pub(crate) fn correct(data_dir: &Path, now: i64) -> Result<Vec<IssuedToken>, TokensError> {
    change(data_dir, |tokens| {
        for token in tokens {
            if let Some(expires_at) = &mut token.expires_at {
                lifetime::correct(&mut token.created_at, expires_at, now);
            }
        }
        Ok(())
    })?;
    load(data_dir)
}

fn change(
    data_dir: &Path,
    change: impl FnOnce(&mut Vec<IssuedToken>) -> Result<(), TokensError>,
) -> Result<(), TokensError> {
    let file = file_in(data_dir);
    let fail = |source| TokensError::File {
        path: file.path().to_owned(),
        source,
    };
    let _lock = private_file::lock(file.path()).map_err(fail)?;
    let mut tokens = load(data_dir)?;
    change(&mut tokens)?;
    file.write(&TokensFile { tokens }).map_err(fail)
}

/// Restricts names to harmless characters, because they appear in logs, terminal headers and file listings.
pub(crate) fn check_name(name: &str) -> Result<(), TokensError> {
    let fits = (1..=TOKEN_NAME_BYTES).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-_@".contains(&byte));
    if fits && name != OWNER {
        Ok(())
    } else {
        Err(TokensError::Name(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_is_kept_as_a_hash_in_a_private_file() {
        let dir = tempfile::tempdir().unwrap();
        let secret = create(dir.path(), "ci", Role::Operator, 5, Some(9)).unwrap();
        assert_eq!(secret.len(), "acpd_".len() + 64);
        let text = std::fs::read_to_string(path(dir.path())).unwrap();
        assert!(!text.contains(&secret[5..]), "{text}");
        let mode = std::fs::metadata(path(dir.path())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let keys = load(dir.path()).unwrap();
        assert_eq!(keys.len(), 1);
        assert_eq!(
            (
                &keys[0].name[..],
                keys[0].role,
                keys[0].created_at,
                keys[0].expires_at
            ),
            ("ci", Role::Operator, 5, Some(9))
        );
        assert!(keys[0].hash == Hash::of(&secret) && keys[0].hash != Hash::of("x"));
    }

    #[test]
    fn the_file_is_read_and_written_in_its_form() {
        let dir = tempfile::tempdir().unwrap();
        let hash = "ab".repeat(32);
        let text = format!(
            r#"{{
  "version": 1,
  "tokens": [
    {{
      "name": "ci",
      "role": "operator",
      "hash": "{hash}",
      "createdAt": 5
    }},
    {{
      "name": "phone",
      "role": "observer",
      "hash": "{hash}",
      "createdAt": 6,
      "expiresAt": 9,
      "paired": true,
      "parent": "{hash}"
    }}
  ]
}}"#
        );
        let file = file_in(dir.path());
        file.store(text.as_bytes()).unwrap();
        let tokens = load(dir.path()).unwrap();
        assert_eq!(
            (tokens.len(), tokens[0].role, tokens[1].expires_at),
            (2, Role::Operator, Some(9))
        );
        file.write(&TokensFile { tokens }).unwrap();
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), text + "\n");
    }

    #[test]
    fn names_are_unique_and_plain() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "",
            "owner",
            "a b",
            "a/b",
            "ü",
            "\u{1b}[0m",
            &"x".repeat(TOKEN_NAME_BYTES + 1),
        ] {
            let made = create(dir.path(), name, Role::Observer, 0, None);
            assert!(matches!(made, Err(TokensError::Name(_))), "{name:?}");
        }
        create(dir.path(), "ann@box.example", Role::Observer, 0, None).unwrap();
        let again = create(dir.path(), "ann@box.example", Role::Owner, 0, None);
        assert!(matches!(again, Err(TokensError::Taken(_))));
        assert!(matches!(revoke(dir.path(), "bob"), Err(TokensError::Unknown(_))));
        revoke(dir.path(), "ann@box.example").unwrap();
        assert_eq!(load(dir.path()).unwrap(), Vec::new());
    }

    #[test]
    fn a_paired_device_has_a_name_of_its_own_and_ends_with_what_paired_it() {
        let dir = tempfile::tempdir().unwrap();
        let pair = |device: &NewDevice| super::pair(dir.path(), device, 5);
        let names = || -> Vec<String> {
            let tokens = load(dir.path()).unwrap();
            tokens.into_iter().map(|token| token.name).collect()
        };
        let phone = NewDevice::new("phone", Role::Approver);
        assert_eq!(pair(&phone).unwrap(), "phone");
        assert_eq!(pair(&phone).unwrap(), "phone-2");
        let tokens = load(dir.path()).unwrap();
        assert!(tokens[0].paired && tokens[0].role == Role::Approver);
        assert_eq!(tokens[0].expires_at, Some(5 + SESSION_MAX_DAYS * DAY));

        let secret = create(dir.path(), "ann", Role::Operator, 0, Some(9)).unwrap();
        let of_ann = phone.clone().below(Some((Hash::of(&secret), Some(9))));
        assert_eq!(pair(&of_ann).unwrap(), "phone-3");
        let tokens = load(dir.path()).unwrap();
        assert_eq!(tokens[3].expires_at, Some(9), "not longer than ann's");
        // Whatever the depth, as an edited file may have it.
        let of_device = NewDevice::new("watch", Role::Observer).below(Some((tokens[3].hash, None)));
        assert_eq!(pair(&of_device).unwrap(), "watch");
        revoke(dir.path(), "ann").unwrap();
        assert_eq!(names(), ["phone", "phone-2"]);
        revoke(dir.path(), "phone").unwrap();
        assert_eq!(names(), ["phone-2"]);
        assert!(matches!(
            pair(&NewDevice::new("a b", Role::Observer)),
            Err(TokensError::Name(_))
        ));
    }

    #[test]
    fn one_token_pairs_only_so_many_devices() {
        let dir = tempfile::tempdir().unwrap();
        let device = NewDevice::new("phone", Role::Observer).below(Some((Hash::of("ann"), None)));
        for _ in 0..PAIRED_OF_ONE {
            super::pair(dir.path(), &device, 5).unwrap();
        }
        let more = super::pair(dir.path(), &device, 5);
        assert!(matches!(more, Err(TokensError::Paired)));
        // Those that have expired make room, and stay: the clock may have leapt.
        super::pair(dir.path(), &device, 5 + SESSION_MAX_DAYS * DAY).unwrap();
        assert_eq!(load(dir.path()).unwrap().len(), PAIRED_OF_ONE + 1);
        // Those whose sessions ended long ago are gone.
        super::pair(dir.path(), &device, 5 + 2 * SESSION_MAX_DAYS * DAY).unwrap();
        assert_eq!(load(dir.path()).unwrap().len(), 2);
    }

    #[test]
    fn the_longest_name_has_room_for_a_number() {
        let dir = tempfile::tempdir().unwrap();
        for length in [TOKEN_NAME_BYTES - 1, TOKEN_NAME_BYTES] {
            let device = NewDevice::new(&"x".repeat(length), Role::Observer);
            assert_eq!(super::pair(dir.path(), &device, 5).unwrap(), device.name);
            let second = super::pair(dir.path(), &device, 5).unwrap();
            assert!(
                second.len() <= TOKEN_NAME_BYTES && second.contains("x-"),
                "{second}"
            );
        }
    }

    #[test]
    fn damaged_and_shared_token_files_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        create(dir.path(), "a", Role::Observer, 0, None).unwrap();
        let path = path(dir.path());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(load(dir.path()).unwrap_err().to_string().contains("chmod 600"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        for text in [
            "",
            "{}",
            r#"{"version":2,"tokens":[]}"#,
            r#"{"version":1,"tokens":[{"name":"a"}]}"#,
        ] {
            std::fs::write(&path, text).unwrap();
            assert!(
                matches!(load(dir.path()), Err(TokensError::Damaged { .. })),
                "{text}"
            );
        }
    }
}
