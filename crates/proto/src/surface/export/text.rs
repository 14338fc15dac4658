//! Formats text and times for readers.

use std::borrow::Cow;

use acpd_model::text::misleads;
use acpd_model::{ItemStart, Millis, Origin, RawJson, TurnId};
use acpd_policy::shell_line;
use serde::Deserialize;

use super::block::{Span, code, word};
use super::picture::{Picture, size_of};

/// Returns a time in RFC 3339 format, in UTC with milliseconds.
pub fn rfc3339(at: Millis) -> String {
    // Clocks can be wrong, but not by that much. A time out of range becomes an empty text.
    jiff::Timestamp::from_millisecond(at)
        .map(|time| time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
        .unwrap_or_default()
}

/// Returns a time for readers.
pub fn moment(at: Millis) -> String {
    jiff::Timestamp::from_millisecond(at)
        .map(|time| time.strftime("%-d %b %Y, %H:%M UTC").to_string())
        .unwrap_or_default()
}

/// Returns the time of day of a [`moment`].
pub fn clock(at: Millis) -> String {
    jiff::Timestamp::from_millisecond(at)
        .map(|time| time.strftime("%H:%M").to_string())
        .unwrap_or_default()
}

/// Returns a path relative to the directory of the thread; paths outside of it stay absolute.
pub fn short_path<'a>(path: &'a str, cwd: &str) -> &'a str {
    path.strip_prefix(cwd.trim_end_matches('/'))
        .and_then(|rest| rest.strip_prefix('/'))
        .filter(|rest| !rest.is_empty() && !cwd.is_empty())
        .unwrap_or(path)
}

/// Returns words in which the paths below the directory of the thread are relative. Only where a path can begin is one found: the
/// directory may also be a part of a longer path.
pub fn short_paths(words: &str, cwd: &str) -> String {
    let folder = format!("{}/", cwd.trim_end_matches('/'));
    if folder == "/" {
        return words.to_owned();
    }
    let mut short = String::with_capacity(words.len());
    let mut end = 0;
    for (at, _) in words.match_indices(&folder) {
        let before = words[..at].chars().next_back();
        if before.is_none_or(|c| c.is_whitespace() || "\"'`([{=,;".contains(c)) {
            short.push_str(&words[end..at]);
            end = at + folder.len();
        }
    }
    short.push_str(&words[end..]);
    short
}

/// Returns the originator of an event as words.
pub fn who(by: &Origin) -> Vec<Span> {
    match by {
        Origin::Agent => vec![word("the agent")],
        Origin::Daemon => vec![word("the daemon")],
        Origin::Policy(ruling) => vec![word(format!("the policy ({})", ruling.reason))],
        Origin::Client(caller) => vec![code(&caller.principal), word(" with "), code(&caller.client)],
    }
}

/// A piece of a message.
#[derive(Debug)]
pub enum Piece {
    /// Plain text.
    Words(String),
    /// A picture that documents can show.
    Picture(Picture),
    /// Any other content: its kind, and its text if it has one.
    Thing(String, Option<String>),
}

/// Returns the pieces of ACP content blocks, with adjacent text merged.
pub fn pieces(content: &[RawJson]) -> Vec<Piece> {
    let mut found: Vec<Piece> = Vec::new();
    for block in content {
        match (piece(block), found.last_mut()) {
            (Piece::Words(more), Some(Piece::Words(words))) => words.push_str(&more),
            (piece, _) => found.push(piece),
        }
    }
    found
}

/// Returns the text of a message, without its other content.
pub fn content_text(content: &[RawJson]) -> String {
    let words = content.iter().filter_map(|block| match piece(block) {
        Piece::Words(words) => Some(words),
        Piece::Picture(_) | Piece::Thing(..) => None,
    });
    words.collect()
}

fn piece(block: &RawJson) -> Piece {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Resource {
        uri: String,
        text: Option<String>,
        blob: String,
    }
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Block {
        #[serde(rename = "type")]
        kind: String,
        text: String,
        mime_type: Option<String>,
        data: String,
        uri: Option<String>,
        name: String,
        resource: Resource,
    }
    let block: Block = block.read().unwrap_or_default();
    let mime = block.mime_type.as_deref().unwrap_or("of no stated type");
    match block.kind.as_str() {
        "text" => Piece::Words(block.text),
        "image" => match Picture::of(block.data) {
            Ok(picture) => Piece::Picture(picture),
            Err(data) => Piece::Thing(format!("image {mime}, {} bytes", size_of(&data)), None),
        },
        "audio" => Piece::Thing(format!("audio {mime}, {} bytes", size_of(&block.data)), None),
        "skill" => Piece::Thing(format!("skill {}", block.name), None),
        "resource_link" => Piece::Thing(format!("link {}", block.uri.unwrap_or_default()), None),
        "resource" => {
            let Resource { uri, text, blob } = block.resource;
            let size = match size_of(&blob) {
                0 => String::new(),
                bytes => format!(", {bytes} bytes"),
            };
            Piece::Thing(
                format!("resource {uri}{size}"),
                text.filter(|text| !text.is_empty()),
            )
        }
        kind => Piece::Thing(format!("content of the type {kind:?}"), None),
    }
}

