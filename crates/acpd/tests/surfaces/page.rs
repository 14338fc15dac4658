//! The web UI as served to browsers: the page itself, and the sign-in link.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use serde_json::json;

use crate::support::{
    Daemon, Place, Running, acpd, ask, body, header, not_tested, outcome, send, signal, wait_until,
};

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

/// A tunnel from another port: the browser names that port.
#[test]
fn a_name_that_is_not_configured_is_refused_with_the_setting_that_allows_it() {
    let refused = |daemon: &Daemon, accept: &str| {
        let headers = [("Host", "localhost:9960"), ("Accept", accept)];
        ask(daemon.address(), "/", &headers)
    };
    let daemon = Daemon::start();
    let (status, page) = refused(&daemon, "text/html,application/xhtml+xml");
    assert_eq!(status, 403);
    assert!(header(&page, "content-type").starts_with("text/html"), "{page}");
    assert!(
        header(&page, "content-security-policy").starts_with("default-src 'none'"),
        "{page}"
    );
    assert!(
        page.contains("<p>\"localhost:9960\" is not a name of this daemon"),
        "{page}"
    );
    assert!(page.contains("hosts = [\"localhost:9960\"]"), "{page}");
    let (status, error) = refused(&daemon, "*/*");
    assert_eq!(
        (status, &body(&error)["error"]["code"]),
        (403, &json!("forbidden"))
    );
    // As the message says.
    let place = Place::new("[server]\nhosts = [\"localhost:9960\"]\n");
    assert_eq!(refused(&Daemon::at(place), "text/html").0, 200);
}

#[test]
fn the_documents_are_there_for_everyone_in_an_origin_of_their_own() {
    let daemon = Daemon::start();
    let host = daemon.address().to_string();
    let (status, page) = ask(daemon.address(), "/docs/", &[("Host", &host)]);
    assert_eq!(status, 200, "{page}");
    assert!(
        header(&page, "content-security-policy").starts_with("sandbox allow-scripts"),
        "{page}"
    );
    assert_eq!(header(&page, "x-content-type-options"), "nosniff");
    let (status, moved) = ask(daemon.address(), "/docs", &[("Host", &host)]);
    assert_eq!((status, header(&moved, "location")), (308, "/docs/"));
    let (status, _) = ask(daemon.address(), "/docs/nothing.html", &[("Host", &host)]);
    assert_eq!(status, 404);
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

/// Returns the ticket in the link that `acpd open` prints with these additional arguments.
fn printed_ticket(daemon: &Daemon, more: &[&str]) -> String {
    let opened = acpd(&daemon.place, &[&["open"], more].concat());
    assert_eq!(opened.code, Some(0), "{}", opened.stderr);
    let (_, ticket) = opened.stdout.trim().split_once("#ticket=").expect("it is a link");
    ticket.to_owned()
}

/// Another user of the host.
const STRANGER: u32 = 65534;

/// Ends the test as not tested if it cannot run Python as another user.
fn needs_a_stranger() {
    let mut python = Command::new("python3");
    if python.arg("-V").current_dir("/").uid(STRANGER).output().is_err() {
        not_tested(
            "only root can run a program as another user, who needs a python3 that is not in root's home",
        );
    }
}

/// Returns status and body of a request to the daemon by another user's program.
fn asked_by_a_stranger(address: SocketAddr, method: &str, path: &str, body: &str) -> String {
    const SCRIPT: &str = "\
import http.client, sys
address, method, path, body = sys.argv[1:]
connection = http.client.HTTPConnection(address)
headers = {'Content-Type': 'application/json'}
if path.startswith('/ws'):
    headers = {'Connection': 'Upgrade', 'Upgrade': 'websocket', 'Sec-WebSocket-Version': '13',
               'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ=='}
connection.request(method, path, body or None, headers)
answer = connection.getresponse()
print(answer.status, '' if answer.status == 101 else answer.read().decode())
";
    let mut command = Command::new("python3");
    command.args(["-c", SCRIPT, &address.to_string(), method, path, body]);
    outcome(command.current_dir("/").uid(STRANGER))
        .stdout
        .trim()
        .to_owned()
}

#[test]
fn a_link_of_this_user_signs_in_no_other_user_of_the_machine() {
    needs_a_stranger();
    let daemon = Daemon::start();
    let address = daemon.address();
    let ticket = printed_ticket(&daemon, &["--print"]);
    let login = json!({ "ticket": ticket }).to_string();
    let at_socket = format!("/ws?ticket={ticket}");
    for (method, path, body) in [("POST", "/api/session", &login[..]), ("GET", &at_socket, "")] {
        let answer = asked_by_a_stranger(address, method, path, body);
        assert!(answer.starts_with("403 "), "{path}: {answer}");
        assert!(answer.contains("acpd open --other-device"), "{path}: {answer}");
    }
    assert!(daemon.log().contains("another user"), "{}", daemon.log());
    // The ticket is still valid for the intended browser.
    let host = address.to_string();
    let headers = [("Host", host.as_str()), ("Content-Type", "application/json")];
    let (status, answer) = send(address, "POST", "/api/session", &headers, &login);
    assert_eq!(status, 200, "{answer}");
    // A ticket for another device is valid for any peer: it may be a tunnel or proxy of any user.
    let login = json!({ "ticket": printed_ticket(&daemon, &["--other-device"]) }).to_string();
    let answer = asked_by_a_stranger(address, "POST", "/api/session", &login);
    assert!(answer.starts_with("200 "), "{answer}");
}

/// Runs `acpd open` with a browser that writes its arguments to the file `opened`, all in one directory.
fn open_in(daemon: &Daemon, folder: &Path) -> (Running, PathBuf) {
    std::fs::create_dir(folder).expect("it can be made");
    let browser = folder.join("browser");
    let opened = folder.join("opened");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > '{0}.new'\nmv '{0}.new' '{0}'\n",
        opened.display()
    );
    std::fs::write(&browser, script).expect("it can be written");
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o700)).expect("it is ours");
    let mut command = daemon.place.command(&["open"]);
    command.env("BROWSER", &browser).env("XDG_RUNTIME_DIR", folder);
    let running = Running::start(&mut command);
    wait_until("the browser is opened", || opened.exists());
    let opened_page = std::fs::read_to_string(&opened).expect("it is there");
    let page = opened_page
        .trim_end()
        .strip_prefix("file://")
        .unwrap_or_else(|| panic!("{opened_page}"));
    assert!(!opened_page.contains("ticket"), "{opened_page}");
    (running, PathBuf::from(page.replace("%20", " ")))
}

