//! Machines that stand in for the files and terminals of a daemon.

use acpd_model::Before;
use acpd_proto::agent::TerminalExit;
use acpd_proto::thread::{MachineCall, MachineReply};

/// A machine that does whatever it is asked.
pub fn willing(call: &MachineCall) -> MachineReply {
    match call {
        MachineCall::ReadFile { .. } => MachineReply::Read { content: "x".into() },
        MachineCall::WriteFile { .. } => MachineReply::Written { old: Before::Nothing },
        MachineCall::CreateTerminal { .. } => MachineReply::Created,
        MachineCall::TerminalOutput { .. } => MachineReply::Output {
            output: String::new(),
            truncated: false,
            exit: None,
        },
        MachineCall::WaitForTerminalExit { .. } => MachineReply::Exited(TerminalExit::default()),
        MachineCall::KillTerminal { .. } | MachineCall::ReleaseTerminal { .. } => MachineReply::Done,
    }
}
