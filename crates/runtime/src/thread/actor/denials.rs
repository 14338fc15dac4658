//! Denials of the sandbox that a thread's agent or its commands report, and paths outside of the thread's directories.
//!
//! In: the ends of turns, processes, commands, callbacks and tool calls that failed. Out: a notice for each path that the
//! sandbox does not grant, or that is outside. Never: blocks the thread's task on the disk, or reports a path twice.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use acpd_host::{Reserved, path_outside};
use acpd_model::item::ToolStatus;
use acpd_model::limits::PATH_BYTES;
use acpd_model::{Event, EventKind, Failure, ItemEnd, ItemEvent, TurnEvent};
use acpd_proto::projection::ToolView;
use acpd_proto::thread::AccessDenied;

use crate::agent::config::AgentConfig;
use crate::agent::mcp;
use crate::agent::sandbox::denied_paths;
use crate::host::blocking;
use crate::host::callbacks::{self, HostMessage};
use crate::host::denial::Denial;
use crate::thread::actor::ThreadActor;

/// Paths for which a thread looks up whether the sandbox has denied them.
const SANDBOX_DENIALS: usize = 64;

/// The paths that were looked up since the thread was loaded.
#[derive(Debug, Default)]
pub(super) struct Denials(BTreeSet<PathBuf>);

impl ThreadActor {
    /// Looks whether the sandbox has caused the failure of tool calls that these events end. What an agent has imported happened
    /// outside of acpd.
    pub(super) fn look_at_failed_calls(&mut self, events: &[Event]) {
        let is_import = |event: &Event| {
            matches!(
                event.kind,
                EventKind::Turn(TurnEvent::Started { imported: true, .. })
            )
        };
        if events.iter().any(is_import) {
            return;
        }
        for event in events {
            if let EventKind::Item(ItemEvent::Completed {
                end:
                    ItemEnd::ToolCall {
                        status: ToolStatus::Failed,
                        call,
                    },
                ..
            }) = &event.kind
            {
                let mut tool = ToolView::default();
                tool.apply(call);
                self.look_for_denials(&tool.output_text());
            }
        }
    }

    /// Looks whether the sandbox has caused a failure that a process has reported in `text`.
    pub(super) fn look_for_denials(&mut self, text: &str) {
        let mut paths = denied_paths(text);
        if paths.is_empty() {
            return;
        }
        let known = &mut self.denials.get_or_insert_default().0;
        paths.retain(|path| known.len() < SANDBOX_DENIALS && known.insert(path.clone()));
        if paths.is_empty() {
            return;
        }
        let spec = self.machine.live().spec.clone();
        self.describe(move |config, reserved| {
            let servers = mcp::commands(&spec.session_mcp_servers());
            config.denial(reserved, &callbacks::directories(&spec), &servers, &paths)
        });
    }

    /// Notifies the thread's clients what to do about a path that acpd has denied the agent, because it is outside of the thread's
    /// directories.
    pub(super) fn look_outside(&mut self, failure: &Failure) {
        let Some(path) = path_outside(failure).filter(|path| can_be_looked_up(path)) else {
            return;
        };
        let known = &mut self.denials.get_or_insert_default().0;
        if known.len() >= SANDBOX_DENIALS || !known.insert(path.to_owned()) {
            return;
        }
        let path = path.to_owned();
        self.describe(move |config, _| Some(config.outside(path)));
    }

    /// Looks up a denial beside the thread, and the folder that a user may open for it.
    fn describe(&self, look: impl FnOnce(&AgentConfig, &Reserved) -> Option<Denial> + Send + 'static) {
        let agent = self.machine.live().spec.agent.clone();
        let context = self.context.clone();
        let found_tx = self.host_tx.clone();
        tokio::spawn(async move {
            let (agents, reserved) = (Arc::clone(&context.agents), Arc::clone(&context.reserved));
            let look = move || {
                let config = agents.find(&agent)?.config;
                let found = look(&config, &reserved);
                Ok(found.map(|denial| Denial {
                    folder: config.folder_to_open(&reserved, &agents.programs(), &denial.path),
                    ..denial
                }))
            };
            // Without a configuration there is nothing to advise.
            if let Ok(Some(denial)) = blocking(&*context.host, look).await {
                // A thread that was unloaded meanwhile shows nothing.
                let _ = found_tx.send(Box::new(HostMessage::Denied(denial))).await;
            }
        });
    }

    /// Notifies the thread's clients of a denial.
    pub(super) fn denied(&mut self, denial: &Denial) {
        let denied = AccessDenied {
            code: denial.code(),
            message: denial.message(),
            advice: denial.advice(&self.machine.live().spec.agent, &self.id.to_string()),
            folder: denial.folder.clone().filter(|_| !denial.is_secret),
        };
        self.machine.access_denied(denied, self.context.clock.now());
    }
}

/// Returns whether a path can be one of the disk. An agent chooses it, and it is kept and shown.
fn can_be_looked_up(path: &Path) -> bool {
    path.is_absolute() && path.as_os_str().len() <= PATH_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_that_the_system_takes_is_kept() {
        let longest = format!("/{}", "x/".repeat(PATH_BYTES / 2 - 1));
        assert!(can_be_looked_up(Path::new("/a")) && can_be_looked_up(Path::new(&longest)));
        for path in [
            "",
            "a",
            "../a",
            &"/usr/..".repeat(PATH_BYTES),
            &format!("{longest}xx"),
        ] {
            assert!(!can_be_looked_up(Path::new(path)), "{} bytes", path.len());
        }
    }
}
