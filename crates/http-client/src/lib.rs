//! The HTTP client for all that acpd requests from others: registries, downloads, receivers of notifications, collectors of
//! traces.
//!
//! In: how long a request may take, and the proxy variables of the environment. Out: a client that verifies certificates
//! against the host's trust store, and whose requests have nothing of the user. Never: follows a redirect, unless the caller says so.

mod host;
mod proxy;

use std::sync::Arc;
use std::time::Duration;

use ureq::config::ConfigBuilder;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::typestate::AgentScope;

pub use self::host::{address_of, is_loopback};
pub use self::proxy::{Tunnel, tunnel_to};

/// Seconds to connect to the server of a registry or of an agent's download.
const CONNECT_SECS: u64 = 15;

/// Returns the settings that all clients begin with. Requests take at most `within`. Hosts that are near are not reached
/// through the proxy of the environment.
pub fn settings(within: Duration, is_near: bool) -> ConfigBuilder<AgentScope> {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    let settings = ureq::Agent::config_builder()
        .tls_config(tls)
        .max_redirects(0)
        .user_agent(concat!("acpd/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(Duration::from_secs(CONNECT_SECS).min(within)))
        .timeout_global(Some(within));
    let proxy = if is_near { None } else { proxy::of_environment() };
    settings.proxy(proxy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_known_by_its_text_alone() {
        for (host, expected) in [
            ("localhost", true),
            ("127.0.0.1", true),
            ("127.1.2.3", true),
            ("[::1]", true),
            ("10.0.0.1", false),
            ("[fe80::1]", false),
            ("localhost.example.org", false),
            ("127.0.0.1.example.org", false),
            ("", false),
        ] {
            assert_eq!(is_loopback(host), expected, "{host}");
        }
        assert_eq!(address_of("[fd00::1]"), "fd00::1".parse().ok());
        assert_eq!(address_of("example.org"), None);
    }

    #[test]
    fn a_connection_takes_no_longer_than_the_request() {
        let config = settings(Duration::from_secs(1), true).build();
        assert_eq!(config.timeouts().connect, Some(Duration::from_secs(1)));
        assert_eq!(config.timeouts().global, Some(Duration::from_secs(1)));
        assert_eq!(config.max_redirects(), 0);
    }
}
