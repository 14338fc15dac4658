//! What the clients of foreign protocols read in words, because their protocols have no messages for it.

/// A remark for the user.
pub(super) struct Remark {
    /// What happens.
    pub message: String,
    /// What the user can do.
    pub detail: String,
}

/// Says that a command waits for input. The input itself is in no event.
pub(super) fn terminal_waits(thread: &str, terminal_id: &str, secret: bool) -> Remark {
    let kind = if secret {
        "input that it does not show, such as a password"
    } else {
        "input"
    };
    Remark {
        message: format!("The command in {terminal_id} waits for {kind}."),
        detail: format!(
            "Type it in acpd's web UI (acpd open), or with: acpd type {thread} --terminal {terminal_id}"
        ),
    }
}
