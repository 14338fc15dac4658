//! A list of credentials in a private file of the data directory.
//!
//! In: a file, and changes of the list. Out: the entries, and what to write. Owns: the list in the file. Never: writes by
//! itself: the task that owns the credentials does, before anyone knows of a change.
//!
//! The file is an object with the version and the list. It holds hashes of secrets only.

use std::collections::BTreeMap;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use acpd_files::{DataFile, Form, StateFile, private_file};
use serde::de::{DeserializeOwned, Error};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

/// How a list is stored.
pub(super) struct ListForm {
    /// The file.
    pub file: DataFile,
    /// The form of the file.
    pub form: Form,
    /// The name of the list in the file. Errors use it, too.
    pub list: &'static str,
    /// The number of entries that a file may have.
    pub entries: usize,
    /// What happens if the file cannot be read, as a line of the log.
    pub loss: &'static str,
}

/// An entry of a stored list.
pub(super) trait Entry: Serialize + DeserializeOwned {
    /// How the list is stored.
    const FORM: &'static ListForm;

    /// Returns the token that is cancelled when the entry ends.
    fn ends(&self) -> &CancellationToken;
}

/// Entries in the order in which they were added.
#[derive(Debug)]
pub(super) struct StoredList<T> {
    entries: Vec<T>,
    /// Whether the file on disk is outdated.
    is_changed: bool,
}

impl<T> Default for StoredList<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            is_changed: false,
        }
    }
}

impl<T> Deref for StoredList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.entries
    }
}

/// The new content of a list's file. Not printed: an entry can have an address that is a secret.
pub struct Unstored {
    file: DataFile,
    bytes: Vec<u8>,
}

impl Unstored {
    /// Returns the path of the file in a data directory.
    pub fn path(&self, data_dir: &Path) -> PathBuf {
        self.file.path(data_dir)
    }

    /// Writes the file. Blocks.
    pub fn store(&self, data_dir: &Path) -> io::Result<()> {
        private_file::replace(&self.path(data_dir), &self.bytes)
    }
}

impl<T: Entry> StoredList<T> {
    /// Loads the list of a data directory. A file that cannot be read, or has another version, is set aside: its users
    /// authenticate again, and the daemon starts.
    pub fn load(data_dir: &Path) -> Self {
        let stored = file_in::<T>(data_dir).read_or_set_aside(T::FORM.loss);
        Self {
            entries: stored.map(|Listed(entries)| entries).unwrap_or_default(),
            is_changed: false,
        }
    }

    /// Returns the new content of the file if the file on disk is outdated.
    pub fn take_unstored(&mut self) -> Option<Unstored> {
        if !std::mem::take(&mut self.is_changed) {
            return None;
        }
        let file = T::FORM.file;
        match T::FORM.form.encode(&ToList(&self.entries)) {
            Ok(bytes) => Some(Unstored { file, bytes }),
            Err(error) => {
                tracing::error!(file = file.name, %error, "the entries cannot be written");
                None
            }
        }
    }

    /// Records that what [`take_unstored`](Self::take_unstored) returned could not be written.
    pub fn not_stored(&mut self) {
        self.is_changed = true;
    }

    /// Records that what follows from the entries has changed, and has to be published as if they had.
    pub fn changed(&mut self) {
        self.is_changed = true;
    }

    /// Adds an entry, and returns it.
    pub fn push(&mut self, entry: T) -> &T {
        self.is_changed = true;
        let place = self.entries.len();
        self.entries.push(entry);
        &self.entries[place]
    }

    /// Returns the entry at this place to change it.
    pub fn change(&mut self, place: usize) -> Option<&mut T> {
        let entry = self.entries.get_mut(place)?;
        self.is_changed = true;
        Some(entry)
    }

    /// Returns the entries to change what their file does not have.
    pub fn unstored_parts(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut()
    }

    /// Ends the entry at this place.
    pub fn end_at(&mut self, place: usize) {
        self.is_changed = true;
        self.entries.remove(place).ends().cancel();
    }

