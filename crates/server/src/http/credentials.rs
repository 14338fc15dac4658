//! What a request shows to authenticate its client, as its author wrote it.
//!
//! In: the head of a request. Out: the token, the ticket, the cookies and the page key in it. Owns: nothing. Never: decides whether they
//! are valid, or which of them counts.

use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

/// The header with the page key.
const PAGE_KEY: &str = "acpd-page-key";

/// The prefix of the page key among the protocols that a page offers.
const PAGE_KEY_PROTOCOL: &str = "acpd.page-key.";

/// Returns the token of `Authorization: Bearer`. Other schemes, and a scheme without a token, are not the daemon's.
pub fn bearer(headers: &HeaderMap) -> Option<String> {
    headers.get_all(header::AUTHORIZATION).iter().find_map(|value| {
        // A token with other characters is still one, and matches none.
        let value = String::from_utf8_lossy(value.as_bytes());
        let (scheme, token) = value.trim().split_once([' ', '\t'])?;
        let token = token.trim();
        (scheme.eq_ignore_ascii_case("Bearer") && !token.is_empty()).then(|| token.to_owned())
    })
}

/// Returns the ticket in a query.
pub fn ticket(query: Option<&str>) -> Option<String> {
    let mut pairs = query?.split('&');
    pairs.find_map(|pair| Some(pair.strip_prefix("ticket=")?.to_owned()))
}

/// Returns whether a request opens a WebSocket.
pub fn is_socket(parts: &Parts) -> bool {
    match parts.uri.path() {
        "/ws" => true,
        "/acp" => parts.headers.contains_key(header::SEC_WEBSOCKET_KEY),
        _ => false,
    }
}

/// Returns the name of the cookie. A browser sends a cookie to every port of a host, and stores one of a name for all ports. So the
/// name has the port at which the browser reaches the daemon: two daemons of one host do not log each other's users out, nor do
/// two whose own port is the same, behind two tunnels. With TLS, the prefix guarantees that only this host can set the cookie. The
/// session of a link has a cookie of its own, so that opening a link ends no other session.
pub fn cookie_name(port: u16, share: Option<&str>, secure: bool) -> String {
    let prefix = if secure { "__Host-" } else { "" };
    match share {
        Some(id) => format!("{prefix}acpd_share_{port}_{id}"),
        None => format!("{prefix}acpd_session_{port}"),
    }
}

/// The prefix of the page keys of links.
const SHARE_KEY: &str = "share-";

/// Returns the page key of a link's session, which names the link.
pub fn share_page_key(share: &str, key: &str) -> String {
    format!("{SHARE_KEY}{share}-{key}")
}

/// Returns the id of the link whose session has this page key.
pub fn share_of(page_key: &str) -> Option<&str> {
    let (id, _) = page_key.strip_prefix(SHARE_KEY)?.split_once('-')?;
    // It becomes a part of a name.
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some(id)
}

/// Maximum number of cookies of one name that are tried. Browsers store fewer for a host.
pub const COOKIES: usize = 256;

/// Returns the values of all cookies that may be that of the session. Servers on other ports of the host can add cookies of the same
/// name, for a path, which a browser sends first. Only the page key says which one is the session's.
pub fn cookies(headers: &HeaderMap, port: u16, share: Option<&str>, secure: bool) -> Vec<String> {
    // Behind a proxy with TLS, the daemon's own connection has no TLS.
    let with_tls = cookie_name(port, share, true);
    let without = (!secure).then(|| cookie_name(port, share, false));
    let is_its_name = |key: &str| key == with_tls || without.as_deref() == Some(key);
    let lines = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok());
    lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(key, _)| is_its_name(key))
        .map(|(_, value)| value.to_owned())
        .take(COOKIES)
        .collect()
}

/// Returns the key of a page. On a WebSocket, a page cannot set headers, so the key is one of the offered protocols.
pub fn page_key(parts: &Parts) -> Option<String> {
    let headers = &parts.headers;
    if let Some(key) = headers.get(PAGE_KEY) {
        return Some(key.to_str().ok()?.to_owned());
    }
    if !is_socket(parts) {
        return None;
    }
    let offered = headers.get(header::SEC_WEBSOCKET_PROTOCOL)?.to_str().ok()?;
    let mut offered = offered.split(',');
    offered.find_map(|name| Some(name.trim().strip_prefix(PAGE_KEY_PROTOCOL)?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bearer_with_a_token_is_a_credential() {
        for (given, expected) in [
            (&["Bearer abc"][..], Some("abc")),
            (&["bearer  abc "], Some("abc")),
            (&["BEARER\tabc"], Some("abc")),
            (&["Bearer \u{fc}"], Some("\u{fc}")),
            (&["Basic eDp5", "Bearer abc"], Some("abc")),
            (&["Basic eDp5"], None),
            (&["Negotiate YII"], None),
            (&["Digest username=\"x\""], None),
            (&["Bearer"], None),
            (&["Bearer "], None),
            (&["Bearerabc"], None),
            (&[""], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for value in given {
                headers.append(header::AUTHORIZATION, value.parse().unwrap());
            }
            assert_eq!(bearer(&headers).as_deref(), expected, "{given:?}");
        }
    }

    #[test]
    fn every_cookie_of_the_name_may_be_the_sessions() {
        let mut headers = HeaderMap::new();
        for line in [
            "acpd_session_9001=other; acpd_session_4127=set; x=y; acpd_session_4127=own",
            "__Host-acpd_session_4127=tls; acpd_session_4127; =",
        ] {
            headers.append(header::COOKIE, line.parse().unwrap());
        }
        assert_eq!(cookies(&headers, 4127, None, false), ["set", "own", "tls"]);
        assert_eq!(
            cookies(&headers, 4127, None, true),
            ["tls"],
            "TLS proves who set it"
        );
        assert_eq!(cookies(&headers, 9001, None, false), ["other"]);
        assert!(cookies(&headers, 4127, Some("ff"), false).is_empty());
        headers.append(header::COOKIE, "acpd_session_1=x;".repeat(1000).parse().unwrap());
        assert_eq!(cookies(&headers, 1, None, false).len(), COOKIES);
    }

    #[test]
    fn a_page_key_names_the_link_whose_cookie_counts() {
        let key = share_page_key("0123abcd", "ff-00");
        assert_eq!(share_of(&key), Some("0123abcd"));
        assert_eq!(
            cookie_name(4127, share_of(&key), true),
            "__Host-acpd_share_4127_0123abcd"
        );
        assert_eq!(cookie_name(4127, share_of("ff"), false), "acpd_session_4127");
        for odd in [
            "",
            "share-",
            "share-0123abcd",
            "share--ff",
            "share-a=b-ff",
            "share-a;b-ff",
            "Share-0123-ff",
        ] {
            assert_eq!(share_of(odd), None, "{odd}");
        }
    }
}
