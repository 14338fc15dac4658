//! The small files of a data directory, and what backups and checks do with each.

/// A file of a data directory.
#[derive(Debug, Clone, Copy)]
pub struct DataFile {
    pub name: &'static str,
    /// Whether the daemon refuses to use it if other users can.
    pub is_private: bool,
    pub backup: Backup,
}

/// Which backups have a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backup {
    Always,
    /// Those with secrets: other programs can use the daemon with the file, or pose as it.
    WithSecrets,
    /// The file describes a state that a restored log does not have.
    Never,
}

/// All files but the log, its parts, sockets and locks.
pub const DATA_FILES: [DataFile; 12] = [
    private("answers.json", Backup::Always),
    private("seen.json", Backup::Always),
    private("notifications.json", Backup::Never),
    private("retention.json", Backup::Never),
    private("port", Backup::Never),
    private("token", Backup::WithSecrets),
    private("tokens.json", Backup::WithSecrets),
    private("sessions.json", Backup::WithSecrets),
    private("shares.json", Backup::WithSecrets),
    private("push.key", Backup::WithSecrets),
    private("tls-key.pem", Backup::WithSecrets),
    DataFile {
        name: "tls-cert.pem",
        is_private: false,
        backup: Backup::WithSecrets,
    },
];

const fn private(name: &'static str, backup: Backup) -> DataFile {
    DataFile {
        name,
        is_private: true,
        backup,
    }
}

/// Returns which backups have the file with this name; `None` if no file has it.
pub fn backup_of(name: &str) -> Option<Backup> {
    DATA_FILES
        .iter()
        .find(|file| file.name == name)
        .map(|file| file.backup)
}
