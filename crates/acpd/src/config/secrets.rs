//! Which settings can be secrets: `acpd config show` hides them, and errors, which a running daemon logs, do not quote them.

/// Returns whether the value of a setting can be a secret, or contain one. Its key is written as in errors:
/// `agents.mine.mcp_servers[0].args[1]`.
pub fn is_secret(key: &str) -> bool {
    let mut place = "";
    for name in key.split(['.', '[']) {
        match (place, name) {
            (_, "env" | "headers")
            // The arguments of a program often are secrets, and the address of a webhook or a topic is one.
            | ("targets" | "mcp_servers", "args")
            | ("targets", "url" | "secret" | "token") => return true,
            (_, "targets" | "mcp_servers") => place = name,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_place() {
        for key in [
            "agents.mine.env",
            "agents.mine.env.KEY",
            "agents.mine.mcp_servers[0].env[1].value",
            "agents.mine.mcp_servers[0].args[1]",
            "agents.mine.mcp_servers.args",
            "agents.mine.mcp_servers[0].headers.Authorization",
            "notifications.targets.mine.url",
            "notifications.targets.mine.secret",
            "notifications.targets.mine.token",
            "notifications.targets.mine.args[0]",
        ] {
            assert!(is_secret(key), "{key}");
        }
        for key in [
            "",
            "agents.mine.args[0]",
            "agents.mine.mcp_servers[0].url",
            "agents.mine.mcp_servers[0].command",
            "agents.mine.pass_env",
            "notifications.targets.mine.token_file",
            "registry_url",
        ] {
            assert!(!is_secret(key), "{key}");
        }
    }
}
