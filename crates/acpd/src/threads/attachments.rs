//! Files that go along with a prompt: pictures as images, text and everything else as resources.
//!
//! In: paths of this host. Out: ACP content blocks. Never: sends more than a message of the daemon may have, or a path of
//! this host, which means nothing where the agent runs.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::exit::Exit;

/// Room of a message for everything but the attachments and the prompt, in bytes.
const ENVELOPE: usize = 4 << 10;

/// Reads files into content blocks. `message_bytes` is the maximum size of a message to the daemon, and `text` the prompt
/// that goes along.
pub async fn blocks(paths: &[PathBuf], text: &str, message_bytes: usize) -> anyhow::Result<Vec<Value>> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let paths = paths.to_vec();
    let room = room(text, message_bytes);
    // A file may be on a slow disk, and Ctrl-C must end the command meanwhile.
    tokio::task::spawn_blocking(move || read_all(&paths, room)).await?
}

/// Returns the room for attachments beside a prompt, which is longer as JSON than as text.
fn room(text: &str, message_bytes: usize) -> usize {
    message_bytes.saturating_sub(json!(text).to_string().len() + ENVELOPE)
}

fn read_all(paths: &[PathBuf], room: usize) -> anyhow::Result<Vec<Value>> {
    let mut left = room;
    let mut blocks = Vec::new();
    for path in paths {
        let block = block(&path_name(path), &read(path, left, room)?);
        let size = block.to_string().len();
        left = left
            .checked_sub(size)
            .ok_or_else(|| too_large(path, size as u64, left, room))?;
        blocks.push(block);
    }
    Ok(blocks)
}

/// Reads a file of at most `left` bytes.
fn read(path: &Path, left: usize, room: usize) -> anyhow::Result<Vec<u8>> {
    let unreadable = |why: &dyn std::fmt::Display| {
        Exit::Usage.error(format!("{} cannot be attached: {why}", path.display()))
    };
    // Opening a pipe would wait for its writer, and a device may have no end.
    let known = path.metadata().map_err(|error| unreadable(&error))?;
    if !known.is_file() {
        return Err(unreadable(&"it is not a file"));
    }
    if known.len() > left as u64 {
        return Err(too_large(path, known.len(), left, room));
    }
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    let mut bytes = Vec::new();
    file.take(left as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(&error))?;
    if bytes.len() > left {
        return Err(too_large(path, bytes.len() as u64, left, room));
    }
    Ok(bytes)
}

fn too_large(path: &Path, size: u64, left: usize, room: usize) -> anyhow::Error {
    let others = if left < room {
        format!(" ({} KiB with the files before it)", room >> 10)
    } else {
        String::new()
    };
    Exit::Usage.error(format!(
        "{} is too large to attach: {} KiB, and the message has room for {} KiB{others}; name the file in the prompt and let \
         the agent read it, or raise limits.client_message_bytes in the daemon's configuration",
        path.display(),
        size.div_ceil(1024),
        left >> 10
    ))
}

fn path_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "file".to_owned())
}

/// Returns the content block of a file.
fn block(name: &str, bytes: &[u8]) -> Value {
    if let Some(picture) = picture(bytes) {
        return json!({ "type": "image", "mimeType": picture, "data": STANDARD.encode(bytes) });
    }
    // As the web UI names attachments: the path is one of this host, which may not be the agent's.
    let uri = format!("attachment:///{}", escaped(name));
    let text = std::str::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'));
    let resource = match text {
        Some(text) => json!({ "uri": uri, "mimeType": text_type(name), "text": text }),
        None => json!({ "uri": uri, "mimeType": blob_type(bytes), "blob": STANDARD.encode(bytes) }),
    };
    json!({ "type": "resource", "resource": resource })
}

/// Returns the type of a picture by its first bytes: the ending of a name can be wrong.
fn picture(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

fn text_type(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase());
    match ending.as_deref() {
        Some("md" | "markdown") => "text/markdown",
        Some("json") => "application/json",
        Some("html" | "htm") => "text/html",
        Some("csv") => "text/csv",
        Some("svg") => "image/svg+xml",
        _ => "text/plain",
    }
}

fn blob_type(bytes: &[u8]) -> &'static str {
    if bytes.starts_with(b"%PDF-") {
        "application/pdf"
    } else {
        "application/octet-stream"
    }
}

/// Escapes a name for a URI.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                text.push(char::from(byte))
            }
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_text_and_other_files_have_their_blocks() {
        let png = b"\x89PNG\r\n\x1a\nrest";
        let picture = block("x.txt", png);
        assert_eq!(
            (&picture["type"], &picture["mimeType"]),
            (&json!("image"), &json!("image/png"))
        );
        assert_eq!(picture["data"], STANDARD.encode(png));
        let text = block("a b\u{202e}.md", "# é".as_bytes());
        assert_eq!(
            text["resource"],
            json!({ "uri": "attachment:///a%20b%E2%80%AE.md", "mimeType": "text/markdown", "text": "# é" })
        );
        let blob = block("x.bin", b"%PDF-1\xff");
        assert_eq!(blob["resource"]["mimeType"], "application/pdf");
        assert!(blob["resource"]["blob"].is_string());
        assert_eq!(block("empty", b"")["resource"]["text"], "");
    }

    #[test]
    fn a_prompt_takes_its_encoded_length() {
        let message = 100_000;
        assert_eq!(room("", message), message - ENVELOPE - 2);
        assert_eq!(room(&"\u{1b}".repeat(1000), message), message - ENVELOPE - 6002);
        assert_eq!(room(&"\n".repeat(60_000), message), 0);
    }

    #[test]
    fn all_files_share_the_room_of_one_message() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: usize| {
            let path = folder.path().join(name);
            std::fs::write(&path, vec![b'a'; bytes]).unwrap();
            path
        };
        let (small, large) = (file("small.txt", 600), file("large.txt", 5000));
        assert_eq!(read_all(&[small.clone(), small.clone()], 2000).unwrap().len(), 2);
        let error = read_all(&[small.clone(), small.clone(), small.clone()], 2000).unwrap_err();
        assert!(error.to_string().contains("with the files before it"), "{error}");
        let error = read_all(&[large], 2000).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("5 KiB, and the message has room for 1 KiB;"),
            "{error}"
        );
        // In base64, a file is larger than on the disk.
        let blob = folder.path().join("blob");
        std::fs::write(&blob, vec![0; 1900]).unwrap();
        assert!(read_all(&[blob], 2000).is_err());
        for wrong in [
            folder.path().join("none"),
            folder.path().to_owned(),
            "/dev/null".into(),
        ] {
            let error = read_all(&[wrong], 2000).unwrap_err();
            assert_eq!(Exit::of(&error), Exit::Usage);
            assert!(error.to_string().contains("cannot be attached"), "{error}");
        }
    }
}
