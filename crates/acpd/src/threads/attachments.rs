//! Files that go along with a prompt: pictures as images, text and everything else as resources, and what a message has no room for as
//! links to files that the daemon stores.
//!
//! In: paths of this host. Out: ACP content blocks. Never: sends more than a message of the daemon may have, or a path of
//! this host, which means nothing where the agent runs.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use acpd_client::protocol::AcpObject;
use acpd_model::json;
use anyhow::Context as _;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Request;
use hyper::body::Bytes;
use serde::Deserialize;
use serde_json::json;

use crate::client::reach::{self, Content, reach};
use crate::client::response;
use crate::exit::Exit;
use crate::settings::Settings;

/// Largest file that the daemon stores, in bytes.
const LARGEST: u64 = acpd_model::limits::ATTACHMENT_BYTES;

/// Room of a message for everything but the attachments and the prompt, in bytes.
const ENVELOPE: usize = 4 << 10;

/// The files of a prompt, in their order.
#[derive(Debug, Default)]
pub struct Attachments(Vec<Attachment>);

#[derive(Debug)]
enum Attachment {
    /// A block of the message.
    Block(AcpObject),
    /// A file that the daemon stores before.
    Large(PathBuf),
}

impl Attachments {
    /// Reads files. `message_bytes` is the maximum size of a message to the daemon, and `text` the prompt that goes along.
    pub async fn read(paths: &[PathBuf], text: &str, message_bytes: usize) -> anyhow::Result<Self> {
        if paths.is_empty() {
            return Ok(Self::default());
        }
        let paths = paths.to_vec();
        let room = room(text, message_bytes);
        // A file may be on a slow disk, and Ctrl-C must end the command meanwhile.
        let read = tokio::task::spawn_blocking(move || read_all(&paths, room)).await??;
        Ok(Self(read))
    }

    /// Returns whether the daemon has to store a file, for which the thread must exist.
    pub fn are_large(&self) -> bool {
        self.0.iter().any(|one| matches!(one, Attachment::Large(_)))
    }

    /// Has the daemon store the large files, and returns the blocks of all.
    pub async fn send(self, settings: &Settings, thread: &str) -> anyhow::Result<Vec<AcpObject>> {
        let mut blocks = Vec::new();
        for one in self.0 {
            blocks.push(match one {
                Attachment::Block(block) => block,
                Attachment::Large(path) => store(settings, thread, path).await?,
            });
        }
        Ok(blocks)
    }
}

/// The daemon's response to a file that it has stored.
#[derive(Default, Deserialize)]
struct Stored {
    block: Option<AcpObject>,
}

/// Has the daemon store a file; returns the block that links to it.
async fn store(settings: &Settings, thread: &str, path: PathBuf) -> anyhow::Result<AcpObject> {
    let name = path_name(&path);
    let content = tokio::task::spawn_blocking(move || read(&path, LARGEST)).await??;
    let kind = match picture(&content) {
        Some(picture) => picture,
        None if std::str::from_utf8(&content).is_ok_and(|text| !text.contains('\0')) => text_type(&name),
        None => blob_type(&content),
    };
    let reached = reach(settings).await?;
    let daemon = reached.name.clone();
    let request = Request::put(format!("/api/threads/{thread}/attachments/{}", escaped(&name)))
        .header("content-type", kind)
        .header("content-length", content.len())
        .body(Content::from(Bytes::from(content)))
        .context("the address has odd characters")?;
    let answer = reach::ask_slowly(reached, request).await?;
    let answer = response::text(response::granted(answer, &daemon).await?.into_body()).await?;
    let stored: Stored = json::read(&answer).unwrap_or_default();
    stored.block.with_context(|| {
        format!("{daemon} does not say where it has stored {name}: update it to the version of this command")
    })
}

/// Returns the room for attachments beside a prompt, which is longer as JSON than as text.
fn room(text: &str, message_bytes: usize) -> usize {
    message_bytes.saturating_sub(json!(text).to_string().len() + ENVELOPE)
}

