//! The methods that ask a thread's agent for something beside turns.

use acpd_model::{Failure, RawJson, ThreadId};
use serde::Deserialize;

use super::request::{Request, missing, read, thread_or_current};
use crate::agent::{AgentRequest, ConfigValue, check_extension};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    #[serde(default)]
    thread_id: Option<ThreadId>,
    #[serde(default)]
    mode_id: Option<String>,
    #[serde(default)]
    config_id: Option<String>,
    #[serde(default)]
    value: Option<ConfigValue>,
    #[serde(default)]
    method_id: Option<String>,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default, rename = "params")]
    passed_on: Option<RawJson>,
}

/// Reads a request; `None` if there is no such method.
pub(super) fn parse(method: &str, text: &str, current: Option<ThreadId>) -> Option<Result<Request, Failure>> {
    let decode: fn(Params) -> Result<(AgentRequest, bool), Failure> = match method {
        "thread/mode/set" => |p| {
            let mode_id = p.mode_id.ok_or_else(|| missing("modeId"))?;
            Ok((AgentRequest::SetMode { mode_id }, false))
        },
        "thread/config/set" => |p| {
            let config_id = p.config_id.ok_or_else(|| missing("configId"))?;
            let value = p.value.ok_or_else(|| missing("value"))?;
            Ok((AgentRequest::SetConfigOption { config_id, value }, false))
        },
        "agent/authenticate" => |p| {
            let method_id = p.method_id.ok_or_else(|| missing("methodId"))?;
            Ok((AgentRequest::Authenticate { method_id }, false))
        },
        "agent/logout" => |_| Ok((AgentRequest::Logout, false)),
        "agent/session/list" => |p| {
            let (cwd, cursor) = (p.cwd, p.cursor);
            Ok((AgentRequest::ListSessions { cwd, cursor }, true))
        },
        "agent/session/delete" => |p| {
            let session_id = p.session_id.ok_or_else(|| missing("sessionId"))?;
            Ok((AgentRequest::DeleteSession { session_id }, false))
        },
        "agent/request" => |p| {
            let method = p.method.ok_or_else(|| missing("method"))?;
            check_extension(&method)?;
            let params = p.passed_on;
            Ok((AgentRequest::Extension { method, params }, true))
        },
        "agent/notify" => return Some(notify(text, current)),
        _ => return None,
    };
    Some(read::<Params>(text).and_then(|params| {
        let thread = thread_or_current(params.thread_id, current)?;
        let (request, wants_answer) = decode(params)?;
        Ok(Request::Agent {
            thread,
            request,
            wants_answer,
        })
    }))
}

fn notify(text: &str, current: Option<ThreadId>) -> Result<Request, Failure> {
    let params: Params = read(text)?;
    let thread = thread_or_current(params.thread_id, current)?;
    let method = params.method.ok_or_else(|| missing("method"))?;
    check_extension(&method)?;
    Ok(Request::AgentNotify {
        thread,
        method,
        params: params.passed_on,
    })
}
