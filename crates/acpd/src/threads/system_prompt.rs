//! The system prompt of a new thread: a text, or a file of this host.
//!
//! In: the argument of `acpd run`. Out: the member of `thread/start`. Never: reads a pipe or a device, or more than the daemon takes.

use std::io::Read;
use std::path::{Path, PathBuf};

use acpd_client::protocol::{SystemPrompt, SystemPromptMode};
use acpd_proto::agent::SYSTEM_PROMPT_BYTES;

use crate::exit::Exit;

/// Returns the system prompt of an argument: `@FILE` is the text of a file. If it `overrides`, the agent uses it instead of its own
/// instructions.
pub async fn system_prompt(given: &str, overrides: bool) -> anyhow::Result<SystemPrompt> {
    let content = match given.strip_prefix('@') {
        Some(path) => {
            let path = PathBuf::from(path);
            // A file may be on a slow disk, and Ctrl-C must end the command meanwhile.
            tokio::task::spawn_blocking(move || read(&path)).await??
        }
        None => given.to_owned(),
    };
    if content.trim().is_empty() {
        return Err(Exit::Usage.error("the system prompt is empty"));
    }
    Ok(SystemPrompt {
        content,
        mode: overrides.then_some(SystemPromptMode::Override),
    })
}

fn read(path: &Path) -> anyhow::Result<String> {
    let refused =
        |why: &dyn std::fmt::Display| Exit::Usage.error(format!("{} cannot be read: {why}", path.display()));
    // Opening a pipe would wait for its writer, and a device may have no end.
    let known = path.metadata().map_err(|error| refused(&error))?;
    if !known.is_file() {
        return Err(refused(&"it is not a file"));
    }
    let most = SYSTEM_PROMPT_BYTES as u64;
    let file = std::fs::File::open(path).map_err(|error| refused(&error))?;
    let mut text = String::new();
    file.take(most + 1)
        .read_to_string(&mut text)
        .map_err(|error| refused(&error))?;
    if text.len() as u64 > most {
        let room = most >> 10;
        return Err(refused(&format!("a system prompt has at most {room} KiB")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_is_a_text_or_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("p.md");
        std::fs::write(&file, "be kind\n").unwrap();
        let at = |path: &Path| format!("@{}", path.display());
        let read = system_prompt(&at(&file), false).await.unwrap();
        assert_eq!((read.content.as_str(), read.mode), ("be kind\n", None));
        let read = system_prompt("be brief", true).await.unwrap();
        assert_eq!(read.mode, Some(SystemPromptMode::Override));
        std::fs::write(&file, "x".repeat(SYSTEM_PROMPT_BYTES + 1)).unwrap();
        for (given, says) in [
            (at(&file), "at most 256 KiB"),
            (at(dir.path()), "it is not a file"),
            (at(&dir.path().join("none")), "cannot be read"),
            (" ".to_owned(), "is empty"),
        ] {
            let error = system_prompt(&given, false).await.unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
        }
    }
}
