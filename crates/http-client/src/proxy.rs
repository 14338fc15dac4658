//! The proxy of the environment: `HTTPS_PROXY`, `ALL_PROXY` and `HTTP_PROXY`, and the hosts of `NO_PROXY`.

use std::net::{IpAddr, Ipv6Addr};

use ureq::http::Uri;
use ureq::{Proxy, ProxyProtocol};

/// The variables that name a proxy. The first one that is set counts, in either case.
const VARIABLES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "HTTP_PROXY",
    "http_proxy",
];

/// The variables that list hosts which are reached without the proxy.
const EXCEPTIONS: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// A proxy that passes on the bytes of a connection after `CONNECT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tunnel {
    /// Name or address of the proxy; an IPv6 address is in brackets.
    pub host: String,
    /// Port of the proxy.
    pub port: u16,
    /// Whether the proxy itself requires TLS.
    pub is_secure: bool,
    /// User and password, if the proxy's URL has them.
    pub user: Option<(String, String)>,
    /// The variable that names the proxy.
    pub variable: &'static str,
}

/// Returns the proxy of the environment, with the hosts that are reached without it.
pub(crate) fn of_environment() -> Option<Proxy> {
    let read = |name: &'static str| std::env::var(name).ok();
    named(read).and_then(|(_, proxy)| proxy.ok())
}

/// Returns the tunnel to a host, or `None` if the host is reached directly. An IPv6 address is in brackets. Fails with the
/// reason if the environment names a proxy that cannot be used.
pub fn tunnel_to(host: &str) -> Result<Option<Tunnel>, String> {
    tunnel_by(host, |name| std::env::var(name).ok())
}

