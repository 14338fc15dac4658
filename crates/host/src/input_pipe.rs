//! The pipe to an agent's stdin, and whether a process reads it.
//!
//! In: the pipe's write end. Out: the moment when nothing reads it. Never: keeps the pipe open.

use std::os::fd::AsFd;
use std::time::Duration;

/// The interval of checks whether a descendant of an exited process still reads the agent's stdin.
const INPUT_CHECK: Duration = Duration::from_secs(2);

/// The pipe to an agent's stdin, by its inode.
#[derive(Debug, Clone)]
pub(crate) struct InputPipe {
    inode: u64,
    /// A process that has the write end, besides this one.
    writer: Option<u32>,
}

impl InputPipe {
    /// Returns `None` if the host cannot list who reads a pipe.
    #[cfg(target_os = "linux")]
    pub fn of(stdin: impl AsFd) -> Option<Self> {
        let inode = rustix::fs::fstat(stdin).ok()?.st_ino;
        Some(Self { inode, writer: None })
    }

    #[cfg(not(target_os = "linux"))]
    pub fn of(_: impl AsFd) -> Option<Self> {
        None
    }

    /// Also leaves out this process, which only writes.
    #[cfg(target_os = "linux")]
    pub fn written_by(self, writer: u32) -> Self {
        let writer = Some(writer);
        Self { writer, ..self }
    }

    /// Waits until no other process has the pipe open. Safe to cancel.
    pub async fn unread(&self) {
        loop {
            let input = self.clone();
            // If the runtime is shutting down, the search does not run.
            let is_read = tokio::task::spawn_blocking(move || input.is_read()).await;
            if !is_read.unwrap_or(true) {
                return;
            }
            tokio::time::sleep(INPUT_CHECK).await;
        }
    }

    /// Returns whether another process has the pipe open. Blocks.
    pub fn is_read(&self) -> bool {
        let pipe = format!("pipe:[{}]", self.inode);
        let own = std::process::id().to_string();
        let writer = self.writer.map(|writer| writer.to_string());
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return true;
        };
        entries.flatten().any(|entry| {
            let name = entry.file_name();
            let is_other = name.to_str().is_some_and(|name| {
                name != own
                    && Some(name) != writer.as_deref()
                    && name.bytes().all(|byte| byte.is_ascii_digit())
            });
            // Processes of other users cannot be read, and are no agents of this daemon.
            is_other && has_open(&entry.path(), &pipe)
        })
    }
}

/// Returns whether the process in this directory of `/proc` has a file open that links to `target`.
fn has_open(process: &std::path::Path, target: &str) -> bool {
    let Ok(files) = std::fs::read_dir(process.join("fd")) else {
        return false;
    };
    files
        .flatten()
        .any(|file| std::fs::read_link(file.path()).is_ok_and(|link| link.as_os_str() == target))
}
