//! The small files of a data directory: what each is, and what backups and checks do with it.
//!
//! Every module that reads or writes one takes its name from here. The lists in `docs/security.md` and `docs/data.md` have the same
//! files; tests compare them.

use std::path::{Path, PathBuf};

/// A file of a data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataFile {
    /// The name of the file in the data directory.
    pub name: &'static str,
    /// What is in it.
    pub content: &'static str,
    /// Whether only the daemon's user may read it. The daemon does not use such a file if other users can.
    pub is_private: bool,
    /// Which backups have it.
    pub backup: Backup,
}

/// Which backups have a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backup {
    /// All.
    Always,
    /// Those with secrets: other programs can use the daemon with the file, or pose as it.
    WithSecrets,
    /// None. The file describes a state that a restored log does not have.
    Never,
}

/// The owner's token.
pub const TOKEN: DataFile = private("token", "the owner's token", Backup::WithSecrets);

/// The tokens that the owner has issued.
pub const TOKENS: DataFile = private("tokens.json", "hashes of the other tokens", Backup::WithSecrets);

/// The sessions of browsers.
pub const SESSIONS: DataFile = private(
    "sessions.json",
    "hashes of signed-in browsers, and where their notifications go",
    Backup::WithSecrets,
);

/// The links that share threads.
pub const SHARES: DataFile = private(
    "shares.json",
    "hashes of links that share a thread",
    Backup::WithSecrets,
);

/// The answers that agents' threads remember together.
pub const ANSWERS: DataFile = private("answers.json", "remembered answers of agents", Backup::Always);

/// What users have read.
pub const SEEN: DataFile = private(
    "seen.json",
    "which threads each user has read, and when each was last here",
    Backup::Always,
);

/// The notifications that wait.
pub const NOTIFICATIONS: DataFile = private(
    "notifications.json",
    "which notifications still have to be sent",
    Backup::Never,
);

/// What retention knows of the time.
pub const RETENTION: DataFile = private(
    "retention.json",
    "the time of the last look of retention",
    Backup::Never,
);

/// The port of the last start.
pub const PORT: DataFile = private("port", "the daemon's port", Backup::Never);

/// The key for push services.
pub const PUSH_KEY: DataFile = private(
    "push.key",
    "the key to which browsers bind their notifications",
    Backup::WithSecrets,
);

/// The key of the self-signed certificate.
pub const TLS_KEY: DataFile = private(
    "tls-key.pem",
    "the key of the self-signed certificate",
    Backup::WithSecrets,
);

/// The self-signed certificate.
pub const TLS_CERT: DataFile = DataFile {
    name: "tls-cert.pem",
    content: "the self-signed certificate",
    is_private: false,
    backup: Backup::WithSecrets,
};

/// The notice of the running daemon.
pub const DAEMON: DataFile = DataFile {
    name: "daemon.json",
    content: "the address of the running daemon",
    is_private: false,
    backup: Backup::Never,
};

/// The registry of agents, if it was fetched.
pub const REGISTRY: DataFile = DataFile {
    name: "registry.json",
    content: "the fetched registry of agents",
    is_private: false,
    backup: Backup::Never,
};

/// All files but the log, its parts, output, sockets and locks.
pub const DATA_FILES: [DataFile; 14] = [
    TOKEN,
    TOKENS,
    SESSIONS,
    SHARES,
    ANSWERS,
    SEEN,
    NOTIFICATIONS,
    RETENTION,
    PORT,
    PUSH_KEY,
    TLS_KEY,
    TLS_CERT,
    DAEMON,
    REGISTRY,
];

const fn private(name: &'static str, content: &'static str, backup: Backup) -> DataFile {
    DataFile {
        name,
        content,
        is_private: true,
        backup,
    }
}

impl DataFile {
    /// Returns the path of the file in a data directory.
    pub fn path(&self, data_dir: &Path) -> PathBuf {
        data_dir.join(self.name)
    }
}

/// Returns which backups have the file with this name; `None` if no file has it.
pub fn backup_of(name: &str) -> Option<Backup> {
    DATA_FILES
        .iter()
        .find(|file| file.name == name)
        .map(|file| file.backup)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the texts in backquotes.
    fn quoted(text: &str) -> Vec<&str> {
        text.split('`').skip(1).step_by(2).collect()
    }

    #[test]
    fn the_page_about_security_lists_the_private_files() {
        let page = include_str!("../../../docs/security.md");
        let (list, _) = page
            .split_once(" have mode 0600 or less")
            .expect("it says which files have the mode");
        let (_, list) = list.rsplit_once("\n- ").expect("it is an item of a list");
        let private = DATA_FILES.iter().filter(|file| file.is_private);
        assert_eq!(quoted(list), private.map(|file| file.name).collect::<Vec<_>>());
    }

    #[test]
    fn the_page_about_data_says_what_each_file_is() {
        let page = include_str!("../../../docs/data.md");
        // A row may be about several files, and say more about them.
        let rows: Vec<(Vec<&str>, &str)> = page
            .lines()
            .filter_map(|line| {
                let mut cells = line.strip_prefix('|')?.split('|');
                Some((quoted(cells.next()?), cells.next()?))
            })
            .collect();
        for file in DATA_FILES {
            let row = rows.iter().find(|(names, _)| names.contains(&file.name));
            let Some((_, content)) = row else {
                panic!("no row is about {}", file.name)
            };
            let plain = without_links(content);
            assert!(plain.contains(file.content), "{}: {plain}", file.name);
        }
    }

    /// Returns a text of a page with the words of its links only.
    fn without_links(text: &str) -> String {
        let mut parts = text.split("](");
        let mut plain = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            plain.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
        }
        plain.replace('[', "")
    }

    #[test]
    fn names_are_unique_and_secrets_are_private() {
        for (place, file) in DATA_FILES.iter().enumerate() {
            assert_eq!(backup_of(file.name), Some(file.backup));
            assert!(DATA_FILES[..place].iter().all(|other| other.name != file.name));
            assert!(
                file.is_private || file.backup != Backup::WithSecrets || *file == TLS_CERT,
                "{}",
                file.name
            );
        }
        assert_eq!(backup_of("log.db"), None);
        assert_eq!(ANSWERS.path(Path::new("/d")), Path::new("/d/answers.json"));
    }
}
