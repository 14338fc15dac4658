//! The web UI as browsers find it: the page itself, and the link that signs one in.

mod support;

use serde_json::json;
use support::{Daemon, acpd, ask, body, header, send};

#[test]
fn the_page_is_there_for_everyone_and_may_do_nothing_but_come_from_here() {
    let daemon = Daemon::start();
    let host = daemon.address().to_string();
    for path in ["/", "/threads/any"] {
        let (status, page) = ask(daemon.address(), path, &[("Host", &host)]);
        assert_eq!(status, 200, "{page}");
        assert!(header(&page, "content-type").starts_with("text/html"), "{page}");
        let policy = header(&page, "content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header(&page, "x-content-type-options"), "nosniff");
        assert_eq!(header(&page, "x-frame-options"), "DENY");
    }
    let (status, missing) = ask(daemon.address(), "/api/nothing", &[("Host", &host)]);
    assert_eq!(
        (status, &body(&missing)["error"]["code"]),
        (404, &json!("not_found"))
    );
    let (status, _) = ask(daemon.address(), "/", &[("Host", "elsewhere.example")]);
    assert_eq!(status, 403, "a name that points here is not ours");
}

#[test]
fn the_link_signs_one_browser_in_and_no_second() {
    let daemon = Daemon::start();
    let opened = acpd(&daemon.place, &["open", "--print"]);
    assert_eq!(opened.code, Some(0), "{}", opened.stderr);
    let address = daemon.address();
    let start = format!("http://{address}/#ticket=");
    let ticket = opened
        .stdout
        .trim()
        .strip_prefix(&start)
        .unwrap_or_else(|| panic!("{}", opened.stdout));
    assert!(opened.stderr.contains("within 30 seconds"), "{}", opened.stderr);
    let host = address.to_string();
    let headers = [("Host", host.as_str()), ("Content-Type", "application/json")];
    let login = json!({ "ticket": ticket }).to_string();
    let (status, answer) = send(address, "POST", "/api/session", &headers, &login);
    assert_eq!(status, 200, "{answer}");
    assert!(header(&answer, "set-cookie").contains("HttpOnly"), "{answer}");
    assert_eq!(body(&answer)["role"], "owner");
    let (status, _) = send(address, "POST", "/api/session", &headers, &login);
    assert_eq!(status, 401);
}
