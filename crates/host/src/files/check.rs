//! Compares a regular file with a content of which only the hash and the length are known.
//!
//! After a restart, this shows whether a write was done that an earlier daemon had begun. The file is opened as for a read, and the text
//! that was compared is the one that is returned.

use std::io::Read;

use acpd_model::limits::AGENT_CALL_BYTES;
use acpd_model::{BlobId, Failure};

use super::failure::{invalid, of_io};
use super::fit::Fit;
use super::place::Place;
use super::read;

/// Returns the text of the file, if it has this hash and length and needs at most `room` bytes.
pub(super) fn written(
    place: &Place,
    path: &str,
    (hash, bytes): (BlobId, u64),
    room: u64,
) -> Result<Fit<Option<String>>, Failure> {
    if bytes > u64::from(AGENT_CALL_BYTES) {
        let long = format!("cannot be compared: {bytes} bytes, and {AGENT_CALL_BYTES} are allowed");
        return Err(invalid(path, &long));
    }
    let (file, size) = read::open(place, path)?;
    if size != bytes {
        return Ok(Fit::Done(None));
    }
    if size > room {
        return Ok(Fit::Needs(size));
    }
    // One more byte than the size, so that the end of the file is found without growing the buffer.
    let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    file.take(size + 1)
        .read_to_end(&mut content)
        .map_err(|error| of_io(path, &error))?;
    // The file may have changed since its size was read.
    let is_it = content.len() as u64 == bytes && BlobId::of(&content) == hash;
    let text = if is_it {
        String::from_utf8(content).ok()
    } else {
        None
    };
    Ok(Fit::Done(text))
}

#[cfg(test)]
mod tests {
    use acpd_model::ErrorCode;

    use super::super::{Target, Workspace};
    use super::*;

    fn checked(
        workspace: &Workspace,
        target: Target<'_>,
        content: &str,
        room: u64,
    ) -> Result<Fit<Option<String>>, Failure> {
        let hash = BlobId::of(content.as_bytes());
        workspace.written_text_within(target, hash, content.len() as u64, room)
    }

    #[test]
    fn only_the_same_content_in_the_decided_place_counts_as_written() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().canonicalize().unwrap();
        let work = root.join("w");
        std::fs::create_dir(&work).unwrap();
        std::fs::write(work.join("f"), "new").unwrap();
        std::fs::write(root.join("secret"), "new").unwrap();
        std::os::unix::fs::symlink("../secret", work.join("out")).unwrap();
        std::os::unix::fs::symlink("f", work.join("link")).unwrap();
        let workspace = Workspace::open(std::iter::once(work.clone()));
        let path = |name: &str| work.join(name).display().to_string();
        let (file, link) = (path("f"), path("link"));

        let same = checked(&workspace, (&file).into(), "new", 3);
        assert_eq!(same, Ok(Fit::Done(Some("new".to_owned()))));
        assert_eq!(checked(&workspace, (&file).into(), "new", 2), Ok(Fit::Needs(3)));
        for other in ["neW", "ne", "newer", ""] {
            assert_eq!(
                checked(&workspace, (&file).into(), other, 99),
                Ok(Fit::Done(None)),
                "{other}"
            );
        }
        // A link that took the place of the file since the decision is not followed, and no path leads out.
        let moved = Target {
            path: &link,
            at: Some(&link),
        };
        assert_eq!(
            checked(&workspace, moved, "new", 99).unwrap_err().code,
            ErrorCode::Conflict
        );
        assert!(checked(&workspace, (&path("out")).into(), "new", 99).is_err());
        assert!(checked(&workspace, (&path("none/f")).into(), "new", 99).is_err());
        assert!(!work.join("none").exists());
        assert!(checked(&workspace, (&path("")).into(), "new", 99).is_err());
    }

    #[test]
    fn a_content_that_no_request_could_have_is_not_read() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().canonicalize().unwrap();
        std::fs::write(root.join("f"), "x").unwrap();
        let workspace = Workspace::open(std::iter::once(root.clone()));
        let path = root.join("f").display().to_string();
        for bytes in [u64::MAX, u64::from(AGENT_CALL_BYTES) + 1] {
            let failure = workspace.written_text_within(&path, BlobId::of(b"x"), bytes, u64::MAX);
            assert_eq!(failure.unwrap_err().code, ErrorCode::InvalidParams);
        }
    }
}
