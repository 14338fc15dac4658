//! Small files with a part of the daemon's state: JSON with a version, read and replaced as a whole.
//!
//! In: a file, and its form. Out: its content. Owns: the member `version`. Never: reads more than the form permits, or removes a file that
//! it cannot read: it stays where it is, or is set aside.

use std::fmt;
use std::fs::remove_file;
use std::io::{self, ErrorKind};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::de::value::MapDeserializer;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{private_file, sync_names};

/// Ends the name of a file that was set aside.
const ASIDE: &str = ".damaged";

/// The form of a file.
#[derive(Debug)]
pub struct Form {
    /// The versions that this release reads, oldest first. It writes the last one. Empty for a file without a version.
    pub versions: &'static [u32],
    /// The size that a file may have, in bytes.
    pub bytes: u64,
    /// Whether people may read or correct the file, so that each member has a line.
    pub is_pretty: bool,
    /// Whether a file that belongs to another user, or that other users can use, is refused. It is written with mode 0600 in any case.
    pub is_private: bool,
}

/// A file with a `T`.
pub struct StateFile<T> {
    path: PathBuf,
    form: &'static Form,
    content: PhantomData<fn(T) -> T>,
}

/// The reason why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// It cannot be read, or is not private.
    #[error(transparent)]
    File(#[from] io::Error),
    /// It has no content of its form.
    #[error("{0}")]
    Damaged(String),
}

impl<T> Clone for StateFile<T> {
    fn clone(&self) -> Self {
        Self {
            path: self.path.clone(),
            ..*self
        }
    }
}

impl<T> fmt::Debug for StateFile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StateFile").field(&self.path).finish()
    }
}

impl<T> StateFile<T> {
    /// Names the file at a path, which need not exist.
    pub fn new(path: PathBuf, form: &'static Form) -> Self {
        Self {
            path,
            form,
            content: PhantomData,
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file by what [`Form::encode`] has returned. When this returns success, it survives a power failure. Blocks.
    pub fn store(&self, bytes: &[u8]) -> io::Result<()> {
        private_file::replace(&self.path, bytes)
    }

    /// Removes the file, if it exists. Blocks.
    pub fn remove(&self) -> io::Result<()> {
        match remove_file(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Moves the file to another name, where it replaces an earlier one. Returns the path.
    fn set_aside(&self) -> io::Result<PathBuf> {
        let mut name = self.path.as_os_str().to_owned();
        name.push(ASIDE);
        let aside = PathBuf::from(name);
        private_file::close(&self.path)?;
        std::fs::rename(&self.path, &aside)?;
        sync_names(&self.path)?;
        Ok(aside)
    }
}

impl<T: DeserializeOwned> StateFile<T> {
    /// Reads the file; returns `None` if there is none. A file that cannot be used stays as it is. Blocks.
    pub fn read(&self) -> Result<Option<T>, StateError> {
        let read = if self.form.is_private {
            private_file::read
        } else {
            private_file::read_unchecked
        };
        match read(&self.path, self.form.bytes)? {
            Some(bytes) => self.decode(&bytes).map(Some),
            None => Ok(None),
        }
    }

    /// Reads the file; returns `None` if there is none. For state that the daemon can begin anew: a file that cannot be used is set aside,
    /// and `loss` is logged, which says what that means for users. Blocks.
    pub fn read_or_set_aside(&self, loss: &str) -> Option<T> {
        let error = match self.read() {
            Ok(content) => return content,
            Err(error) => error,
        };
        let path = self.path.display();
        match self.set_aside() {
            Ok(aside) => {
                tracing::warn!(%path, %error, aside = %aside.display(), "{loss}; the file is kept under another name");
            }
            Err(failure) => {
                tracing::warn!(%path, %error, %failure, "{loss}; the file could not be kept under another name");
            }
        }
        None
    }

    fn decode(&self, bytes: &[u8]) -> Result<T, StateError> {
        let damaged = |error: serde_json::Error| StateError::Damaged(error.to_string());
        let versions = self.form.versions;
        let Some(newest) = versions.last() else {
            return acpd_model::json::from_bytes(bytes).map_err(damaged);
        };
        let Members(mut members) = acpd_model::json::from_bytes(bytes).map_err(damaged)?;
        let place = members.iter().position(|(name, _)| name == "version");
        let (_, version) =
            members.remove(place.ok_or_else(|| StateError::Damaged("it has no version".to_owned()))?);
        let version = u32::deserialize(version).map_err(damaged)?;
        // What another version has is not parsed: the version is the reason to name.
        if !versions.contains(&version) {
            return Err(StateError::Damaged(format!(
                "its version is {version}, and this acpd knows {newest}"
            )));
        }
        T::deserialize(MapDeserializer::new(members.into_iter())).map_err(damaged)
    }
}

impl<T: Serialize> StateFile<T> {
    /// Replaces the file. When this returns success, it survives a power failure. Blocks.
    pub fn write(&self, content: &T) -> io::Result<()> {
        self.store(&self.form.encode(content)?)
    }
}

impl Form {
    /// Returns a file of this form for [`StateFile::store`]. Fails with [`ErrorKind::FileTooLarge`] if it could not be read again.
    pub fn encode<T: Serialize>(&self, content: &T) -> io::Result<Vec<u8>> {
        let file = Versioned {
            version: self.versions.last().copied(),
            content,
        };
        let bytes = if self.is_pretty {
            let mut text = serde_json::to_vec_pretty(&file)?;
            text.push(b'\n');
            text
        } else {
            serde_json::to_vec(&file)?
        };
        if bytes.len() as u64 > self.bytes {
            let message = format!(
                "it would be too large: it has {} bytes, and {} are allowed",
                bytes.len(),
                self.bytes
            );
            return Err(io::Error::new(ErrorKind::FileTooLarge, message));
        }
        Ok(bytes)
    }
}

#[derive(Serialize)]
struct Versioned<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    #[serde(flatten)]
    content: &'a T,
}

/// The members of an object, as they are in the file. A content that denies unknown members need not know the version.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Object).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const FORM: Form = Form {
        versions: &[2, 3],
        bytes: 100,
        is_pretty: false,
        is_private: true,
    };

    const WITHOUT_VERSION: Form = Form {
        versions: &[],
        bytes: 100,
        is_pretty: true,
        is_private: false,
    };

    #[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Words {
        words: Vec<String>,
    }

