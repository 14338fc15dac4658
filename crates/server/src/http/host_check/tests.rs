use super::*;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(*name, value.parse().unwrap());
    }
    headers
}

fn check(allowed_hosts: &AllowedHosts, local: &str, secure: bool, pairs: &[(&'static str, &str)]) -> bool {
    let uri = Uri::from_static("/ws");
    allowed_hosts
        .check(&uri, &headers(pairs), local.parse().unwrap(), secure)
        .is_ok()
}

#[test]
fn a_name_is_ours_by_itself_or_by_configuration() {
    let hosts = ["Box.example".to_owned(), "other.example:8443".to_owned()];
    let allowed_hosts = AllowedHosts::new(&hosts).unwrap();
    for (local, host, ours) in [
        ("127.0.0.1:4127", "127.0.0.1:4127", true),
        ("127.0.0.1:4127", "LOCALHOST:4127", true),
        ("127.0.0.1:4127", "[::1]:4127", true),
        ("127.0.0.1:4127", "localhost", false),
        ("127.0.0.1:80", "localhost", true),
        ("127.0.0.1:4127", "localhost:4128", false),
        ("127.0.0.1:4127", "localhost.:4127", false),
        ("127.0.0.1:4127", "192.0.2.1:4127", false),
        // The daemon listens on all addresses, and accepted the connection on this one.
        ("192.0.2.1:4127", "192.0.2.1:4127", true),
        ("[::ffff:192.0.2.1]:4127", "192.0.2.1:4127", true),
        ("192.0.2.1:4127", "localhost:4127", false),
        ("127.0.0.2:4127", "localhost:4127", false),
        ("127.0.0.2:4127", "127.0.0.1:4127", true),
        ("[::1]:4127", "localhost:4127", true),
        ("192.0.2.1:4127", "127.0.0.1:4127", false),
        ("192.0.2.1:4127", "evil.example:4127", false),
        ("192.0.2.1:4127", "box.example:4127", true),
        ("127.0.0.1:4127", "box.example", true),
        ("127.0.0.1:4127", "box.example:9000", false),
        ("127.0.0.1:4127", "x.box.example", false),
        ("127.0.0.1:4127", "other.example:8443", true),
        ("127.0.0.1:4127", "other.example:4127", false),
        ("127.0.0.1:4127", "me@localhost:4127", false),
        ("127.0.0.1:4127", "localhost:4127,evil.example", false),
        ("127.0.0.1:4127", "", false),
    ] {
        assert_eq!(
            check(&allowed_hosts, local, false, &[("host", host)]),
            ours,
            "{local} {host:?}"
        );
    }
    let local = "127.0.0.1:4127";
    assert!(!check(&allowed_hosts, local, false, &[]));
    assert!(!check(
        &allowed_hosts,
        local,
        false,
        &[("host", local), ("host", "evil.example")]
    ));
    // The request line contains a host as well.
    let named = |uri: &'static str| {
        allowed_hosts.check(
            &Uri::from_static(uri),
            &headers(&[("host", local)]),
            local.parse().unwrap(),
            false,
        )
    };
    assert_eq!(named("http://127.0.0.1:4127/ws"), Ok(()));
    assert!(named("http://evil.example/ws").is_err());
}

#[test]
fn a_page_is_own_if_it_has_our_name_and_our_encryption() {
    let allowed_hosts = AllowedHosts::new(&["box.example".to_owned()]).unwrap();
    for (local, secure, host, origin, own) in [
        (
            "127.0.0.1:4127",
            false,
            "localhost:4127",
            "http://localhost:4127",
            true,
        ),
        (
            "127.0.0.1:4127",
            false,
            "localhost:4127",
            "http://127.0.0.1:4127",
            false,
        ),
        (
            "127.0.0.1:4127",
            false,
            "localhost:4127",
            "https://localhost:4127",
            false,
        ),
        (
            "127.0.0.1:4127",
            false,
            "localhost:4127",
            "http://localhost",
            false,
        ),
        (
            "127.0.0.1:4127",
            false,
            "localhost:4127",
            "http://evil.example",
            false,
        ),
        ("127.0.0.1:4127", false, "localhost:4127", "null", false),
        ("127.0.0.1:80", false, "localhost", "http://localhost:80", true),
        (
            "192.0.2.1:4127",
            true,
            "box.example:4127",
            "https://box.example:4127",
            true,
        ),
        (
            "192.0.2.1:4127",
            true,
            "box.example:4127",
            "http://box.example:4127",
            false,
        ),
        ("192.0.2.1:443", true, "box.example", "https://box.example", true),
        ("192.0.2.1:443", true, "192.0.2.1", "https://192.0.2.1", true),
        // Behind a proxy that has the certificate.
        (
            "127.0.0.1:4127",
            false,
            "box.example",
            "https://box.example",
            true,
        ),
        (
            "127.0.0.1:4127",
            false,
            "box.example",
            "https://box.example:8443",
            false,
        ),
        (
            "127.0.0.1:4127",
            false,
            "box.example",
            "https://evil.example",
            false,
        ),
        (
            "127.0.0.1:4127",
            false,
            "127.0.0.1:4127",
            "https://box.example",
            false,
        ),
    ] {
        let has_own_origin = check(
            &allowed_hosts,
            local,
            secure,
            &[("host", host), ("origin", origin)],
        );
        assert_eq!(has_own_origin, own, "{host} {origin}");
    }
    let twice = [
        ("host", "localhost:4127"),
        ("origin", "http://localhost:4127"),
        ("origin", "http://evil.example"),
    ];
    assert!(!check(&allowed_hosts, "127.0.0.1:4127", false, &twice));
}

#[test]
fn invalid_hosts_are_refused() {
    for text in [
        "",
        "https://box.example",
        "box.example/x",
        "me@box.example",
        "box.example:x",
        ":80",
        "a b",
    ] {
        assert!(AllowedHosts::new(&[text.to_owned()]).is_err(), "{text:?}");
    }
}

#[test]
fn a_cookie_counts_where_the_page_is_known() {
    for (method, pairs, counts) in [
        (Method::GET, &[][..], true),
        (Method::GET, &[("sec-fetch-site", "same-origin")], true),
        (Method::GET, &[("sec-fetch-site", "none")], true),
        (Method::GET, &[("sec-fetch-site", "same-site")], false),
        (Method::GET, &[("sec-fetch-site", "cross-site")], false),
        (Method::GET, &[("upgrade", "websocket")], false),
        (
            Method::GET,
            &[("upgrade", "websocket"), ("sec-fetch-site", "same-origin")],
            false,
        ),
        (
            Method::GET,
            &[("upgrade", "websocket"), ("origin", "http://localhost:4127")],
            true,
        ),
        (Method::POST, &[], false),
        (Method::DELETE, &[("sec-fetch-site", "same-origin")], false),
        (Method::DELETE, &[("origin", "http://localhost:4127")], true),
    ] {
        assert_eq!(
            cookie_counts(&method, &headers(pairs)),
            counts,
            "{method} {pairs:?}"
        );
    }
}

#[test]
fn a_refused_name_comes_with_the_setting_that_allows_it() {
    let local = "127.0.0.1:4127";
    for (host, setting) in [
        ("localhost:8080", "localhost:8080"),
        ("Box:8080", "box:8080"),
        ("box:4127", "box"),
        ("box", "box"),
        ("box:443", "box"),
        ("[2001:db8::1]:4127", "[2001:db8::1]"),
        ("localhost", "localhost"),
    ] {
        let refuse = |allowed_hosts: &AllowedHosts| {
            let headers = headers(&[("host", host)]);
            allowed_hosts.check(&Uri::from_static("/"), &headers, local.parse().unwrap(), false)
        };
        let refused = refuse(&AllowedHosts::default()).unwrap_err();
        assert!(
            refused
                .to_string()
                .ends_with(&format!("[server] hosts = [{setting:?}]")),
            "{host}: {refused}"
        );
        // The setting that the message suggests works.
        assert_eq!(
            refuse(&AllowedHosts::new(&[setting.to_owned()]).unwrap()),
            Ok(()),
            "{host}"
        );
    }
}

#[test]
fn localhost_is_accepted_at_other_addresses_if_it_is_configured() {
    let allowed_hosts = AllowedHosts::new(&["localhost".to_owned()]).unwrap();
    for local in ["192.0.2.1:4127", "127.0.0.2:4127"] {
        for host in ["localhost:4127", "localhost"] {
            assert!(
                check(&allowed_hosts, local, false, &[("host", host)]),
                "{local} {host}"
            );
        }
    }
}

#[test]
fn localhost_is_refused_while_another_program_may_have_an_address_of_it() {
    for configured in [&[][..], &["localhost".to_owned(), "localhost:9960".to_owned()]] {
        let mut allowed_hosts = AllowedHosts::new(configured).unwrap();
        allowed_hosts.refuse_localhost(4127);
        allowed_hosts.refuse_localhost(80);
        let check = |local: &str, host: &str, secure| {
            let headers = headers(&[("host", host)]);
            allowed_hosts.check(&Uri::from_static("/"), &headers, local.parse().unwrap(), secure)
        };
        for (local, host, secure, url) in [
            ("127.0.0.1:4127", "localhost:4127", false, "http://127.0.0.1:4127"),
            ("127.0.0.1:4127", "LocalHost:4127", true, "https://127.0.0.1:4127"),
            ("[::1]:4127", "localhost:4127", false, "http://[::1]:4127"),
            ("[::ffff:127.0.0.1]:80", "localhost", false, "http://127.0.0.1:80"),
        ] {
            let refused = check(local, host, secure).unwrap_err().to_string();
            assert!(
                refused.ends_with(&format!("use {url}")),
                "{local} {host}: {refused}"
            );
        }
        for (local, host) in [
            ("127.0.0.1:4127", "127.0.0.1:4127"),
            ("[::1]:4127", "[::1]:4127"),
            ("127.0.0.1:4128", "localhost:4128"),
        ] {
            assert_eq!(check(local, host, false), Ok(()), "{local} {host}");
        }
        // At another port, as through a tunnel, the name is the user's choice.
        let through_tunnel = check("127.0.0.1:4127", "localhost:9960", false);
        assert_eq!(through_tunnel.is_ok(), !configured.is_empty());
    }
}

#[test]
fn an_address_for_a_device_is_judged_as_its_requests_will_be() {
    let allowed_hosts = AllowedHosts::new(&["box.example".to_owned()]).unwrap();
    for (listen, host, port, secure, ours) in [
        ("127.0.0.1:4127", "box.example", None, true, true),
        ("127.0.0.1:4127", "Box.Example", None, true, true),
        ("127.0.0.1:4127", "box.example", Some(9000), true, false),
        ("127.0.0.1:4127", "other.example", None, true, false),
        ("127.0.0.1:4127", "127.0.0.1", Some(4127), false, true),
        ("127.0.0.1:4127", "192.0.2.1", Some(4127), false, false),
        ("0.0.0.0:4127", "192.0.2.1", Some(4127), true, true),
        ("[::]:4127", "[2001:db8::1]", Some(4127), true, true),
        ("0.0.0.0:4127", "192.0.2.1", Some(9000), true, false),
        ("192.0.2.1:4127", "192.0.2.1", Some(4127), true, true),
        ("192.0.2.1:4127", "192.0.2.9", Some(4127), true, false),
    ] {
        let checked = allowed_hosts.check_name(host, port, secure, listen.parse().unwrap());
        assert_eq!(checked.is_ok(), ours, "{listen} {host} {port:?}");
    }
}
