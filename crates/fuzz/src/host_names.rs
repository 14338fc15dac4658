//! Names of the daemon in requests, which a page of another site can choose.

use std::net::SocketAddr;

use acpd_server::host_check::{AllowedHosts, named_port};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};

use crate::Target;

/// Lines `local ADDRESS`, `config NAME`, `uri URI`, `secure`, and headers. Invariants: an accepted request names a literal address of
/// the daemon, `localhost` or a configured name, and an accepted page has that very origin.
pub const HOST_NAMES: Target = Target {
    name: "host_names",
    run: host_names,
    words: &[
        "\n",
        "host: localhost:4127",
        "host: 127.0.0.1:4127",
        "host: [::1]:4127",
        "host: evil.example",
        "origin: http://localhost:4127",
        "origin: null",
        "origin: https://box.example",
        "config box.example",
        "config box.example:8443",
        "local 192.0.2.1:4127",
        "local [::]:443",
        "secure",
        "uri http://evil.example/",
        "@",
        ":",
        ".",
        "%6c",
        "\t",
        "[::ffff:127.0.0.1]",
        "0x7f.1",
        "localhost.",
    ],
};

/// The port of the daemon unless the input names an address.
const PORT: u16 = 4127;

fn host_names(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (mut local, mut secure) = (SocketAddr::from(([127, 0, 0, 1], PORT)), false);
    let (mut uri, mut headers, mut configured) = (Uri::from_static("/"), HeaderMap::new(), Vec::new());
    for line in text.split('\n').take(32) {
        if let Some(name) = line.strip_prefix("config ") {
            configured.push(name.to_owned());
        } else if let Some(address) = line.strip_prefix("local ") {
            local = address.parse().unwrap_or(local);
        } else if let Some(named) = line.strip_prefix("uri ") {
            uri = named.parse().unwrap_or(uri);
        } else if line == "secure" {
            secure = true;
        } else if let Some((name, value)) = line.split_once(": ")
            && let Ok(name) = HeaderName::from_bytes(name.as_bytes())
            && let Ok(value) = HeaderValue::from_bytes(value.as_bytes())
        {
            headers.append(name, value);
        }
    }
    configured.retain(|name| AllowedHosts::new(std::slice::from_ref(name)).is_ok());
    let allowed = AllowedHosts::new(&configured).expect("each name is valid");
    if allowed.check(&uri, &headers, local, secure).is_err() {
        return;
    }
    let named = the_only(&headers, "host");
    let (name, port) = divided(&named);
    let port = port.unwrap_or(if secure { 443 } else { 80 });
    assert_eq!(named_port(&headers, secure), Some(port), "{named}");
    let by_config = configured
        .iter()
        .any(|known| divided(&known.to_ascii_lowercase()).0 == name);
    let literal = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    let here = local.ip().to_canonical();
    let by_itself = match literal.map(|address| address.to_canonical()) {
        Ok(address) => address == here || address.is_loopback() && here.is_loopback(),
        Err(_) => name == "localhost" && here.is_loopback(),
    };
    assert!(
        by_config || by_itself && port == local.port(),
        "{named} at {local}"
    );
    if headers.contains_key("origin") {
        let origin = the_only(&headers, "origin");
        let (scheme, page) = origin.split_once("://").expect("an origin has a scheme");
        let usual = if scheme == "https" { 443 } else { 80 };
        let (page, at) = divided(page);
        assert_eq!(page, name, "{origin} is not {named}");
        // Behind a proxy with TLS, a name without a port stands for the page's usual one.
        let own = divided(&named).1.unwrap_or(usual);
        assert_eq!(at.unwrap_or(usual), own, "{origin} is not {named}");
    }
}

/// Returns the value of a header that occurs once, in lower case.
fn the_only(headers: &HeaderMap, name: &str) -> String {
    let mut values = headers.get_all(name).iter();
    let value = values.next().expect("there is one");
    assert!(values.next().is_none(), "there is only one");
    value.to_str().expect("it is ASCII").to_ascii_lowercase()
}

/// Divides a host from its port.
fn divided(text: &str) -> (String, Option<u16>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host.to_owned(), port.parse().ok()),
        _ => (text.to_owned(), None),
    }
}