    struct Scene {
        dir: tempfile::TempDir,
        file: StateFile<Words>,
    }

    impl Scene {
        fn new(form: &'static Form) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let file = StateFile::new(dir.path().join("words.json"), form);
            Self { dir, file }
        }

        fn put(&self, text: &str) {
            self.file.store(text.as_bytes()).unwrap();
        }

        fn names(&self) -> Vec<String> {
            let entries = self.dir.path().read_dir().unwrap();
            entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect()
        }
    }

    fn words(words: &[&str]) -> Words {
        Words {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
        }
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let scene = Scene::new(&FORM);
        let file = &scene.file;
        assert_eq!(file.read().unwrap(), None);
        file.write(&words(&["a"])).unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert_eq!(text, r#"{"version":3,"words":["a"]}"#);
        assert_eq!(file.read().unwrap(), Some(words(&["a"])));
        let mode = file.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        scene.put("{ \"words\": [\"b\"],\n  \"version\": 2 }\n");
        assert_eq!(file.clone().read().unwrap(), Some(words(&["b"])));
        file.remove().unwrap();
        file.remove().unwrap();
        assert_eq!(scene.names(), [""; 0]);

        let scene = Scene::new(&WITHOUT_VERSION);
        scene.file.write(&words(&[])).unwrap();
        let text = std::fs::read_to_string(scene.file.path()).unwrap();
        assert_eq!(text, "{\n  \"words\": []\n}\n");
        std::fs::set_permissions(scene.file.path(), Permissions::from_mode(0o644)).unwrap();
        assert_eq!(scene.file.read().unwrap(), Some(words(&[])));
        scene.file.write(&words(&[])).unwrap();
        let mode = scene.file.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_could_not_be_read_again_is_not_written() {
        let scene = Scene::new(&FORM);
        scene.file.write(&words(&["a"])).unwrap();
        let refused = scene.file.write(&words(&[&"b".repeat(80)])).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::FileTooLarge);
        assert_eq!(scene.file.read().unwrap(), Some(words(&["a"])));
    }

    #[test]
    fn a_damaged_file_is_refused_and_stays() {
        let scene = Scene::new(&FORM);
        let reason = |text: &str| {
            scene.put(text);
            let error = scene.file.read().unwrap_err();
            assert_eq!(std::fs::read_to_string(scene.file.path()).unwrap(), text);
            error.to_string()
        };
        let newer = r#"{"version":4,"words":{"other":1}}"#;
        assert_eq!(reason(newer), "its version is 4, and this acpd knows 3");
        assert_eq!(reason(r#"{"words":[]}"#), "it has no version");
        for damaged in [
            "",
            "[]",
            "{}",
            "null",
            "\u{0}",
            r#"{"version":"3","words":[]}"#,
            r#"{"version":3}"#,
            r#"{"version":3,"version":3,"words":[]}"#,
            r#"{"version":3,"words":[],"words":[]}"#,
            r#"{"version":3,"words":[],"more":1}"#,
            r#"{"version":3,"words":[]} {}"#,
            &format!(r#"{{"version":3,"words":[]}}{}"#, " ".repeat(100)),
        ] {
            assert!(!reason(damaged).is_empty(), "{damaged}");
        }
        scene.put(r#"{"version":3,"words":[]}"#);
        std::fs::set_permissions(scene.file.path(), Permissions::from_mode(0o644)).unwrap();
        let open = scene.file.read().unwrap_err();
        assert!(matches!(open, StateError::File(_)) && open.to_string().contains("chmod 600"));
        assert_eq!(scene.names(), ["words.json"]);
    }

    #[test]
    fn a_file_that_can_be_begun_anew_is_set_aside() {
        let scene = Scene::new(&FORM);
        let read = || scene.file.read_or_set_aside("the words are gone");
        let aside = scene.dir.path().join("words.json.damaged");
        assert_eq!(read(), None);
        assert_eq!(scene.names(), [""; 0]);
        // The newest is kept, and closed to other users.
        for text in ["old", "damaged"] {
            scene.put(text);
            std::fs::set_permissions(scene.file.path(), Permissions::from_mode(0o644)).unwrap();
            assert_eq!(read(), None);
            assert_eq!(scene.names(), ["words.json.damaged"]);
            assert_eq!(std::fs::read_to_string(&aside).unwrap(), text);
            let mode = aside.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        scene.file.write(&words(&["a"])).unwrap();
        assert_eq!(read(), Some(words(&["a"])));
        // What cannot be moved does not keep the daemon from starting either.
        std::fs::remove_file(&aside).unwrap();
        std::fs::create_dir_all(aside.join("folder")).unwrap();
        scene.put("damaged");
        assert_eq!(read(), None);
        assert!(scene.file.path().exists());
    }
}
