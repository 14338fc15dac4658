//! The methods that an editor may call.

use acpd_model::{ErrorCode, Failure};

use crate::surface::contract::UNKNOWN_METHOD;
use crate::surface::request::RequestKind;

/// All methods except extensions. Other methods do not exist.
pub static METHODS: &[(&str, RequestKind)] = &[
    ("initialize", RequestKind::Initialize),
    ("session/load", RequestKind::OpenThread),
    ("session/resume", RequestKind::OpenThread),
    ("session/list", RequestKind::ListThreads),
    ("session/close", RequestKind::CloseThread),
    ("session/new", RequestKind::StartThread),
    ("session/fork", RequestKind::ForkThread),
    ("session/prompt", RequestKind::StartTurn),
    ("session/set_mode", RequestKind::AskAgent),
    ("session/set_model", RequestKind::AskAgent),
    ("session/set_config_option", RequestKind::AskAgent),
    ("auth/status", RequestKind::AskAgent),
    ("providers/list", RequestKind::AskAgent),
    ("_acpd/lease/acquire", RequestKind::MoveLease),
    ("_acpd/lease/release", RequestKind::MoveLease),
    ("authenticate", RequestKind::SignIn),
    ("logout", RequestKind::SignIn),
    ("session/delete", RequestKind::DeleteThread),
    ("providers/set", RequestKind::ChangeProvider),
    ("providers/disable", RequestKind::ChangeProvider),
];

/// Returns the kind of request that a method makes.
pub(super) fn kind_of(method: &str) -> Result<RequestKind, Failure> {
    let listed = METHODS.iter().find(|(name, _)| *name == method);
    match listed {
        Some((_, kind)) => Ok(*kind),
        None if is_extension(method) => Ok(RequestKind::AskAgent),
        None => Err(unknown(method)),
    }
}

/// Returns the name of a method in metrics, which must not contain a client's words.
pub(super) fn metric_name(method: &str) -> &'static str {
    let listed = METHODS.iter().find(|(name, _)| *name == method);
    match listed {
        Some((name, _)) => name,
        None if is_extension(method) => "extension",
        None => UNKNOWN_METHOD,
    }
}

/// Returns whether a method is an extension of the agent. Names that begin with `_acpd/` belong to acpd.
pub(super) fn is_extension(method: &str) -> bool {
    method.starts_with('_') && !method.starts_with("_acpd/")
}

/// Returns the failure for an unknown method.
pub(super) fn unknown(method: &str) -> Failure {
    let shown: String = method.chars().take(80).collect();
    Failure::new(ErrorCode::MethodNotFound, format!("unknown method {shown:?}"))
}
