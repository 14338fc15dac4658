//! Denials of the sandbox that a thread's agent or its commands report.
//!
//! In: the ends of turns, processes, commands and tool calls that failed. Out: a notice for each path that the sandbox does
//! not grant. Never: blocks the thread's task on the disk, or reports a path twice.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use acpd_model::item::ToolStatus;
use acpd_model::limits::SANDBOX_DENIALS;
use acpd_model::{Event, EventKind, ItemEnd};
use acpd_proto::projection::ToolView;

use crate::agent::mcp;
use crate::agent::sandbox::{Denial, denied_paths};
use crate::host::blocking;
use crate::host::callbacks::{self, HostMessage};
use crate::thread::actor::ThreadActor;

/// The paths that were looked up since the thread was loaded.
#[derive(Debug, Default)]
pub(super) struct Denials(BTreeSet<PathBuf>);

impl ThreadActor {
    /// Looks whether the sandbox has caused the failure of tool calls that these events end. What an agent has imported happened
    /// outside of acpd.
    pub(super) fn look_at_failed_calls(&mut self, events: &[Event]) {
        let is_import = |event: &Event| matches!(event.kind, EventKind::TurnStarted { imported: true, .. });
        if events.iter().any(is_import) {
            return;
        }
        for event in events {
            if let EventKind::ItemCompleted {
                end:
                    ItemEnd::ToolCall {
                        status: ToolStatus::Failed,
                        call,
                    },
                ..
            } = &event.kind
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
        let context = self.context.clone();
        let found_tx = self.host_tx.clone();
        tokio::spawn(async move {
            let (agents, reserved) = (Arc::clone(&context.agents), Arc::clone(&context.reserved));
            let look = move || {
                let config = agents.find(&spec.agent)?.config;
                let servers = mcp::commands(&spec.session_mcp_servers());
                Ok(config.denial(&reserved, &callbacks::directories(&spec), &servers, &paths))
            };
            // Without a configuration there is nothing to advise.
            if let Ok(Some(denial)) = blocking(&*context.host, look).await {
                // A thread that was unloaded meanwhile shows nothing.
                let _ = found_tx.send(Box::new(HostMessage::Denied(denial))).await;
            }
        });
    }

    /// Tells the thread's clients about a denial.
    pub(super) fn denied(&mut self, denial: &Denial) {
        let advice = denial.advice(&self.machine.live().spec.agent);
        let now = self.context.clock.now();
        self.machine.sandbox_denied(&denial.message(), advice, now);
    }
}