#[test]
fn a_browser_is_opened_without_the_ticket_in_any_arguments() {
    let daemon = Daemon::start();
    for folder in ["runtime", "with space"] {
        let folder = daemon.place.work().join(folder);
        let (running, page) = open_in(&daemon, &folder);
        assert!(page.starts_with(&folder), "{}", page.display());
        assert_eq!(
            std::fs::metadata(&page).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let text = std::fs::read_to_string(&page).unwrap();
        let start = format!("content=\"0;url=http://{}/#ticket=", daemon.address());
        let (_, link) = text.split_once(&start).unwrap_or_else(|| panic!("{text}"));
        let ticket = link.split('"').next().unwrap();
        let arguments = std::fs::read(format!("/proc/{}/cmdline", running.pid())).unwrap();
        assert!(!String::from_utf8_lossy(&arguments).contains(ticket));
        let host = daemon.address().to_string();
        let headers = [("Host", host.as_str()), ("Content-Type", "application/json")];
        let login = json!({ "ticket": ticket }).to_string();
        let (status, answer) = send(daemon.address(), "POST", "/api/session", &headers, &login);
        assert_eq!(status, 200, "{answer}");
        let outcome = running.finish();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(!page.exists(), "{}", page.display());
    }
}

#[test]
fn the_page_for_a_browser_is_gone_when_the_command_is_interrupted() {
    let daemon = Daemon::start();
    for (name, by) in [("a", Signal::INT), ("b", Signal::TERM)] {
        let (running, page) = open_in(&daemon, &daemon.place.work().join(name));
        assert!(page.exists());
        signal(running.pid(), by);
        running.finish();
        assert!(!page.exists(), "{}", page.display());
    }
}
