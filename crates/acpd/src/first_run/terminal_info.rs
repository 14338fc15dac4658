//! Where this terminal is: beside a browser, or on another computer.
//!
//! In: variables of the environment. Out: whether to open a browser, and how else to reach the daemon. Never: starts
//! anything.

use crate::daemon::open;
use crate::remote::origin::Origin;

/// What is known about the terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalInfo {
    /// Whether there is a program that opens a page.
    has_opener: bool,
    /// Whether the user named that program, as editors do for their terminals on other hosts.
    has_named_opener: bool,
    /// The address of this host, as the SSH client sees it; empty if it is unknown.
    ssh: Option<String>,
    user: Option<String>,
}

impl TerminalInfo {
    /// Reads the environment.
    pub fn here() -> Self {
        let given = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let ssh = given("SSH_CONNECTION").or(given("SSH_TTY").map(|_| String::new()));
        Self {
            has_opener: open::opener().is_some(),
            has_named_opener: given("BROWSER").is_some(),
            ssh: ssh.map(|connection| connection.split(' ').nth(2).unwrap_or_default().to_owned()),
            user: given("USER"),
        }
    }

    /// Returns whether a browser can be opened. Over SSH, it would be on the wrong computer.
    pub fn has_browser(&self) -> bool {
        self.has_opener && (self.ssh.is_none() || self.has_named_opener)
    }

    /// Says how to reach the daemon at this URL from another computer.
    pub fn advice(&self, url: &str) -> String {
        let (_, authority) = url.split_once("://").unwrap_or_default();
        let port = authority.rsplit(':').next().unwrap_or_default();
        if !is_loopback(url) {
            return "Open this link in a browser that reaches this host:\n".to_owned();
        }
        let target = match (&self.ssh, &self.user) {
            (Some(host), Some(user)) if !host.is_empty() => format!("{user}@{host}"),
            (Some(host), None) if !host.is_empty() => host.clone(),
            _ => "THIS-HOST".to_owned(),
        };
        format!(
            "There is no browser to open here. On the computer with your browser, run\n  ssh -N -L {port}:127.0.0.1:{port} {target}\n\
             and then open this link there:\n"
        )
    }
}

/// Returns whether a URL reaches only programs of its own host.
pub fn is_loopback(url: &str) -> bool {
    Origin::parse(url).is_some_and(|origin| origin.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_opened_where_the_user_is() {
        let with = |has_opener, has_named_opener, ssh: Option<&str>| TerminalInfo {
            has_opener,
            has_named_opener,
            ssh: ssh.map(str::to_owned),
            user: None,
        };
        assert!(with(true, false, None).has_browser());
        assert!(!with(false, false, None).has_browser());
        assert!(!with(true, false, Some("10.0.0.1")).has_browser());
        assert!(with(true, true, Some("10.0.0.1")).has_browser());
    }

    #[test]
    fn the_advice_names_the_tunnel() {
        let place = |ssh: Option<&str>, user: Option<&str>| TerminalInfo {
            ssh: ssh.map(str::to_owned),
            user: user.map(str::to_owned),
            ..TerminalInfo::default()
        };
        let url = "http://127.0.0.1:4127";
        for (place, command) in [
            (
                place(Some("10.0.0.1"), Some("ann")),
                "ssh -N -L 4127:127.0.0.1:4127 ann@10.0.0.1\n",
            ),
            (
                place(Some("10.0.0.1"), None),
                "ssh -N -L 4127:127.0.0.1:4127 10.0.0.1\n",
            ),
            (place(Some(""), Some("ann")), "THIS-HOST\n"),
            (place(None, None), "THIS-HOST\n"),
        ] {
            let advice = place.advice(url);
            assert!(advice.contains(command), "{advice}");
        }
        assert!(!place(None, None).advice("https://10.0.0.1:4127").contains("ssh"));
    }
}
