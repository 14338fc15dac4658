//! Commands in a terminal of the client.

use serde_json::{Value, json};

use crate::turn::{End, Turn};
use crate::wire::RpcError;

/// Output limit of a terminal, in bytes.
const OUTPUT_LIMIT: u64 = 1 << 20;
/// Maximum length of the output that the agent repeats, in bytes.
const SAID_BYTES: usize = 16 << 10;

/// Runs a command in a terminal of the client. Returns how it ended, with the end of its output if the agent `reads` it.
pub fn run(
    turn: &mut Turn,
    command: &str,
    args: &[&str],
    reads: bool,
) -> Result<Result<String, RpcError>, End> {
    let id = turn.tool_id();
    let line = [&[command], args].concat().join(" ");
    turn.update(&json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": line, "kind": "execute",
        "status": "pending", "rawInput": { "command": command, "args": args },
    }));
    let create = json!({
        "command": command, "args": args, "cwd": turn.cwd, "outputByteLimit": OUTPUT_LIMIT,
        "env": [{ "name": "NO_COLOR", "value": "1" }],
    });
    let created = match turn.call("terminal/create", create) {
        Ok(created) => created,
        Err(error) => {
            turn.tool_update(&id, json!({ "status": "failed" }));
            return Ok(Err(error));
        }
    };
    let terminal = json!({ "terminalId": created["terminalId"] });
    let content = json!([{ "type": "terminal", "terminalId": created["terminalId"] }]);
    turn.tool_update(&id, json!({ "status": "in_progress", "content": content }));

    let exit = turn.ask("terminal/wait_for_exit", terminal.clone());
    let waited = turn.answer_or_cancel(exit);
    let cancelled = waited.is_none();
    let exited = match waited {
        Some(exited) => exited,
        None => turn
            .call("terminal/kill", terminal.clone())
            .and_then(|_| turn.answer(exit)),
    };
    let output = if reads {
        turn.call("terminal/output", terminal.clone())
    } else {
        Ok(Value::Null)
    };
    let good = exited.as_ref().is_ok_and(|exit| exit["exitCode"] == 0) && !cancelled;
    let status = if good { "completed" } else { "failed" };
    turn.tool_update(
        &id,
        json!({ "status": status, "rawOutput": exited.as_ref().ok() }),
    );
    let released = turn.call("terminal/release", terminal);
    if cancelled {
        return Err(End::cancelled());
    }
    Ok(exited
        .and_then(|exit| Ok((exit, output?)))
        .and_then(|(exit, output)| released.map(|_| outcome(&exit, &output))))
}

/// Formats an outcome: "exit 0: hi", "signal KILL: ", "exit 0 (truncated): ...". Keeps the end of long output.
fn outcome(exit: &Value, output: &Value) -> String {
    let how = match (exit["exitCode"].as_u64(), exit["signal"].as_str()) {
        (_, Some(signal)) => format!("signal {signal}"),
        (Some(code), None) => format!("exit {code}"),
        (None, None) => "exit ?".into(),
    };
    let cut = if output["truncated"] == true {
        " (truncated)"
    } else {
        ""
    };
    let output = output["output"].as_str().unwrap_or_default();
    let end = output.ceil_char_boundary(output.len().saturating_sub(SAID_BYTES));
    format!("{how}{cut}: {}", &output[end..])
}