fn tunnel_by(host: &str, read: impl Fn(&'static str) -> Option<String>) -> Result<Option<Tunnel>, String> {
    let Some((variable, proxy)) = (!crate::host::is_loopback(host)).then(|| named(&read)).flatten() else {
        return Ok(None);
    };
    let mend = format!("set {variable} to http://HOST:PORT, or add {host} to NO_PROXY");
    let proxy = proxy.map_err(|()| format!("{variable} is not a valid proxy URL; {mend}"))?;
    let uri: Uri = format!("https://{host}/")
        .parse()
        .map_err(|_| format!("invalid host name {host:?}"))?;
    let excepted = first_set(&EXCEPTIONS, &read).is_some_and(|(_, listed)| {
        let mut listed = entries(&listed);
        listed.any(|entry| is_in_range(host, entry))
    });
    if excepted || proxy.is_no_proxy(&uri) {
        return Ok(None);
    }
    let is_secure = match proxy.protocol() {
        ProxyProtocol::Http => false,
        ProxyProtocol::Https => true,
        other => {
            return Err(format!(
                "{variable} names a {other} proxy, which acpd does not support; {mend}"
            ));
        }
    };
    Ok(Some(Tunnel {
        host: proxy.host().to_owned(),
        port: proxy.port(),
        is_secure,
        user: proxy
            .username()
            .map(|user| (user.to_owned(), proxy.password().unwrap_or_default().to_owned())),
        variable,
    }))
}

/// Returns the variable that names a proxy, and the proxy, or an error if its value names none.
fn named(read: impl Fn(&'static str) -> Option<String>) -> Option<(&'static str, Result<Proxy, ()>)> {
    let (variable, value) = first_set(&VARIABLES, &read)?;
    let exceptions = first_set(&EXCEPTIONS, &read).map(|(_, value)| value);
    Some((variable, parse(&value, exceptions.as_deref().unwrap_or_default())))
}

/// Returns the first of the variables that is set, and its value.
fn first_set(
    names: &[&'static str],
    read: impl Fn(&'static str) -> Option<String>,
) -> Option<(&'static str, String)> {
    names.iter().find_map(|&name| {
        let value = read(name)?.trim().to_owned();
        (!value.is_empty()).then_some((name, value))
    })
}

/// Returns the entries of `NO_PROXY`. People write blanks behind the commas.
fn entries(exceptions: &str) -> impl Iterator<Item = &str> {
    let entries = exceptions.split([',', ' ', '\t']);
    entries.map(without_port).filter(|entry| !entry.is_empty())
}

/// Returns an entry without its port and without the brackets of an IPv6 address.
fn without_port(entry: &str) -> &str {
    if let Some((address, _)) = entry.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address;
    }
    match entry.split_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => host,
        _ => entry,
    }
}

/// Returns whether a host is an address in the range `ADDRESS/BITS`. An IPv6 address is in brackets.
fn is_in_range(host: &str, range: &str) -> bool {
    let Some((start, bits)) = range.split_once('/') else {
        return false;
    };
    let host = host.trim_matches(['[', ']']).parse::<IpAddr>();
    let (Ok(host), Ok(start), Ok(bits)) = (host, start.parse::<IpAddr>(), bits.parse::<u32>()) else {
        return false;
    };
    match (host, start) {
        (IpAddr::V4(host), IpAddr::V4(start)) if bits <= 32 => {
            let differing = host.to_bits() ^ start.to_bits();
            differing.checked_shr(32 - bits).is_none_or(|rest| rest == 0)
        }
        (IpAddr::V6(host), IpAddr::V6(start)) if bits <= 128 => {
            let differing = host.to_bits() ^ start.to_bits();
            differing.checked_shr(128 - bits).is_none_or(|rest| rest == 0)
        }
        _ => false,
    }
}

fn parse(value: &str, exceptions: &str) -> Result<Proxy, ()> {
    let proxy = Proxy::new(value).map_err(|_| ())?;
    let mut builder = Proxy::builder(proxy.protocol())
        .host(proxy.host())
        .port(proxy.port());
    if let Some(user) = proxy.username() {
        builder = builder.username(user);
    }
    if let Some(password) = proxy.password() {
        builder = builder.password(password);
    }
    for entry in entries(exceptions) {
        builder = match entry.parse::<Ipv6Addr>() {
            Ok(address) => builder.no_proxy(&format!("[{address}]")),
            Err(_) if entry.contains('*') || entry.starts_with('.') => builder.no_proxy(entry),
            // The hosts below it as well, as in other programs.
            Err(_) => builder.no_proxy(entry).no_proxy(&format!(".{entry}")),
        };
    }
    builder.build().map_err(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tunnel(host: &str, variables: &[(&'static str, &str)]) -> Result<Option<String>, String> {
        let read = |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let found = tunnel_by(host, read)?;
        Ok(found.map(|tunnel| format!("{}:{}", tunnel.host, tunnel.port)))
    }

    #[test]
    fn hosts_are_reached_through_the_proxy_but_those_excepted() {
        let proxy = ("HTTPS_PROXY", "http://p.example:3128");
        let expected = Ok(Some("p.example:3128".to_owned()));
        for (host, except, is_direct) in [
            ("box.example", "", false),
            ("box.example", "other.example", false),
            ("box.example", "other.example, box.example", true),
            ("box.example", " .example , box", true),
            ("box", ".example, box", true),
            ("box.example", "*.example", true),
            ("box.example", "* ", true),
            ("boxxexample", ".example", false),
            ("a.box.example", "box.example", true),
            ("mybox.example", "box.example", false),
            ("box.example", "box.example:443", true),
            ("10.1.2.3", "10.0.0.0/8", true),
            ("11.1.2.3", "10.0.0.0/8", false),
            ("10.1.2.3", "0.0.0.0/0", true),
            ("10.1.2.3", "10.1.2.3/33", false),
            ("box.example", "10.0.0.0/8", false),
            ("[2001:db8::1]", "2001:db8::/32", true),
            ("[2001:db9::1]", "2001:db8::/32", false),
            ("[2001:db8::1]", "[2001:db8::1]:443", true),
            ("[2001:db8::1]", "2001:db8::1", true),
            ("[2001:db8::1]", "2001:db8::2", false),
            ("localhost", "", true),
            ("127.0.0.1", "", true),
            ("[::1]", "", true),
        ] {
            let found = tunnel(host, &[proxy, ("no_proxy", except)]);
            assert_eq!(
                found,
                if is_direct { Ok(None) } else { expected.clone() },
                "{host} {except:?}"
            );
        }
    }

    #[test]
    fn the_first_variable_that_is_set_counts() {
        let name = |variables: &[(&'static str, &str)]| tunnel("box.example", variables);
        assert_eq!(name(&[]), Ok(None));
        let all = ("ALL_PROXY", "a.example");
        let http = ("http_proxy", "http://h.example:1");
        assert_eq!(name(&[http]), Ok(Some("h.example:1".into())));
        assert_eq!(name(&[http, all]), Ok(Some("a.example:80".into())));
        let https = ("https_proxy", "https://s.example");
        assert_eq!(name(&[http, all, https]), Ok(Some("s.example:443".into())));
        assert_eq!(
            name(&[("HTTPS_PROXY", " "), all]),
            Ok(Some("a.example:80".into()))
        );
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_an_error_with_its_variable() {
        for value in ["socks5://p.example:1080", "ftp://p.example", "http://", "://"] {
            let refused = tunnel("box.example", &[("ALL_PROXY", value)]);
            let reason = refused.expect_err(value);
            assert!(
                reason.starts_with("ALL_PROXY ") && reason.contains("NO_PROXY"),
                "{reason}"
            );
        }
        assert_eq!(tunnel("localhost", &[("ALL_PROXY", "socks5://p")]), Ok(None));
    }

    #[test]
    fn user_and_password_are_decoded_once() {
        let read = |name| (name == "HTTPS_PROXY").then(|| "http://me:a%40b%2525@p.example:3128".to_owned());
        let found = tunnel_by("box.example", read).unwrap().unwrap();
        assert_eq!(found.user, Some(("me".into(), "a@b%25".into())));
    }
}