    /// Ends the entries that `over` selects, and returns their number.
    pub fn end(&mut self, over: impl Fn(&T) -> bool) -> usize {
        let before = self.entries.len();
        self.entries.retain(|entry| {
            let over = over(entry);
            if over {
                entry.ends().cancel();
            }
            !over
        });
        let ended = before - self.entries.len();
        self.is_changed |= ended > 0;
        ended
    }
}

/// The content of a list's file, to be written.
struct ToList<'a, T>(&'a [T]);

impl<T: Entry> Serialize for ToList<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut file = serializer.serialize_map(Some(1))?;
        file.serialize_entry(T::FORM.list, self.0)?;
        file.end()
    }
}

/// The content of a list's file, as it was read.
struct Listed<T>(Vec<T>);

impl<'de, T: Entry> Deserialize<'de> for Listed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ListForm {
            list, entries: most, ..
        } = T::FORM;
        let members = BTreeMap::<String, Box<RawValue>>::deserialize(deserializer)?;
        let member = members.get(*list);
        let member = member.ok_or_else(|| D::Error::custom(format_args!("it has no {list}")))?;
        let entries: Vec<T> = serde_json::from_str(member.get()).map_err(D::Error::custom)?;
        if entries.len() > *most {
            return Err(D::Error::custom(format_args!("it has too many {list}")));
        }
        Ok(Self(entries))
    }
}

