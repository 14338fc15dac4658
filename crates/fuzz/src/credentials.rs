//! Tokens, tickets, cookies and page keys, as any client can write them.

use acpd_server::credentials::{
    COOKIES, bearer, cookie_name, cookies, is_socket, page_key, share_of, share_page_key, ticket,
};
use axum::http::{HeaderName, HeaderValue, Uri, header};

use crate::Target;

/// Lines `uri URI`, `secure`, and headers. Invariants: what is read of a request is in it as a whole; the name of a cookie has no
/// characters that a page key could use to name another; and the cookie that the daemon sets for a page key is found again.
pub const CREDENTIALS: Target = Target {
    name: "credentials",
    run: credentials,
    words: &[
        "\n",
        "uri /ws?ticket=",
        "uri /acp?x=1&ticket=aa",
        "uri /api/threads",
        "authorization: Bearer ",
        "authorization: bearer\tabc",
        "authorization: Basic eDp5",
        "acpd-page-key: share-0123abcd-ff",
        "acpd-page-key: ff",
        "sec-websocket-key: x",
        "sec-websocket-protocol: acpd, acpd.page-key.",
        "acpd.page-key.share-0123abcd-ff",
        "cookie: acpd_session_4127=",
        "cookie: __Host-acpd_session_4127=a; acpd_share_4127_0123abcd=b",
        "secure",
        "share-",
        "ticket=",
        "; ",
        "=",
        "&",
        ",",
        "-",
        "\u{fc}",
    ],
};

/// The port at which the browser reaches the daemon.
const PORT: u16 = 4127;

fn credentials(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (mut parts, ()) = axum::http::Request::new(()).into_parts();
    let mut secure = false;
    for line in text.split('\n').take(32) {
        if let Some(uri) = line.strip_prefix("uri ") {
            parts.uri = uri.parse().unwrap_or_else(|_| Uri::from_static("/"));
        } else if line == "secure" {
            secure = true;
        } else if let Some((name, value)) = line.split_once(": ")
            && let Ok(name) = HeaderName::from_bytes(name.as_bytes())
            && let Ok(value) = HeaderValue::from_bytes(value.as_bytes())
        {
            parts.headers.append(name, value);
        }
    }
    if let Some(token) = bearer(&parts.headers) {
        assert!(!token.is_empty() && token.trim() == token, "{token:?}");
        let mut given = parts.headers.get_all(header::AUTHORIZATION).iter();
        let has_it = |value: &HeaderValue| {
            let value = String::from_utf8_lossy(value.as_bytes());
            value.trim().ends_with(&token) && value.trim().to_ascii_lowercase().starts_with("bearer")
        };
        assert!(given.any(has_it), "{token:?}");
    }
    if let Some(ticket) = ticket(parts.uri.query()) {
        let query = parts.uri.query().expect("a ticket is in a query");
        assert!(!ticket.contains('&'), "{ticket:?}");
        let pair = format!("ticket={ticket}");
        assert!(
            query.split('&').any(|part| part == pair),
            "{ticket:?} in {query:?}"
        );
    }
    let key = page_key(&parts);
    if let Some(key) = &key {
        assert!(is_socket(&parts) || parts.headers.contains_key("acpd-page-key"));
        assert!(
            key.bytes()
                .all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte))
        );
    }
    let share = key.as_deref().and_then(share_of);
    if let (Some(id), Some(key)) = (share, &key) {
        let secret = key
            .strip_prefix("share-")
            .and_then(|rest| rest.strip_prefix(id))
            .and_then(|rest| rest.strip_prefix('-'))
            .expect("the key begins with its link");
        assert_eq!(*key, share_page_key(id, secret));
    }
    let name = cookie_name(PORT, share, secure);
    assert!(
        name.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)),
        "{name:?}"
    );
    let found = cookies(&parts.headers, PORT, share, secure);
    assert!(found.len() <= COOKIES);
    let all: Vec<&str> = parts
        .headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';').map(str::trim))
        .collect();
    let names = [true, secure].map(|secure| cookie_name(PORT, share, secure));
    for value in &found {
        assert!(!value.contains(';'), "{value:?}");
        let is_given = names
            .iter()
            .any(|name| all.contains(&format!("{name}={value}").as_str()));
        assert!(is_given, "{value:?} is of another cookie");
    }
    if found.len() < COOKIES {
        let own = HeaderValue::from_str(&format!("{name}=own")).expect("a name is a part of a header");
        parts.headers.append(header::COOKIE, own);
        let found = cookies(&parts.headers, PORT, share, secure);
        assert_eq!(found.last().map(String::as_str), Some("own"), "{name}");
    }
}
