//! Names and URIs of attached files.
//!
//! In: names that clients have chosen. Out: names that are one component of a path and read as they are. Never: keeps a separator,
//! a control character, or a character that turns text around.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Longest name of an attached file, in bytes.
const ATTACHMENT_NAME_BYTES: usize = 160;
/// The name of a file whose own name has nothing to keep.
const NAMELESS: &str = "file";

/// Returns the name under which a file is stored. The end of a long name stays, with its extension.
pub(super) fn file_name(given: &str) -> String {
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let shown = |c: char| if is_misleading(c) { '_' } else { c };
    let name: String = last.chars().map(shown).collect();
    let name = name.trim();
    let from = name.len().saturating_sub(ATTACHMENT_NAME_BYTES);
    let from = (from..=name.len()).find(|at| name.is_char_boundary(*at));
    match from.and_then(|from| name.get(from..)).unwrap_or_default() {
        "" | "." | ".." => NAMELESS.to_owned(),
        name => name.to_owned(),
    }
}

/// Returns whether a character is invisible, changes the order of others, or ends a line.
fn is_misleading(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}

/// Returns the `file:` URI of an absolute path.
pub(super) fn uri(path: &Path) -> String {
    let mut text = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                text.push(char::from(*byte));
            }
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use acpd_policy::normalise;

    use super::*;

    #[test]
    fn a_name_is_one_component_without_tricks() {
        let long = format!("{}.pdf", "é".repeat(200));
        for (given, name) in [
            ("report.pdf", "report.pdf"),
            ("Bericht März 2026.pdf", "Bericht März 2026.pdf"),
            ("../../etc/passwd", "passwd"),
            ("..\\..\\boot.ini", "boot.ini"),
            ("/", "file"),
            ("", "file"),
            ("..", "file"),
            (" . ", "file"),
            ("a\nb\0c\u{1b}[31m.txt", "a_b_c_[31m.txt"),
            ("exe.\u{202e}fdp", "exe._fdp"),
            ("\u{feff}\u{2066}x", "__x"),
        ] {
            assert_eq!(file_name(given), name, "{given:?}");
        }
        let cut = file_name(&long);
        assert!(
            cut.len() <= ATTACHMENT_NAME_BYTES && cut.ends_with("é.pdf"),
            "{cut}"
        );
    }

    #[test]
    fn a_uri_leads_back_to_its_path() {
        let path = "/data dir/a%20b/é#?.txt";
        let uri = uri(Path::new(path));
        assert_eq!(uri, "file:///data%20dir/a%2520b/%C3%A9%23%3F.txt");
        assert_eq!(normalise(&uri, "/", None).as_deref(), Some(path));
    }
}
