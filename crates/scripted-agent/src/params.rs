//! The params of the client's requests. Required ones are checked strictly, so that a client's omission fails.

use serde_json::Value;

use crate::wire::RpcError;

/// Returns a required string of the params.
pub fn text<'a>(params: &'a Value, key: &str) -> Result<&'a str, RpcError> {
    params
        .get(key)
        .and_then(Value::as_str)
        .ok_or_else(|| RpcError::params(format!("{key} must be a string")))
}

/// Returns the working directory of a session.
pub fn cwd(params: &Value) -> Result<&str, RpcError> {
    let cwd = text(params, "cwd")?;
    if cwd.starts_with('/') {
        Ok(cwd)
    } else {
        Err(RpcError::params("cwd must be absolute"))
    }
}

/// Checks that MCP servers are listed, of which scripted agents start none.
pub fn servers(params: &Value) -> Result<(), RpcError> {
    match params.get("mcpServers") {
        Some(Value::Array(_)) => Ok(()),
        _ => Err(RpcError::params("mcpServers must be a list")),
    }
}

/// Returns the content blocks of a prompt.
pub fn prompt(params: &Value) -> Result<&[Value], RpcError> {
    let blocks = params.get("prompt").and_then(Value::as_array);
    blocks
        .map(Vec::as_slice)
        .ok_or_else(|| RpcError::params("prompt must be a list"))
}

/// Checks the params of `initialize`; returns whether the client supports boolean options.
pub fn initialize(params: &Value) -> Result<bool, RpcError> {
    if !params.get("protocolVersion").is_some_and(Value::is_u64) {
        return Err(RpcError::params("protocolVersion must be a number"));
    }
    let options = params.pointer("/clientCapabilities/session/configOptions/boolean");
    Ok(options.is_some_and(Value::is_object))
}
