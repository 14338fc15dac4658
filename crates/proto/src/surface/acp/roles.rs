//! What an editor may ask for, and the least role that each request needs.

use acpd_model::{ErrorCode, Failure, Role};

/// Every request besides extensions. A request that is not listed does not exist.
pub static METHODS: &[(&str, Role)] = &[
    ("initialize", Role::Observer),
    ("session/load", Role::Observer),
    ("session/resume", Role::Observer),
    ("session/list", Role::Observer),
    ("session/close", Role::Observer),
    ("session/new", Role::Operator),
    ("session/fork", Role::Operator),
    ("session/prompt", Role::Operator),
    ("session/set_mode", Role::Operator),
    ("session/set_model", Role::Operator),
    ("session/set_config_option", Role::Operator),
    ("auth/status", Role::Operator),
    ("providers/list", Role::Operator),
    ("_acpd/lease/acquire", Role::Operator),
    ("_acpd/lease/release", Role::Operator),
    ("authenticate", Role::Owner),
    ("logout", Role::Owner),
    ("session/delete", Role::Owner),
    ("providers/set", Role::Owner),
    ("providers/disable", Role::Owner),
];

/// Returns the least role that may make a request.
pub(super) fn role_for(method: &str) -> Result<Role, Failure> {
    let listed = METHODS.iter().find(|(name, _)| *name == method);
    match listed {
        Some((_, role)) => Ok(*role),
        None if is_extension(method) => Ok(Role::Operator),
        None => Err(unknown(method)),
    }
}

/// Whether a method is the agent's own. Names that begin with `_acpd/` are ours.
pub(super) fn is_extension(method: &str) -> bool {
    method.starts_with('_') && !method.starts_with("_acpd/")
}

/// The answer to a request that does not exist.
pub(super) fn unknown(method: &str) -> Failure {
    let shown: String = method.chars().take(80).collect();
    Failure::new(ErrorCode::MethodNotFound, format!("unknown method {shown:?}"))
}
