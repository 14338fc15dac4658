//! The file that stores waiting notifications.

use std::path::Path;

use acpd_files::data_files::NOTIFICATIONS;
use acpd_files::{Form, StateFile};
use acpd_proto::notify::OutboxRecord;

/// Bytes of the file that stores waiting notifications.
const NOTIFICATIONS_FILE_BYTES: u64 = 4 << 20;
const FORM: Form = Form {
    versions: &[1],
    bytes: NOTIFICATIONS_FILE_BYTES,
    is_pretty: false,
    is_private: true,
};

/// Returns the file in a data directory.
pub fn file_in(data_dir: &Path) -> StateFile<OutboxRecord> {
    StateFile::new(NOTIFICATIONS.path(data_dir), &FORM)
}

/// Replaces the file, or removes it.
pub fn write(file: &StateFile<OutboxRecord>, record: Option<&OutboxRecord>) -> std::io::Result<()> {
    match record {
        Some(record) => file.write(record),
        None => file.remove(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_and_written_in_its_form() {
        let dir = tempfile::tempdir().unwrap();
        let file = file_in(dir.path());
        let thread = acpd_model::ThreadId(uuid::Uuid::from_u128(1));
        let text = format!(
            r#"{{"version":1,"since":5,"threads":{{"{thread}":{{"seq":6,"at":7}}}},"waiting":[{{"target":"phone","thread":"{thread}","kind":"done","turn":"turn_1","seq":6,"at":7}}]}}"#
        );
        file.store(text.as_bytes()).unwrap();
        let record = file.read().unwrap().unwrap();
        assert_eq!((record.since, record.waiting.len()), (5, 1));
        write(&file, Some(&record)).unwrap();
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), text);
        write(&file, None).unwrap();
        write(&file, None).unwrap();
        assert!(!file.path().exists());
    }
}
