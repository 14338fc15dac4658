//! Errors of the daemon, as errors of a command.

use acpd_model::ErrorCode;
use serde_json::Value;

use crate::exit::Exit;

/// Returns a JSON-RPC error of the daemon as an error of the command.
pub fn refusal(error: &Value) -> anyhow::Error {
    let code = serde_json::from_value(error["data"]["code"].clone()).ok();
    Exit::of_code(code).error(describe(error, code))
}

/// Formats a JSON-RPC error for the user.
fn describe(error: &Value, code: Option<ErrorCode>) -> String {
    let mut message = error["message"]
        .as_str()
        .unwrap_or("the daemon refused without a reason")
        .to_owned();
    if code == Some(ErrorCode::AgentFailed) && !message.contains("agents doctor") {
        message.push_str("; \"acpd agents doctor NAME\" shows what the agent does");
    }
    match error["data"]["detail"].as_str() {
        Some(detail) => format!("{message}\n{detail}"),
        None => message,
    }
}