fn read_all(paths: &[PathBuf], room: usize) -> anyhow::Result<Vec<Attachment>> {
    let mut left = room;
    let mut all = Vec::new();
    for path in paths {
        // The block has at least as many bytes as the file. Without reading it, this also says why it cannot be read.
        let size = readable(path)?;
        let block = if size > left as u64 {
            None
        } else {
            Some(block(&path_name(path), &read(path, LARGEST)?))
        };
        let text = block.as_ref().map(serde_json::to_string).transpose()?;
        let size = text.map(|text| text.len());
        match block.zip(size.and_then(|size| left.checked_sub(size))) {
            Some((block, rest)) => {
                left = rest;
                all.push(Attachment::Block(block));
            }
            None => all.push(Attachment::Large(path.clone())),
        }
    }
    Ok(all)
}

/// Returns the size of a file that can be attached.
fn readable(path: &Path) -> anyhow::Result<u64> {
    // Opening a pipe would wait for its writer, and a device may have no end.
    let known = path.metadata().map_err(|error| unreadable(path, &error))?;
    if !known.is_file() {
        return Err(unreadable(path, &"it is not a file"));
    }
    if known.len() > LARGEST {
        return Err(too_large(path, known.len()));
    }
    Ok(known.len())
}

/// Reads a file of at most `most` bytes.
fn read(path: &Path, most: u64) -> anyhow::Result<Vec<u8>> {
    readable(path)?;
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let mut bytes = Vec::new();
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > most {
        return Err(too_large(path, bytes.len() as u64));
    }
    Ok(bytes)
}

fn unreadable(path: &Path, why: &dyn std::fmt::Display) -> anyhow::Error {
    Exit::Usage.error(format!("{} cannot be attached: {why}", path.display()))
}

fn too_large(path: &Path, size: u64) -> anyhow::Error {
    Exit::Usage.error(format!(
        "{} is too large to attach: {} MiB, and {} MiB are possible; name the file in the prompt and let the agent read it",
        path.display(),
        size.div_ceil(1 << 20),
        LARGEST >> 20
    ))
}

fn path_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "file".to_owned())
}

/// Returns the content block of a file.
fn block(name: &str, bytes: &[u8]) -> AcpObject {
    if let Some(picture) = picture(bytes) {
        return AcpObject::from_iter([
            ("type".to_owned(), json!("image")),
            ("mimeType".to_owned(), json!(picture)),
            ("data".to_owned(), json!(STANDARD.encode(bytes))),
        ]);
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
    AcpObject::from_iter([
        ("type".to_owned(), json!("resource")),
        ("resource".to_owned(), resource),
    ])
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
    fn large_attachments_are_stored_before_the_message() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: Vec<u8>| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let (small, large) = (
            file("small.txt", vec![b'a'; 600]),
            file("large.txt", vec![b'a'; 5000]),
        );
        // In base64, a file is larger than on the disk.
        let blob = file("blob", vec![0; 1900]);
        let large_of = |paths: &[PathBuf]| -> Vec<bool> {
            let all = read_all(paths, 2000).unwrap();
            all.iter()
                .map(|one| matches!(one, Attachment::Large(_)))
                .collect()
        };
        assert_eq!(large_of(&[small.clone(), small.clone()]), [false, false]);
        assert_eq!(
            large_of(&[small.clone(), small.clone(), small.clone()]),
            [false, false, true]
        );
        assert_eq!(large_of(&[large, small.clone()]), [true, false]);
        assert_eq!(large_of(&[blob]), [true]);
        assert_eq!(large_of(&[]), [] as [bool; 0]);
        let largest = folder.path().join("largest");
        File::create(&largest).unwrap().set_len(LARGEST + 1).unwrap();
        let error = read_all(&[largest], 2000).unwrap_err();
        assert!(
            error.to_string().contains("51 MiB, and 50 MiB are possible"),
            "{error}"
        );
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
