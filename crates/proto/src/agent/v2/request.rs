//! Requests of the daemon.

use acpd_model::{Failure, RawJson};

use super::parts::{list, objects_in, text_in};
use crate::wire::{member, object, others, spliced};

/// Returns a request of version 1 as one of version 2: its method and its params.
pub(in crate::agent) fn request(method: &str, params: &RawJson) -> (String, RawJson) {
    let (method, params) = match method {
        "session/new" | "session/resume" | "session/fork" => (method, opening(params)),
        "session/load" => {
            let from_start = [("replayFrom", r#"{"type":"start"}"#)];
            ("session/resume", spliced(&opening(params), &from_start))
        }
        "session/set_config_option" => (method, typed(params)),
        "session/set_mode" => ("session/set_config_option", as_option(params, "modeId", "mode")),
        "session/set_model" => ("session/set_config_option", as_option(params, "modelId", "model")),
        "authenticate" => ("auth/login", params.clone()),
        "logout" => ("auth/logout", params.clone()),
        _ => (method, params.clone()),
    };
    (method.to_owned(), params)
}

/// Returns the params of a request that opens a session.
fn opening(params: &RawJson) -> RawJson {
    let mut params = params.clone();
    if let Some(servers) = objects_in(&params, "mcpServers") {
        let servers = list(servers.iter().map(server));
        params = spliced(&params, &[("mcpServers", &servers)]);
    }
    if let Some(options) = objects_in(&params, "configOptions") {
        let options = list(options.iter().map(typed));
        params = spliced(&params, &[("configOptions", &options)]);
    }
    params
}

/// Rejects MCP servers whose program has no absolute path, which agents of version 2 refuse without the name of the server.
pub(in crate::agent) fn check_mcp_servers(servers: &[RawJson]) -> Result<(), Failure> {
    for server in servers {
        let command = text_in(server, "command");
        if let Some(command) = command.filter(|command| !command.starts_with('/')) {
            let name = text_in(server, "name").unwrap_or_default();
            return Err(Failure::invalid_params(format!(
                "the MCP server {name:?} has the command {command:?}, which is not on PATH: with version 2 of ACP, an agent takes absolute \
                 paths only"
            )));
        }
    }
    Ok(())
}

/// Returns an MCP server. In version 1, one without a type is a program.
fn server(server: &RawJson) -> RawJson {
    if text_in(server, "type").is_some() {
        return server.clone();
    }
    let mut put = vec![("type", r#""stdio""#)];
    for name in ["args", "env"] {
        if member(server, name).is_none() {
            put.push((name, "[]"));
        }
    }
    spliced(server, &put)
}

/// Returns the value of an option. In version 1, one without a type is the id of a value.
fn typed(option: &RawJson) -> RawJson {
    match member(option, "type") {
        Some(_) => option.clone(),
        None => spliced(option, &[("type", r#""id""#)]),
    }
}

/// Returns params that set an option instead of a mode or a model, which are options in version 2.
fn as_option(params: &RawJson, name: &str, option: &str) -> RawJson {
    let value = member(params, name).unwrap_or("null");
    let rest = others(params, &[name]);
    object(|out| {
        out.others(rest.as_ref())
            .put("configId", option)
            .put("type", "id")
            .raw("value", value);
    })
}
