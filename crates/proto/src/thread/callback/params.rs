//! The params of a call, as ACP has them.

use acpd_model::{RawJson, ThreadId};
use serde_json::json;

use crate::agent::Call;

/// Returns the params of a call that an editor can answer, with what acpd knows of them.
pub(super) fn params_of(call: &Call, session: ThreadId) -> Option<RawJson> {
    let mut params = match call {
        Call::ReadFile { path, line, limit } => json!({ "path": path, "line": line, "limit": limit }),
        Call::WriteFile { path, content } => json!({ "path": path, "content": content }),
        Call::CreateTerminal {
            command,
            args,
            env,
            cwd,
            output_byte_limit,
        } => {
            let variable = |(name, value)| json!({ "name": name, "value": value });
            let env: Vec<_> = env
                .iter()
                .map(|(name, value)| (name, value))
                .map(variable)
                .collect();
            json!({
                "command": command,
                "args": args,
                "env": env,
                "cwd": cwd,
                "outputByteLimit": output_byte_limit,
            })
        }
        Call::TerminalOutput { terminal_id }
        | Call::WaitForTerminalExit { terminal_id }
        | Call::KillTerminal { terminal_id }
        | Call::ReleaseTerminal { terminal_id } => json!({ "terminalId": terminal_id }),
        Call::Permission { .. } | Call::Elicit { .. } | Call::Extension { .. } => return None,
    };
    if let Some(members) = params.as_object_mut() {
        // ACP has no null in these places.
        members.retain(|_, value| !value.is_null());
        members.insert("sessionId".to_owned(), json!(session));
    }
    Some(params.into())
}
