//! All sessions of this process and its sign-in, and the files of those that are to outlive it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::clock;
use crate::session::{Session, Shared, lock};

/// The sessions that this process knows.
#[derive(Debug)]
pub struct Store {
    dir: Option<PathBuf>,
    sessions: BTreeMap<String, Shared>,
    made: u64,
    prefix: String,
    signed_in: bool,
}

impl Store {
    /// With the directory for files, which is made if need be.
    pub fn open(dir: Option<PathBuf>) -> Result<Self, String> {
        if let Some(dir) = &dir {
            std::fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        }
        // The pid alone comes again in a container, where it is always the same.
        let start = clock::nanos() / 1_000_000;
        let prefix = format!("fake-{}-{start:x}", std::process::id());
        Ok(Self {
            dir,
            sessions: BTreeMap::new(),
            made: 0,
            prefix,
            signed_in: false,
        })
    }

    /// Whether somebody has signed in, here or in another process with the same directory.
    pub fn signed_in(&self) -> bool {
        self.sign().map_or(self.signed_in, |file| file.exists())
    }

    /// Signs in or out. A failure to write is told on stderr.
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

    /// The file that is there while somebody is signed in.
    fn sign(&self) -> Option<PathBuf> {
        self.dir.as_ref().map(|dir| dir.join("signed-in"))
    }

    /// Makes a session.
    pub fn create(&mut self, cwd: String) -> Shared {
        self.made += 1;
        let session = Session::new(format!("{}-{}", self.prefix, self.made), cwd);
        self.save(&session);
        self.keep(session)
    }

    /// A session that takes prompts.
    pub fn active(&self, id: &str) -> Option<Shared> {
        self.sessions
            .get(id)
            .filter(|session| lock(session).open)
            .cloned()
    }

    /// A session that was made once, here or by another process, open or not.
    pub fn find(&mut self, id: &str) -> Option<Shared> {
        if let Some(session) = self.sessions.get(id) {
            return Some(session.clone());
        }
        let session = read(&self.file(id)?)?;
        Some(self.keep(session))
    }

    /// Forgets a session. False if there is none.
    pub fn delete(&mut self, id: &str) -> bool {
        let known = self.sessions.remove(id).is_some();
        let removed = self
            .file(id)
            .is_some_and(|file| std::fs::remove_file(file).is_ok());
        known || removed
    }

    /// Every session, by id.
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

    /// Writes a session's file, if there is a directory. A failure is told on stderr and is not the client's.
    pub fn save(&self, session: &Session) {
        let Some(file) = self.file(&session.id) else {
            return;
        };
        let part = file.with_extension("part");
        let written =
            std::fs::write(&part, session.to_json().to_string()).and_then(|()| std::fs::rename(&part, &file));
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

    /// The file of a session. An id that is no plain name has none: it comes from the wire.
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
    Session::from_json(&value)
}
