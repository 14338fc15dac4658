//! The directory of a thread that was moved or removed.
//!
//! In: prompts for the agent, and calls of the agent that failed. Out: a notice with how to fix it. Never: blocks the
//! thread's task on the disk.

use std::path::Path;
use std::sync::Arc;

use acpd_model::{Failure, ThreadId};

use crate::host::blocking;
use crate::host::callbacks::HostMessage;
use crate::thread::actor::ThreadActor;

/// Returns what to say about the directory of a thread, if it is gone. Blocks on the disk.
pub(super) fn if_gone(thread: ThreadId, directory: &str) -> Option<Failure> {
    let exists = Path::new(directory).try_exists().unwrap_or(true);
    (!exists).then(|| {
        let hint = format!(
            "if it was moved, say where it is now: acpd move {thread} DIRECTORY, or \"Change folder…\" in its menu in the web UI"
        );
        Failure::agent(format!("the directory of the thread, {directory}, is gone")).with_detail(hint)
    })
}

impl ThreadActor {
    /// Looks whether the directory of the thread is gone while its agent runs, unless such a look is under way, or clients
    /// know it: a look may hang with a network.
    pub(super) fn look_for_directory(&mut self) {
        if self.machine.live().says_directory_gone || std::mem::replace(&mut self.looks_for_directory, true) {
            return;
        }
        let (thread, directory) = (self.id, self.machine.live().spec.cwd.clone());
        let host = Arc::clone(&self.context.host);
        let found_tx = self.host_tx.clone();
        tokio::spawn(async move {
            let looked = directory.clone();
            let gone = blocking(&*host, move || Ok(if_gone(thread, &looked))).await;
            let message = HostMessage::DirectoryLooked {
                directory,
                gone: gone.ok().flatten(),
            };
            // A thread that was unloaded meanwhile shows nothing.
            let _ = found_tx.send(Box::new(message)).await;
        });
    }

    /// Notifies the thread's clients if its directory is gone, unless it has another one by now.
    pub(super) fn directory_looked(&mut self, directory: &str, gone: Option<Failure>) {
        self.looks_for_directory = false;
        if let Some(gone) = gone
            && self.machine.live().spec.cwd == directory
        {
            self.machine.directory_gone(gone, self.context.clock.now());
        }
    }
}
