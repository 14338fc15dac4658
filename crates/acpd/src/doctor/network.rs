//! Proxies, and with `--network` the registry of agents.
//!
//! In: variables, and the registry's URL. Out: findings. Never: connects anywhere unless the user asked for it, or
//! prints the password of a proxy.

use acpd_catalog::Catalog;

use super::report::{Finding, Group};
use super::subject::Subject;

/// Variables that name a proxy.
const VARIABLES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// What is known about the network.
#[derive(Debug, Clone)]
struct Facts {
    /// The variable and its value.
    proxy: Option<(&'static str, String)>,
    url: String,
    /// The number of agents in the registry, or why it cannot be fetched; `None` if that was not tried.
    registry: Option<Result<usize, String>>,
}

/// Checks proxies, and with `connects` the registry.
pub fn check(subject: &Subject, connects: bool) -> Vec<Finding> {
    let value = |name: &'static str| {
        let value = std::env::var(name).ok()?;
        (!value.is_empty()).then_some((name, value))
    };
    let url = subject.settings.registry_url().to_owned();
    findings(&Facts {
        proxy: VARIABLES.into_iter().find_map(value),
        registry: connects.then(|| Catalog::check_url(&url).map_err(|error| error.to_string())),
        url,
    })
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let group = Group::Network;
    let mut found = Vec::new();
    if let Some((name, value)) = &facts.proxy {
        found.push(match host_of(value) {
            Some(host) => Finding::ok(group, format!("downloads use the proxy {host} ({name})")),
            None => Finding::warning(
                group,
                format!("{name} is not a valid proxy URL; downloads ignore it or fail"),
            )
            .fix(format!("set {name} to http://HOST:PORT, or unset it")),
        });
    }
    let url = &facts.url;
    found.push(match &facts.registry {
        None => Finding::ok(
            group,
            "acpd itself needs no network, and connected to nothing; --network fetches the registry of agents",
        ),
        Some(Ok(count)) => Finding::ok(group, format!("the registry at {url} has {count} agents")),
        Some(Err(reason)) => Finding::warning(group, format!("the registry cannot be fetched: {reason}"))
            .fix("check the network and HTTPS_PROXY, or set registry_url; acpd uses its own copy meanwhile"),
    });
    found
}

/// Returns the host and port of a proxy, without its user and password.
fn host_of(value: &str) -> Option<&str> {
    let rest = match value.split_once("://") {
        Some(("http" | "https" | "socks4" | "socks4a" | "socks5" | "socks5h", rest)) => rest,
        Some(_) => return None,
        None => value,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let is_host = !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || c.is_control());
    is_host.then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::Level;
    use crate::doctor::report::assert_found;

    fn facts(proxy: Option<&str>, registry: Option<Result<usize, String>>) -> Facts {
        Facts {
            proxy: proxy.map(|value| ("HTTPS_PROXY", value.to_owned())),
            url: "https://r.example".to_owned(),
            registry,
        }
    }

    #[test]
    fn each_state_has_its_finding() {
        for (facts, level, part) in [
            (facts(None, None), Level::Ok, "--network"),
            (facts(None, Some(Ok(11))), Level::Ok, "has 11 agents"),
            (
                facts(None, Some(Err("no route".to_owned()))),
                Level::Warning,
                "no route",
            ),
            (
                facts(Some("http://me:secret@p.example:3128/"), None),
                Level::Ok,
                "the proxy p.example:3128 (HTTPS_PROXY)",
            ),
            (
                facts(Some("p.example:3128"), None),
                Level::Ok,
                "the proxy p.example:3128",
            ),
            (
                facts(Some("ftp://p.example"), None),
                Level::Warning,
                "not a valid proxy URL",
            ),
            (
                facts(Some("http://"), None),
                Level::Warning,
                "not a valid proxy URL",
            ),
        ] {
            let found = findings(&facts);
            assert_found(&found, level, part);
            assert!(!format!("{found:?}").contains("secret"));
        }
    }
}
