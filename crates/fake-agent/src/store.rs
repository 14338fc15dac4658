//! All sessions of this process, its sign-in state, and the files of persistent sessions.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::clock;
use crate::session::{Session, Shared, lock};
use crate::session_file;

/// The sessions of this process and of its state directory.
#[derive(Debug)]
pub struct Store {
    dir: Option<PathBuf>,
    sessions: BTreeMap<String, Shared>,
    /// The locks of sessions, by their ids. They end with the process.
    locks: BTreeMap<String, File>,
    made: u64,
    prefix: String,
    signed_in: bool,
}

impl Store {
    /// Opens a store; creates the directory if it does not exist.
    pub fn open(dir: Option<PathBuf>) -> Result<Self, String> {
        if let Some(dir) = &dir {
            std::fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        }
        // The pid alone is not unique: in a container it is always the same.
        let start = clock::nanos() / 1_000_000;
        let prefix = format!("fake-{}-{start:x}", std::process::id());
        Ok(Self {
            dir,
            sessions: BTreeMap::new(),
            locks: BTreeMap::new(),
            made: 0,
            prefix,
            signed_in: false,
        })
    }

    /// Returns whether the user has signed in, in this process or in another one with the same directory.
    pub fn signed_in(&self) -> bool {
        self.sign().map_or(self.signed_in, |file| file.exists())
    }

    /// Signs in or out. Reports a write failure on stderr.
    pub fn sign_in(&mut self, signed_in: bool) {
        self.signed_in = signed_in;
        let Some(file) = self.sign() else {
            return;
        };
        let done = if signed_in {
            std::fs::write(&file, "")
        } else if file.exists() {
            std::fs::remove_file(&file)
        } else {
            Ok(())
        };
        if let Err(error) = done {
            eprintln!("fake-agent: {}: {error}", file.display());
        }
    }

    /// Refreshes the sign-in, which takes that long. Returns false if another process with the same directory does so.
    pub fn refresh(&self, takes: Duration) -> bool {
        let Some(dir) = &self.dir else { return true };
        let lock = dir.join("refreshing");
        if std::fs::create_dir(&lock).is_err() {
            return false;
        }
        std::thread::sleep(takes);
        if let Err(error) = std::fs::remove_dir(&lock) {
            eprintln!("fake-agent: {}: {error}", lock.display());
        }
        true
    }

    /// Returns the path of the file that exists while the user is signed in.
    fn sign(&self) -> Option<PathBuf> {
        self.dir.as_ref().map(|dir| dir.join("signed-in"))
    }

    /// Creates a session.
    pub fn create(&mut self, cwd: String) -> Shared {
        self.made += 1;
        let session = Session::new(format!("{}-{}", self.prefix, self.made), cwd);
        self.save(&session);
        self.keep(session)
    }

    /// Returns a session that accepts prompts.
    pub fn active(&self, id: &str) -> Option<Shared> {
        self.sessions
            .get(id)
            .filter(|session| lock(session).open)
            .cloned()
    }

    /// Returns a session of this or another process, open or closed.
    pub fn find(&mut self, id: &str) -> Option<Shared> {
        if let Some(session) = self.sessions.get(id) {
            return Some(session.clone());
        }
        let session = read(&self.file(id)?)?;
        Some(self.keep(session))
    }

    /// Locks a session for this process. Returns `false` if another process with the same directory has it.
    pub fn lock(&mut self, id: &str) -> bool {
        if self.locks.contains_key(id) {
            return true;
        }
        let Some(path) = self.file(id).map(|file| file.with_extension("lock")) else {
            return true;
        };
        match File::create(&path) {
            Ok(file) => {
                let is_free = file.try_lock().is_ok();
                if is_free {
                    self.locks.insert(id.to_owned(), file);
                }
                is_free
            }
            Err(error) => {
                eprintln!("fake-agent: {}: {error}", path.display());
                false
            }
        }
    }

    /// Deletes a session; returns `false` if it does not exist.
    pub fn delete(&mut self, id: &str) -> bool {
        let known = self.sessions.remove(id).is_some();
        let removed = self
            .file(id)
            .is_some_and(|file| std::fs::remove_file(file).is_ok());
        known || removed
    }

    /// Returns all sessions, sorted by id.
    pub fn list(&mut self) -> Vec<Shared> {
        if let Some(dir) = &self.dir {
            let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
            for session in files.filter_map(|file| read(&file.path())) {
                if !self.sessions.contains_key(&session.id) {
                    self.sessions
                        .insert(session.id.clone(), Arc::new(Mutex::new(session)));
                }
            }
        }
        self.sessions.values().cloned().collect()
    }

    /// Writes a session's file, if there is a directory. Reports a failure on stderr, not to the client.
    pub fn save(&self, session: &Session) {
        let Some(file) = self.file(&session.id) else {
            return;
        };
        let part = file.with_extension("part");
        let written = std::fs::write(&part, session_file::write(session).to_string())
            .and_then(|()| std::fs::rename(&part, &file));
        if let Err(error) = written {
            eprintln!("fake-agent: {}: {error}", file.display());
        }
    }

    fn keep(&mut self, session: Session) -> Shared {
        let id = session.id.clone();
        let session = Arc::new(Mutex::new(session));
        self.sessions.insert(id, session.clone());
        session
    }

    /// Returns the path of a session's file; `None` for an unsafe id, since ids come from the client.
    fn file(&self, id: &str) -> Option<PathBuf> {
        let plain = !id.is_empty()
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        self.dir
            .as_ref()
            .filter(|_| plain)
            .map(|dir| dir.join(format!("{id}.json")))
    }
}

fn read(file: &Path) -> Option<Session> {
    if file.extension()? != "json" {
        return None;
    }
    let value: Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    session_file::read(&value)
}
