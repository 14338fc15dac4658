//! Runs the commands of users.
//!
//! In: operations on their terminals. Out: their results, as from the terminals of the agent. Owns: nothing. Never:
//! needs the agent's process.

use std::sync::Arc;

use acpd_model::Failure;
use acpd_proto::thread::{HostCall, Input};

use crate::host::budget::Budget;
use crate::host::callbacks::Callbacks;
use crate::thread::actor::ThreadActor;
use crate::thread::actor::begin::Prepared;

impl ThreadActor {
    /// Carries out an operation on the terminal of a user's command.
    pub(super) async fn carry_out_for_user(&mut self, call: u64, what: HostCall) {
        match &what {
            HostCall::CreateTerminal { terminal_id, .. } => {
                let terminal_id = terminal_id.clone();
                match self.open_for_user().await {
                    Ok(mut callbacks) => {
                        callbacks.handle(call, what);
                        self.user_commands.insert(terminal_id, callbacks);
                    }
                    Err(failure) => {
                        let result = Err(failure);
                        self.machine
                            .handle(Input::Host { call, result }, self.context.clock.now());
                    }
                }
            }
            HostCall::ReleaseTerminal { terminal_id } => drop(self.user_commands.remove(terminal_id)),
            HostCall::KillTerminal { terminal_id }
            | HostCall::TerminalOutput { terminal_id }
            | HostCall::WaitForTerminalExit { terminal_id } => {
                if let Some(callbacks) = self.user_commands.get_mut(terminal_id) {
                    callbacks.handle(call, what);
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
