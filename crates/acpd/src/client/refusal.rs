//! Errors of the daemon, as errors of a command.

use serde_json::Value;

use crate::exit::{Exit, refused};

/// Returns a JSON-RPC error of the daemon as an error of the command.
pub fn refusal(error: &Value) -> anyhow::Error {
    let code = serde_json::from_value(error["data"]["code"].clone()).ok();
    let message = error["message"]
        .as_str()
        .unwrap_or("the daemon refused without a reason");
    let detail = error["data"]["detail"].as_str();
    Exit::of_code(code).error(refused(code, message, detail))
}
