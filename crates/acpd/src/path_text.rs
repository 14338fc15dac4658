//! Paths as the text that the daemon accepts.
//!
//! In: a path. Out: its text. Never: replaces a part of it, which would name another directory.

use std::path::Path;

use crate::exit::Exit;

/// Returns the text of a directory's path.
pub fn path_text(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        Exit::Usage.error(format!(
            "{} is not valid UTF-8: rename the directory, since the daemon accepts only text",
            path.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn a_directory_that_is_no_text_is_named() {
        assert_eq!(path_text(Path::new("/ä")).unwrap(), "/ä");
        let error = path_text(Path::new(OsStr::from_bytes(b"/a\xff"))).unwrap_err();
        assert_eq!(Exit::of(&error), Exit::Usage);
        assert!(
            error.to_string().starts_with("/a\u{fffd} is not valid"),
            "{error}"
        );
    }
}