/// Returns `text` without characters that could move a cursor, reorder text or hide it. Terminal escape sequences are
/// removed, other such characters become U+FFFD, and every line break becomes `
/// `.
pub fn readable(text: &str) -> Cow<'_, str> {
    // Most texts contain no such characters.
    if text
        .bytes()
        .all(|byte| matches!(byte, b'\n' | b'\t' | 0x20..=0x7e))
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\r' => {
                chars.next_if_eq(&'\n');
                out.push('\n');
            }
            '\n' | '\t' => out.push(c),
            c if misleads(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Skips the rest of an escape sequence: a control sequence, an operating system command, or one character.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            while chars.next_if(|c| ('\u{20}'..='\u{3f}').contains(c)).is_some() {}
            chars.next_if(|c| ('\u{40}'..='\u{7e}').contains(c));
        }
        Some(']') => {
            chars.next();
            // Only its own terminator closes this sequence. A line break also ends it here, so that it cannot hide much
            // text.
            while let Some(c) = chars.next_if(|c| *c != '\n') {
                match c {
                    '\u{7}' => return,
                    '\u{1b}' => {
                        chars.next_if_eq(&'\\');
                        return;
                    }
                    _ => {}
                }
            }
        }
        Some('(' | ')') => {
            chars.next();
            chars.next_if(char::is_ascii_alphanumeric);
        }
        Some(c) if c.is_ascii_graphic() => {
            chars.next();
        }
        _ => {}
    }
}

/// Returns the heading of a turn.
pub fn turn_title(turn: Option<TurnId>) -> String {
    turn.map_or_else(|| "Turn".to_owned(), |turn| format!("Turn {}", turn.0))
}

/// Returns a command and its arguments in shell syntax.
pub fn command(start: &ItemStart) -> String {
    match start {
        ItemStart::TerminalCommand { command, args, .. } => {
            shell_line(command, args.iter().map(String::as_str))
        }
        ItemStart::Message { .. } | ItemStart::ToolCall { .. } | ItemStart::FileChange { .. } => {
            String::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_rfc_3339_has_them() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(1_700_000_000_007), "2023-11-14T22:13:20.007Z");
        assert_eq!(rfc3339(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(rfc3339(Millis::MAX), "");
        assert_eq!(moment(1_700_000_000_007), "14 Nov 2023, 22:13 UTC");
        assert_eq!(clock(1_700_000_000_007), "22:13");
        assert_eq!(moment(Millis::MAX), "");
    }

    #[test]
    fn paths_are_relative_to_the_directory_of_the_thread() {
        assert_eq!(short_path("/w/src/a.rs", "/w"), "src/a.rs");
        assert_eq!(short_path("/w/src/a.rs", "/w/"), "src/a.rs");
        for whole in ["/w", "/w/", "/www/a", "/etc/hosts", "w/a", ""] {
            assert_eq!(short_path(whole, "/w"), whole);
        }
        assert_eq!(short_path("/a", ""), "/a");
        assert_eq!(short_path("/a/b", "/"), "a/b");
        assert_eq!(
            short_paths("Edit /w/a.rs and `/w/b.rs`", "/w"),
            "Edit a.rs and `b.rs`"
        );
        assert_eq!(
            short_paths("/mnt/w/a /w/w/b /w//w/c /www/d", "/w"),
            "/mnt/w/a w/b /w/c /www/d"
        );
        assert_eq!(short_paths("Read /etc/hosts", "/"), "Read /etc/hosts");
    }

    #[test]
    fn terminals_are_not_driven_and_words_not_reordered() {
        assert_eq!(
            readable("\u{1b}[1;31mred\u{1b}[0m\u{1b}]0;title\u{7}!\r\nx\ry"),
            "red!\nx\ny"
        );
        assert_eq!(
            readable("a\u{0}\u{202e}b\u{9b}c\u{2028}"),
            "a\u{fffd}\u{fffd}b\u{fffd}c\u{fffd}"
        );
        assert_eq!(readable("\u{1b}]0;never closed\nnext\u{1b}(Bz\u{1b}"), "\nnextz");
        assert_eq!(readable("\u{1b}[2"), "");
    }
}
