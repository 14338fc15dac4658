//! Fake hosts in place of the daemon's files and terminals.

use acpd_model::PreviousContent;
use acpd_proto::agent::TerminalExit;
use acpd_proto::thread::{HostCall, HostReply};

/// A host that completes every call.
pub fn willing(call: &HostCall) -> HostReply {
    match call {
        HostCall::ReadFile { .. } => HostReply::Read { content: "x".into() },
        HostCall::WriteFile { .. } => HostReply::Written {
            old: PreviousContent::Nothing,
        },
        HostCall::CreateTerminal { .. } => HostReply::Created,
        HostCall::TerminalOutput { .. } => HostReply::Output {
            output: String::new(),
            truncated: false,
            exit: None,
        },
        HostCall::WaitForTerminalExit { .. } => HostReply::Exited(TerminalExit::default()),
        HostCall::TypeIn { .. } | HostCall::KillTerminal { .. } | HostCall::ReleaseTerminal { .. } => {
            HostReply::Done
        }
    }
}
