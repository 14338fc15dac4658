//! Names of messages that ACP does not define.

use acpd_model::Failure;

/// What the names of acpd's own messages begin with. They are between acpd and its clients, so that neither clients nor agents send
/// them through acpd: an agent could tell `acpd acp` what an editor has seen, or an editor who holds the lease.
const OWN: &str = "_acpd/";

/// Returns whether a method is an extension that acpd passes on unread.
pub(crate) fn is_extension(method: &str) -> bool {
    method.starts_with('_') && !is_own(method)
}

/// Returns whether a name belongs to acpd.
pub(crate) fn is_own(method: &str) -> bool {
    method.starts_with(OWN)
}

/// Rejects a method outside the extension namespace: it could bypass what acpd does for ACP's current or future
/// methods. Rejects acpd's own methods as well.
pub fn check_extension(method: &str) -> Result<(), Failure> {
    if is_own(method) {
        return Err(Failure::invalid_params(format!(
            "{method:?} cannot be sent to an agent: names that begin with {OWN} are those of acpd"
        )));
    }
    if method.starts_with('_') {
        return Ok(());
    }
    Err(Failure::invalid_params(format!(
        "{method:?} is not an extension: their names begin with an underscore"
    )))
}

/// Returns why an agent's notification with a name of acpd reaches no client.
pub(crate) fn own_name(method: &str) -> String {
    format!("{method} is not passed on: names that begin with {OWN} are those of acpd")
}