fn file_in<T: Entry>(data_dir: &Path) -> StateFile<Listed<T>> {
    StateFile::new(T::FORM.file.path(data_dir), &T::FORM.form)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use acpd_files::Backup;
    use acpd_model::ThreadId;

    use super::*;
    use crate::auth::sessions::Session;
    use crate::auth::shares::Share;

    #[derive(Debug, Serialize, Deserialize)]
    struct Word {
        text: String,
        #[serde(skip)]
        ends: CancellationToken,
    }

    impl Entry for Word {
        const FORM: &'static ListForm = &ListForm {
            file: DataFile {
                name: "words.json",
                content: "words",
                is_private: true,
                backup: Backup::Never,
            },
            form: Form {
                versions: &[3],
                bytes: 100,
                is_pretty: false,
                is_private: true,
            },
            list: "words",
            entries: 2,
            loss: "the words are gone",
        };

        fn ends(&self) -> &CancellationToken {
            &self.ends
        }
    }

    fn word(text: &str) -> Word {
        Word {
            text: text.to_owned(),
            ends: CancellationToken::new(),
        }
    }

    fn texts(list: &StoredList<Word>) -> Vec<&str> {
        list.iter().map(|word| &*word.text).collect()
    }

    #[test]
    fn a_list_is_read_as_it_was_written_to_a_private_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut list = StoredList::load(dir.path());
        assert!(list.take_unstored().is_none(), "an absent file is an empty list");
        assert_eq!(list.push(word("a")).text, "a");
        list.push(word("b"));
        let unstored = list.take_unstored().unwrap();
        assert_eq!(unstored.path(dir.path()), dir.path().join("words.json"));
        unstored.store(dir.path()).unwrap();
        let path = dir.path().join("words.json");
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            r#"{"version":3,"words":[{"text":"a"},{"text":"b"}]}"#
        );
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let mut again = StoredList::<Word>::load(dir.path());
        assert_eq!(texts(&again), ["a", "b"]);
        assert!(again.take_unstored().is_none());
    }

    /// Reads a file as an earlier daemon wrote it, and returns it as this one writes it.
    fn written_again<T: Entry>(text: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let file = file_in::<T>(dir.path());
        file.store(text.as_bytes()).unwrap();
        let mut list = StoredList::<T>::load(dir.path());
        list.changed();
        list.take_unstored().unwrap().store(dir.path()).unwrap();
        std::fs::read_to_string(file.path()).unwrap()
    }

    #[test]
    fn sessions_and_links_are_read_and_written_in_their_form() {
        let hash = "ab".repeat(32);
        let sessions = format!(
            r#"{{"version":2,"sessions":[{{"hash":"{hash}","pageKey":"{hash}","key":"{hash}","createdAt":5,"usedAt":6}},{{"hash":"{hash}","pageKey":"{hash}","key":"{hash}","shared":true,"createdAt":5,"usedAt":6,"name":"phone","browser":"Firefox on Linux","announcedEnd":7}}]}}"#
        );
        assert_eq!(written_again::<Session>(&sessions), sessions);
        let thread = ThreadId(uuid::Uuid::from_u128(1));
        let shares = format!(
            r#"{{"version":1,"shares":[{{"id":"a1","hash":"{hash}","thread":"{thread}","name":"for Bob","createdBy":"ann","key":"{hash}","createdAt":5,"expiresAt":6}}]}}"#
        );
        assert_eq!(written_again::<Share>(&shares), shares);
    }

    #[test]
    fn a_change_is_to_be_stored_once_unless_that_fails() {
        let mut list = StoredList::default();
        let is_unstored = |list: &mut StoredList<Word>| list.take_unstored().is_some();
        list.push(word("a"));
        assert!(is_unstored(&mut list) && !is_unstored(&mut list));
        list.not_stored();
        assert!(is_unstored(&mut list));
        assert!(list.change(1).is_none());
        list.unstored_parts()
            .for_each(|word| word.ends = CancellationToken::new());
        assert_eq!(list.end(|word| word.text == "b"), 0);
        assert!(!is_unstored(&mut list));
        "c".clone_into(&mut list.change(0).unwrap().text);
        assert!(is_unstored(&mut list));
        list.push(word("d"));
        list.take_unstored();
        list.end_at(0);
        assert!(is_unstored(&mut list));
        assert_eq!(texts(&list), ["d"]);
        assert_eq!(list.end(|word| word.text == "d"), 1);
        assert!(is_unstored(&mut list) && list.is_empty());
    }

    #[test]
    fn ended_entries_are_cancelled() {
        let mut list = StoredList::default();
        let ends = ["a", "b", "c"].map(|text| list.push(word(text)).ends.clone());
        list.end_at(0);
        assert_eq!(list.end(|word| word.text == "c"), 1);
        assert_eq!(ends.map(|ends| ends.is_cancelled()), [true, false, true]);
    }

    #[test]
    fn a_file_that_cannot_be_used_is_set_aside() {
        let dir = tempfile::tempdir().unwrap();
        let file = file_in::<Word>(dir.path());
        let path = file.path();
        let aside = dir.path().join("words.json.damaged");
        let reason = |text: &str| {
            file.store(text.as_bytes()).unwrap();
            let reason = file.read().err().map(|error| error.to_string());
            assert!(StoredList::<Word>::load(dir.path()).is_empty(), "{text}");
            assert_eq!(std::fs::read_to_string(&aside).unwrap(), text);
            assert!(!path.exists());
            reason.unwrap()
        };
        assert_eq!(
            reason(r#"{"version":2,"words":[{"other":1}]}"#),
            "its version is 2, and this acpd knows 3"
        );
        assert_eq!(reason(r#"{"words":[]}"#), "it has no version");
        assert_eq!(reason(r#"{"version":3}"#), "it has no words");
        assert_eq!(
            reason(r#"{"version":3,"words":[{"text":""},{"text":""},{"text":""}]}"#),
            "it has too many words"
        );
        for damaged in [
            "",
            "[]",
            "{}",
            r#"{"version":"3","words":[]}"#,
            r#"{"version":3,"words":[{}]}"#,
            &format!(r#"{{"version":3,"words":[]}}{}"#, " ".repeat(100)),
        ] {
            assert!(!reason(damaged).is_empty());
        }
        let whole = r#"{"version":3,"words":[{"text":"a"}],"more":1}"#;
        file.store(whole.as_bytes()).unwrap();
        assert_eq!(texts(&StoredList::load(dir.path())), ["a"]);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(StoredList::<Word>::load(dir.path()).is_empty());
    }
}
