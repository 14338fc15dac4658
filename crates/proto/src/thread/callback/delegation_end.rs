//! Delegated callbacks without an answer: the editor has left or is too late, or the agent withdrew them.

use acpd_model::Origin;

use super::Callbacks;
use super::delegated::{answer_timeout, end_change, unknown, unknown_effect};
use super::lease::AttachedEditor;
use super::task::{Delegation, HostTask, name};
use crate::agent::Call;
use crate::thread::editors::EditorCommand;
use crate::thread::effect::Effect;
use crate::thread::journal::Journal;
use crate::time::{Instant, earliest};

impl Callbacks {
    /// Handles an editor that has left. The daemon runs callbacks that were not sent yet, or that change nothing. For
    /// the others, it is unknown whether they were carried out.
    pub(super) fn end_delegations_to(
        &mut self,
        journal: &mut Journal,
        gone: &AttachedEditor,
        unsent: &[u64],
    ) {
        let calls: Vec<u64> = self.delegated_to(&gone.connection).collect();
        for call in calls {
            let Some(delegation) = self.take_delegation(call) else {
                continue;
            };
            // Only the agent needed the result, and it has exited.
            if self.is_abandoned(call) && !delegation.changes() {
                continue;
            }
            let is_unsent = unsent.contains(&call);
            if is_unsent && (delegation.withdrawn || self.is_abandoned(call)) {
                end_change(journal, &delegation, Origin::Daemon);
                continue;
            }
            match &delegation.request {
                Call::ReadFile { .. } => self.run_on_host(journal, call, delegation.request, delegation.at),
                Call::WriteFile { .. } if is_unsent => {
                    let Delegation {
                        request, at, item, ..
                    } = delegation;
                    if let Call::WriteFile { path, content } = request {
                        self.write_on_host(journal, call, path, at, content, item);
                    }
                }
                Call::CreateTerminal { .. } if is_unsent => {
                    self.run_on_host(journal, call, delegation.request, delegation.at)
                }
                // Another editor may know the extension.
                Call::Extension { .. } if is_unsent => self.run(journal, call, delegation.request, None),
                Call::TerminalOutput { .. }
                | Call::WaitForTerminalExit { .. }
                | Call::KillTerminal { .. }
                | Call::ReleaseTerminal { .. } => self.answer_lost(journal, call, delegation.request),
                _ => {
                    let message = format!(
                        "{} was gone before it answered {}{}",
                        name(&delegation.by),
                        delegation.request.method(),
                        unknown_effect(&delegation.request)
                    );
                    let error = unknown(message);
                    self.not_done(journal, call, &delegation, Origin::Daemon, error);
                }
            }
        }
    }

    /// Returns the next deadline for an editor's answer.
    pub(super) fn delegation_deadline(&self) -> Option<Instant> {
        let deadlines = self.tasks.values().map(|task| match task {
            HostTask::Delegated(delegation) => delegation.until,
            _ => None,
        });
        deadlines.fold(None, earliest)
    }

    pub(super) fn expire_delegations(&mut self, journal: &mut Journal) {
        let now = journal.now().mono;
        let is_late = |task: &HostTask| matches!(task, HostTask::Delegated(delegation) if delegation.until.is_some_and(|at| at <= now));
        let late: Vec<u64> = self
            .tasks
            .iter()
            .filter(|(_, task)| is_late(task))
            .map(|(call, _)| *call)
            .collect();
        for call in late {
            let Some(delegation) = self.take_delegation(call) else {
                continue;
            };
            withdraw_from_editor(journal, &delegation, call, true);
            let message = format!(
                "{} did not answer {} within {} s{}",
                name(&delegation.by),
                delegation.request.method(),
                answer_timeout(&delegation.request).unwrap_or_default().as_secs(),
                unknown_effect(&delegation.request)
            );
            let error = unknown(message);
            self.not_done(journal, call, &delegation, Origin::Daemon, error);
        }
    }

    /// Withdraws a delegated callback for the agent. One that changes something stays pending, because the editor may
    /// still carry it out.
    pub(super) fn withdraw_delegation(&mut self, journal: &mut Journal, call: u64) {
        let Some(mut delegation) = self.take_delegation(call) else {
            return;
        };
        delegation.withdrawn = true;
        let changes = delegation.changes();
        withdraw_from_editor(journal, &delegation, call, !changes);
        if changes {
            self.tasks.insert(call, HostTask::Delegated(Box::new(delegation)));
        }
    }

    /// Withdraws the callbacks whose result only the exited agent needed.
    pub fn withdraw_delegations(&mut self, journal: &mut Journal) {
        let calls: Vec<u64> = self.tasks.keys().copied().collect();
        for call in calls {
            let Some(delegation) = self.take_delegation(call) else {
                continue;
            };
            if delegation.outlives_agent() {
                self.tasks.insert(call, HostTask::Delegated(Box::new(delegation)));
            } else {
                withdraw_from_editor(journal, &delegation, call, true);
            }
        }
    }

    /// Ends all delegated callbacks because the daemon stops and will not receive the answers.
    pub fn abort_delegations(&mut self, journal: &mut Journal, reason: &str) {
        let calls: Vec<u64> = self.tasks.keys().copied().collect();
        for call in calls {
            if let Some(delegation) = self.take_delegation(call) {
                withdraw_from_editor(journal, &delegation, call, true);
                let message = format!("{reason}{}", unknown_effect(&delegation.request));
                let error = unknown(message);
                self.not_done(journal, call, &delegation, Origin::Daemon, error);
            }
        }
    }
}

fn withdraw_from_editor(journal: &mut Journal, delegation: &Delegation, call: u64, forget: bool) {
    journal.push(Effect::Editor {
        connection: delegation.connection.clone(),
        order: EditorCommand::Withdraw { call, forget },
    });
}
