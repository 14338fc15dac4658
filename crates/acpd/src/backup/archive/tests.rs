//! Archives as acpd writes them, and as others might.

use acpd_log::backup::{LogContents, log_version};

use super::*;

const CONTENTS: LogContents = LogContents {
    version: 1,
    threads: 7,
};

/// Returns a backup as acpd writes it.
fn written() -> Vec<u8> {
    let files = vec![
        (LOG, Content::Bytes(b"the log".to_vec())),
        ("answers.json", Content::Bytes(b"{}".to_vec())),
    ];
    let mut bytes = Vec::new();
    write(&mut bytes, CONTENTS, files).unwrap();
    bytes
}

/// Returns a backup with this description and these entries.
fn forged(description: &serde_json::Value, entries: &[(EntryType, &str, &[u8])]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    let text = description.to_string();
    builder
        .append(
            &header(DESCRIPTION, text.len() as u64, 0).unwrap(),
            text.as_bytes(),
        )
        .unwrap();
    for (kind, name, content) in entries {
        let mut header = header("x", content.len() as u64, 0).unwrap();
        // `set_path` refuses what an attacker would write.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        if !kind.is_file() {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        builder.append(&header, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

/// Returns a description of these files.
fn described(files: &[(&str, &[u8])]) -> serde_json::Value {
    let files: Vec<_> = files
        .iter()
        .map(|(name, content)| {
            serde_json::json!({ "name": name, "bytes": content.len(), "sha256": hex(&Sha256::digest(content)) })
        })
        .collect();
    serde_json::json!({
        "format": 1, "acpd": "9.9", "createdAt": 0, "logVersion": 1, "threads": 0, "files": files,
    })
}

/// Reads a backup; returns the names and contents, or the refusal.
fn opened(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    struct Into<'a>(&'a std::cell::RefCell<Vec<(String, Vec<u8>)>>);
    impl Write for Into<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().last_mut().unwrap().1.extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let found = std::cell::RefCell::new(Vec::new());
    let place = |name: &str| {
        found.borrow_mut().push((name.to_owned(), Vec::new()));
        Ok(Into(&found))
    };
    read(bytes, |_| Ok(()), place).map_err(|error| format!("{error:#}"))?;
    Ok(found.into_inner())
}

fn refusal(bytes: &[u8]) -> String {
    opened(bytes).unwrap_err()
}

#[test]
fn archives_are_read_as_written() {
    let read = opened(&written()).unwrap();
    assert_eq!(
        read,
        [
            (LOG.to_owned(), b"the log".to_vec()),
            ("answers.json".to_owned(), b"{}".to_vec())
        ]
    );
}

#[test]
fn a_cut_or_changed_archive_is_refused() {
    let whole = written();
    // The last two blocks are the end of the archive, and hold nothing.
    for length in 0..whole.len() - 2 * 512 {
        // Bytes that fill a block hold nothing either.
        if let Ok(read) = opened(&whole[..length]) {
            assert_eq!(read, opened(&whole).unwrap(), "{length}");
            assert!(length > whole.len() - 3 * 512, "{length}");
        }
    }
    let at = whole.windows(7).position(|part| part == b"the log").unwrap();
    let mut changed = whole.clone();
    changed[at] ^= 1;
    let refusal = refusal(&changed);
    assert!(refusal.contains("checksum of \"log.db\""), "{refusal}");
}

#[test]
fn files_other_than_backups_are_refused() {
    for bytes in [&b""[..], b"no archive", &[0; 4096], &[0xff; 4096]] {
        let refusal = refusal(bytes);
        assert!(
            refusal.contains("not a backup of acpd") || refusal.contains("ends before"),
            "{refusal}"
        );
    }
}

#[test]
fn newer_backups_are_refused_with_the_version() {
    let mut newer = described(&[(LOG, b"x")]);
    newer["format"] = 2.into();
    let refused = refusal(&forged(&newer, &[]));
    assert!(
        refused.contains("newer acpd (\"9.9\")") && refused.contains("format 2"),
        "{refused}"
    );
    let mut newer = described(&[(LOG, b"x")]);
    newer["logVersion"] = (log_version() + 1).into();
    let refused = refusal(&forged(&newer, &[]));
    assert!(refused.contains("its log was made by a newer acpd"), "{refused}");
}

#[test]
fn no_entry_leads_out_of_the_directory() {
    for name in [
        "../token",
        "/etc/passwd",
        "./log.db",
        "daemon.json",
        "sub/log.db",
        "",
    ] {
        let refused = refusal(&forged(
            &described(&[(LOG, b"x"), (name, b"y")]),
            &[(EntryType::Regular, LOG, b"x"), (EntryType::Regular, name, b"y")],
        ));
        assert!(refused.contains("unknown file"), "{name}: {refused}");
        let refused = refusal(&forged(
            &described(&[(LOG, b"x")]),
            &[(EntryType::Regular, name, b"x")],
        ));
        assert!(refused.contains("another entry"), "{name}: {refused}");
    }
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Fifo,
        EntryType::Directory,
        EntryType::GNULongName,
        EntryType::XHeader,
        EntryType::GNUSparse,
    ] {
        let refused = refusal(&forged(&described(&[(LOG, b"x")]), &[(kind, LOG, b"x")]));
        assert!(refused.contains("another entry"), "{kind:?}: {refused}");
    }
}

#[test]
fn sizes_are_those_of_the_description() {
    let refused = refusal(&forged(
        &described(&[(LOG, b"x")]),
        &[(EntryType::Regular, LOG, b"xy")],
    ));
    assert!(refused.contains("another size"), "{refused}");
    let mut large = described(&[(LOG, b"x"), ("token", b"y")]);
    large["files"][1]["bytes"] = (BACKUP_FILE_BYTES + 1).into();
    let refused = refusal(&forged(&large, &[]));
    assert!(refused.contains("too large"), "{refused}");
    let mut wordy = described(&[(LOG, b"x")]);
    wordy["acpd"] = "9"
        .repeat(usize::try_from(BACKUP_DESCRIPTION_BYTES).unwrap())
        .into();
    let refused = refusal(&forged(&wordy, &[]));
    assert!(refused.contains("description is too large"), "{refused}");
    for files in [&[("token", &b"y"[..])][..], &[(LOG, b"x"), (LOG, b"x")]] {
        let refused = refusal(&forged(&described(files), &[]));
        assert!(
            refused.contains("no log") || refused.contains("two files"),
            "{refused}"
        );
    }
}
