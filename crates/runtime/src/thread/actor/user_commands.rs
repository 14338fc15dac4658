//! Runs the commands of users.
//!
//! In: operations on their terminals. Out: their results, as from the terminals of the agent. Owns: the terminals.
//! Never: needs the agent's process.

use std::collections::BTreeMap;
use std::sync::Arc;

use acpd_model::{ErrorCode, Failure};
use acpd_proto::thread::{HostCall, Input};

use crate::host::budget::Budget;
use crate::host::callbacks::Callbacks;
use crate::thread::actor::ThreadActor;
use crate::thread::actor::begin::Prepared;

/// The terminals of users' commands.
#[derive(Debug, Default)]
pub(super) struct UserCommands {
    /// By the terminal's id. A command ends when it is removed.
    running: BTreeMap<String, Callbacks>,
}

impl ThreadActor {
    /// Carries out an operation on the terminal of a user's command.
    pub(super) async fn carry_out_for_user(&mut self, call: u64, what: HostCall) {
        match &what {
            HostCall::CreateTerminal { terminal_id, .. } => {
                let terminal_id = terminal_id.clone();
                match self.open_for_user().await {
                    Ok(mut callbacks) => {
                        callbacks.handle(call, what);
                        let commands = self.user_commands.get_or_insert_default();
                        commands.running.insert(terminal_id, callbacks);
                    }
                    Err(failure) => {
                        let result = Err(failure);
                        self.machine
                            .handle(Input::Host { call, result }, self.context.clock.now());
                    }
                }
            }
            HostCall::ReleaseTerminal { terminal_id } => {
                if let Some(commands) = &mut self.user_commands {
                    commands.running.remove(terminal_id);
                }
            }
            HostCall::KillTerminal { terminal_id }
            | HostCall::TypeIn { terminal_id, .. }
            | HostCall::TerminalOutput { terminal_id }
            | HostCall::WaitForTerminalExit { terminal_id } => {
                let commands = self.user_commands.as_mut();
                if let Some(command) = commands.and_then(|commands| commands.running.get_mut(terminal_id)) {
                    command.handle(call, what);
                } else {
                    let ended = Failure::new(ErrorCode::Conflict, "the command has ended");
                    let result = Err(ended);
                    self.machine
                        .handle(Input::Host { call, result }, self.context.clock.now());
                }
            }
            // A user's command has no files.
            HostCall::ReadFile { .. } | HostCall::WriteFile { .. } => {}
        }
    }

    /// Opens the workspace for one command, in the sandbox and with the variables that the agent's commands have.
    async fn open_for_user(&mut self) -> Result<Callbacks, Failure> {
        let Prepared {
            config,
            sandbox,
            workspace,
        } = self.prepare().await?;
        Ok(Callbacks::new(
            Arc::clone(&self.context.host),
            workspace,
            Box::new(move || config.environment()),
            sandbox,
            self.host_tx.clone(),
            Budget::default(),
            Arc::clone(&self.context.metrics),
        ))
    }
}
