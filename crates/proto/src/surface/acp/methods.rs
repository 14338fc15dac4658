//! The methods that an editor may call.

use acpd_model::Failure;

use crate::surface::contract::{known_name, unknown_method};
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
        None => Err(unknown_method(method)),
    }
}

/// Returns the name of a method in metrics. All extensions have one name.
pub(super) fn name_of(method: &str) -> &'static str {
    let listed = METHODS.iter().find(|(name, _)| *name == method);
    let extension = is_extension(method).then_some("extension");
    known_name(method, listed.map(|(name, _)| *name).or(extension))
}

/// Returns whether a method is an extension of the agent. Names that begin with `_acpd/` belong to acpd.
pub(super) fn is_extension(method: &str) -> bool {
    method.starts_with('_') && !method.starts_with("_acpd/")
}
